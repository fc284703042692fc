"""The adapter on Spark's in-memory stand-in for state and timers: rows in, rows out."""

import msgspec
import pytest
from msgspec.structs import replace
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from logdirwatch.detect.alerts.lifecycle import RENEWED_AFTER_MS
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.errors import UserError
from logdirwatch.jobs.processors import ClusterProcessor
from logdirwatch.model.records import AlertRecord, PartitionHealth
from logdirwatch.model.vocabulary import ExecutionState
from tests.unit.autopilot.world import execution, move
from tests.unit.fleet.builders import IMPATIENT, SILENCE, T0, log_dir, state


class Feed:
    """One cluster's rows through the processor."""

    def __init__(self):
        self.tester = TwsTester(ClusterProcessor(IMPATIENT, DetectSettings()), timeMode="ProcessingTime")
        self.tester.setProcessingTime(T0)
        self.offset = -1

    def send(self, *values, cluster="prod", key="prod/1"):
        return self.read(self.tester.test(cluster, [self.row(value, key) for value in values]))

    def row(self, value, key):
        self.offset += 1
        body = value if value is None or isinstance(value, bytes) else msgspec.json.encode(value)
        raw = None if body is None else bytearray(body)
        place = {"topic": "logdir.state", "partition": 0, "offset": self.offset, "timestamp_ms": T0}
        return Row(cluster="prod", key=bytearray(key.encode()), value=raw, **place)

    def wait_until(self, at_ms):
        return self.read(self.tester.setProcessingTime(at_ms))

    def read(self, rows):
        assert {row.topic for row in rows} <= {"logdir.alerts"}
        alerts = [msgspec.json.decode(row.value, type=AlertRecord) for row in rows]
        assert [row.key for row in rows] == [alert.alert_id for alert in alerts]
        return alerts

    @property
    def timers(self):
        self.tester.handle.setGroupingKey("prod")
        return list(self.tester.handle.listTimers())


def silent(broker):
    return state(broker, log_dir(status="unknown"), sequence=2, status="unknown", reason=SILENCE)


def test_states_become_alerts_and_are_remembered_over_batches():
    feed = Feed()
    assert feed.send(state(1, log_dir()), state(2, log_dir())) == []
    (alert,) = feed.send(state(2, log_dir(), sequence=2, health=PartitionHealth(leaderless=1)))
    assert (alert.rule, alert.cluster, alert.broker, alert.revision) == ("partitions_at_risk", "prod", None, 1)
    (resolved,) = feed.send(state(2, log_dir(), sequence=3))
    assert (resolved.alert_id, resolved.revision, resolved.reason) == (alert.alert_id, 2, "recovered")


def test_silence_is_decided_by_a_timer_when_no_record_comes():
    feed = Feed()
    feed.send(state(1, log_dir()), state(2, log_dir()))
    assert feed.send(silent(1), silent(2)) == []
    assert feed.timers == [T0 + 20_000]
    assert feed.wait_until(T0 + 19_999) == []
    (alert,) = feed.wait_until(T0 + 25_000)
    assert (alert.rule, alert.broker, alert.at_ms) == ("broker_unknown", None, T0 + 25_000)
    assert feed.timers == [alert.at_ms + RENEWED_AFTER_MS]
    assert feed.wait_until(T0 + 10**6) == []
    assert [a.revision for a in feed.wait_until(alert.at_ms + RENEWED_AFTER_MS)] == [2]


def test_a_timer_that_is_no_longer_needed_serves_the_next_silence():
    feed = Feed()
    feed.send(state(1, log_dir()), state(2, log_dir()))
    feed.send(silent(1))
    feed.wait_until(T0 + 5_000)
    feed.send(state(1, log_dir(), sequence=3), silent(2))
    assert feed.timers == [T0 + 20_000]
    assert feed.wait_until(T0 + 20_000) == []
    assert feed.timers == [T0 + 25_000]
    assert len(feed.wait_until(T0 + 25_000)) == 1


def test_there_is_never_more_than_one_timer():
    feed = Feed()
    feed.send(state(1, log_dir()), state(2, log_dir()), state(3, log_dir()))
    feed.send(silent(1))
    feed.wait_until(T0 + 5_000)
    feed.send(silent(2))
    assert feed.timers == [T0 + 20_000]
    (first,) = feed.wait_until(T0 + 21_000)
    assert (first.broker, feed.timers) == (1, [T0 + 25_000])
    (second,) = feed.wait_until(T0 + 26_000)
    assert (second.broker, feed.timers) == (2, [])


def test_the_timer_of_a_maintenance_gives_way_to_an_earlier_one():
    feed = Feed()
    feed.send(state(1, log_dir()), state(2, log_dir()), state(3, log_dir()))
    plan = {"status": "unknown", "reason": SILENCE, "maintenance_until_ms": T0 + 600_000}
    feed.send(state(1, log_dir(status="unknown"), sequence=2, **plan))
    (note,) = feed.wait_until(T0 + 20_000)
    assert (note.severity, feed.timers) == ("info", [T0 + 600_000])
    feed.send(silent(2))
    assert feed.timers == [T0 + 40_000]
    (alert,) = feed.wait_until(T0 + 40_000)
    assert (alert.broker, alert.severity, feed.timers) == (2, "critical", [T0 + 600_000])


def test_a_tombstone_takes_a_broker_away():
    feed = Feed()
    feed.send(state(1, log_dir(), health=PartitionHealth(leaderless=1)))
    (resolved,) = feed.send(None, key="prod/1")
    assert resolved.reason == "removed"


@pytest.mark.parametrize(
    "value",
    [b"garbage", b"\xff", b"{}", b'{"version":2,"cluster":"prod","broker":1}', msgspec.json.encode(state(1)) + b"x"],
)
def test_what_the_parser_refuses_speaks_for_nobody_and_leaves_no_state(value):
    feed = Feed()
    assert feed.send(value) == []
    assert feed.tester.peekValueState("cluster", "prod") is None


def test_a_record_under_the_key_of_another_cluster_is_not_believed():
    feed = Feed()
    assert feed.send(state(1, health=PartitionHealth(leaderless=1)), cluster="other", key="other/1") == []


def test_state_of_another_release_is_refused():
    feed = Feed()
    feed.tester.updateValueState("cluster", "prod", (99, "{}"))
    with pytest.raises(UserError, match="fleet: the checkpoint holds state of version 99"):
        feed.send(state(1))


def test_executions_are_judged_beside_states_and_for_their_own_cluster():
    feed = Feed()
    place = {"topic": "logdir.executions", "partition": 0, "timestamp_ms": T0, "key": bytearray(b"e")}
    stuck = execution(move(), state=ExecutionState.STUCK, reason="why", cluster="prod")
    records = [stuck, replace(stuck, cluster="other"), {"cluster": "prod"}]
    rows = [
        Row(cluster="prod", value=bytearray(msgspec.json.encode(record)), offset=offset, **place)
        for offset, record in enumerate(records)
    ]
    (alert,) = feed.read(feed.tester.test("prod", [feed.row(state(1, log_dir()), "prod/1"), *rows]))
    assert (alert.rule, alert.cluster, alert.evidence.action_id) == ("execution_stopped", "prod", stuck.action_id)
    assert feed.send(state(1, log_dir(), sequence=2)) == []
