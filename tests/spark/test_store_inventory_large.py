"""Scans of large tables: what is as it was stored is recognized."""

import pytest
from msgspec.structs import replace

from logdirwatch.store.schema.definitions import LOG_DIR_INVENTORY, REJECTED_RECORDS, REPLICA_STATE, TOPIC_STATE
from logdirwatch.store.writing import engine, inventory_batch, recognition
from logdirwatch.store.writing.tally import Tally
from tests.spark.lake import addressed, replicas, scan_end, scan_ms, state, topic
from tests.spark.test_store_direct import jobs, writers
from tests.spark.test_store_inventory import BROKERS, counted, failed, statuses, whole_scan

WRITTEN = (REPLICA_STATE, TOPIC_STATE, LOG_DIR_INVENTORY, REJECTED_RECORDS)


@pytest.fixture(autouse=True)
def every_table_is_large(monkeypatch):
    monkeypatch.setattr(recognition, "MOST_ROWS", -1)


def last_writer(lake, table=REPLICA_STATE):
    return writers(lake, table)[-1]


def write(lake, *records):
    """Run a batch, and return the number of its jobs."""
    batch = lake.frame(lake.kafka(*records))
    return jobs(lake, lambda: lake.inventory.write(batch, lake.tables))


def changed_tables(lake, before):
    after = lake.versions()
    return {name for name in after if after[name] != before[name]}


def test_a_scan_that_says_the_same_is_one_job_and_writes_nothing_but_its_time(lake):
    lake.scan(*BROKERS, *whole_scan(0))
    before = lake.versions()
    for scan in (1, 2):
        assert write(lake, state(7, scan + 1), *whole_scan(scan)) == 1
    assert changed_tables(lake, before) == {"log_dir_inventory"}
    assert set(lake.rows("log_dir_inventory", "inventory_at_ms")) == {(scan_ms(2),)}


def test_what_changed_is_written_without_spark_and_read_from_then_on(lake):
    lake.scan(*BROKERS, *whole_scan(0))
    changed = replicas("t-0", broker=7, log_dir="/d1", scan=1, size=99)
    for scan in (1, 2):
        listing = replace(changed, timestamp_ms=scan_ms(scan))
        others = [each for each in whole_scan(scan) if addressed(each)[1] != "prod/7//d1"]
        assert write(lake, *others, listing) == 1
        assert last_writer(lake) == "driver"
        assert lake.rows("replica_state", "broker", "size_bytes", "inventory_at_ms", partition=0) == [
            (7, 99, scan_ms(1)),
            (8, 10, scan_ms(0)),
        ]
    assert len(writers(lake, REPLICA_STATE)) == 2


@pytest.mark.long
def test_topics_and_partitions_come_and_go_without_spark(lake):
    lake.scan(*BROKERS, *whole_scan(0), topic("gone", (7,)), replicas("gone-0", log_dir="/d3"), scan_end(2))
    assert lake.rows("topic_state", "topic", topic="gone") == [("gone",)]
    lake.scan(*whole_scan(1))
    assert lake.rows("topic_state", "topic", topic="gone") == []
    assert statuses(lake, topic="gone") == []
    lake.scan(topic("t", (8, 9), (8, 7), scan=2), topic("new", (7,), scan=2), scan_end(2, scan=2))
    assert [(row[0], row[3]) for row in statuses(lake, partition=0, topic="t")] == [(8, "/d1"), (9, None)]
    assert statuses(lake, topic="new") == [(7, "new", 0, None, "unknown", "never_listed")]
    assert {last_writer(lake, table) for table in WRITTEN[:3]} == {"driver"}


@pytest.mark.long
def test_a_replica_that_a_directory_lists_no_more_is_lost_and_one_that_moved_is_where_it_is_listed(lake):
    lake.scan(*BROKERS, *whole_scan(0))
    lake.scan(replicas(broker=7, log_dir="/d1", scan=1), replicas("t-1", broker=7, log_dir="/d2", scan=1))
    assert statuses(lake, broker=7, partition=0) == [(7, "t", 0, None, "unknown", "lost")]
    lake.scan(replicas(broker=7, log_dir="/d1", scan=2), replicas("t-0", "t-1", broker=7, log_dir="/d2", scan=2))
    assert statuses(lake, broker=7, partition=0) == [(7, "t", 0, "/d2", "online", None)]
    assert last_writer(lake) == "driver"


def test_a_broker_or_directory_goes_and_comes_back_without_spark(lake):
    told = {}
    lake.restart(Tally(told.update))
    lake.scan(*BROKERS, *whole_scan(0))
    assert write(lake, failed(2), state(8, 2)) == 1
    assert statuses(lake, broker=7, partition=0) == [(7, "t", 0, "/d1", "offline", "directory")]
    assert told == {("prod", 7): counted(online=1, offline=1), ("prod", 8): counted(online=2)}
    assert write(lake, state(7, 3), *whole_scan(1)) == 1
    assert told == {("prod", broker): counted(online=2) for broker in (7, 8)}
    assert last_writer(lake) == "driver"


