"""The alerting rules: what promtool thinks of them and of the metrics, and what fires in a real Prometheus."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from logdirwatch.collect.metrics import CollectorMetrics
from logdirwatch.collect.publish.publisher import Publisher
from logdirwatch.jobs.metrics import StreamMetrics
from logdirwatch.jobs.runner import Runner
from logdirwatch.model.records.state import LogDirView
from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.observe.endpoint import serving as endpoint
from logdirwatch.observe.firing import firing_alerts
from logdirwatch.observe.log_dir_metrics import LogDirMetrics
from logdirwatch_lab.ports import free_ports
from tests.support.prometheus import program
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.collect.builders import GIB, log_dir, ok, timed_out
from tests.unit.observe.test_log_dir_metrics import polled, state

RULES = Path(__file__).parents[2] / "conf" / "prometheus" / "alerts.yaml"
SPACE = {"total": 1_000 * GIB}


class Firing(Collector):
    def collect(self):
        yield firing_alerts({("prod", "log_dir_offline", "page"): 2})


def log_dirs():
    """Two brokers: one with a directory in each state, one that does not answer."""
    metrics = LogDirMetrics(lambda: 0)
    directories = (
        log_dir("/offline", error_code=56),
        log_dir("/saturated", usable=49 * GIB, **SPACE),
        log_dir("/critical", usable=51 * GIB, **SPACE),
        log_dir("/good", usable=151 * GIB, **SPACE),
    )
    for record in polled(ok(*directories), timed_out()):
        metrics.note(*record)
    metrics.note(*state(LogDirView(path="/good", status=LogDirStatus.ONLINE, since_ms=1, full_at_ms=1_000)))
    return metrics


def promtool(*arguments, text=None):
    return subprocess.run([program("promtool"), *arguments], input=text, capture_output=True, text=True, check=False)


def test_the_rules_are_as_promtool_wants_them():
    checked = promtool("check", "rules", "--lint=all", "--lint-fatal", str(RULES))
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize(
    "metrics",
    [log_dirs(), Firing(), CollectorMetrics([], Publisher(lambda: None, 1, 1)), StreamMetrics(Runner(None, None, {}))],
    ids=["directories", "alerts", "collector", "stream"],
)
def test_the_names_of_metrics_are_as_promtool_wants_them(metrics):
    registry = CollectorRegistry()
    registry.register(metrics)
    checked = promtool("check", "metrics", text=generate_latest(registry).decode())
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


@pytest.fixture(scope="module")
def alerts(serving, tmp_path_factory):
    """What fires at once in a Prometheus that scrapes the directories and a dead job; by name, with its labels."""
    rules = tmp_path_factory.mktemp("rules") / "alerts.yaml"
    rules.write_text(re.sub(r"\n *for: .*", "", RULES.read_text()))
    live, dead = (f"127.0.0.1:{port}" for port in free_ports(2))
    jobs = {"logdirwatch-collect": live, "logdirwatch-stream": dead}
    configuration = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(rules)],
        "scrape_configs": [
            {"job_name": name, "static_configs": [{"targets": [target]}]} for name, target in jobs.items()
        ],
    }
    with endpoint(live, [log_dirs(), Firing()], lambda: None, lambda: None):
        server = serving({}, configuration=configuration)

        def firing():
            found = server.get("alerts")["alerts"]
            names = {alert["labels"]["alertname"] for alert in found}
            return found if {"LogdirwatchLogDirOffline", "LogdirwatchDown"} <= names else None

        yield wait_until(firing, DEADLINE_S, lambda: str(server.get("alerts")))
        broken = [rule for group in server.get("rules")["groups"] for rule in group["rules"] if rule["health"] == "err"]
        assert not broken


def test_each_state_of_a_directory_fires_its_own_rule(alerts):
    fired = {
        alert["labels"]["log_dir"]: alert["labels"]["alertname"] for alert in alerts if "log_dir" in alert["labels"]
    }
    assert fired == {
        "/offline": "LogdirwatchLogDirOffline",
        "/saturated": "LogdirwatchLogDirSaturated",
        "/critical": "LogdirwatchLogDirCritical",
        "/good": "LogdirwatchLogDirFills",
    }


def test_brokers_pages_and_parts_fire_and_what_is_well_does_not(alerts):
    fired = {alert["labels"]["alertname"] for alert in alerts if "log_dir" not in alert["labels"]}
    assert fired == {"LogdirwatchBrokerDoesNotAnswer", "LogdirwatchPage", "LogdirwatchDown"}


def test_a_summary_is_a_sentence_and_its_runbook_is_a_page(alerts):
    told = {alert["labels"]["alertname"]: alert["annotations"] for alert in alerts}
    assert told["LogdirwatchLogDirSaturated"]["summary"] == "/saturated of broker 1 (prod) has 4.9% left"
    assert told["LogdirwatchPage"]["runbook_url"].endswith("/runbooks/log_dir_offline/")


def test_nothing_scraped_is_an_alert(serving):
    server = serving({})
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        for rule in group["rules"]:
            fires = bool(server.get("query", query=rule["expr"])["result"])
            assert fires == (rule["alert"] in {"LogdirwatchAbsent", "LogdirwatchSeesNoLogDir"}), rule["alert"]
