"""Small batches of ``store_inventory`` that the driver writes: as Spark would, with one job, and in turn with Spark."""

import random
import shutil

import pytest

from logdirwatch.model import topics
from logdirwatch.store.schema.definitions import (
    LOG_DIR_INVENTORY,
    REJECTED_RECORDS,
    REPLICA_STATE,
    TOPIC_STATE,
)
from logdirwatch.store.writing import direct_inventory, small_batch
from logdirwatch.store.writing.tally import Tally
from tests.spark.lake import Lake, replicas, state, topic
from tests.spark.test_store_direct import jobs, writers
from tests.spark.test_store_inventory import BROKERS, failed, whole_scan
from tests.support.inventories import CLUSTERS, KINDS, in_cluster

WRITTEN = (REPLICA_STATE, TOPIC_STATE, LOG_DIR_INVENTORY, REJECTED_RECORDS)
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
