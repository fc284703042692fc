"""Orders of replicas and elections: what is called, when they are over, and what somebody else did."""

import pytest

from logdirwatch.execute.calls import Do, ElectLeaders, Reached, Reassign, Stuck, not_shown
from logdirwatch.execute.decide import decide
from logdirwatch.execute.run import calls_of
from logdirwatch.execute.seen import PartitionSeen, Seen
from logdirwatch.execute.step_kinds.elect import Elect
from logdirwatch.execute.step_kinds.order import Order
from logdirwatch.execute.steps import steps_of
from logdirwatch.plan.cluster.assignment import Assignment, to_json
from logdirwatch.plan.commands import operations

KEY = ("t", 0)
ORDER = Order({KEY: (2, 1)}, {KEY: (1, 2)})
ELECT = Elect({KEY: 2})
PREFERRED = Elect({KEY: None})
AFTER, BEFORE = (to_json([Assignment("t", 0, found, ("any", "any"))]) for found in ((2, 1), (1, 2)))
DEMOTION = operations.prefer_leaders(AFTER, BEFORE, "f.json")
ELECTION = operations.elect_leaders({"partitions": [{"topic": "t", "partition": 0}]}, "f.json")


def shown(replicas=(1, 2), isr=(1, 2), leader=1, **running):
    return Seen(partitions={KEY: PartitionSeen(replicas, isr, leader=leader, **running)})


def test_a_demotion_is_an_order_and_an_election_there_and_back():
    assert steps_of(operations.as_data([DEMOTION]), back=False) == [ORDER, ELECT]
    assert steps_of(operations.as_data([DEMOTION]), back=True) == [
        Order({KEY: (1, 2)}, {KEY: (2, 1)}),
        Elect({KEY: 1}),
    ]


def test_an_election_has_no_way_back():
    assert steps_of(operations.as_data([ELECTION]), back=False) == [PREFERRED]
    assert steps_of(operations.as_data([ELECTION]), back=True) == []


def test_an_order_is_changed_where_it_is_the_old_one():
    assert decide(ORDER, shown(), ()) == Do((Reassign({KEY: (2, 1)}),))
    assert decide(ORDER, shown((2, 1)), ()) == Reached()


@pytest.mark.parametrize("step", [ELECT, PREFERRED])
def test_what_the_cluster_does_not_show_is_left_alone(step):
    for seen in (Seen(), shown((), (), None)):
        assert decide(step, seen, ()) == Stuck(not_shown("t-0"))


@pytest.mark.parametrize("step", [ELECT, PREFERRED])
def test_who_is_preferred_and_in_sync_is_elected_once(step):
    assert decide(step, shown((2, 1)), ()) == Do((ElectLeaders((KEY,)),))
    assert decide(step, shown((2, 1), leader=2), ()) == Reached()
    assert calls_of(step) == "ElectLeaders"


@pytest.mark.parametrize(
    ("step", "seen", "reason"),
    [
        (ORDER, Seen(), not_shown("t-0")),
        (ORDER, shown((1, 2, 3), adding=(3,)), "somebody else reassigns t-0 to [1, 2, 3]"),
        (ORDER, shown((1, 3)), "the replicas of t-0 are [1, 3]: somebody else changed them"),
        (ELECT, Seen(), not_shown("t-0")),
        (ELECT, shown((1, 2)), "somebody else changed them"),
        (ELECT, shown((2, 1), isr=(1,)), "broker 2, the preferred leader of t-0, is not in sync"),
    ],
)
def test_what_is_not_as_planned_is_left_alone_and_said(step, seen, reason):
    found = decide(step, seen, ())
    assert isinstance(found, Stuck)
    assert reason in found.reason


def test_those_that_can_be_led_are_before_one_that_cannot_is_said():
    step = Elect({KEY: None, ("t", 1): None})
    lagging = PartitionSeen((3, 1), (1,), leader=1)
    both = Seen(partitions={KEY: PartitionSeen((2, 1), (1, 2), leader=1), ("t", 1): lagging})
    assert decide(step, both, ()) == Do((ElectLeaders((KEY,)),))
    led = Seen(partitions={KEY: PartitionSeen((2, 1), (1, 2), leader=2), ("t", 1): lagging})
    assert isinstance(decide(step, led, ()), Stuck)
