"""Fuzzing the parser of every topic: nothing raises, and what is accepted is what it says."""

import tracemalloc
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from logdirwatch.model import topics
from logdirwatch.model.actions import ACTION_PARTS
from logdirwatch.model.records import NotificationRecord
from logdirwatch.parse.log_dirs_tool import Listing
from logdirwatch.parse.records import LONGEST_REASON, RECORDS, Accepted, Deleted, Rejected, parse
from logdirwatch.store.writing.intake import Belief, Position, thin_rows
from tests.support.generated import documents, json_values, names, spoilt
from tests.support.properties import examples

KAFKA_MS = 1_700_000_000_123
MIB = 1 << 20
KINDS = [(topic, kind) for topic in topics.STREAMED for kind in RECORDS[topic]]
IN_PARTS = (f"`$.{part}" for part in (*ACTION_PARTS, "expected"))
BEYOND_THE_STRUCT = ("listed twice", "must name its", "a pattern that names nothing", *IN_PARTS)
each_kind = pytest.mark.parametrize(("topic", "kind"), KINDS, ids=[kind.__name__ for _, kind in KINDS])


def checked(topic: str, value: bytes | None, key: bytes | None = None, kafka_ms: int = KAFKA_MS) -> Any:
    """Parse a record and hold the answer to what every answer is to be."""
    result = parse(topic, key, value, kafka_ms, "home")
    if isinstance(result, Rejected):
        assert 0 < len(result.reason) <= LONGEST_REASON
        assert result.reason.isprintable()
    elif isinstance(result, Accepted):
        assert_same_again(topic, result.record, key, kafka_ms)
    else:
        assert isinstance(result, Deleted)
    # A scan whose clock is far ahead of Kafka's is refused there too.
    rows = thin_rows(Position(topic, 0, 0, kafka_ms, key, value), Belief("home", 2**63))
    assert [row.kind for row in rows].count("rejected") == isinstance(result, Rejected)
    return result


def assert_same_again(topic: str, record: Struct | Listing, key: bytes | None, kafka_ms: int) -> None:
    for one in record.replicas if isinstance(record, Listing) else (record,):
        again = parse(topic, key, msgspec.json.encode(one), kafka_ms, "another")
        assert again == Accepted(one)


@each_kind
@given(data=st.data())
@examples(10)
def test_what_the_schema_allows_is_accepted_and_comes_back_the_same(
    topic: str, kind: type[Struct], data: st.DataObject
) -> None:
    record = data.draw(documents(kind))
    result = checked(topic, msgspec.json.encode(record), data.draw(st.none() | names.map(str.encode)))
    if isinstance(result, Rejected):  # what no schema says
        assert any(reason in result.reason for reason in BEYOND_THE_STRUCT)
    else:
        assert isinstance(result.record, kind)


@each_kind
@given(data=st.data())
@examples(12)
def test_whatever_goes_wrong_with_a_record_it_is_accepted_or_refused_with_a_reason(
    topic: str, kind: type[Struct], data: st.DataObject
) -> None:
    kafka_ms = data.draw(st.sampled_from([KAFKA_MS, -1, 0, 2**53 + 1]))
    checked(topic, data.draw(spoilt(kind)), data.draw(st.none() | st.binary(max_size=8)), kafka_ms)


@pytest.mark.parametrize("kafka_ms", [-1, -(2**62), 2**53 + 1])
@pytest.mark.parametrize(
    ("topic", "value"),
    [
        (topics.EVENTS, b'{"version":1,"broker":1,"event":1}'),
        (
            topics.INVENTORY,
            b'{"version":1,"brokers":[{"broker":1,"logDirs":[{"logDir":"/d","error":null,"partitions":[]}]}]}',
        ),
    ],
)
def test_a_record_without_a_time_needs_one_of_kafka(topic: str, value: bytes, kafka_ms: int) -> None:
    assert isinstance(checked(topic, value), Accepted)
    assert checked(topic, value, kafka_ms=kafka_ms).reason.startswith("neither the record nor Kafka")


@pytest.mark.parametrize("topic", topics.STREAMED)
@given(value=st.none() | st.binary() | json_values.map(msgspec.json.encode), key=st.none() | st.binary(max_size=8))
def test_neither_bytes_nor_json_make_the_intake_raise(topic: str, value: bytes | None, key: bytes | None) -> None:
    checked(topic, value, key)


@given(st.sampled_from(sorted(RECORDS)), st.data())
def test_a_record_of_another_topic_is_refused_or_the_same(topic: str, data: st.DataObject) -> None:
    kinds = [kind for other, kinds in RECORDS.items() if other != topic for kind in kinds]
    value = msgspec.json.encode(data.draw(documents(data.draw(st.sampled_from(kinds)))))
    if topic in topics.STREAMED:
        checked(topic, value)


@given(documents(NotificationRecord))
def test_what_was_told_is_read_as_it_was_written(record: dict[str, Any]) -> None:
    told = msgspec.json.decode(msgspec.json.encode(record), type=NotificationRecord)
    assert msgspec.json.decode(msgspec.json.encode(told), type=NotificationRecord) == told


@pytest.mark.parametrize("topic", topics.STREAMED)
@pytest.mark.parametrize(("open_", "close"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")])
@pytest.mark.parametrize("depth", [50, 500, 5_000, 500_000])
def test_deep_nesting_does_not_overflow_the_stack(topic: str, depth: int, open_: bytes, close: bytes) -> None:
    nested = open_ * depth + b"1" + close * depth
    for field in (b"x", b"evidence", b"version", b"cluster", b"log_dirs", b"type", b"brokers"):
        checked(topic, b'{"version":1,"' + field + b'":' + nested + b"}")
    checked(topic, nested)


HUGE = {
    "a string": b'{"version":1,"cluster":"' + b"x" * (2 * MIB) + b'"}',
    "a name of a field": b'{"version":1,"' + b"x" * (2 * MIB) + b'":1}',
    "a number": b'{"version":1,"broker":' + b"9" * (2 * MIB) + b"}",
    "a version": b'{"version":"' + b"\x7f" * (2 * MIB) + b'"}',
    "blanks": b" " * (2 * MIB),
    "no JSON": b"x" * (2 * MIB),
    "an event": b'{"version":1,"broker":1,"event":"' + b"e" * (2 * MIB) + b'"}',
    "an unknown status": b'{"version":1,"cluster":"c","broker":1,"timestamp_ms":1,"status":"'
    + b"s" * (2 * MIB)
    + b'"}',
    "a list": b'{"version":1,"brokers":[' + b"1," * MIB + b"1]}",
}


@pytest.mark.parametrize("topic", topics.STREAMED)
@pytest.mark.parametrize("value", HUGE.values(), ids=HUGE)
def test_two_mebibytes_are_refused_in_bounded_memory(topic: str, value: bytes) -> None:
    tracemalloc.start()
    try:
        result = checked(topic, value)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(result, Rejected)
    assert peak_bytes < 12 * len(value)
