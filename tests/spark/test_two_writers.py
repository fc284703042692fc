"""What should not happen and does: two streams that write the same tables, tables that an earlier release made."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace as changed
from threading import Barrier

import pytest
from msgspec.structs import replace

from logdirwatch.store.schema.definitions import TABLES, TOPIC_STATE
from tests.spark.lake import T0, Lake, action, alert, decision, metrics, replicas, scan_end, state, topic, transition
from tests.support.waiting import DEADLINE_S

pytestmark = pytest.mark.long

BATCHES = 3
WRITERS = 2
LATER = ("groups", "slowest_group", "unread_ratio")


def at_once(spark, folder, write):
    """Let so many writers, each with tables and a memory of its own, begin at one moment."""
    begin = Barrier(WRITERS)

    def run(lake):
        begin.wait(DEADLINE_S)
        write(lake)

    lakes = [Lake(spark, folder) for _ in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(run, lakes))


def repeated(lake):
    """Return every key that several rows of a table share."""
    keys = {name: lake.rows(name, *table.key) for name, table in TABLES.items()}
    return {name: found for name, found in keys.items() if len(found) > len(set(found))}


def test_two_stores_at_once_leave_each_row_once(lake):
    batches = [
        lake.kafka(
            metrics(timestamp_ms=T0 + number, configs={"n": str(number)}),
            state(sequence=number + 1, transitions=[transition(number)]),
            alert(f"a{number}"),
            action(f"x{number}"),
            decision(f"a{number}"),
            ("logdir.metrics", "k", b"no record"),
        )
        for number in range(BATCHES)
    ]
    at_once(lake.spark, lake.settings.tables_path, lambda each: [each.store_rows(rows) for rows in batches])
    assert repeated(lake) == {}
    assert len(lake.rows("log_dir_samples")) == BATCHES * 3
    for history in ("transitions", "alerts", "actions", "decisions", "rejected_records"):
        assert len(lake.rows(history)) == BATCHES, history
    assert lake.rows("broker_state", "broker", "sequence", "configs") == [(7, BATCHES, {"n": str(BATCHES - 1)})]
    assert lake.rows("log_dir_state", "log_dir", "sequence") == [("/d1", BATCHES), ("/d2", BATCHES)]


def test_two_store_inventories_at_once_leave_each_row_once(lake):
    batches = [
        lake.kafka(
            state(sequence=scan + 1),
            topic("t", (7,), (7,), scan=scan),
            topic(f"u{scan}", (7,), scan=scan),
            replicas("t-0", "t-1", f"u{scan}-0", scan=scan, size=scan + 1),
            scan_end(2, scan=scan),
        )
        for scan in range(BATCHES)
    ]
    at_once(lake.spark, lake.settings.tables_path, lambda each: [each.scan_rows(rows) for rows in batches])
    assert repeated(lake) == {}
    last = [("t", 0), ("t", 1), (f"u{BATCHES - 1}", 0)]
    assert lake.rows("topic_state", "topic", "partition") == last
    assert lake.rows("replica_state", "topic", "partition", "size_bytes") == [(*each, BATCHES) for each in last]


def test_a_table_of_an_earlier_release_is_written_to_with_its_new_columns(lake, tmp_path):
    old = Lake(lake.spark, tmp_path / "earlier")
    earlier = changed(TOPIC_STATE, columns=tuple(each for each in TOPIC_STATE.columns if each.name not in LATER))
    old.tables.create_missing([table for table in TABLES.values() if table is not TOPIC_STATE] + [earlier])
    assert not set(LATER) & set(old.tables.read(TOPIC_STATE).columns)
    names = ", ".join(f"`{name}`" for name in earlier.names)
    lake.scan(topic("t", (7, 8)), topic("u", (7,)), scan_end(2))
    lake.spark.sql(
        f"INSERT INTO {old.tables.name(TOPIC_STATE)} ({names}) SELECT {names} FROM {lake.tables.name(TOPIC_STATE)}"
    )
    at_once(lake.spark, tmp_path / "earlier", lambda each: each.tables.create_missing(TABLES.values()))
    later = topic("t", (7, 8), scan=1)
    later = replace(later, partitions=[replace(each, groups=3, slowest_group="g") for each in later.partitions])
    old.scan(later, topic("u", (7,), scan=1), scan_end(2, scan=1))
    assert old.rows("topic_state", "topic", "groups", "slowest_group") == [("t", 3, "g"), ("u", None, None)]
