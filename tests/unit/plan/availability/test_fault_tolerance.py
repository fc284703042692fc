"""KIP-112's advice on replication factor and min.insync.replicas: how much more a topic endures."""

import pytest

from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus
from logdirwatch.plan.availability.fault_tolerance import endurance, fault_tolerance_of
from tests.unit.plan.builders import broker, directory, facts, offline, replica, topic
from tests.unit.plan.failures import partition_of

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
    assert of(topic("t", assignment, configs=minimum(needed)), *THREE).warnings == warned


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
