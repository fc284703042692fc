"""``store_inventory``: where every replica is and how it is, from listings, metadata and the state of brokers."""

import json

import pytest
from msgspec.structs import replace

from logdirwatch.model import topics
from logdirwatch.store.schema.definitions import REPLICA_STATE
from logdirwatch.store.writing.tally import Tally
from tests.spark.lake import T0, replicas, scan_end, scan_ms, state, topic

pytestmark = pytest.mark.usefixtures("written_by")

BROKERS = (state(7), state(8))
STATUS = ("broker", "topic", "partition", "log_dir", "status", "cause")


def whole_scan(scan=0, *, size=10):
    """Topic t on brokers 7 and 8, its partition 0 in /d1 and partition 1 in /d2, at one scan."""
    return (
        topic("t", (7, 8), (8, 7), scan=scan),
        replicas("t-0", broker=7, log_dir="/d1", scan=scan, size=size),
        replicas("t-1", broker=7, log_dir="/d2", scan=scan, size=size),
        replicas("t-0", broker=8, log_dir="/d1", scan=scan, size=size),
        replicas("t-1", broker=8, log_dir="/d2", scan=scan, size=size),
        scan_end(1, scan=scan),
    )


def failed(sequence, log_dir="/d1", broker=7):
    views = {"/d1": "online", "/d2": "online"} | {log_dir: "offline"}
    return state(broker, sequence, status="degraded", log_dirs=views)


def statuses(lake, **where):
    return lake.rows("replica_state", *STATUS, **where)


def test_a_scan_makes_rows_of_replicas_partitions_and_the_inventory(lake):
    lake.scan(*BROKERS, *whole_scan())
    assert lake.rows("replica_state", *STATUS, "size_bytes", "is_leader", "in_isr", "is_listed", broker=7) == [
        (7, "t", 0, "/d1", "online", None, 10, True, True, True),
        (7, "t", 1, "/d2", "online", None, 10, False, True, True),
    ]
    columns = ("topic", "partition", "leader", "replicas", "isr", "min_insync_replicas", "is_at_min_isr")
    assert lake.rows("topic_state", *columns) == [
        ("t", 0, 7, [7, 8], [7, 8], 2, True),
        ("t", 1, 8, [8, 7], [8, 7], 2, True),
    ]
    inventory = ("broker", "log_dir", "inventory_at_ms", "listed")
    assert (None, None, T0, 1) in lake.rows("log_dir_inventory", *inventory)
    assert (7, "/d1", T0, 1) in lake.rows("log_dir_inventory", *inventory)


def test_the_same_batch_again_changes_nothing_even_after_a_restart(lake):
    rows = lake.scan(*BROKERS, *whole_scan(), (topics.INVENTORY, "k", b"garbage"))
    before = lake.content()
    lake.scan_rows(rows)
    lake.restart()
    lake.scan_rows(rows)
    assert lake.content() == before


def test_a_scan_that_says_the_same_rewrites_neither_replicas_nor_partitions(lake):
    lake.scan(*BROKERS, *whole_scan(0))
    before = lake.versions()
    lake.scan(*BROKERS, *whole_scan(1))
    after = lake.versions()
    assert {name for name in after if after[name] != before[name]} == {"log_dir_inventory"}
    assert set(lake.rows("log_dir_inventory", "inventory_at_ms")) == {(scan_ms(1),)}


def test_an_older_scan_after_a_newer_changes_nothing(lake):
    lake.scan(*BROKERS, *whole_scan(2))
    before = lake.content()
    lake.scan(topic("gone", (7,), scan=1), replicas("gone-0", log_dir="/d1", scan=1), *whole_scan(1, size=5))
    assert lake.content() == before


def test_replicas_of_a_failed_directory_are_offline_where_they_were_last_seen_and_come_back(lake):
    lake.scan(*BROKERS, *whole_scan(0))
    # Kafka lists an offline directory no more.
    metadata = topic("t", (7, 8), (8, 7), scan=1)
    lake.scan(failed(2), metadata, replicas("t-1", broker=7, log_dir="/d2", scan=1), scan_end(1, scan=1))
    columns = (*STATUS, "size_bytes", "is_listed", "status_at_ms")
    assert lake.rows("replica_state", *columns, broker=7) == [
        (7, "t", 0, "/d1", "offline", "directory", 10, False, T0 + 2),
        (7, "t", 1, "/d2", "online", None, 10, True, T0 + 1),
    ]
    lake.scan(state(7, 3))
    assert statuses(lake, broker=7) == [(7, "t", 0, "/d1", "online", None), (7, "t", 1, "/d2", "online", None)]


