"""Decisions through the adapter, on Spark's in-memory stand-in for state and timers."""

import msgspec
from pyspark.sql import Row

from logdirwatch.detect.settings import DetectSettings
from logdirwatch.model.records import AlertRecord, DecisionRecord, StateRecord
from tests.unit.detect.builders import T0, log_dir, maintenance, metrics
from tests.unit.detect.standin import memory, stand_in

MINUTE_MS = 60_000
KEY = ("prod", 7)


class Feed:
    """One broker's rows through the processor, each batch at the time of its records."""

    def __init__(self):
        settings = DetectSettings(broker_offline_grace_ms=0, silence_min_ms=60 * MINUTE_MS)
        self.tester = stand_in(settings, T0 - 1)
        self.offsets = {}

    def send(self, *records, at_ms):
        return [*self.wait_until(at_ms), *self.read(self.tester.test(KEY, [self.row(r, at_ms) for r in records]))]

    def row(self, record, at_ms):
        topic = "logdir.decisions" if isinstance(record, DecisionRecord) else "logdir.metrics"
        self.offsets[topic] = offset = self.offsets.get(topic, -1) + 1
        value = bytearray(msgspec.json.encode(record))
        place = {"topic": topic, "partition": 0, "offset": offset, "timestamp_ms": at_ms}
        return Row(cluster="prod", broker=7, value=value, **place)

    def wait_until(self, at_ms):
        return self.read(self.tester.setProcessingTime(at_ms))

    def read(self, rows):
        kinds = {"logdir.alerts": AlertRecord, "logdir.state": StateRecord}
        return [msgspec.json.decode(row.value, type=kinds[row.topic]) for row in rows]

    @property
    def memory(self):
        return memory(self.tester, KEY, 7)


def fenced(at_ms):
    return metrics(at_ms, status="timeout", is_fenced=True, controller_at_ms=at_ms)


def test_a_maintenance_quiets_the_broker_and_its_timer_makes_it_loud():
    feed = Feed()
    feed.send(metrics(T0, log_dir()), at_ms=T0)
    (planned,) = feed.send(maintenance(T0 + 1, 10 * MINUTE_MS), at_ms=T0 + 1)
    assert (planned.maintenance_until_ms, planned.status) == (T0 + 1 + 10 * MINUTE_MS, "online")
    note, state = feed.send(fenced(T0 + 5_000), at_ms=T0 + 5_000)
    assert (note.severity, state.status, state.maintenance_by) == ("info", "offline", "ada")
    assert feed.wait_until(T0 + 10 * MINUTE_MS) == []
    alert, state = feed.wait_until(T0 + 1_000 + 10 * MINUTE_MS)
    assert (alert.alert_id, alert.revision, alert.severity) == (note.alert_id, 2, "critical")
    assert (state.status, state.maintenance_until_ms) == ("offline", None)


def test_a_replayed_decision_writes_nothing():
    feed = Feed()
    feed.send(metrics(T0, log_dir()), maintenance(T0 + 1, MINUTE_MS), at_ms=T0 + 1)
    assert feed.send(maintenance(T0 + 1, MINUTE_MS), at_ms=T0 + 2) == []


def test_a_decision_about_a_broker_that_nobody_has_seen_is_kept_and_said_to_nobody():
    feed = Feed()
    assert feed.send(maintenance(T0, 10 * MINUTE_MS), at_ms=T0) == []
    assert feed.memory.maintenance.by == "ada"
    (state,) = feed.send(metrics(T0 + 5_000, log_dir()), at_ms=T0 + 5_000)
    assert state.maintenance_until_ms == T0 + 10 * MINUTE_MS


def test_what_is_said_of_alerts_is_nothing_to_a_broker():
    feed = Feed()
    feed.send(metrics(T0, log_dir()), at_ms=T0)
    before = feed.memory
    said = DecisionRecord(
        version=1, id="a", decision="silence", by="me", reason="r", at_ms=T0 + 1, cluster="prod", broker=7
    )
    assert feed.send(said, at_ms=T0 + 1) == []
    assert feed.memory == before
