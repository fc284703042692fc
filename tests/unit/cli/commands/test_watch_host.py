"""``logdirwatch watch-host`` as an operator meets it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.parse.broker_log.logs import NOISE, START, failure

# Nobody listens on port 1: the telemetry cluster is away.
AWAY = "127.0.0.1:1"


@pytest.fixture
def folder(tmp_path):
    """A broker's host with two directories, one of them failed as its log says."""
    for name in ("d0", "d1"):
        (tmp_path / name).mkdir()
    (tmp_path / "server.properties").write_text(f"node.id=7\nlog.dirs={tmp_path}/d0,{tmp_path}/d1\n")
    (tmp_path / "server.log").write_text(
        START + failure(f"Error while rolling log segment for t-0 in dir {tmp_path}/d1") + NOISE
    )
    return tmp_path


@pytest.fixture
def config(folder):
    def write(**host):
        section = {
            "cluster": "prod",
            "broker": 7,
            "name": "host-b7",
            "properties_file": f"{folder}/server.properties",
            "server_log": f"{folder}/server.log",
            "interval_ms": 100,
            **host,
        }
        path = folder / "mine.yaml"
        path.write_text(yaml.safe_dump({"telemetry": {"bootstrap_servers": AWAY}, "host": section}))
        return str(path)

    return write


def test_one_look_prints_the_directories_and_what_the_log_tells(run, folder, config, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    ended = run("--config", config(), "watch-host", "--once")
    assert ended.exit_code == 0
    lines = ended.out.splitlines()
    (healthy,) = (line for line in lines if line.startswith(f"{folder}/d0 "))
    assert "passed in" in healthy
    assert "LogDirFailure (full)" in ended.out
    assert "No space left on device" in " ".join(ended.out.split())
    assert not (folder / "home").exists()


def test_one_look_for_programs_is_one_object(run, folder, config):
    ended = run("--config", config(), "watch-host", "--once", "--json")
    seen = json.loads(ended.out)
    assert [log_dir["path"] for log_dir in seen["record"]["log_dirs"]] == [f"{folder}/d0", f"{folder}/d1"]
    assert (seen["record"]["type"], seen["record"]["broker"], seen["record"]["collector"]) == ("host", 7, "host-b7")
    assert [(event["event"], event["cause"]) for event in seen["events"]] == [("LogDirFailure", "full")]


def test_a_quiet_log_is_said_and_a_missing_directory_stands_out(run, folder, config):
    (folder / "server.log").write_text(START)
    (folder / "d1").rmdir()
    ended = run("--config", config(), "watch-host", "--once")
    assert "No failure in the broker's log since its last start." in ended.out
    assert "does not exist on this host" in " ".join(ended.out.split())
    assert not (folder / "d1").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            START + "no end\n" * 1_250,
            [
                "1,200 lines of the broker's log not understood.",
                "No failure in the part of the broker's log that was understood",
            ],
        ),
        ("<failure/>\n", ["1 line of the broker's log not understood.", "Nothing of the broker's log could be read"]),
        ("", ["Nothing of the broker's log could be read"]),
    ],
)
def test_silence_is_said_only_of_what_was_understood(run, folder, config, text, said):
    (folder / "server.log").write_text(text)
    ended = run("--config", config(), "watch-host", "--once")
    assert all(sentence in ended.out for sentence in said)
    assert "No failure in the broker's log" not in ended.out


def test_the_environment_completes_the_section(run, folder, monkeypatch):
    monkeypatch.setenv("LOGDIRWATCH_HOST__CLUSTER", "prod")
    monkeypatch.setenv("LOGDIRWATCH_HOST__BROKER", "7")
    monkeypatch.setenv("LOGDIRWATCH_HOST__LOG_DIRS", json.dumps([f"{folder}/d0"]))
    monkeypatch.setenv("LOGDIRWATCH_HOST__PROBE", "false")
    ended = run("watch-host", "--once")
    assert ended.exit_code == 0
    assert "not probed" in ended.out
    assert "The broker's log is not read" in ended.out


@pytest.mark.parametrize(
    ("host", "message"),
    [
        ({"broker": 8}, "host.broker is 8"),
        ({"properties_file": "nowhere.properties"}, "nowhere.properties: No such file"),
        ({"log_dirs": ["/d"]}, "name either properties_file or log_dirs"),
        ({"properties_file": None}, "name either properties_file or log_dirs"),
        ({"properties_file": None, "log_dirs": ["d0"]}, "d0 is relative"),
        ({"intervall_ms": 1}, "host.intervall_ms"),
    ],
)
def test_a_mistake_is_one_line(run, config, host, message):
    ended = run("--config", config(**host), "watch-host", "--once")
    assert ended.exit_code == 2
    assert message in ended.err
    assert ended.err.count("\n") == 1


def test_without_its_section_it_says_what_it_needs(run):
    ended = run("watch-host")
    assert ended.exit_code == 2
    assert "no section host" in ended.err


def test_a_reserve_file_that_is_configured_and_gone_is_said(run, folder, config):
    path = Path(config())
    rule = {"broker": 7, "log_dir": "*/d0", "reserve_file": ".spare", "reserve_bytes": 1 << 20}
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), "plan": {"log_dirs": [rule]}}))
    ended = run("--config", str(path), "watch-host", "--once")
    assert "NO RESERVE FILE" in ended.out
    told = json.loads(run("--config", str(path), "watch-host", "--once", "--json").out)
    seen = {log_dir["path"]: log_dir.get("is_reserve_there") for log_dir in told["record"]["log_dirs"]}
    assert seen.pop(str(folder / "d0")) is False
    assert set(seen.values()) == {None}


def test_json_without_once_is_wrong_use(run, config):
    assert run("--config", config(), "watch-host", "--json").exit_code == 2


def test_the_section_is_checked_with_the_rest(run, config):
    ended = run("--config", config(), "config", "check")
    assert ended.exit_code == 0
    assert yaml.safe_load(ended.out)["host"]["broker"] == 7
    assert "no cluster to watch" not in ended.err
    assert run("--config", config(broker=-1), "config", "check").exit_code == 2


def test_it_runs_while_the_telemetry_cluster_is_away_and_ends_at_a_signal(folder, config):
    command = [sys.executable, "-m", "logdirwatch", "--config", config(), "watch-host"]
    environment = {**os.environ, "LOGDIRWATCH_HOME": str(folder / "home")}
    errors = folder / "stderr"
    with errors.open("w") as stderr:
        started = subprocess.Popen(command, cwd=folder, env=environment, stderr=stderr)
    try:
        wait_until(lambda: "publish.target.failed" in errors.read_text(), DEADLINE_S, "the line that it is away")
        assert started.poll() is None
        started.send_signal(signal.SIGTERM)
        assert started.wait(DEADLINE_S) == 0
    finally:
        started.kill()
        started.wait()
    text = errors.read_text()
    assert "Traceback" not in text
    assert "host.stopped" in text
    state = json.loads((folder / "home" / "host" / "prod-7.json").read_text())
    assert state["positions"][f"{folder}/server.log"]["offset"] == (folder / "server.log").stat().st_size
    assert list((folder / "d0").iterdir()) == []