def test_state_that_store_wrote_counts_where_the_batch_has_none(lake):
    lake.store(*BROKERS, failed(2))
    lake.scan(*whole_scan())
    assert statuses(lake, broker=7) == [(7, "t", 0, "/d1", "offline", "directory"), (7, "t", 1, "/d2", "online", None)]


def test_a_saturated_directory_makes_its_replicas_saturated_and_a_filling_one_does_not(lake):
    lake.scan(state(7, log_dirs={"/d1": "saturated", "/d2": "filling"}), state(8), *whole_scan())
    assert statuses(lake, broker=7) == [
        (7, "t", 0, "/d1", "saturated", "directory"),
        (7, "t", 1, "/d2", "online", None),
    ]
    before = lake.versions()["replica_state"]
    lake.scan(state(7, 2, log_dirs={"/d1": "saturated", "/d2": "critical"}))
    assert lake.versions()["replica_state"] == before


def test_replicas_of_an_offline_broker_are_offline_by_it_and_of_an_unknown_one_unknown(lake):
    lake.scan(*BROKERS, *whole_scan())
    unknown = {"/d1": "unknown", "/d2": "unknown"}
    lake.scan(state(7, 2, status="offline", log_dirs=unknown), state(8, 2, status="unknown", log_dirs=unknown))
    assert {row[4:] for row in statuses(lake, broker=7)} == {("offline", "broker")}
    assert {row[4:] for row in statuses(lake, broker=8)} == {("unknown", "unknown")}


def test_states_alone_look_only_at_the_brokers_of_which_something_changed(lake):
    lake.scan(*BROKERS, *whole_scan())
    before = lake.versions()["replica_state"]
    lake.scan(state(7, 2), state(8, 2))
    assert lake.versions()["replica_state"] == before
    lake.tables.delta(REPLICA_STATE).delete("broker = 8 AND partition = 1")
    lake.scan(state(7, 2), state(8, 2))
    assert statuses(lake, broker=8) == [(8, "t", 0, "/d1", "online", None)]
    lake.scan(failed(3))
    assert statuses(lake, broker=7)[0] == (7, "t", 0, "/d1", "offline", "directory")
    assert statuses(lake, broker=8)[1] == (8, "t", 1, None, "unknown", "never_listed"), "its partition is looked at"


def test_the_replicas_of_each_broker_are_counted_by_status_without_reading_the_table_again(lake):
    told, again = {}, []
    lake.restart(Tally(told.update))
    copy = replicas("t-0", log_dir="/d2", future=True, scan=1, parts=2)
    lake.scan(*BROKERS, *whole_scan(), copy, replicas("t-1", log_dir="/d2", scan=1, part=1, parts=2))
    assert told == {("prod", broker): counted(online=2) for broker in (7, 8)}
    lake.scan(failed(2), state(8, 2, status="unknown"))
    lake.scan(topic("t", (7,), (8, 7), scan=2), scan_end(1, scan=2))
    assert told == {("prod", 7): counted(online=1, offline=1), ("prod", 8): counted(unknown=1)}
    lake.restart(Tally(again.append))
    lake.scan(failed(3), state(8, 3, status="unknown"))
    assert again == [told]


def counted(**numbers):
    return dict.fromkeys(("online", "saturated", "offline", "unknown"), 0) | numbers


def test_replicas_of_a_broker_that_store_has_taken_out_are_unknown(lake):
    lake.store(*BROKERS)
    lake.scan(*BROKERS, *whole_scan())
    lake.store((topics.STATE, "prod/8", None))
    lake.scan(state(7, 2))
    assert {row[4:] for row in statuses(lake, broker=8)} == {("unknown", "unknown")}
    assert {row[4:] for row in statuses(lake, broker=7)} == {("online", None)}


def test_replicas_of_a_broker_that_nobody_judged_are_unknown(lake):
    lake.scan(*whole_scan())
    assert {row[4:] for row in statuses(lake)} == {("unknown", "unknown")}


def test_a_copy_in_progress_is_a_row_of_its_own_and_replaces_the_original(lake):
    lake.scan(*BROKERS, *whole_scan(0))
    lake.scan(replicas("t-0", log_dir="/d2", future=True, scan=1, size=3, lag=44))
    assert lake.rows("replica_state", *STATUS, "is_future", "size_bytes", "offset_lag", broker=7, partition=0) == [
        (7, "t", 0, "/d1", "online", None, False, 10, 0),
        (7, "t", 0, "/d2", "moving", None, True, 3, 44),
    ]
    lake.scan(replicas(log_dir="/d1", scan=2), replicas("t-0", "t-1", log_dir="/d2", scan=2))
    assert lake.rows("replica_state", *STATUS, "is_future", broker=7, partition=0) == [
        (7, "t", 0, "/d2", "online", None, False)
    ]


