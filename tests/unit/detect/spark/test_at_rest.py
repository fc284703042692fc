"""A shard whose brokers at rest are judged in columns, beside one that judges each broker alone."""

from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row

from logdirwatch.detect.columns.table import Table
from logdirwatch.detect.observations import Sample
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import encode
from logdirwatch.jobs.processors import ShardProcessor
from logdirwatch.model.identity import Origin
from tests.unit.detect.builders import POLL_MS, T0, TOTAL, log_dir, metrics
from tests.unit.detect.test_rest import histories, shown

KEY = ("prod", 0)
BROKERS = (7, 6)
SETTINGS = (
    DetectSettings(),
    DetectSettings(state_refresh_ms=0),
    DetectSettings(debounce_samples=3, state_refresh_ms=1),
)


class Value:
    """A value of Spark's state."""

    def __init__(self):
        self.value = None

    def get(self):
        return self.value

    def update(self, value):
        self.value = value


class Handle:
    """Spark's handle of one shard: its value, its timers, and the time."""

    def __init__(self):
        self.value, self.timers, self.now_ms, self.expires_ms = Value(), set(), 0, 0

    def getValueState(self, *_):  # noqa: N802
        return self.value

    def registerTimer(self, at_ms):  # noqa: N802
        self.timers.add(at_ms)

    def getCurrentProcessingTimeInMs(self):  # noqa: N802
        return self.now_ms

    def getExpiryTimeInMs(self):  # noqa: N802
        return self.expires_ms


class Shard:
    """A shard with two brokers that get the same records."""

    def __init__(self, judged_by):
        self.handle, self.settings = Handle(), judged_by
        self._restart()

    def _restart(self):
        self.processor = ShardProcessor(self.settings, "home")
        self.processor.init(self.handle)

    def step(self, seen):
        """Take one record of each broker and let the timers fire; return all that is written and remembered."""
        self.handle.now_ms = max(self.handle.now_ms, seen.origin.kafka_timestamp_ms)
        rows = [_row(seen, broker) for broker in BROKERS]
        written = list(self.processor.handleInputRows(KEY, iter(rows), self.handle))
        for at_ms in sorted(at_ms for at_ms in self.handle.timers if at_ms <= self.handle.now_ms):
            self.handle.timers.remove(at_ms)
            self.handle.expires_ms = at_ms
            written += self.processor.handleExpiredTimer(KEY, self.handle, self.handle)
        # Whoever works on the shard next has only what is stored.
        self._restart()
        known = [self.processor._shard.load(broker) for broker in BROKERS]
        self._restart()
        return written, sorted(self.handle.timers), [memory and encode(memory) for memory in known]


def _row(seen, broker):
    record = msgspec.structs.replace(seen.record, broker=broker)
    topic, partition, offset, at_ms = seen.origin
    value = bytes(msgspec.json.encode(record))
    return Row(
        cluster="prod", broker=broker, topic=topic, partition=partition, offset=offset, timestamp_ms=at_ms, value=value
    )


def compared(history, judged_by):
    """Play a history on both shards; return how many brokers were judged in columns, step by step."""
    in_columns, alone, at_rest = Shard(judged_by), Shard(judged_by), 0
    for seen in history:
        written = in_columns.step(seen)
        with patch.object(Table, "keep", lambda *_: None):
            assert written == alone.step(seen)
        at_rest += len(in_columns.processor._shard._table._fingerprints)
    return at_rest


@given(histories, st.sampled_from(SETTINGS))
def test_whatever_happens_both_write_and_remember_the_same(history, judged_by):
    compared(list(shown(history)), judged_by)


def calm(number, **fields):
    sample = log_dir(replica_bytes=TOTAL // 2, replica_count=9, incoming_bytes=0, future_bytes=0)
    at_ms = T0 + number * POLL_MS
    record = metrics(at_ms, msgspec.structs.replace(sample, **fields))
    return Sample(record, Origin("logdir.metrics", 0, number, at_ms))


@pytest.mark.parametrize("usable_bytes", [1, 2**52, 2**60 + 1357, 2**63 - 1])
def test_numbers_that_are_too_large_for_columns_are_judged_alone(usable_bytes):
    large = [calm(number, usable_bytes=usable_bytes) for number in range(6, 9)]
    history = [*map(calm, range(6)), *large, *map(calm, range(9, 15))]
    assert compared(history, DetectSettings()) > 0


def test_moves_that_brought_more_than_fits_are_no_reason_to_stop():
    came = [
        calm(number, total_bytes=1000, usable_bytes=900 - 800 * (number % 2), future_bytes=800 * (number % 2))
        for number in range(6)
    ]
    later = [calm(number, total_bytes=1000, usable_bytes=900, replica_bytes=100) for number in range(6, 12)]
    compared([*came, *later, calm(12, total_bytes=1000, usable_bytes=2**63 - 1)], DetectSettings())


def test_a_record_that_says_nothing_new_does_not_count_as_the_last_one_noted():
    elsewhere = calm(3)
    record = msgspec.structs.replace(elsewhere.record, host="b2", timestamp_ms=elsewhere.record.timestamp_ms - 1)
    late = [Sample(record, Origin("logdir.metrics", 0, 4, T0 + 3 * POLL_MS))]
    known = [Sample(msgspec.structs.replace(seen.record, host="b2"), seen.origin) for seen in map(calm, range(5, 8))]
    compared([*map(calm, range(4)), *late, *known], DetectSettings())