@pytest.mark.parametrize("change", ["delete", pytest.param("restore", marks=pytest.mark.long)])
def test_rows_that_somebody_else_changed_are_put_right_by_the_next_scan(lake, change):
    lake.scan(*BROKERS, *whole_scan(0, size=5))
    lake.scan(*whole_scan(1))
    rows = lake.rows("replica_state", "broker", "partition", "size_bytes", "status")
    table = lake.tables.delta(REPLICA_STATE)
    if change == "delete":
        table.delete("broker = 8 AND partition = 1")
    else:
        table.restoreToVersion(1)
    assert lake.rows("replica_state", "broker", "partition", "size_bytes", "status") != rows
    lake.scan(*whole_scan(2))
    assert lake.rows("replica_state", "broker", "partition", "size_bytes", "status") == rows


@pytest.mark.long
def test_partitions_that_somebody_else_changed_are_put_right_by_the_next_scan(lake):
    lake.scan(*BROKERS, *whole_scan(0))
    lake.tables.delta(TOPIC_STATE).delete("partition = 1")
    lake.scan(*whole_scan(1))
    assert lake.rows("topic_state", "partition") == [(0,), (1,)]


def test_a_writer_between_reading_and_writing_is_noticed(lake, monkeypatch):
    lake.scan(*BROKERS, *whole_scan(0))
    check, checked = recognition.Trust.check, []

    def after_another(self, target):
        if target.table is REPLICA_STATE and not checked:
            checked.append(lake.tables.delta(REPLICA_STATE).delete("broker = 8 AND partition = 1"))
            target = engine.ByDriver(lake.tables.direct(REPLICA_STATE))
        return check(self, target)

    monkeypatch.setattr(recognition.Trust, "check", after_another)
    lake.scan(*whole_scan(1, size=11))
    assert checked
    assert lake.rows("replica_state", "broker", "partition", "size_bytes") == [
        (broker, partition, 11) for broker in (7, 8) for partition in (0, 1)
    ]


@pytest.mark.long
def test_files_that_are_only_rewritten_keep_what_is_known(lake):
    lake.scan(*BROKERS, *whole_scan(0))
    lake.scan(*whole_scan(1, size=11))
    for table in WRITTEN[:2]:
        lake.spark.sql(f"OPTIMIZE {lake.tables.name(table)} FULL")
    for scan in (2, 3):
        assert write(lake, *whole_scan(scan, size=9 + scan)) == 1
    assert lake.rows("replica_state", "size_bytes") == [(12,)] * 4


def test_a_restart_derives_everything_once(lake, monkeypatch):
    lake.scan(*BROKERS, *whole_scan(0))
    lake.restart()
    before = lake.versions()
    derived = []
    candidates = inventory_batch.candidates

    def noted(*args):
        derived.append(args[3].is_all)
        return candidates(*args)

    monkeypatch.setattr(inventory_batch, "candidates", noted)
    lake.scan(*BROKERS, *whole_scan(1))
    lake.scan(*whole_scan(2), replicas("t-0", broker=7, log_dir="/d1", scan=3, size=11))
    assert derived == [True, False]
    assert changed_tables(lake, before) == {"log_dir_inventory", "replica_state"}


@pytest.mark.parametrize("step", ["_merge_replicas", pytest.param("_merge_markers", marks=pytest.mark.long)])
def test_a_batch_that_fails_in_the_middle_is_written_again(lake, monkeypatch, step):
    lake.scan(*BROKERS, *whole_scan(0))
    with monkeypatch.context() as broken:
        broken.setattr(inventory_batch, step, lambda *_: 1 / 0)
        rows = lake.kafka(*whole_scan(1, size=11), topic("new", (7,), scan=1), scan_end(2, scan=1))
        with pytest.raises(ZeroDivisionError):
            lake.scan_rows(rows)
    lake.scan_rows(rows)
    assert lake.rows("replica_state", "size_bytes", topic="t") == [(11,)] * 4
    assert statuses(lake, topic="new") == [(7, "new", 0, None, "unknown", "never_listed")]


def test_a_scan_cut_by_the_end_of_a_batch_is_whole_in_the_next(lake):
    lake.scan(*BROKERS, *whole_scan(0), topic("gone", (7,)))
    first, *rest = lake.kafka(*whole_scan(1))
    lake.scan_rows([first])
    assert lake.rows("topic_state", "topic", topic="gone") == [("gone",)]
    lake.scan_rows(rest)
    assert lake.rows("topic_state", "topic", topic="gone") == []
    assert last_writer(lake, TOPIC_STATE) == "driver"