def test_a_copy_of_an_original_that_is_offline_does_not_move(lake):
    """Kafka keeps and lists the copy, and copies nothing more into it."""
    lake.scan(*BROKERS, *whole_scan(0))
    lake.scan(replicas("t-0", log_dir="/d2", future=True, scan=1, size=3))
    assigned = topic("t", (7, 8), scan=2, isr=[8])
    lost = replace(assigned, partitions=[replace(assigned.partitions[0], leader=8, offline_replicas=[7])])
    lake.scan(failed(2), lost)
    assert lake.rows("replica_state", *STATUS, "is_future", broker=7, partition=0) == [
        (7, "t", 0, "/d1", "offline", "directory", False),
        (7, "t", 0, "/d2", "offline", "directory", True),
    ]


def test_a_topic_that_a_whole_scan_does_not_list_leaves_the_tables(lake):
    lake.scan(*BROKERS, *whole_scan(0), topic("gone", (7,)), replicas("gone-0", log_dir="/d3"))
    assert lake.rows("topic_state", "topic", topic="gone") == [("gone",)]
    lake.scan(*whole_scan(1))
    assert lake.rows("topic_state", "topic", topic="gone") == []
    assert statuses(lake, topic="gone") == []


def test_a_partition_that_changed_and_went_within_a_batch_is_gone_and_one_that_came_back_is_there(lake):
    lake.scan(topic("t", (7, 8)), topic("u", (7, 8)), scan_end(2))
    again = topic("u", (8, 9), scan=3)
    rows = lake.scan(
        topic("t", (7, 8), scan=1),
        topic("u", (7, 8), isr=(7,), scan=1),
        scan_end(2, scan=1),
        topic("t", (7, 8), scan=2),
        scan_end(1, scan=2),
    )
    assert lake.rows("topic_state", "topic") == [("t",)]
    lake.scan_rows(rows)
    assert lake.rows("topic_state", "topic") == [("t",)]
    lake.scan(topic("t", (7, 8), scan=3), again, scan_end(2, scan=3))
    lake.scan(topic("t", (7, 8), scan=4), scan_end(1, scan=4), topic("u", (9, 7), scan=5))
    assert lake.rows("topic_state", "topic", "leader") == [("t", 7), ("u", 9)]


def test_a_topic_stays_while_the_scan_is_not_whole(lake):
    lake.scan(*BROKERS, *whole_scan(0), topic("other", (7,)), scan_end(2))
    lake.scan(topic("t", (7, 8), (8, 7), scan=1), scan_end(2, scan=1))
    lake.scan(scan_end(0, scan=2, is_complete=False))
    assert lake.rows("topic_state", "topic", topic="other") == [("other",)]


def test_a_scan_cut_by_the_end_of_a_batch_is_whole_in_the_next(lake):
    lake.scan(*BROKERS, *whole_scan(0), topic("gone", (7,)))
    later = lake.kafka(*whole_scan(1))
    lake.scan_rows(later[:1])
    assert lake.rows("topic_state", "topic", topic="gone") == [("gone",)]
    lake.scan_rows(later[1:])
    assert lake.rows("topic_state", "topic", topic="gone") == []


def test_parts_of_a_directory_count_together_whatever_batch_brings_them(lake):
    lake.scan(*BROKERS, topic("t", (7,), (7,), (7,)), scan_end(1), replicas("t-0", "t-1", "t-2"))
    parts = lake.kafka(
        replicas("t-0", scan=1, part=0, parts=2),
        replicas("t-1", scan=1, part=1, parts=2),
        topic("t", (7,), (7,), scan=1),
    )
    lake.scan_rows(parts[:1])
    assert statuses(lake, partition=2) == [(7, "t", 2, "/d1", "online", None)]
    lake.scan_rows([*parts[1:], *lake.kafka(scan_end(1, scan=1))])
    assert [row[2] for row in statuses(lake)] == [0, 1]


def test_a_replica_that_no_directory_lists_keeps_a_row_while_it_is_assigned(lake):
    lake.scan(*BROKERS, *whole_scan(0))
    lake.scan(replicas(log_dir="/d1", scan=1))
    assert lake.rows("replica_state", *STATUS, "is_listed", broker=7, partition=0) == [
        (7, "t", 0, None, "unknown", "lost", False)
    ]


def cause_of_t0(lake):
    return lake.rows("replica_state", "status", "cause", "was_listed", broker=7, topic="t", partition=0)


