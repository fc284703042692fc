"""Heartbeats through the adapter, on Spark's in-memory stand-in for state and timers."""

import msgspec
import pytest
from pyspark.sql import Row

from logdirwatch.config.section import DAY_MS
from logdirwatch.detect.pipeline import heartbeats
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.spark.judge import HEARTBEAT_BROKER
from logdirwatch.jobs.queries.start_state import memories_from_alerts
from logdirwatch.model.records import AlertRecord, HeartbeatRecord
from logdirwatch.report.folding import Message, latest_alerts
from tests.unit.detect.builders import T0
from tests.unit.detect.standin import memories, stand_in

KEY = ("prod", 31)
STEP_MS = 10_000
HOUR_MS = 3_600_000


class Feed:
    """A cluster's heartbeats, each batch folded as readers of the alert topic do."""

    def __init__(self):
        self.tester = stand_in(DetectSettings(), T0)
        self.fold = latest_alerts()
        self.offset = -1

    def send(self, *times_ms, kafka_ms=None, collector="c1", **fields):
        """Return what a batch with heartbeats of these times says that is news."""
        rows = [self.row(at_ms, at_ms if kafka_ms is None else kafka_ms, collector, fields) for at_ms in times_ms]
        messages = [Message(row.key.encode(), row.value.encode()) for row in self.tester.test(KEY, rows)]
        return list(self.fold.take_all(messages))

    def lose_checkpoint(self, *alerts):
        """Begin again with what the alert topic has."""
        fields = ("cluster", "broker", "version", "body")
        found = [dict(zip(fields, row, strict=True)) for row in memories_from_alerts(alerts)]
        self.tester = stand_in(DetectSettings(), T0, [(KEY, {"memories": msgspec.json.encode(found)})])

    def row(self, at_ms, kafka_ms, collector, fields):
        self.offset += 1
        record = HeartbeatRecord(version=1, cluster="prod", timestamp_ms=at_ms, collector=collector, **fields)
        place = {"topic": "logdir.metrics", "partition": 0, "offset": self.offset, "timestamp_ms": kafka_ms}
        return Row(cluster="prod", broker=HEARTBEAT_BROKER, value=bytearray(msgspec.json.encode(record)), **place)

    @property
    def memory(self):
        return heartbeats.CODEC.decode(*memories(self.tester, KEY).values[HEARTBEAT_BROKER])


def told(alerts: list[AlertRecord]):
    return [(alert.revision, alert.at_ms, alert.opened_at_ms) for alert in alerts]


def test_the_newest_heartbeat_of_a_batch_is_answered_under_its_own_time():
    feed = Feed()
    assert told(feed.send(T0 + STEP_MS, T0)) == [((T0 + STEP_MS) // 1000, T0 + STEP_MS, T0 + STEP_MS)]
    (other,) = feed.send(T0, collector="c2")
    assert (other.evidence["collector"], other.at_ms) == ("c2", T0)


@pytest.mark.parametrize("overdue_ms", [0, 60_000, None])
def test_how_long_samples_are_overdue_is_passed_on(overdue_ms):
    (beat,) = Feed().send(T0, samples_overdue_ms=overdue_ms)
    assert beat.evidence.samples_overdue_ms == overdue_ms


@pytest.mark.parametrize("is_lost", [False, True], ids=["", "and the checkpoint is lost"])
@pytest.mark.parametrize("ahead_ms", [1, STEP_MS, HOUR_MS])
def test_heartbeats_go_on_when_a_clock_is_set_back(ahead_ms, is_lost):
    feed = Feed()
    (before,) = feed.send(T0 + ahead_ms)
    if is_lost:
        feed.lose_checkpoint(before)
    for at_ms in range(T0, T0 + 5 * STEP_MS, STEP_MS):
        (alert,) = feed.send(at_ms)
        assert (alert.revision, alert.at_ms) > (before.revision, before.at_ms)
        assert alert.at_ms > before.at_ms
        assert alert.opened_at_ms == at_ms
        before = alert
    caught_up_ms = T0 + ahead_ms + HOUR_MS
    assert told(feed.send(caught_up_ms)) == [(caught_up_ms // 1000, caught_up_ms, caught_up_ms)]


def test_heartbeats_of_one_second_are_revisions_of_their_own():
    feed = Feed()
    (first,), (second,) = feed.send(T0), feed.send(T0 + 100)
    assert (second.revision, second.at_ms) == (first.revision + 1, T0 + 100)


def test_a_clock_far_ahead_of_kafkas_is_replaced_by_it():
    assert told(Feed().send(T0 + 60_001, kafka_ms=T0)) == [(T0 // 1000, T0, T0)]


def test_a_collector_that_is_gone_for_a_day_is_forgotten():
    feed = Feed()
    feed.send(T0, collector="gone")
    feed.send(T0 + DAY_MS)
    assert set(feed.memory.collectors) == {"gone", "c1"}
    feed.send(T0 + DAY_MS + 1)
    assert set(feed.memory.collectors) == {"c1"}


def test_a_collector_whose_clock_is_days_behind_anothers_is_heard():
    feed = Feed()
    feed.send(T0 + 3 * DAY_MS, collector="ahead")
    assert told([*feed.send(T0), *feed.send(T0 + STEP_MS)]) == [
        (T0 // 1000, T0, T0),
        ((T0 + STEP_MS) // 1000, T0 + STEP_MS, T0 + STEP_MS),
    ]
