"""What is lost with a directory, and how many more failures the rest endures (KIP-112)."""

import pytest

from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus
from logdirwatch.plan.availability.fault_tolerance import (
    danger,
    endurance,
    fault_tolerance_of,
    lost_together,
    partitions_on,
)
from logdirwatch.plan.cluster.layout import Partition, Topic
from tests.unit.plan.builders import CONFIGS, MIB, broker, directory, facts, offline, partition_of, replica, topic


def labels(partitions):
    return [partition.label for partition in partitions]


def unseen(name, *replicas, lost=1):
    """A topic that is newer than the inventory: its replica on a broker is offline, and in no directory."""
    partition = Partition(name, 0, leader=2, replicas=replicas, isr=replicas, offline_replicas=(lost,))
    return Topic(name, (partition,), CONFIGS, frozenset(), False)


def snapshot(*parts):
    others = [directory(number, "/x") for number in (2, 3)]
    return facts(*others, *parts)


LOST = [offline(1, "/d1"), directory(1, "/d2"), topic("a", [1, 2]), replica(1, "/d1", "a"), replica(2, "/x", "a")]


def test_what_lies_in_the_directory_is_lost_and_what_lies_beside_it_is_not():
    made = snapshot(*LOST, topic("b", [1, 2]), replica(1, "/d2", "b"), replica(2, "/x", "b"))
    assert labels(lost_together([(1, "/d1")], made)) == ["a-0"]
    assert labels(lost_together([(1, "/d2")], made)) == ["b-0"]
    assert labels(lost_together([(1, "/d1"), (1, "/d2")], made)) == ["a-0", "b-0"]
    assert lost_together([], made) == []


def test_a_copy_that_the_broker_is_not_assigned_or_that_no_metadata_has_is_not_lost():
    made = snapshot(*LOST, topic("s", [2, 3]), replica(1, "/d1", "s"), replica(1, "/d1", "deleted"))
    assert labels(lost_together([(1, "/d1")], made)) == ["a-0"]


@pytest.mark.parametrize(
    ("more", "lost"),
    [
        ([], ["a-0", "new-0"]),
        ([offline(1, "/d3")], ["a-0"]),  # it may have been in the other one
        ([broker(1, BrokerStatus.OFFLINE)], ["a-0"]),  # a broker that is away lost nothing with its directory
        ([replica(1, "/d2", "new")], ["a-0"]),  # seen in a good one
    ],
)
def test_what_no_inventory_has_seen_counts_where_only_one_directory_is_offline(more, lost):
    made = snapshot(*LOST, unseen("new", 1, 2), *more)
    assert labels(lost_together([(1, "/d1")], made)) == lost


def test_what_was_never_seen_counts_where_all_that_are_offline_are_named_unless_it_is_not_asked():
    made = snapshot(*LOST, offline(1, "/d3"), unseen("new", 1, 2))
    both = [(1, "/d1"), (1, "/d3")]
    assert labels(lost_together(both, made)) == ["a-0", "new-0"]
    assert labels(lost_together(both, made, with_unseen=False)) == ["a-0"]


def test_what_is_offline_on_another_broker_is_not_lost_here():
    made = snapshot(*LOST, unseen("new", 1, 2, lost=2))
    assert labels(lost_together([(1, "/d1")], made)) == ["a-0"]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (topic("t", [1, 2, 3]), (2, True)),
        (topic("t", [1, 2, 3], isr={0: [1, 2]}), (1, True)),
        (topic("t", [1, 2, 3], isr={0: [1]}), (0, True)),
        (topic("t", [1, 2, 4]), (1, True)),  # broker 4 is not alive
        (topic("t", [1, 2], is_internal=True), (1, False)),
    ],
)
def test_danger_counts_the_live_in_sync_replicas_elsewhere(made, expected):
    made_of = snapshot(directory(1), directory(4), broker(4, BrokerStatus.OFFLINE), made)
    assert danger(made_of.partitions["t", 0], made_of, 1) == expected


def test_the_order_is_danger_then_internal_topics_then_size_then_name():
    def named(name, replicas, isr=None, size=100 * MIB, *, is_internal=False):
        made = topic(name, replicas, isr=None if isr is None else {0: isr}, is_internal=is_internal)
        return [made, replica(1, "/d1", name, size=size), *(replica(n, "/x", name, size=size) for n in replicas[1:])]

    parts = [
        *named("small", [1, 2]),
        *named("large", [1, 2], size=200 * MIB),
        *named("also_small", [1, 2]),
        *named("__internal", [1, 2], is_internal=True),
        *named("safe", [1, 2, 3], size=300 * MIB),
        *named("sole", [1, 2], [1], size=1 * MIB),
    ]
    made = snapshot(offline(1, "/d1"), *parts)
    order = ["sole-0", "__internal-0", "large-0", "also_small-0", "small-0", "safe-0"]
    assert labels(lost_together([(1, "/d1")], made)) == order
    assert labels(partitions_on(1, made)) == order
    assert labels(partitions_on(3, made)) == ["safe-0"]
    assert partitions_on(9, made) == []


