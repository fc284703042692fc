"""What is recognized and left out in large tables is what would be written into small ones."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from logdirwatch.model import topics
from logdirwatch.store.direct.arrow import arrow_schema
from logdirwatch.store.direct.newest import Newest
from logdirwatch.store.direct.table import DirectTable
from logdirwatch.store.rows.thin import Position
from logdirwatch.store.schema.definitions import (
    BROKER_STATE,
    LOG_DIR_INVENTORY,
    LOG_DIR_STATE,
    REJECTED_RECORDS,
    REPLICA_STATE,
    TOPIC_STATE,
)
from logdirwatch.store.storage.local import LocalFolder
from logdirwatch.store.writing import inventory_batch, recognition
from logdirwatch.store.writing.engine import ByDriver
from logdirwatch.store.writing.intake import Belief, as_placed
from logdirwatch.store.writing.recognition import Trust
from logdirwatch.store.writing.small_batch import SmallBatch, by_kind, newest
from logdirwatch.store.writing.store import write_batch
from tests.spark.lake import KAFKA_MS, addressed
from tests.support.inventories import Fleet

BELIEVED = Belief("home", 60_000)
WRITTEN = (REPLICA_STATE, TOPIC_STATE, LOG_DIR_INVENTORY, REJECTED_RECORDS)
TABLES = (*WRITTEN, BROKER_STATE, LOG_DIR_STATE)
BATCHES = 6


class Tables:
    """Tables in a folder, and the writer of small batches or that of large tables."""

    def __init__(self, folder, *, are_large):
        self._folder, self._are_large = folder, are_large
        for table in TABLES:
            DeltaTable.create(str(folder / table.name), pa.schema(arrow_schema(table)))
        self._newest = {table.name: Newest(LocalFolder(str(folder / table.name)), table) for table in TABLES}
        self._trust = Trust(self.direct(REPLICA_STATE).version, self.direct(TOPIC_STATE).version)
        self.told, self._kept, self.recognized = None, [], 0

    def direct(self, table, _=None):
        return DirectTable(self._newest[table.name])

    def change(self, table, use):
        return use(ByDriver(self.direct(table)))

    def rows(self, table):
        target = self.direct(table)
        return sorted(map(repr, target.read(target.all_files()).to_pylist()))

    def store(self, positions):
        states = by_kind([each for each in positions if each.topic == topics.STATE], BELIEVED).of("state")
        write_batch(SmallBatch({"state": states} if states else {}), self.change)

    def scan(self, positions):
        trusted = self._trust if self._are_large else None
        known = self._trust.known(self) if self._are_large else None
        batch = self.read(positions, known) if known else by_kind(positions, BELIEVED)
        batch = batch.joined(inventory_batch.still_recognized(self._kept, known))
        written = inventory_batch.write_batch(batch, self.told, trusted, self.change)
        self.told, self._kept = written.judged, written.kept
        return written.differences

    def read(self, positions, known):
        columns = [list(values) for values in zip(*positions, strict=True)]
        half = len(positions) // 2
        batches = [pa.record_batch([pa.array(each) for each in columns], names=list(Position._fields))]
        parts = (batches[0].slice(0, half), batches[0].slice(half))
        table = pa.Table.from_batches(list(recognition._batches(iter(parts), BELIEVED, known)))
        digests = zip(table.column("timeless").to_pylist(), table.column("content").to_pylist(), strict=True)
        self._trust.remember({digest: recognition._CONTENT.decode(text) for digest, text in digests if digest})
        rows = as_placed(table)
        self.recognized += sum(placed.thin.record is not None for placed in rows if placed.thin.kind != "state")
        return newest(rows)


def kafka(records, offsets):
    """Give records their offsets, as Kafka does."""
    rows = []
    for record in records:
        topic, key, value = record if isinstance(record, tuple) else addressed(record)
        offsets[topic] = offsets.get(topic, -1) + 1
        key, value = (each.encode() if isinstance(each, str) else each for each in (key, value))
        rows.append(Position(topic, 0, offsets[topic], KAFKA_MS, key, value))
    return rows


@pytest.mark.parametrize("seed", range(3))
def test_large_tables_have_the_rows_that_small_ones_would_have(tmp_path: Path, seed):
    fleet, offsets = Fleet(seed), {}
    small, large = (Tables(tmp_path / name, are_large=name == "large") for name in ("small", "large"))
    for number in range(BATCHES):
        positions = kafka(fleet.batch(number), offsets)
        if fleet.drawn.random() < 0.5:
            small.store(positions)
            large.store(positions)
        differences = [each.scan(positions) for each in (small, large)]
        for table in WRITTEN:
            assert large.rows(table) == small.rows(table), (number, table.name)
        assert counts(differences[0]) == counts(differences[1])
    assert large.recognized > 50


def counts(differences):
    return {tuple(each.items()) for each in differences if any(value for value in list(each.values())[2:])}
