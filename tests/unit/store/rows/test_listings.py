"""Which replicas listings may change: those left out are proved to stay as they are by the rules for all of them."""

import random

import msgspec
import pyarrow as pa
import pytest

from logdirwatch.model.records import Placement, ReplicasRecord
from logdirwatch.store.direct.arrow import arrow_rows
from logdirwatch.store.direct.merge import Changes
from logdirwatch.store.rows import listings as columns
from logdirwatch.store.rows.judgements import Judgement, View
from logdirwatch.store.rows.listings import Changed, candidates, listings
from logdirwatch.store.rows.replicas import Known, replica_changes
from logdirwatch.store.rows.scans import newer_parts, whole_log_dirs
from logdirwatch.store.rows.thin import Placed, Position, Thin
from logdirwatch.store.schema.definitions import REPLICA_STATE

BROKERS, PATHS, TOPICS, PARTITIONS = (1, 2), ("/d1", "/d2"), ("t", "u"), (0, 1)
STATUSES = ("online", "offline", "saturated")
ROUNDS = 12


class World:
    """The stored replicas of two clusters, and what batch after batch says about them."""

    def __init__(self, seed):
        self.drawn = random.Random(seed)
        self.stored, self.partitions, self.judged, self.latest = {}, {}, {}, {}

    def metadata(self, at_ms):
        changed = set()
        for key in [(cluster, topic, number) for cluster in "ab" for topic in TOPICS for number in PARTITIONS]:
            if self.drawn.random() < 0.04 or (at_ms == 1 and key[1] == "t"):
                brokers = self.drawn.sample(BROKERS, self.drawn.randint(1, 2))
                source = {"source_topic": "i", "source_partition": 0, "source_offset": at_ms}
                about = {"leader": brokers[0], "replicas": brokers, "isr": brokers, "offline_replicas": []}
                self.partitions[key] = {**about, "inventory_at_ms": at_ms, **source}
                changed.add(key)
            elif self.drawn.random() < 0.01 and self.partitions.pop(key, None):
                changed.add(key)
        return changed

    def judge(self, at_ms):
        changed = set()
        for broker in [(cluster, number) for cluster in "ab" for number in BROKERS]:
            if self.drawn.random() < 0.05 or at_ms == 1:
                views = {path: View(self.drawn.choice(STATUSES), at_ms) for path in PATHS}
                self.judged[broker] = Judgement(at_ms, "degraded", at_ms, views)
                changed.add(broker)
        return changed

    def listed(self, at_ms):
        rows = []
        for place in [(cluster, broker, path) for cluster in "ab" for broker in BROKERS for path in PATHS]:
            if self.drawn.random() < 0.15 or at_ms == 1:
                names = [(topic, number) for topic in TOPICS for number in PARTITIONS if self.drawn.random() < 0.5]
                self.latest[place] = [self.placement(*name) for name in names]
            if self.drawn.random() < 0.7:
                rows.append(self.row(place, at_ms))
            if self.drawn.random() < 0.1:
                rows.append(self.row(place, at_ms - 1))
        return rows

    def placement(self, topic, number):
        size = self.drawn.choice((None, 1, 2))
        return Placement(
            topic=topic, partition=number, size_bytes=size, offset_lag=0, is_future=self.drawn.random() < 0.1
        )

    def row(self, place, at_ms):
        parts = self.drawn.choice((1, 1, 1, 2))
        about = dict(zip(("cluster", "broker", "log_dir"), place, strict=True))
        record = ReplicasRecord(version=1, **about, timestamp_ms=at_ms, replicas=self.latest[place], parts=parts)
        body = msgspec.json.encode(record).decode()
        offset = self.drawn.randint(0, 1_000_000)
        return Placed(
            Thin("replicas", place[0], str(offset), 0, at_ms, *place[1:], body), Position("i", 0, offset, 0, None, None)
        )


def encoded(stored):
    """Return rows as they are read: texts as dictionaries, with names that no row has any more."""
    gone = {"cluster": "gone", "topic": "gone", "log_dir": "/gone"}
    rows = arrow_rows(REPLICA_STATE, [*stored.values(), gone])
    columns = [each.dictionary_encode() if pa.types.is_string(each.type) else each for each in rows.columns]
    return pa.table(columns, rows.column_names).slice(0, len(stored))


def decided(world, rows, log_dirs, scanned, changed, most):
    """Return the changes of all candidates, and how many stored rows were looked at."""
    written, deleted, looked_at = {}, set(), 0
    names = list(world.stored)
    for some in candidates(encoded(world.stored), listings(rows), log_dirs, changed, most):
        partitions = {key: row for key, row in world.partitions.items() if key in some.partitions}
        known = Known(some.listed, log_dirs, partitions, world.judged, scanned)
        changes = replica_changes({names[place]: world.stored[names[place]] for place in some.places}, known)
        assert not written.keys() & changes.keys
        written |= changes.written
        deleted |= changes.deleted
        looked_at += len(some.places)
    return Changes(written, deleted), looked_at


@pytest.mark.parametrize("seed", range(40))
def test_what_is_no_candidate_would_not_change(seed):
    world, few = World(seed), 0
    for at_ms in range(1, ROUNDS):
        changed = Changed(world.judge(at_ms), world.metadata(at_ms))
        rows = world.listed(at_ms)
        parts, scanned = newer_parts(rows, {}), {"a": at_ms - 1}
        log_dirs = whole_log_dirs(parts)
        everything = Changed(set(), set(world.partitions), is_all=True)
        expected = decided(world, rows, log_dirs, scanned, everything, 1_000)[0]
        found, looked_at = decided(world, rows, log_dirs, scanned, changed, seed % 7 + 1)
        assert found == expected
        few += looked_at < len(world.stored)
        world.stored = {key: row for key, row in world.stored.items() if key not in expected.deleted} | expected.written
    assert few


def test_numbers_may_be_as_large_as_kafka_has_them(monkeypatch):
    largest = 2**31 - 1
    changed = Changed({("a", largest)}, {("a", "t", largest), ("a", "u", largest - 1)})
    (found,) = candidates(encoded({}), listings([]), {}, changed, 5)
    assert found.partitions == changed.partitions
    monkeypatch.setattr(columns, "LARGEST", 10)
    with pytest.raises(OverflowError):
        list(candidates(encoded({}), listings([]), {}, changed, 5))