THREE = [directory(1), directory(2), directory(3)]


def minimum(number):
    return {"min.insync.replicas": str(number)}


def of(made, *parts):
    return endurance(made, facts(*parts, made))


@pytest.mark.parametrize(
    ("assignment", "needed", "survives", "writes"),
    [((1, 2, 3), 2, 2, 1), ((1, 2, 3), 1, 2, 2), ((1, 2), 2, 1, 0), ((1, 2), 1, 1, 1), ((1,), 1, 0, 0)],
)
def test_a_topic_endures_one_failure_less_than_it_has_copies_and_writes_down_to_its_minimum(
    assignment, needed, survives, writes
):
    found = of(topic("t", assignment, configs=minimum(needed)), *THREE)
    assert (found.survives, found.writes_survive, found.copies) == (survives, writes, len(assignment))


def test_the_weakest_partition_stands_for_the_topic():
    found = of(topic("t", (1, 2, 3), (1, 2, 3), isr={1: (1,)}, configs=minimum(2)), *THREE)
    assert (found.partition, found.survives, found.writes_survive) == ("t-1", 0, -1)


def test_what_is_dead_behind_or_on_a_lost_disk_counts_for_no_copy():
    made = topic("t", (1, 2, 3), isr={0: (1, 2)}, configs=minimum(1))
    assert of(made, *THREE).copies == 2
    assert of(made, broker(2, BrokerStatus.OFFLINE), *THREE).copies == 1
    assert of(made, offline(1), *THREE[1:], replica(1, "/d1", "t")).copies == 1


def test_a_copy_on_a_disk_that_nobody_sees_is_not_counted_on():
    unseen = directory(1, status=LogDirStatus.UNKNOWN)
    assert of(topic("t", (1, 2)), unseen, directory(2), replica(1, "/d1", "t")).copies == 1


def test_below_zero_it_is_so_already():
    made = topic("t", (1, 2), isr={0: (1,)}, configs=minimum(1))
    found = of(made, offline(1), directory(2), replica(1, "/d1", "t"))
    assert (found.survives, found.writes_survive) == (-1, -1)


def test_an_eligible_replica_holds_all_that_was_acknowledged_but_takes_no_writes():
    made = partition_of(topic("t", (1, 2), isr={0: (1,)}, configs=minimum(2)), elr=(2,))
    found = of(made, directory(1), directory(2))
    assert (found.survives, found.writes_survive) == (1, -1)


def test_an_unknown_minimum_is_not_taken_for_a_good_one():
    assert of(topic("t", (1, 2, 3)), *THREE).writes_survive is None


def test_racks_are_counted_where_all_are_known():
    racks = [broker(1, rack="a"), broker(2, rack="a"), broker(3, rack="b")]
    made = topic("t", (1, 2, 3))
    assert of(made, *racks, *THREE).racks == 1
    assert of(made, *racks[:2], *THREE).racks is None


@pytest.mark.parametrize(
    ("assignment", "needed", "warned"),
    [
        ((1,), 1, ("replication_factor_1",)),
        ((1, 2), 2, ("min_isr_is_replication_factor",)),
        ((1, 2), 1, ("min_isr_1",)),
        ((1, 2, 3), 2, ()),
    ],
)
def test_what_is_weak_by_design_is_named(assignment, needed, warned):
    assert of(topic("t", assignment, configs=minimum(needed)), *THREE).warnings == list(warned)


def test_a_topic_without_partitions_endures_nothing_and_is_left_out():
    found = facts(directory(1), topic("empty"))
    assert endurance(found.topics["empty"], found) is None


def test_an_action_carries_counts_and_at_most_twenty_topics_the_weakest_first():
    safe = [topic(f"safe{number:02}", (1, 2, 3), configs=minimum(2)) for number in range(30)]
    weak = topic("weak", (1, 2, 3), isr={0: (1,)}, configs=minimum(2))
    found = facts(*THREE, *safe, weak)
    told = fault_tolerance_of(found.partitions.values(), found)
    assert (told["topics"], told["next_failure_loses_data"], told["writes_stopped"]) == (31, 1, 1)
    assert told["without_copy"] == told["writes_unknown"] == 0
    assert len(told["examples"]) == 20
    assert told["examples"][0] == {
        "topic": "weak",
        "partition": "weak-0",
        "copies": 1,
        "survives": 0,
        "racks": None,
        "writes_survive": -1,
        "warnings": [],
    }
