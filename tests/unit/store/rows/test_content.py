"""What listings say: the same digest for a record and for the rows that the tables have of it."""

import json

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.model.records import PartitionInfo, Placement, TopicRecord
from logdirwatch.store.direct.arrow import arrow_rows
from logdirwatch.store.rows.content import (
    NO_ROWS,
    Subject,
    partitions_digests,
    replicas_digests,
    stored_partitions,
    stored_replicas,
    timeless,
)
from logdirwatch.store.rows.partitions import partition_changes
from logdirwatch.store.rows.scans import Part
from logdirwatch.store.schema.definitions import REPLICA_STATE, TOPIC_STATE

NAMES = st.sampled_from(["t", "u", "é", "t\u0000"])
PLACEMENTS = st.builds(
    Placement,
    topic=NAMES,
    partition=st.integers(0, 2) | st.just(2**31 - 1),
    size_bytes=st.none() | st.integers(0, 2) | st.just(2**63 - 1),
    offset_lag=st.none() | st.integers(-1, 1),
    is_future=st.booleans(),
)
LISTING = st.lists(PLACEMENTS, max_size=5, unique_by=lambda each: (each.topic, each.partition, each.is_future))
LOG_DIRS = st.dictionaries(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 1), st.sampled_from("xy")), LISTING)
BROKERS = st.lists(st.integers(0, 3), max_size=3)
PARTITIONS = st.builds(
    PartitionInfo,
    partition=st.integers(0, 9),
    leader=st.none() | st.integers(-1, 3),
    replicas=BROKERS,
    isr=BROKERS,
    offline_replicas=BROKERS,
    elr=st.none() | BROKERS,
    groups=st.none() | st.integers(0, 3),
    unread_ratio=st.none() | st.sampled_from([0.0, 0.05, 1.0]),
)
TOPICS = st.builds(
    TopicRecord,
    version=st.just(1),
    cluster=st.sampled_from("ab"),
    topic=NAMES,
    partitions=st.lists(PARTITIONS, max_size=4, unique_by=lambda each: each.partition),
    configs=st.dictionaries(st.sampled_from(["min.insync.replicas", "k"]), st.none() | st.sampled_from(["2", "x"])),
    overridden=st.none() | st.lists(st.sampled_from(["k"])),
)


def rows_of(log_dirs):
    return [
        {"cluster": cluster, "broker": broker, "log_dir": log_dir, **msgspec.to_builtins(placement)}
        for (cluster, broker, log_dir), listing in log_dirs.items()
        for placement in listing
    ]


def encoded(table):
    """Return a table as it is read: texts as dictionaries, in several pieces."""
    columns = [each.dictionary_encode() if pa.types.is_string(each.type) else each for each in table.columns]
    read = pa.table(columns, names=table.column_names)
    return pa.concat_tables([read.slice(0, 3), read.slice(3)])


@given(LOG_DIRS, st.randoms())
def test_a_listing_has_the_digest_of_its_rows_in_any_order(log_dirs, drawn):
    rows = rows_of(log_dirs)
    drawn.shuffle(rows)
    lost = {"cluster": "a", "broker": 0, "topic": "lost", "partition": 0, "is_future": False, "log_dir": None}
    found = stored_replicas(encoded(arrow_rows(REPLICA_STATE, [*rows, lost])))
    listings = list(log_dirs.values())
    for subject, listing, digest in zip(log_dirs, listings, replicas_digests(listings), strict=True):
        assert found.pop(Subject(*subject), NO_ROWS) == digest
        assert (digest == NO_ROWS) is (not listing)
    assert found == {}


def test_a_listing_that_says_something_else_has_another_digest():
    listing = [Placement(topic="t", partition=0, size_bytes=1, offset_lag=0)]
    others = [
        [],
        listing * 2,
        *(
            [msgspec.structs.replace(listing[0], **change)]
            for change in (
                {"topic": "u"},
                {"partition": 1},
                {"size_bytes": 2},
                {"size_bytes": None},
                {"offset_lag": None},
                {"is_future": True},
            )
        ),
    ]
    assert len(set(replicas_digests([listing, *others]))) == 1 + len(others)


@given(st.lists(TOPICS, max_size=4, unique_by=lambda each: (each.cluster, each.topic)), st.randoms())
def test_a_topic_has_the_digest_of_its_rows_in_any_order(records, drawn):
    rows = [row for record in records for row in partition_changes({}, [part_of(record)], {}).written.values()]
    drawn.shuffle(rows)
    found = stored_partitions(encoded(arrow_rows(TOPIC_STATE, rows)))
    for record, digest in zip(records, partitions_digests(records), strict=True):
        assert found.pop(Subject(record.cluster, topic=record.topic), NO_ROWS) == digest
    assert found == {}


def part_of(record):
    decoded = msgspec.json.decode(msgspec.json.encode(record))
    return Part((record.cluster, None, None), "c", 1, decoded, ("t", 0, 0))


def said(**fields):
    return json.dumps({"type": "replicas", "timestamp_ms": 5, "replicas": [], **fields}, separators=(",", ":")).encode()


def test_records_that_differ_in_their_time_are_the_same_without_it():
    assert timeless(b"k", said()) == (timeless(b"k", said(timestamp_ms=77)).digest, 5)
    assert timeless(b"k", said(timestamp_ms=77)).at_ms == 77
    others = [(b"l", said()), (None, b"k" + said()), (b"k", said(x=1)), (b"k", said(replicas=[1]))]
    assert len({timeless(*each).digest for each in [(b"k", said()), *others]}) == 1 + len(others)


@pytest.mark.parametrize(
    "value",
    [
        said().replace(b"5", b"05"),
        said().replace(b"5", b"5.0"),
        said().replace(b"5", b"-5"),
        said().replace(b":5", b": 5"),
        said(timestamp_ms=2**53 + 1),
        said(other={"timestamp_ms": 6}),
        said().replace(b'"timestamp_ms":5', b'"timestamp_ms":5,"timestamp_ms":6'),
        said().replace(b'"timestamp_ms":5', b'"x":{"timestamp_ms":6},"timestamp_ms" :5'),
        b"no record",
    ],
)
def test_a_time_that_is_not_plain_is_not_cut_out(value):
    assert timeless(b"k", value) is None
