"""The runbook step says what to do, and not to look for a fault where there is none."""

import re

import pytest

from logdirwatch.model.broker_failures import BrokerFailureReason
from logdirwatch.model.vocabulary import LogDirStatus, MetadataMode, Rule, Severity
from logdirwatch.plan.cluster.snapshot import Broker
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.rule_responses import RUNBOOKS, investigate
from tests.unit.plan.builders import NOW_MS, alert, broker, directory, facts, offline, policy, topic

MAINTENANCE = {"maintenance": {"until_ms": 5, "by": "ada", "reason": "new disk"}}


def step(**fields):
    return investigate(alert(rule=Rule.BROKER_OFFLINE, log_dir=None, **fields), policy()).reason


def test_a_broker_that_is_gone_is_looked_for():
    assert "find out why the broker is gone" in step()


def test_one_that_is_away_as_planned_is_not():
    assert step(severity=Severity.INFO, evidence=MAINTENANCE).startswith("the broker is away as planned")


def test_a_rolling_restart_is_watched():
    assert step(broker=None, severity=Severity.INFO).startswith("brokers were restarted: before the next one, wait")


def test_brokers_that_are_slow_beside_the_others_are_looked_at_on_their_hosts():
    found = investigate(alert(rule=Rule.LOG_DIR_SUSPECT, broker=None, log_dir=None), policy())
    assert "on the hosts that evidence.slow_brokers names" in found.reason
    assert found.target == {"broker": None, "log_dir": None, "step": "log_dir_suspect"}


OF_KRAFT_ONLY = re.compile(
    r"fence|unregister|quorum|metadata|kafka-storage|kafka-features|format|process\.roles|node\.id"
)


def of_kraft_only(*actions):
    said = [text for action in actions for text in (action.reason, *action.commands)]
    return [text for text in said if OF_KRAFT_ONLY.search(text)]


class TestZooKeeper:
    """Nothing that a cluster with ZooKeeper does not have is named there."""

    @pytest.mark.parametrize("rule", sorted(set(RUNBOOKS) - {Rule.PLACEMENT_REPORTS_STUCK}))
    def test_no_runbook_names_what_it_does_not_have(self, rule):
        assert of_kraft_only(investigate(alert(rule), policy(), has_zookeeper=True)) == []

    @pytest.mark.parametrize("rule", [Rule.BROKER_OFFLINE, Rule.BROKER_UNKNOWN, Rule.LOG_DIR_UNKNOWN])
    def test_nor_does_one_before_there_is_a_snapshot_where_the_alert_says_it(self, rule):
        place = {} if rule is Rule.LOG_DIR_UNKNOWN else {"log_dir": None}
        told = alert(rule, evidence={"has_zookeeper": True}, **place)
        assert of_kraft_only(*recommend(told, None, policy(), NOW_MS)) == []
        assert of_kraft_only(*recommend(alert(rule, **place), None, policy(), NOW_MS)) != []

    @pytest.mark.parametrize("reason", BrokerFailureReason)
    @pytest.mark.parametrize("rule", [Rule.BROKER_OFFLINE, Rule.BROKER_UNKNOWN])
    def test_nor_does_the_way_back_of_a_broker_whose_log_says_why_it_is_away(self, rule, reason):
        away = alert(rule, log_dir=None, evidence={"log_says": "why", "log_reason": reason})
        found = investigate(away, policy(), has_zookeeper=True)
        assert found.reason.endswith("Its log says: why")
        assert of_kraft_only(found) == []

    @pytest.mark.parametrize("told", [{"metadata_mode": MetadataMode.ZOOKEEPER}, {"configs": {"process.roles": ""}}])
    @pytest.mark.parametrize(
        "rule", [Rule.LOG_DIR_OFFLINE, Rule.LOG_DIR_SPACE, Rule.LOG_DIR_UNKNOWN, Rule.BROKER_OFFLINE]
    )
    def test_nor_does_any_action(self, rule, told):
        brokers = [Broker(number, broker(number).status, is_fenced=False, **told) for number in (1, 2)]
        sick = {
            Rule.LOG_DIR_SPACE: directory(1, used=970 << 20, status=LogDirStatus.SATURATED, is_metadata_dir=True),
            Rule.LOG_DIR_UNKNOWN: directory(1, status=LogDirStatus.UNKNOWN, is_metadata_dir=True),
        }.get(rule, offline(1, is_metadata_dir=True))
        dirs = [sick, directory(1, "/d2", is_metadata_dir=False), directory(2)]
        snapshot = facts(*brokers, *dirs, topic("t", [1, 2]))
        found = recommend(
            alert(rule, **({"log_dir": None} if rule is Rule.BROKER_OFFLINE else {})), snapshot, policy(), NOW_MS
        )
        assert found
        assert of_kraft_only(*found) == []
        assert not [action for action in found if " halts" in action.reason]

    def test_in_kraft_mode_the_quorum_is_asked(self):
        seen = facts(broker(1), directory(1), topic("t", [1]))
        found = recommend(alert(Rule.BROKER_UNKNOWN, log_dir=None), seen, policy(), NOW_MS)
        assert of_kraft_only(*found)
