"""The alerting rules: what promtool thinks of them and of the metrics, and what fires in a real Prometheus."""

import subprocess

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest

from logdirwatch.collect.metrics import CollectorMetrics
from logdirwatch.collect.publish.publisher import Publisher
from logdirwatch.jobs.metrics import StreamMetrics
from logdirwatch.jobs.runner import Runner
from tests.prometheus.conftest import RULES, Firing, log_dirs
from tests.support.prometheus import program
from tests.support.waiting import DEADLINE_S, wait_until


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
def alerts(scraping):
    """What fires at once, with labels and annotations."""

    def firing():
        found = scraping.get("alerts")["alerts"]
        names = {alert["labels"]["alertname"] for alert in found}
        return found if {"LogdirwatchLogDirOffline", "LogdirwatchDown"} <= names else None

    found = wait_until(firing, DEADLINE_S, lambda: str(scraping.get("alerts")))
    groups = scraping.get("rules")["groups"]
    assert not [rule for group in groups for rule in group["rules"] if rule["health"] == "err"]
    return found


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
