"""Listings are recognized by their content: those whose rows are stored come without it, all others as they are."""

import msgspec
import pyarrow as pa
import pytest
from msgspec.structs import replace

from logdirwatch.model import topics
from logdirwatch.model.records import PartitionInfo, Placement, ReplicasRecord, ScanRecord, TopicRecord
from logdirwatch.store.rows.content import Subject
from logdirwatch.store.rows.scans import is_recognized, newer_parts
from logdirwatch.store.rows.thin import Position
from logdirwatch.store.writing import recognition
from logdirwatch.store.writing.intake import Belief, as_placed, thin_rows
from logdirwatch.store.writing.recognition import Content, Known
from tests.unit.detect.builders import T0

BELIEVED = Belief("home", 60_000)
LISTING = ReplicasRecord(
    version=1,
    cluster="prod",
    broker=7,
    log_dir="/d1",
    timestamp_ms=T0,
    collector="c1",
    replicas=[Placement(topic="t", partition=1, size_bytes=5), Placement(topic="t", partition=0)],
)
TOPIC = TopicRecord(
    version=1,
    cluster="prod",
    topic="t",
    partitions=[PartitionInfo(partition=0, leader=7, replicas=[7], isr=[7])],
    timestamp_ms=T0,
    configs={"a": "b", "c": None},
    collector="c1",
)
END = ScanRecord(version=1, cluster="prod", timestamp_ms=T0, topics=1, is_complete=True, collector="c1")
NOTHING = Known({}, {})


def kafka(*records, kafka_ms=T0):
    return [
        Position(
            topics.INVENTORY,
            0,
            offset,
            kafka_ms,
            b"key",
            value if isinstance(value, bytes) else msgspec.json.encode(value),
        )
        for offset, value in enumerate(records)
    ]


def run(positions, known):
    """Return the thin rows of a task, and the content that it found."""
    columns = [pa.array(list(values)) for values in zip(*positions, strict=True)]
    batch = pa.RecordBatch.from_arrays(columns, names=list(Position._fields))
    table = pa.Table.from_batches(list(recognition._batches(iter([batch]), BELIEVED, known)))
    texts = zip(table.column("timeless").to_pylist(), table.column("content").to_pylist(), strict=True)
    found = {digest: recognition._CONTENT.decode(text) for digest, text in texts if digest}
    return as_placed(table), found


def known_of(*records):
    """Return what is known after these records were stored."""
    _, found = run(kafka(*records), NOTHING)
    return Known({content.subject: content.digest for content in found.values()}, found)


@pytest.mark.parametrize("remembers", [True, False])
def test_what_is_stored_comes_without_its_content_and_with_all_else(remembers):
    known = known_of(LISTING, TOPIC)
    later = [replace(record, timestamp_ms=T0 + 9) for record in (LISTING, TOPIC)]
    rows, found = run(kafka(*later), known if remembers else Known(known.stored, {}))
    assert found == known.records
    assert all(is_recognized(row.thin) for row in rows)
    whole = [placed for position in kafka(*later) for placed in thin_rows(position, BELIEVED)]
    for (thin, _), expected in zip(rows, whole, strict=True):
        assert thin._replace(content=None, record=None) == expected._replace(content=None)
    parts = newer_parts(rows, {})
    assert [(part.collector, part.at_ms, part.record["part"], part.record["parts"]) for part in parts] == [
        ("c1", T0 + 9, 0, 1)
    ] * 2
    assert [part.listed for part in parts] == [2, 1]
    assert parts[1].record["topic"] == "t"


def test_the_order_of_replicas_and_partitions_does_not_matter():
    known = known_of(LISTING, TOPIC)
    (row,), found = run(kafka(replace(LISTING, replicas=LISTING.replicas[::-1])), known)
    assert is_recognized(row.thin)
    assert list(found.values()) == [known.records[next(iter(known.records))]]
    assert not found.keys() & known.records.keys()


@pytest.mark.parametrize(
    "changed",
    [
        replace(LISTING, replicas=LISTING.replicas[1:]),
        replace(LISTING, replicas=[replace(LISTING.replicas[0], size_bytes=6), LISTING.replicas[1]]),
        replace(LISTING, broker=8),
        replace(TOPIC, configs={"a": "x", "c": None}),
        replace(TOPIC, partitions=[replace(TOPIC.partitions[0], isr=[])]),
        END,
    ],
)
def test_what_is_not_stored_comes_as_it_is(changed):
    (position,) = kafka(changed)
    ((thin, _),), _ = run([position], known_of(LISTING, TOPIC))
    assert [thin] == thin_rows(position, BELIEVED)


def test_a_part_of_several_is_never_recognized():
    part = replace(LISTING, parts=2)
    rows, found = run(kafka(part), known_of(LISTING))
    assert found == {}
    assert not is_recognized(rows[0].thin)


def test_the_content_of_a_record_does_not_count_where_other_rows_are_stored():
    known = known_of(LISTING)
    content = Content(Subject("prod", 7, "/d1"), "c1", 2, b"another")
    (row,), _ = run(kafka(LISTING), Known({content.subject: content.digest}, known.records))
    assert not is_recognized(row.thin)


def test_a_listing_without_replicas_is_recognized_where_none_is_stored():
    empty = replace(LISTING, replicas=[])
    (row,), _ = run(kafka(empty), NOTHING)
    assert is_recognized(row.thin)
    (row,), _ = run(kafka(empty), known_of(LISTING))
    assert not is_recognized(row.thin)


def test_a_known_record_from_a_clock_that_is_ahead_is_rejected_like_any_other():
    ((thin, _),), _ = run(kafka(LISTING, kafka_ms=T0 - 60_001), known_of(LISTING))
    assert thin.kind == "rejected"
    (row,), _ = run(kafka(b"no record"), known_of(LISTING))
    assert row.thin.kind == "rejected"
