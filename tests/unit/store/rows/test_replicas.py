"""What the driver decides about replicas and partitions, in the cases that a batch seldom has."""

import pytest

from logdirwatch.store.rows.judgements import Judgement, View
from logdirwatch.store.rows.partitions import as_int, partition_changes
from logdirwatch.store.rows.replicas import Known, Seen, replica_changes
from logdirwatch.store.rows.scans import Part, Whole

KEY, SOURCE = ("c", 7, "t", 0, False), {"source_topic": "i", "source_partition": 0, "source_offset": 1}
ONLINE = {("c", 7): Judgement(1, "online", 3, {"/d1": View("online", 4)})}
PARTITION = {"leader": 7, "replicas": [7], "isr": [7], "offline_replicas": [], "inventory_at_ms": 5, **SOURCE}


def known(listed=True, judged=ONLINE, partition=PARTITION, log_dirs=None, **fields):
    when = {"inventory_at_ms": 6, **SOURCE}
    seen = {KEY: Seen(6, {"log_dir": "/d1", "size_bytes": 1, "offset_lag": None}, when)} if listed else {}
    partitions = {("c", "t", 0): {**partition, **fields}} if partition else {}
    return Known(seen, log_dirs or {}, partitions, judged, {})


def status(found):
    (row,) = found.written.values()
    return row["status"], row["cause"], row["status_at_ms"]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (known(), ("online", None, 4)),
        (known(judged={}), ("unknown", "unknown", 5)),
        (known(judged={}, partition=None), ("unknown", "unknown", None)),
        (known(judged={("c", 7): Judgement(1, "offline", 3, {})}), ("offline", "broker", 3)),
        (known(judged={("c", 7): Judgement(1, "online", 3, {})}), ("unknown", "unknown", 5)),
        (known(listed=False), ("unknown", "never_listed", 5)),
        (known(listed=False, offline_replicas=[7]), ("offline", "directory", 5)),
    ],
)
def test_the_first_rule_that_applies_decides(facts, expected):
    assert status(replica_changes({}, facts)) == expected


def test_an_unchanged_replica_is_not_written_and_keeps_its_time():
    (row,) = replica_changes({}, known()).written.values()
    assert not replica_changes({KEY: row}, known()).keys
    assert not replica_changes({KEY: {**row, "size_bytes": 0}}, known()).keys, "the listing is no newer"
    older = {**row, "status_at_ms": 1, "size_bytes": 0, "inventory_at_ms": 5}
    (again,) = replica_changes({KEY: older}, known()).written.values()
    assert (again["status_at_ms"], again["size_bytes"], again["inventory_at_ms"]) == (1, 1, 6)


def test_a_replica_that_a_newer_whole_snapshot_does_not_list_is_lost():
    (row,) = replica_changes({}, known()).written.values()
    whole = {("c", 7, "/d1"): Whole(9, "c1", 0, ("i", 0, 2))}
    (lost,) = replica_changes({KEY: row}, known(listed=False, log_dirs=whole)).written.values()
    assert (lost["cause"], lost["log_dir"], lost["inventory_at_ms"], lost["was_listed"]) == ("lost", None, 9, True)


@pytest.mark.parametrize(
    ("text", "number"),
    [("2", 2), (" +2\n", 2), ("-1", -1), ("2.0", None), ("", None), (None, None), ("2147483648", None), ("٢", None)],
)
def test_a_text_with_blanks_around_a_number_is_one(text, number):
    assert as_int(text) == number


def test_a_partition_of_a_topic_without_partitions_in_a_later_whole_scan_is_deleted():
    stored = {("c", "t", 0): {"inventory_at_ms": 1}, ("d", "t", 0): {"inventory_at_ms": 1}}
    scans = {("c", None, None): Whole(2, "c1", 1, ("i", 0, 2))}
    parts = [Part(("c", None, None), "c1", 2, {"topic": "t", "partitions": []}, ("i", 0, 1))]
    assert partition_changes(stored, parts, scans).deleted == {("c", "t", 0)}
