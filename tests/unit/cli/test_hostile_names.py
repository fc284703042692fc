"""Names that mean something to a terminal or to SQL: the commands show them as text and find by them what they name."""

import pytest

from logdirwatch.cli.commands import status as command
from logdirwatch.cli.reading.tables.delta_files import DeltaFiles
from logdirwatch.store.sql import quoted
from tests.support.delta import Written
from tests.support.hostile import NAMES
from tests.unit.report.builders import NOW_MS, action, alert
from tests.unit.report.rows import broker, log_dir, partition


def assert_plain(ended):
    for line in (ended.out + ended.err).split("\n"):
        assert line.isprintable(), repr(line)


def hostile_alert(name, revision=1):
    return alert("a", revision, cluster=name, log_dir=name, summary=name, cause=None)


def hostile_action(name, revision=1):
    target = {"broker": 7, "log_dir": name, "topic": name}
    conditions = [{"name": "x", "text": name, "holds": None}]
    said = {"reason": name, "preconditions": conditions, "vetoes": conditions, "status_reason": name}
    undo = {"text": name, "commands": [f"# {name}"]}
    return action("c", revision, cluster=name, target=target, commands=[f"tool {name}"], undo=undo, **said)


@pytest.mark.parametrize("name", NAMES)
def test_alerts_and_actions_are_text(run, telemetry, name):
    telemetry.topics["logdir.alerts"] = [hostile_alert(name)]
    telemetry.topics["logdir.actions"] = [hostile_action(name)]
    for arguments in (["alerts"], ["actions"], ["actions", "show", "c"], ["alerts", "--all"]):
        ended = run(*arguments)
        assert ended.exit_code == 0
        assert_plain(ended)


def test_no_name_or_reason_is_a_line_of_its_own(run, telemetry):
    name = "a\nFORGED"
    telemetry.topics["logdir.alerts"] = [hostile_alert(name)]
    telemetry.topics["logdir.actions"] = [action("c", reason=name)]
    signed = ["--by", name, "--reason", name]
    run("alerts", "ack", "a", "--owner", name, *signed)
    run("alerts", "silence", "--log-dir", name, *signed, "--for", "1h")
    run("maintenance", "start", "--broker", "7", "--cluster", "prod", "--for", "1h", *signed)
    for arguments in ("alerts", "alerts show a", "alerts decisions", "maintenance list", "actions", "alerts --follow"):
        ended = run(*arguments.split())
        assert "\\nFORGED" in ended.out, arguments
        assert not any(line.strip().startswith("FORGED") for line in ended.out.splitlines()), arguments


@pytest.mark.parametrize("name", NAMES)
def test_what_follows_is_a_line_a_revision(run, telemetry, name):
    for command_name, topic, record in (
        ("alerts", "logdir.alerts", hostile_alert),
        ("actions", "logdir.actions", hostile_action),
    ):
        telemetry.topics[topic] = []
        telemetry.later = [record(name, 1), record(name, 2)]
        ended = run(command_name, "--follow")
        assert_plain(ended)
        assert len([line for line in ended.out.splitlines() if line.startswith("2023-")]) == 2
        assert len(ended.out.splitlines()) == 3, "what is open, and two revisions"


@pytest.mark.parametrize("name", NAMES)
def test_decisions_and_refusals_are_text(run, telemetry, name):
    telemetry.topics["logdir.alerts"] = [hostile_alert(name)]
    telemetry.topics["logdir.actions"] = [hostile_action(name)]
    signed = ["--by", "ada", "--reason", f"r{name}"]
    for arguments in (
        ["alerts", "ack", "a", *signed],
        ["alerts", "decisions"],
        ["actions", "reject", "c", *signed],
        ["maintenance", "start", "7", "--cluster", f"c{name}", "--for", "1h", *signed],
        ["maintenance", "list"],
        ["actions", "show", f"x{name}"],
        ["--config", f"/nowhere{name}".replace("\0", ""), "status"],
    ):
        assert_plain(run(*arguments))


def test_the_status_is_text(run, telemetry, tmp_path, monkeypatch):
    monkeypatch.setenv("LOGDIRWATCH_TABLES__PATH", str(tmp_path / "tables"))
    monkeypatch.setattr(command, "now_ms", lambda: NOW_MS)
    tables = Written(tmp_path / "tables")
    place = {"status": "offline", "cause": "directory", "is_future": False, "partition": 0}
    numbered = list(enumerate(NAMES))
    tables.write("broker_state", *(broker(n, name, host=name, rack=name, reason=name) for n, name in numbered))
    dirs = (log_dir(n, name, cluster=name, cause=name, reason=name) for n, name in numbered)
    tables.write("log_dir_state", *dirs)
    tables.write("topic_state", *(partition(name, cluster=name, is_leaderless=True) for name in NAMES))
    replicas = ({"cluster": name, "broker": n, "log_dir": name, "topic": name, **place} for n, name in numbered)
    tables.write("replica_state", *replicas)
    telemetry.topics["logdir.alerts"] = [alert(f"{n}", cluster=name, log_dir=name) for n, name in enumerate(NAMES)]
    ended = run("status", "--all")
    assert ended.exit_code == 0, ended.err
    assert_plain(ended)
    assert ended.out.count("\ncluster ") + ended.out.startswith("cluster ") == len(NAMES)
    assert_plain(run("status", "--cluster", f"none{NAMES[-1]}"))


def test_a_query_finds_what_is_named_and_nothing_else(tmp_path):
    Written(tmp_path).write("broker_state", *(broker(number, name) for number, name in enumerate(NAMES)))
    for number, name in enumerate(NAMES):
        query = f"SELECT broker FROM t WHERE cluster = {quoted(name)}"
        assert [row["broker"] for row in DeltaFiles(str(tmp_path)).select("broker_state", query)] == [number]
