"""Moves of others that are to end: only those that were meant, and never where data would be lost."""

import pytest

from logdirwatch.execute.calls import Do, PlaceReplicas, Reached, Reassign, Stuck, Wait, not_shown
from logdirwatch.execute.decide import decide
from logdirwatch.execute.seen import Copy, PartitionSeen, Seen
from logdirwatch.execute.step_kinds.cancel import Cancel
from logdirwatch.execute.step_kinds.move import Move
from logdirwatch.execute.step_kinds.set_config import SetConfig
from logdirwatch.execute.step_kinds.throttle import Throttle
from logdirwatch.execute.steps import steps_of
from logdirwatch.model.vocabulary import FOLLOWER_THROTTLE
from logdirwatch.plan.cluster.assignment import Assignment, to_json
from logdirwatch.plan.commands import operations
from logdirwatch.plan.commands.throttles import Limits, within_brokers

KEY, HELD = ("t", 0), ("t", 0, 1)
THERE, HERE = (Assignment("t", 0, found, ("any", "any")) for found in ((3, 2), (1, 2)))
AGAIN = within_brokers([1], 5)
OPERATION = operations.cancel_moves(to_json([THERE]), to_json([THERE]), to_json([HERE]), "f.json", again=AGAIN)
REASSIGNED = Cancel((THERE,), {KEY: (3, 2)}, {KEY: (1, 2)})
COPIED = Cancel((Assignment("t", 0, (1, 2), ("/b", "any")),), {KEY: (1, 2)}, {KEY: (1, 2)})
RUNS = PartitionSeen((3, 2, 1), (1, 2), adding=(3,), removing=(1,))


def shown(partition, **fields):
    return Seen(partitions={KEY: partition}, **fields)


def test_it_is_one_step_and_its_way_back_begins_the_moves_again():
    assert steps_of(operations.as_data([OPERATION]), back=False) == [REASSIGNED]
    assert str(REASSIGNED) == "cancel the moves of t-0"
    assert steps_of(operations.as_data([OPERATION]), back=True) == [
        Throttle(AGAIN),
        Move((THERE,), {KEY: HERE}),
    ]


def test_a_reassignment_that_runs_is_cancelled_and_then_it_is_over():
    assert decide(REASSIGNED, shown(RUNS), ()) == Do((Reassign({KEY: None}),))
    only_adds = PartitionSeen((1, 2, 3), (1, 2), adding=(3,))
    more = Cancel((THERE,), {KEY: (1, 2, 3)}, {KEY: (1, 2)})
    assert decide(more, shown(only_adds), ()) == Do((Reassign({KEY: None}),))
    assert decide(REASSIGNED, shown(PartitionSeen((1, 2), (1, 2))), ()) == Reached()


def test_what_came_to_its_end_or_is_gone_is_said():
    found = decide(REASSIGNED, shown(PartitionSeen((3, 2), (2, 3))), ())
    assert found == Reached(("the move of t-0 came to its end before it was cancelled",))
    assert decide(REASSIGNED, Seen(), ()) == Reached((not_shown("t-0"),))


def test_a_copy_within_a_broker_ends_by_its_own_directory():
    calm = PartitionSeen((1, 2), (1, 2))
    copies = {"replicas": {HELD: Copy("/a", 9)}, "futures": {HELD: Copy("/b", 3)}}
    assert decide(COPIED, shown(calm, **copies), ()) == Do((PlaceReplicas({HELD: "/a"}),))
    elsewhere = {"replicas": {HELD: Copy("/a", 9)}, "futures": {HELD: Copy("/c", 3)}}
    assert decide(COPIED, shown(calm, **elsewhere), ()) == Reached()
    assert decide(COPIED, shown(calm, silent=frozenset({1})), ()) == Wait(None, "broker 1 does not answer")


@pytest.mark.parametrize(
    ("step", "partition", "reason"),
    [
        (REASSIGNED, PartitionSeen((4, 2, 1), (1, 2), (4,), (1,)), "somebody else reassigns t-0 to [4, 2]"),
        (COPIED, RUNS, "somebody else reassigns t-0 to [3, 2]"),
        (REASSIGNED, RUNS._replace(isr=(3,)), "cancelling would lose what only new ones have"),
    ],
)
def test_another_move_and_one_whose_new_copies_are_the_only_good_ones_go_on(step, partition, reason):
    found = decide(step, shown(partition), ())
    assert isinstance(found, Stuck)
    assert reason in found.reason


def test_throttles_go_by_name_and_value_and_can_be_set_again():
    limits = Limits({1: {FOLLOWER_THROTTLE: 5}})
    data = operations.as_data([operations.clear_throttles(limits)])
    assert steps_of(data, back=False) == [SetConfig("brokers", "1", FOLLOWER_THROTTLE, None, ("5",))]
    assert steps_of(data, back=True) == [SetConfig("brokers", "1", FOLLOWER_THROTTLE, "5", (None,))]
