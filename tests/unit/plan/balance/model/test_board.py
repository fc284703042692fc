"""Where replicas are while a plan grows: what has room, what may go where, and what is undone."""

import pytest

from logdirwatch.plan.balance.model.board import ATTEMPTS, ATTEMPTS_PER_REPLICA, CLOSED, Board
from tests.unit.plan.balance.builders import at, cluster


def board(*directories, limit=0.9, closed=()):
    """A board; ``closed`` are the numbers of directories that take no part."""
    model = cluster(*directories)
    is_open = model.is_open.copy()
    is_open[list(closed)] = False
    object.__setattr__(model, "is_open", is_open)
    return Board(model, limit)


def replica_of(made, partition, broker):
    """The number of the replica of partition t0, t1, ... on a broker, by its number."""
    model = made.model
    return next(
        r
        for r in range(len(made.place))
        if model.replica_partition[r] == partition and model.broker_ids[made.broker_of[made.origin[r]]] == broker
    )


def names(made, rows):
    return {int(made.model.broker_ids[row]) for row in rows}


def test_a_directory_may_hold_its_limit_or_what_it_holds_already():
    made = board(at(1, "/a", t0=300), at(1, "/b", t1=950), at(1, "/c"))
    assert made.limits == [900, 950, 900]
    assert [made.room(directory) for directory in range(3)] == [600, 0, 900]
    assert made.used == [300, 950, 0]


def test_a_closed_directory_takes_not_even_an_empty_replica():
    made = board(at(1, "/a", t0=300), at(1, "/b"), at(2, "/a"), closed=[1])
    assert made.limits == [900, CLOSED, 900]
    assert made.room(1) < 0
    assert made.open_directories(0) == [0]
    assert made.open_directories(1) == [2]
    assert made.open_directories(9) == []


def test_a_move_counts_at_both_ends_and_one_that_is_replaced_or_undone_does_not():
    made = board(at(1, "/a", t0=300, t1=10), at(1, "/b"), at(1, "/c"))
    made.move(0, 1)
    assert (made.used, made.place, made.moves) == ([10, 300, 0], [1, 0], {0: 1})
    assert made.has_moved.tolist() == [True, False]
    made.move(1, 1)
    made.move(0, 2)
    assert (made.used, made.moves) == ([0, 10, 300], {1: 1, 0: 2})
    assert list(made.moves) == [1, 0], "in the order in which they were planned"
    made.move(0, 0)
    assert (made.used, made.moves, made.origin) == ([300, 10, 0], {1: 1}, [0, 0])
    assert made.has_moved.tolist() == [False, True]


SPREAD = [at(1, t0=10), at(2, t0=10), at(3), at(4)]


def test_no_broker_holds_a_partition_twice_before_the_plan_or_in_it():
    made = board(*(at(d[0], d[1], d[2], "r", **d[4]) for d in SPREAD))
    first, second = (replica_of(made, 0, broker) for broker in (1, 2))
    assert [made.may_go(first, broker) for broker in range(4)] == [True, False, True, True]
    made.move(second, 2)
    assert names(made, made.openings(first)[0]) == {2, 3}, "the order of the moves is open"
    assert [made.may_go(first, broker) for broker in range(4)] == [True, False, False, True]
    made.move(second, 1)
    assert names(made, made.openings(first)[0]) == {2}
    assert [made.may_go(first, broker) for broker in range(4)] == [True, False, True, True]


def test_a_replica_may_always_go_back_to_its_broker():
    made = board(*SPREAD)
    first = replica_of(made, 0, 1)
    made.move(first, 2)
    assert made.may_go(first, 0)


def racks(made, replica):
    return {made.model.racks[rack] for rack in made.openings(replica)[1]}


@pytest.mark.parametrize(
    ("rack_of", "open_to"),
    [
        ({1: "a", 2: "b", 3: "c", 4: "c"}, {"a", "c"}),
        ({1: "a", 2: "a", 3: "b", 4: "c"}, {"a", "b", "c"}),  # its own has another one
        ({1: "a", 2: "b", 3: "a", 4: "b"}, {"a"}),
        ({1: "a", 2: "b", 3: "", 4: ""}, {"a"}),  # a broker without a rack takes nothing from a rack
        ({1: "", 2: "", 3: "", 4: ""}, {""}),
        ({1: "", 2: "a", 3: "b", 4: ""}, {"", "b"}),
    ],
)
def test_a_partition_is_never_on_fewer_racks_than_before(rack_of, open_to):
    made = board(*(at(d[0], d[1], d[2], rack_of[d[0]], **d[4]) for d in SPREAD))
    assert racks(made, replica_of(made, 0, 1)) == open_to


def test_racks_are_counted_against_the_move_since_the_order_is_open():
    rack_of = {1: "a", 2: "a", 3: "b", 4: "c"}
    made = board(*(at(d[0], d[1], d[2], rack_of[d[0]], **d[4]) for d in SPREAD))
    first, second = (replica_of(made, 0, broker) for broker in (1, 2))
    made.move(second, 2)
    assert racks(made, first) == {"a", "c"}, "what comes to b is there already, what leaves a is gone"
    made.move(second, 1)
    assert racks(made, first) == {"a", "b", "c"}


def test_attempts_grow_with_the_replicas_and_end():
    made = board(*SPREAD)
    assert made.attempts_left == ATTEMPTS + 2 * ATTEMPTS_PER_REPLICA
    assert made.spend(made.attempts_left - 1)
    assert not made.spend(1)
    assert not made.spend(1)
