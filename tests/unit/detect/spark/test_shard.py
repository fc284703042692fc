"""Several brokers under one key, on Spark's in-memory stand-in for state and timers."""

import msgspec
import pytest
from pyspark.sql import Row

from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.spark.memories import Memories
from logdirwatch.model.records import StateRecord
from tests.unit.detect.builders import T0, log_dir, maintenance, metrics
from tests.unit.detect.standin import memories, stand_in

KEY = ("prod", 7)
SILENCE_MS = 30_000


@pytest.fixture
def tester():
    settings = DetectSettings(silence_min_ms=SILENCE_MS)
    return stand_in(settings, T0)


def row(broker, at_ms, offset, **fields):
    record = msgspec.structs.replace(metrics(at_ms, log_dir()), broker=broker, **fields)
    place = {"topic": "logdir.metrics", "partition": 0, "offset": offset, "timestamp_ms": at_ms}
    return Row(cluster="prod", broker=broker, value=bytearray(msgspec.json.encode(record)), **place)


def states(rows):
    found = [msgspec.json.decode(row.value, type=StateRecord) for row in rows if row.topic == "logdir.state"]
    return {(state.broker, str(state.status)) for state in found}


def due(tester):
    return memories(tester, KEY).due


def test_each_broker_of_a_shard_keeps_a_memory_of_its_own(tester):
    written = tester.test(KEY, [row(7, T0, 0), row(39, T0, 1), row(7, T0 + 1, 2)])
    assert states(written) == {(7, "online"), (39, "online")}
    assert memories(tester, KEY).values.keys() == {7, 39}


def test_brokers_that_wait_for_the_same_moment_share_a_timer_and_each_is_looked_at(tester):
    tester.test(KEY, [row(7, T0, 0), row(39, T0, 1)])
    assert due(tester) == {T0 + SILENCE_MS: [7, 39]}
    assert states(tester.setProcessingTime(T0 + SILENCE_MS)) == {(7, "unknown"), (39, "unknown")}
    assert due(tester) == {}


def test_a_timer_fires_for_none_that_was_heard_of_since_and_is_set_again(tester):
    tester.test(KEY, [row(7, T0, 0), row(39, T0, 1)])
    tester.setProcessingTime(T0 + 20_000)
    tester.test(KEY, [row(39, T0 + 20_000, 2)])
    assert states(tester.setProcessingTime(T0 + SILENCE_MS)) == {(7, "unknown")}
    assert states(tester.setProcessingTime(T0 + 20_000 + SILENCE_MS)) == {(39, "unknown")}
    assert tester.setProcessingTime(T0 + 10 * SILENCE_MS) == []


def test_an_earlier_deadline_takes_the_place_of_a_later_one(tester):
    tester.test(KEY, [row(7, T0, 0)])
    place = {"topic": "logdir.decisions", "partition": 0, "offset": 0, "timestamp_ms": T0}
    planned = bytearray(msgspec.json.encode(maintenance(T0, 10_000)))
    tester.test(KEY, [Row(cluster="prod", broker=7, value=planned, **place)])
    assert due(tester).keys() == {T0 + 10_000, T0 + SILENCE_MS}
    assert states(tester.setProcessingTime(T0 + 10_000)) == {(7, "online")}
    tester.test(KEY, [row(7, T0 + 20_000, 1)])
    # The later one still fires, for nobody: the end of the maintenance set another.
    assert tester.setProcessingTime(T0 + SILENCE_MS) == []
    assert due(tester).keys() == {T0 + 10_000 + SILENCE_MS}


def test_a_broker_that_was_unregistered_leaves_nothing(tester):
    tester.test(KEY, [row(7, T0, 0)])
    gone = [row(7, T0 + n, n, is_registered=False, controller_at_ms=T0 + n) for n in (1, 2, 3)]
    assert tester.test(KEY, gone)[-1].value is None
    assert memories(tester, KEY).values == {}
    assert tester.setProcessingTime(T0 + 2 * SILENCE_MS) == []
    assert memories(tester, KEY) == Memories()
