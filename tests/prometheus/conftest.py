"""Servers over histories that are written beforehand, and one that scrapes directories in every state."""

import re
from contextlib import ExitStack
from pathlib import Path

import pytest
from prometheus_client.registry import Collector

from logdirwatch.model.records.state import LogDirView
from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.observe.endpoint import serving as endpoint
from logdirwatch.observe.log_dir_metrics import LogDirMetrics
from logdirwatch.observe.series import firing_alerts
from logdirwatch_lab.ports import free_ports
from tests.support import prometheus
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
        log_dir("/good", usable=301 * GIB, **SPACE),
    )
    for record in polled(ok(*directories), timed_out()):
        metrics.note(*record)
    metrics.note(
        *state(LogDirView(path="/good", status=LogDirStatus.ONLINE, since_ms=1, full_at_ms=1_000, growth_bytes_per_s=5))
    )
    return metrics


@pytest.fixture(scope="session")
def serving(tmp_path_factory):
    """Start a server over series by name; further arguments are those of :func:`prometheus.serving`."""
    with ExitStack() as servers:

        def start(series, **more):
            folder = tmp_path_factory.mktemp("prometheus")
            return servers.enter_context(prometheus.serving(folder, prometheus.open_metrics(series), **more))

        try:
            prometheus.program("promtool")
        except FileNotFoundError as error:
            pytest.fail(str(error), pytrace=False)
        yield start


@pytest.fixture(scope="session")
def scraping(serving, tmp_path_factory):
    """A server that scrapes the directories and a dead job, with the rules, which wait for nothing."""
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
        yield serving({}, configuration=configuration)
