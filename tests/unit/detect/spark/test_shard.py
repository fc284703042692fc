"""Several brokers under one key, on Spark's in-memory stand-in for state and timers."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row

from logdirwatch.detect.settings import DetectSettings, Thresholds
from logdirwatch.detect.spark.shard import VERSION, Memories, packed, unpacked
from logdirwatch.errors import UserError
from logdirwatch.model.records import StateRecord
from tests.unit.detect.builders import POLL_MS, T0, TOTAL, log_dir, maintenance, metrics
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
    times_ms = [T0 + n * POLL_MS for n in (1, 2, 3)]
    gone = [row(7, at_ms, n, is_registered=False, controller_at_ms=at_ms) for n, at_ms in enumerate(times_ms, 1)]
    assert tester.test(KEY, gone)[-1].value is None
    assert memories(tester, KEY).values == {}
    assert tester.setProcessingTime(T0 + 2 * SILENCE_MS) == []
    assert memories(tester, KEY) == Memories()


def at_rest(number, broker=7, used=0.5):
    """The answer of a broker whose use hardly changes, with all that Kafka reports."""
    at_ms = T0 + number * POLL_MS
    sample = log_dir(used=used + number / 10_000, replica_bytes=round(TOTAL * used), replica_count=9, incoming_bytes=0)
    return row(broker, at_ms, number, log_dirs=[sample])


def lived(tester, numbers):
    written = []
    for number in numbers:
        if number:
            tester.setProcessingTime(T0 + number * POLL_MS)
        written += tester.test(KEY, [at_rest(number)])
    return written


def views(rows):
    found = [msgspec.json.decode(row.value, type=StateRecord) for row in rows if row.topic == "logdir.state"]
    return [state.log_dirs[0].used_ratio for state in found]


def test_a_broker_at_rest_keeps_its_memory_and_what_is_written_of_it_has_the_newest_numbers(tester):
    lived(tester, range(3))
    stored = memories(tester, KEY).values[7]
    assert views(lived(tester, range(3, 12))) == pytest.approx([0.5003, 0.5009])
    assert memories(tester, KEY).values[7] == stored
    assert [rows.brokers for rows in memories(tester, KEY).at_rest] == [[7]]


def test_a_broker_at_rest_that_falls_silent_is_unknown_with_its_last_numbers(tester):
    lived(tester, range(9))
    written = tester.setProcessingTime(T0 + 8 * POLL_MS + SILENCE_MS)
    assert states(written) == {(7, "unknown")}
    assert views(written) == pytest.approx([0.5008])
    assert memories(tester, KEY).at_rest == []


def test_the_timer_of_a_broker_at_rest_is_set_again(tester):
    lived(tester, range(8))
    assert due(tester) == {T0 + 5 * POLL_MS + SILENCE_MS: [7]}


def test_what_leaves_rest_is_judged_by_all_that_was_before(tester):
    lived(tester, range(6))
    written = tester.test(KEY, [at_rest(6, used=0.97)]) + tester.test(KEY, [at_rest(7, used=0.97)])
    assert [row.topic for row in written].count("logdir.alerts") == 1
    assert memories(tester, KEY).at_rest == []


def test_other_settings_judge_those_at_rest_again(tester):
    lived(tester, range(6))
    stored = memories(tester, KEY)
    strict = stand_in(DetectSettings(thresholds=Thresholds(filling_ratio=0.4), debounce_samples=1), T0)
    strict.updateValueState("memories", KEY, packed(stored))
    assert [row.topic for row in strict.test(KEY, [at_rest(6)])].count("logdir.alerts") == 1


def test_damaged_numbers_are_said_to_be(tester):
    lived(tester, range(3))
    stored = memories(tester, KEY)
    stored.at_rest[0].of_broker = stored.at_rest[0].of_broker[:-8]
    tester.updateValueState("memories", KEY, packed(stored))
    with pytest.raises(UserError, match=r"^detect: the checkpoint's state cannot be read"):
        tester.test(KEY, [at_rest(3)])


def test_memories_of_the_form_before_are_read(tester):
    lived(tester, range(3))
    stored = memories(tester, KEY)
    _, length_bytes, body = packed(Memories(stored.values, stored.due))
    tester.updateValueState("memories", KEY, (1, length_bytes, body))
    assert views(lived(tester, range(3, 7))) == pytest.approx([0.5003])


BROKER = st.integers(-2, 2**31 - 1)


@given(
    st.dictionaries(BROKER, st.tuples(st.integers(0, 9), st.text())),
    st.dictionaries(st.integers(0, 2**60), st.lists(BROKER)),
)
def test_what_was_stored_is_read(values, due):
    assert unpacked(*packed(Memories(values, due))) == Memories(values, due)


def test_memories_that_resemble_each_other_take_little():
    body = '{"cluster":"prod","broker":7,"status":"online"}' * 300
    _, length_bytes, stored = packed(Memories(dict.fromkeys(range(60), (1, body))))
    assert length_bytes > 60 * len(body) > 100 * len(stored)


def test_another_release_s_form_is_refused_in_one_line():
    _, length_bytes, body = packed(Memories())
    with pytest.raises(UserError, match=r"^detect: the checkpoint holds state of version 9, this release"):
        unpacked(9, length_bytes, body)


@pytest.mark.parametrize(
    ("change_bytes", "body"),
    [(0, b"damaged"), (1, packed(Memories())[2]), (0, packed(Memories({7: (1, "x" * 100)}))[2][:-4]), (0, b"")],
)
def test_what_is_damaged_is_said_to_be(change_bytes, body):
    with pytest.raises(UserError, match=r"^detect: the checkpoint's state cannot be read"):
        unpacked(VERSION, packed(Memories())[1] + change_bytes, body)
