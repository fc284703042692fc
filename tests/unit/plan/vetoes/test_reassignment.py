"""The judge of reassignments, which shares no step with the planners."""

from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus
from logdirwatch.plan.cluster.assignment import Assignment
from logdirwatch.plan.vetoes.reassignment import violations
from tests.unit.plan.builders import MIB, broker, directory, facts, offline, policy, replica, topic

PARTS = [
    broker(1, rack="a"),
    broker(2, rack="b"),
    broker(3, rack="a"),
    directory(1, "/d1", 800 * MIB),
    directory(1, "/d2", 20 * MIB),
    directory(2, "/d1", 30 * MIB),
    directory(3, "/d1", 40 * MIB),
    topic("t", (1, 2)),
    replica(1, "/d1", "t"),
    replica(2, "/d1", "t"),
]
GOOD = Assignment("t", 0, (3, 2), ("/d1", "any"))
INSIDE = Assignment("t", 0, (1, 2), ("/d2", "any"))


def names(*assignments, parts=PARTS, extra=(), **limits):
    return [veto.name for veto in violations(assignments, facts(*parts, *extra), policy(**limits))]


@pytest.mark.parametrize("assignment", [GOOD, INSIDE, Assignment("t", 0, (1, 2), ("any", "any"))])
def test_a_good_reassignment_has_nothing_against_it(assignment):
    assert names(assignment) == []


@pytest.mark.parametrize(
    ("assignment", "found"),
    [
        (Assignment("gone", 0, (1,), ("any",)), "partition_gone"),
        (Assignment("t", 0, (1, 1), ("any", "any")), "replica_repeated"),
        (Assignment("t", 0, (1,), ("any",)), "replication_factor_changed"),
        (Assignment("t", 0, (1, 3), ("any", "any")), "rack_spread_lost"),
        (Assignment("t", 0, (9, 2), ("any", "any")), "broker_not_alive"),
        (Assignment("t", 0, (3, 2), ("/nowhere", "any")), "log_dir_not_found"),
    ],
)
def test_what_is_wrong_is_named(assignment, found):
    assert found in names(assignment)


def test_a_partition_is_named_once():
    assert names(GOOD, GOOD) == ["partition_repeated"]


@pytest.mark.parametrize(
    ("place", "found"),
    [
        (directory(1, "/d2", 20 * MIB, is_cordoned=True), "destination_cordoned"),
        (directory(1, "/d2", 20 * MIB, is_marked=True), "destination_marked"),
        (directory(1, "/d2", 20 * MIB, status=LogDirStatus.UNKNOWN), "destination_not_serving"),
        (directory(1, "/d2", 840 * MIB), "destination_would_overflow"),
        (directory(1, "/d2", None), "destination_space_unknown"),
    ],
)
def test_a_destination_that_cannot_take_it_is_named(place, found):
    assert found in names(INSIDE, extra=[place])


def test_kafka_may_not_choose_where_it_may_choose_a_marked_directory():
    marked = directory(3, "/d2", 20 * MIB, is_marked=True)
    assert names(Assignment("t", 0, (3, 2), ("any", "any")), extra=[marked]) == ["destination_marked"]
    assert names(GOOD, extra=[marked]) == []
    # A replica that is there already stays where it is.
    assert names(Assignment("t", 0, (2, 1), ("any", "any")), extra=[directory(1, "/d3", is_marked=True)]) == []


def test_inside_a_broker_with_an_offline_directory_nothing_moves():
    assert names(INSIDE, extra=[offline(1, "/d3")]) == ["log_dir_offline"]
    assert names(INSIDE, extra=[directory(1, "/d3", status=LogDirStatus.UNKNOWN)]) == ["log_dir_unknown"]


def test_a_fenced_broker_may_not_be_named():
    fenced = replace(broker(3, BrokerStatus.ONLINE, rack="a"), is_fenced=True)
    assert names(GOOD, extra=[fenced]) == ["broker_not_alive"]


@pytest.mark.parametrize("status", [BrokerStatus.OFFLINE, BrokerStatus.UNKNOWN])
@pytest.mark.parametrize(
    ("assignment", "away", "found"),
    [
        (INSIDE, 2, []),
        (INSIDE, 1, ["broker_not_alive"]),
        (Assignment("t", 0, (2, 1), ("any", "any")), 2, []),
        (Assignment("t", 0, (2, 1), ("any", "/d2")), 2, []),
        (GOOD, 3, ["broker_not_alive"]),
        (GOOD, 2, ["broker_not_alive"]),
        (GOOD, 1, []),
    ],
    ids=[
        "a copy within another broker",
        "a copy within it",
        "an order that it is in",
        "an order, and a copy within another",
        "a reassignment to it",
        "a reassignment in which it stays, which Kafka completes only once it is in sync",
        "a reassignment off it",
    ],
)
def test_a_broker_that_is_away_forbids_what_needs_it_and_nothing_else(assignment, away, found, status):
    assert names(assignment, extra=[broker(away, status, rack="ab"[away == 2])]) == found


def test_together_copies_may_overflow_where_each_alone_would_fit():
    extra = [
        topic("u", (1, 2)),
        replica(1, "/d1", "u", size=420 * MIB),
        topic("v", (1, 2)),
        replica(1, "/d1", "v", size=420 * MIB),
    ]
    first, second = Assignment("u", 0, (3, 2), ("/d1", "any")), Assignment("v", 0, (3, 2), ("/d1", "any"))
    assert names(first, extra=extra) == names(second, extra=extra) == []
    assert names(first, second, extra=extra) == ["destination_would_overflow"]


def test_inside_moves_add_up_as_well():
    extra = [
        topic("u", (1, 2)),
        replica(1, "/d1", "u", size=500 * MIB),
        topic("v", (1, 2)),
        replica(1, "/d1", "v", size=400 * MIB),
    ]
    first, second = Assignment("u", 0, (1, 2), ("/d2", "any")), Assignment("v", 0, (1, 2), ("/d2", "any"))
    assert names(first, extra=extra) == []
    assert names(first, second, extra=extra) == ["destination_would_overflow"]


def test_what_a_destination_grows_during_the_copy_needs_room_too():
    growing = directory(3, "/d1", 500 * MIB, growth_bytes_per_s=3.0 * MIB)
    slow = {"replication_throttle_bytes_per_s": MIB, "network_bandwidth_bytes_per_s": MIB}
    assert names(GOOD, extra=[growing], **slow) == ["destination_would_overflow"]
    assert names(GOOD, extra=[growing]) == []
    quick = {"replication_throttle_bytes_per_s": MIB, "network_bandwidth_bytes_per_s": 100 * MIB}
    assert names(GOOD, extra=[growing], **quick) == [], "the plan may have been made with more than the usual rate"


def test_what_is_there_already_needs_no_room():
    here = Assignment("t", 0, (1, 2), ("/d1", "any"))
    assert names(here, destination_max_ratio=0.5) == []


def test_a_moving_partition_and_an_unknown_size_are_refused():
    moving = replica(1, "/d2", "t", size=MIB, is_future=True)
    assert names(GOOD, extra=[moving]) == ["partition_moving"]
    unsized = [topic("u", (1, 2)), replica(1, "/d1", "u", size=None)]
    assert names(Assignment("u", 0, (3, 2), ("/d1", "any")), extra=unsized) == ["size_unknown"]