def test_a_replica_that_was_never_made_is_told_from_a_lost_one_whatever_happens_to_its_broker(lake):
    made = (topic("t", (7, 8)), topic("new", (7,)), replicas("t-0", broker=8), replicas("t-0"), scan_end(2))
    lake.scan(*BROKERS, *made, replicas("t-0", scan=1), replicas(scan=2))
    lake.scan(state(7, 2, status="offline"))
    assert cause_of_t0(lake) == [("offline", "broker", True)]
    lake.scan(state(7, 3))
    assert cause_of_t0(lake) == [("unknown", "lost", True)]
    assert lake.rows("replica_state", "cause", "was_listed", topic="new") == [("never_listed", False)]
    lake.scan(replicas("t-0", "new-0", log_dir="/d2", scan=3))
    assert lake.rows("replica_state", "status", "was_listed", broker=7) == [("online", None)] * 2


def test_of_a_row_that_an_earlier_release_left_without_a_directory_nobody_knows_whether_it_was_ever_made(lake):
    lake.scan(*BROKERS, *whole_scan(0))
    lake.scan(replicas(log_dir="/d1", scan=1))
    lake.tables.delta(REPLICA_STATE).update("log_dir IS NULL", {"was_listed": "null", "cause": "'unknown'"})
    before = lake.versions()["replica_state"]
    lake.scan(*whole_scan(2)[:1], replicas(log_dir="/d1", scan=2))
    assert lake.versions()["replica_state"] == before
    assert cause_of_t0(lake) == [("unknown", "unknown", None)]


def test_a_replica_lost_before_the_first_scan_is_offline_by_what_kafka_says(lake):
    assigned = topic("t", (7, 8), isr=[8])
    (partition,) = assigned.partitions
    partition = replace(partition, leader=8, offline_replicas=[7])
    assigned = replace(assigned, partitions=[partition])
    lake.scan(failed(1), state(8), assigned, replicas("t-0", broker=8), scan_end(1))
    assert statuses(lake) == [(7, "t", 0, None, "offline", "directory"), (8, "t", 0, "/d1", "online", None)]


def test_a_replica_that_moved_to_another_broker_leaves_the_first(lake):
    lake.scan(*BROKERS, *whole_scan(0))
    # The old copy still lies on broker 7: a stray, no replica.
    lake.scan(topic("t", (8, 9), (8, 7), scan=1), replicas("t-0", log_dir="/d1", scan=1), scan_end(1, scan=1))
    assert [(row[0], row[3]) for row in statuses(lake, partition=0)] == [(8, "/d1"), (9, None)]


def test_the_health_of_partitions_follows_from_the_metadata(lake):
    lake.scan(
        topic("at", (7, 8)),
        topic("under", (7, 8), isr=[7]),
        topic("one", (7,)),
        topic("unread", (7, 8), configs={}),
        scan_end(4),
    )
    columns = ("topic", "is_leaderless", "is_under_min_isr", "is_at_min_isr", "is_sole_replica")
    assert lake.rows("topic_state", *columns) == [
        ("at", False, False, True, False),
        ("one", False, False, False, False),
        ("under", False, True, False, True),
        ("unread", False, None, None, False),
    ]


def test_the_listing_of_kafkas_own_tool_places_replicas(lake):
    listed = {"partition": "t-0", "size": 5, "offsetLag": 0, "isFuture": False}
    log_dirs = [{"logDir": "/d1", "error": None, "partitions": [listed]}]
    output = {"version": 1, "brokers": [{"broker": 7, "logDirs": log_dirs}]}
    lake.scan(state(7), (topics.INVENTORY, "prod", f"Querying brokers\n{json.dumps(output)}\n"))
    assert lake.rows("replica_state", *STATUS, "size_bytes") == [(7, "t", 0, "/d1", "online", None, 5)]


def test_only_the_inventorys_own_garbage_is_kept_here(lake):
    lake.scan((topics.INVENTORY, None, b"garbage"), (topics.STATE, "prod/7", b"garbage"))
    assert lake.rows("rejected_records", "topic", "value") == [(topics.INVENTORY, b"garbage")]


def test_a_broker_taken_out_is_forgotten_in_the_inventory(lake):
    lake.scan(*BROKERS, *whole_scan())
    lake.scan((topics.STATE, "prod/7", None))
    assert {row[0] for row in lake.rows("log_dir_inventory", "broker")} == {None, 8}


def test_a_directory_that_its_broker_has_no_more_is_forgotten_in_the_inventory(lake):
    lake.scan(*BROKERS, *whole_scan())
    lake.scan(state(7, 2, log_dirs={"/d1": "offline"}, status="degraded"), state(8, 2, status="unknown", log_dirs={}))
    known = [(None, None), (7, "/d1"), (8, "/d1"), (8, "/d2")]
    assert set(lake.rows("log_dir_inventory", "broker", "log_dir")) == set(known)
