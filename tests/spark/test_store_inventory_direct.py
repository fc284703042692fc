"""Batches of ``store_inventory`` that the driver writes: with one job if they are small, and in turn with Spark."""

import shutil

import pytest

from logdirwatch.model import topics
from logdirwatch.store.schema.definitions import (
    BROKER_STATE,
    LOG_DIR_INVENTORY,
    LOG_DIR_STATE,
    REJECTED_RECORDS,
    REPLICA_STATE,
    TOPIC_STATE,
)
from logdirwatch.store.writing import engine, small_batch
from logdirwatch.store.writing.tally import Tally
from tests.spark.lake import Lake, replicas, state
from tests.spark.test_store_direct import jobs, writers
from tests.spark.test_store_inventory import BROKERS, failed, whole_scan
from tests.support.inventories import Fleet

WRITTEN = (REPLICA_STATE, TOPIC_STATE, LOG_DIR_INVENTORY, REJECTED_RECORDS)


def test_a_small_batch_is_one_spark_job(lake):
    # Delta looks at a table once before its first entry.
    lake.scan(*BROKERS, *whole_scan(0), (topics.INVENTORY, "k", b"no record"))
    for number in range(1, 4):
        changed = replicas("t-0", broker=7, log_dir="/d1", scan=number, size=number)
        states = (state(7, number + 1), failed(number + 1, broker=8))
        batch = lake.frame(lake.kafka(*states, *whole_scan(number), changed, (topics.INVENTORY, "k", b"no record")))
        assert jobs(lake, lambda batch=batch: lake.inventory.write(batch, lake.tables)) == 1
    assert {writer for table in WRITTEN for writer in writers(lake, table)} == {"driver"}


def test_what_is_not_small_is_written_in_parts_and_what_one_keeps_is_there_for_the_next(lake, monkeypatch):
    monkeypatch.setattr(small_batch, "MOST_TASK_ROWS", 1)
    monkeypatch.setattr(small_batch, "MOST_BYTES", 4_000)
    lake.scan(*BROKERS, *whole_scan(0))
    assert len(writers(lake, REPLICA_STATE)) > 1
    assert set(writers(lake, REPLICA_STATE)) == {"driver"}
    assert set(lake.rows("replica_state", "status")) == {("online",)}
    assert len(lake.rows("log_dir_inventory")) == 5


def test_what_the_driver_cannot_write_spark_does_and_counts(lake, monkeypatch):
    told = {}
    lake.restart(Tally(told.update))
    monkeypatch.setattr(engine, "replace", lambda *_: 1 / 0)
    lake.scan(*BROKERS, *whole_scan(0))
    assert writers(lake, REPLICA_STATE) == ["spark"]
    assert writers(lake, LOG_DIR_INVENTORY) == ["driver"]
    assert {broker: counts["online"] for (_, broker), counts in told.items()} == {7: 2, 8: 2}


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_spark_leaves_the_rows_that_the_driver_leaves(lake, empty_tables, tmp_path, by_spark, seed):
    """Whatever the records are, batch after batch, and whoever wrote the batch before."""
    fleet, other = Fleet(seed), Lake(lake.spark, shutil.copytree(empty_tables, tmp_path / "other"))
    for way in ("driver", "spark", "driver"):
        rows = lake.kafka(*fleet.batch(6))
        for each, is_by_spark in ((lake, way == "spark"), (other, True)):
            by_spark(is_by_spark)
            each.store_rows([row for row in rows if row[2] == topics.STATE])
            each.scan_rows(rows)
        for table in (*WRITTEN, BROKER_STATE, LOG_DIR_STATE):
            assert sorted(map(repr, lake.rows(table.name))) == sorted(map(repr, other.rows(table.name))), table.name
    assert {writer for table in WRITTEN[:3] for writer in writers(other, table)} == {"spark"}
