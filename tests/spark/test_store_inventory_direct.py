"""Small batches of ``store_inventory`` that the driver writes: as Spark would, with one job, and in turn with Spark."""

import random
import shutil

import pytest
from msgspec.structs import replace

from logdirwatch.model import topics
from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus
from logdirwatch.store.schema.definitions import (
    LOG_DIR_INVENTORY,
    REJECTED_RECORDS,
    REPLICA_STATE,
    TOPIC_STATE,
)
from logdirwatch.store.writing import direct_inventory, small_batch
from logdirwatch.store.writing.tally import Tally
from tests.spark.lake import Lake, addressed, replicas, scan_end, state, topic
from tests.spark.test_store_direct import jobs, writers
from tests.spark.test_store_inventory import BROKERS, failed, whole_scan

WRITTEN = (REPLICA_STATE, TOPIC_STATE, LOG_DIR_INVENTORY, REJECTED_RECORDS)
PATHS, NAMES, COPIES = ("/d1", "/d2", "/d3"), ("t", "u"), ("t-0", "t-1", "u-0")
OF_BROKERS = (1, 2, 3)
CLUSTERS = 12
BATCHES = ("driver", "spark", "driver")


def test_a_small_batch_is_one_spark_job(lake):
    # Delta looks at a table once before its first entry.
    lake.scan(*BROKERS, *whole_scan(0), (topics.INVENTORY, "k", b"no record"))
    for number in range(1, 4):
        changed = replicas("t-0", broker=7, log_dir="/d1", scan=number, size=number)
        states = (state(7, number + 1), failed(number + 1, broker=8))
        batch = lake.frame(lake.kafka(*states, *whole_scan(number), changed, (topics.INVENTORY, "k", b"no record")))
        assert jobs(lake, lambda batch=batch: lake.inventory.write(batch, lake.tables)) == 1
    assert {writer for table in WRITTEN for writer in writers(lake, table)} == {"driver"}


@pytest.mark.parametrize("bound", ["MOST_ROWS", "MOST_LISTED_BYTES", "MOST_TASK_ROWS"])
def test_what_is_not_small_is_written_by_spark_and_what_it_keeps_is_there_for_the_driver(lake, bound, monkeypatch):
    first, *rest = lake.kafka(*whole_scan(0))
    states = lake.kafka(*BROKERS)
    if bound == "MOST_ROWS":
        lake.scan(topic("t", (7,), scan=-1), replicas("t-0", "t-1", scan=-1))
    with monkeypatch.context() as small:
        small.setattr(small_batch if bound == "MOST_TASK_ROWS" else direct_inventory, bound, 1)
        lake.scan_rows([*states, first])
    assert writers(lake, TOPIC_STATE)[-1] == "spark"
    lake.scan_rows(rest)
    assert writers(lake, REPLICA_STATE)[-1] == "driver"
    assert set(lake.rows("replica_state", "status")) == {("online",)}
    assert len(lake.rows("log_dir_inventory")) == 5


def test_the_driver_fails_and_spark_counts_and_writes_what_it_left(lake, monkeypatch):
    told = {}
    lake.restart(Tally(told.update))
    monkeypatch.setattr(direct_inventory, "marker_rows", lambda *_: 1 / 0)
    lake.scan(*BROKERS, *whole_scan(0))
    assert writers(lake, REPLICA_STATE) == ["driver"]
    assert writers(lake, LOG_DIR_INVENTORY) == ["spark"]
    assert {broker: counts["online"] for (_, broker), counts in told.items()} == {7: 2, 8: 2}


def listing(drawn):
    parts = drawn.choice((1, 1, 2))
    return replicas(
        *drawn.sample(COPIES, drawn.randint(0, len(COPIES))),
        broker=drawn.choice(OF_BROKERS),
        log_dir=drawn.choice(PATHS),
        scan=drawn.randint(0, 5),
        size=drawn.choice((None, 1, 2)),
        future=drawn.random() < 0.2,
        part=drawn.randrange(parts),
        parts=parts,
    )


def metadata(drawn):
    parts = drawn.choice((1, 1, 2))
    said = topic(
        drawn.choice(NAMES),
        *(some(drawn, least=1) for _ in range(drawn.choice((1, 2)))),
        scan=drawn.randint(0, 5),
        configs=drawn.choice(({}, {"min.insync.replicas": " 2"}, {"min.insync.replicas": "x", "a": None})),
        overridden=drawn.choice((None, [], ["a"])),
        part=drawn.randrange(parts),
        parts=parts,
    )
    return replace(said, partitions=[described(drawn, partition) for partition in said.partitions])


def described(drawn, partition):
    said = {"leader": drawn.choice((None, -1, partition.leader)), "unread_ratio": drawn.choice((None, 0.05))}
    return replace(partition, **said, isr=some(drawn), offline_replicas=some(drawn))


def some(drawn, least=0):
    return drawn.sample(OF_BROKERS, drawn.randint(least, len(OF_BROKERS)))


def judgement(drawn):
    """A broker's state; what it says follows from its sequence, as it does in Kafka."""
    sequence = drawn.randint(1, 40)
    statuses, paths = [*LogDirStatus], PATHS[: sequence % 4]
    views = {path: statuses[(sequence + number) % len(statuses)].value for number, path in enumerate(paths)}
    known = [status for status in BrokerStatus if status != "removed"]
    return state(drawn.choice(OF_BROKERS), sequence, status=known[sequence % len(known)].value, log_dirs=views)


def end(drawn):
    return scan_end(drawn.randint(0, 2), drawn.randint(0, 5), is_complete=drawn.random() < 0.8)


def tombstone(drawn):
    return topics.STATE, f"prod/{drawn.choice(OF_BROKERS)}", None


KINDS = (listing, listing, metadata, metadata, end, judgement, judgement, tombstone)


def in_cluster(record, name):
    """Return the record of a cluster: each has a history of its own, all in the same batches."""
    if isinstance(record, tuple):
        return (record[0], record[1].replace("prod", name), record[2])
    return addressed(replace(record, cluster=name))


def batch(drawn):
    numbers = [number for number in range(CLUSTERS) for _ in range(drawn.randint(2, 14))]
    records = [in_cluster(drawn.choice(KINDS)(drawn), f"c{number}") for number in numbers]
    return [*records, (topics.INVENTORY, "k", b"no record"), (topics.STATE, "k", b"no record")]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_the_driver_writes_the_rows_that_spark_writes(lake, empty_tables, tmp_path, by_spark, seed):
    """Whatever the records are, batch after batch, and whoever wrote the batch before."""
    drawn, told = random.Random(seed), ({}, {})
    other = Lake(lake.spark, shutil.copytree(empty_tables, tmp_path / "other"))
    for each, numbers in zip((lake, other), told, strict=True):
        each.restart(Tally(lambda counts, numbers=numbers: (numbers.clear(), numbers.update(counts))))
    for way in BATCHES:
        rows, is_stored = lake.kafka(*batch(drawn)), drawn.random() < 0.5
        for each, its_way in ((lake, way), (other, "spark")):
            if is_stored:
                by_spark(is_on=False)
                each.store_rows([row for row in rows if row[2] == topics.STATE])
            by_spark(is_on=its_way == "spark")
            each.scan_rows(rows)
        for table in WRITTEN:
            assert sorted(map(repr, lake.rows(table.name))) == sorted(map(repr, other.rows(table.name))), table.name
        assert told[0] == told[1]
    assert {writers(lake, table)[0] for table in WRITTEN[:3]} == {"driver"}
    assert {writer for table in WRITTEN[:3] for writer in writers(other, table)} == {"spark"}
