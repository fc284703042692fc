"""What is shipped for deployment: each file fits its format's published schema, and names what there really is."""

import configparser
import re
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from logdirwatch.cli.main import app
from logdirwatch.collect.metrics import CollectorMetrics
from logdirwatch.collect.publish.publisher import Publisher
from logdirwatch.jobs.metrics import StreamMetrics
from logdirwatch.jobs.runner import Runner
from logdirwatch.observe.log_dir_metrics import LogDirMetrics
from logdirwatch.observe.series import firing_alerts

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "conf" / "systemd").glob("*.*"))
COMMANDS = set(get_command(app).commands)


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_starts_a_command_that_there_is(path):
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(path)
    assert unit["Unit"]["Description"]
    if path.suffix == ".timer":
        assert path.with_suffix(".service").is_file()
        assert unit["Timer"]["OnCalendar"]
        return
    program, command, *options = unit["Service"]["ExecStart"].split()
    assert (program, command in COMMANDS) == ("/opt/logdirwatch/bin/logdirwatch", True)
    known = {name for parameter in get_command(app).commands[command].params for name in parameter.opts}
    assert {option for option in options if option.startswith("--")} <= known
    assert unit["Service"]["NoNewPrivileges"] == "true"


SERVICES = [path for path in UNITS if path.suffix == ".service"]
WRITES_TABLES = {"stream", "maintain", "validate"}


def settings_of(path):
    """The settings of a unit's service, each with all of its values."""
    found = {}
    for line in path.read_text().partition("[Service]")[2].partition("[Install]")[0].splitlines():
        name, sign, value = line.partition("=")
        if sign and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.name)
def test_a_unit_has_a_user_a_folder_and_secrets_of_its_part_alone(path):
    unit, part = settings_of(path), path.stem.removeprefix("logdirwatch-")
    user = "kafka" if part == "watch-host" else f"logdirwatch-{'stream' if part in WRITES_TABLES else part}"
    secrets = "host" if part == "watch-host" else user.removeprefix("logdirwatch-")
    assert unit["User"] == [user]
    assert unit["EnvironmentFile"] == [f"-/etc/logdirwatch/{secrets}.env"]
    (folder,), (home,) = unit["StateDirectory"], unit["WorkingDirectory"]
    assert home == f"/var/lib/{folder}"
    assert f"LOGDIRWATCH_HOME={home}" in unit["Environment"][0].split()
    assert (folder == "logdirwatch") == (part in WRITES_TABLES)
    assert user in (ROOT / "docs" / "deployment.md").read_text()


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.name)
def test_a_unit_may_do_nothing_on_its_host_that_it_does_not_need(path):
    unit = settings_of(path)
    assert (unit["CapabilityBoundingSet"], unit["AmbientCapabilities"]) == ([""], [""])
    for name in ("NoNewPrivileges", "PrivateTmp", "ProtectHome", "RestrictNamespaces", "RestrictSUIDSGID"):
        assert unit[name] == ["true"], name
    assert unit["SystemCallFilter"][0] == "@system-service"
    # The probe takes a log directory that is read-only for a disk that failed.
    assert unit["ProtectSystem"] == ["full" if "watch-host" in path.name else "strict"]


PROMETHEUS_RULES = [
    rule
    for group in yaml.safe_load((ROOT / "conf" / "prometheus" / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]


def test_prometheus_is_asked_for_metrics_that_there_are():
    asked = {name for rule in PROMETHEUS_RULES for name in re.findall(r"logdirwatch_\w+", rule["expr"])}
    served = {
        metric.name + ("_total" if metric.type == "counter" else "")
        for metrics in (
            CollectorMetrics([], Publisher(lambda: None, 1, 1)),
            StreamMetrics(Runner(None, None, {})),
            LogDirMetrics(),
        )
        for metric in metrics.collect()
    }
    assert asked
    assert asked <= served | {firing_alerts({}).name}


@pytest.mark.parametrize("rule", PROMETHEUS_RULES, ids=lambda rule: rule["alert"])
def test_a_rule_of_prometheus_leads_to_a_runbook_that_is_there(rule):
    page = rule["annotations"]["runbook_url"].removeprefix("https://docs.example.com/").rstrip("/")
    assert page == "runbooks/{{ $labels.rule }}" or (ROOT / "docs" / f"{page}.md").is_file()
