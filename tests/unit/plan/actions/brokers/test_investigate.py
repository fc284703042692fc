"""The runbook step says what to do, and not to look for a fault where there is none."""

from logdirwatch.model.vocabulary import Rule, Severity
from logdirwatch.plan.rule_responses import investigate
from tests.unit.plan.builders import alert, policy

MAINTENANCE = {"maintenance": {"until_ms": 5, "by": "ada", "reason": "new disk"}}


def step(**fields):
    return investigate(alert(rule=Rule.BROKER_OFFLINE, log_dir=None, **fields), policy()).reason


def test_a_broker_that_is_gone_is_looked_for():
    assert "find out why the broker is gone" in step()


def test_one_that_is_away_as_planned_is_not():
    assert step(severity=Severity.INFO, evidence=MAINTENANCE).startswith("the broker is away as planned")


def test_a_rolling_restart_is_watched():
    assert step(broker=None, severity=Severity.INFO).startswith("brokers are restarted one after the other")


def test_brokers_that_are_slow_beside_the_others_are_looked_at_on_their_hosts():
    found = investigate(alert(rule=Rule.LOG_DIR_SUSPECT, broker=None, log_dir=None), policy())
    assert "on the hosts that evidence.slow_brokers names" in found.reason
    assert found.target == {"broker": None, "log_dir": None, "step": "log_dir_suspect"}
