"""The commands that read and decide, on a real telemetry cluster, as a person or a program starts them."""

import json
import os
import signal
import subprocess
import sys

import msgspec
import pytest

from logdirwatch.kafka.clients import read_all
from logdirwatch.model import topics
from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import AlertStatus, Decision, Rule
from tests.kafka.telemetry import fresh_topics, send_records
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.report.builders import action, alert


@pytest.fixture(scope="module")
def commands(cluster, watched):
    """What runs a command against a telemetry cluster with one alert in both lanes, one resolved, and an action."""
    fresh_topics(watched)
    heartbeat = alert("h", 7, rule=Rule.HEARTBEAT, status=AlertStatus.RESOLVED)
    alerts = [alert("x", 1), alert("x", 0), alert("y", 3, status=AlertStatus.RESOLVED), heartbeat]
    send_records(watched, topics.ALERTS, *alerts)
    send_records(watched, topics.ACTIONS, action("c1"))

    def command(*arguments, **options):
        line = [sys.executable, "-m", "logdirwatch", "--config", str(cluster.config_path), *arguments]
        return subprocess.run(line, capture_output=True, text=True, timeout=DEADLINE_S, check=False, **options)

    return command


def ended(process):
    """Return the exit code of a process that was asked to end; one that does not is killed."""
    try:
        return process.wait(DEADLINE_S)
    finally:
        process.kill()


def identities(out):
    return [(row["alert_id"], row["revision"]) for row in map(json.loads, out.splitlines())]


def test_alerts_are_read_in_their_latest_revision(commands):
    ended = commands("alerts", "--json", "--all")
    # A list with nobody behind it is not calm: one cluster was heard of long ago, the other never.
    assert ended.returncode == 0
    assert [line.split(": ")[1:3] for line in ended.stderr.splitlines()] == [
        ["local", "NO HEARTBEAT YET"],
        ["prod", "THE HEARTBEAT STOPPED"],
    ]
    assert identities(ended.stdout) == [("x", 1), ("y", 3)]


def test_followed_alerts_are_printed_once_as_they_come_until_ctrl_c(cluster, watched, commands, tmp_path):
    out = tmp_path / "out"
    # A shell starts what runs in its background with SIGINT ignored, and its children inherit that.
    program = ["env", "--default-signal=INT", sys.executable, "-m", "logdirwatch"]
    line = [*program, "--config", str(cluster.config_path), "alerts", "--follow", "--json"]
    with out.open("w") as stdout, subprocess.Popen(line, stdout=stdout, stderr=subprocess.PIPE) as follower:
        try:
            wait_until(lambda: "\n" in out.read_text(), DEADLINE_S, "the open alert to be printed")
            send_records(watched, topics.ALERTS, alert("x", 1), alert("z", 1), alert("x", 2))
            wait_until(lambda: len(out.read_text().splitlines()) >= 3, DEADLINE_S, "the new revisions to be printed")
        finally:
            follower.send_signal(signal.SIGINT)
            code = ended(follower)
        assert code == 0
    printed = identities(out.read_text())
    # Kafka keeps the order of one alert's revisions; another alert may be in another partition.
    assert (printed[0], sorted(printed[1:])) == (("x", 1), [("x", 2), ("z", 1)])


def test_a_decision_is_acknowledged_by_kafka(watched, commands):
    ended = commands("actions", "reject", "c1", "--by", "ada", "--reason", "not tonight")
    assert (ended.returncode, ended.stderr) == (0, "")
    (record,) = (
        msgspec.json.decode(r.value, type=DecisionRecord) for r in read_all(watched.telemetry, topics.DECISIONS)
    )
    assert (record.id, record.decision, record.by, record.reason) == ("c1", Decision.REJECT, "ada", "not tonight")


def test_a_telemetry_cluster_that_is_away_is_one_line(commands):
    away = {**os.environ, "LOGDIRWATCH_TELEMETRY__BOOTSTRAP_SERVERS": "127.0.0.1:1"}
    ended = commands("alerts", env=away)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("logdirwatch: Kafka at 127.0.0.1:1 cannot be reached")
    assert ended.stderr.count("\n") == 1


CUT = """
import sys
from pathlib import Path
from logdirwatch import settings
from logdirwatch.kafka import clients

client = clients.{kind}(settings.load(Path(sys.argv[1])).telemetry)
open_until_the_end = client.__enter__()
{use}
"""


@pytest.mark.parametrize(
    ("kind", "use"), [("admin", "open_until_the_end.list_topics()"), ("consumer", "open_until_the_end.topics()")]
)
def test_a_client_that_nobody_closed_holds_up_no_end(cluster, watched, kind, use):
    """What is cut by the end of its thread cannot close its client; the interpreter must not wait for that."""
    line = [sys.executable, "-c", CUT.format(kind=kind, use=use), str(cluster.config_path)]
    found = subprocess.run(line, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
