"""Units that are balanced with each other: what each holds and may give, and who may take a replica."""

import numpy as np
import pytest

from logdirwatch.plan.balance.model.board import Board
from logdirwatch.plan.balance.search.bands import Band
from logdirwatch.plan.balance.search.flow import Side
from logdirwatch.plan.balance.search.pool import Pool
from tests.unit.plan.balance.builders import at, cluster


def pool(*directories, units=None, low=300, high=500, limit=0.9):
    """Each directory is a unit unless said otherwise; all units have one band."""
    model = cluster(*directories)
    units = units or [[number] for number in range(len(model.capacity_bytes))]
    band = Band(np.full(len(units), float(low)), np.full(len(units), float(high)))
    return Pool(Board(model, limit), units, band, np.arange(len(model.replica_bytes)))


def everything(made):
    return np.ones(len(made.board.place), dtype=np.bool_)


PAIR = [at(1, "/a", t0=300, t1=100, t2=200), at(1, "/b", t3=100)]


def test_what_units_hold_and_how_far_they_are_off():
    made = pool(*PAIR, at(1, "/c", t4=400))
    assert made.used.tolist() == [600, 100, 400]
    assert (made.excess.tolist(), made.deficit.tolist()) == ([100, 0, 0], [0, 200, 0])
    assert made.capacity.tolist() == [1000] * 3
    assert made.side(0) == Side(600, 300, 500)
    assert not made.is_balanced


@pytest.mark.parametrize(("sizes", "is_balanced"), [((300, 500), True), ((299, 500), False), ((300, 501), False)])
def test_the_edges_of_the_band_are_within_it(sizes, is_balanced):
    made = pool(at(1, "/a", t0=sizes[0]), at(1, "/b", t1=sizes[1]))
    assert made.is_balanced is is_balanced


def test_a_unit_of_several_directories_holds_them_all():
    made = pool(at(1, "/a", t0=300), at(1, "/b", t1=100), at(2, "/a", capacity=500), units=[[0, 1], [2]])
    assert (made.used.tolist(), made.capacity.tolist()) == ([400, 0], [2000, 500])
    made.admit(everything(made))
    assert made.stock == [[(100, 1), (300, 0)], []]


def test_nothing_may_be_given_before_it_is_admitted_and_then_the_smallest_stands_first():
    made = pool(*PAIR)
    assert made.stock == [[], []]
    made.admit(everything(made))
    assert made.stock == [[(100, 1), (200, 2), (300, 0)], [(100, 3)]]
    made.admit(np.array([True, False, True, False]))
    assert made.stock == [[(200, 2), (300, 0)], []]


def test_what_moved_is_not_given_again_but_is_in_the_content():
    made = pool(*PAIR)
    made.admit(everything(made))
    made.move(2, 0, 1, 1)
    assert made.used.tolist() == [400, 300]
    assert made.stock == [[(100, 1), (300, 0)], [(100, 3)]]
    assert made.board.moves == {2: 1}
    made.admit(everything(made))
    assert made.stock == [[(100, 1), (300, 0)], [(100, 3)]]
    assert made.content(everything(made)) == [[(100, 1), (300, 0)], [(100, 3), (200, 2)]]
    assert made.content(np.array([True, True, False, True])) == [[(100, 1), (300, 0)], [(100, 3)]]


def test_the_emptiest_directory_of_a_unit_takes_a_replica_counted_with_it():
    made = pool(
        at(1, "/a", t0=300),
        at(2, "/a", t1=450),
        at(2, "/b", t2=100, capacity=500),
        at(2, "/c", t3=890),
        units=[[0], [1, 2, 3]],
    )
    assert made.directory(1, 100) == 2
    assert made.directory(1, 250) == 1, "0.70 is full, 0.70 too: the first"
    assert made.directory(1, 351) == 1
    assert made.directory(1, 450) == 1
    assert made.directory(1, 451) is None, "above the limit"


def room(*amounts):
    return np.array([float(amount) for amount in amounts])


def test_the_emptiest_unit_with_room_takes_a_replica_and_never_the_giver():
    made = pool(at(1, "/a", t0=200), at(1, "/b", t1=400), at(1, "/c", t2=300))
    assert made.taker(0, 0, room(999, 200, 200)) == (2, 2)
    assert made.taker(0, 0, room(999, 200, 199)) == (1, 1)
    assert made.taker(0, 0, room(999, 199, 199)) is None


def test_how_full_a_unit_is_decides_and_one_without_space_is_passed_over():
    made = pool(at(1, "/a", t0=200), at(1, "/b", t1=300), at(1, "/c", t2=400, capacity=2000))
    assert made.taker(0, 0, room(0, 500, 500)) == (2, 2)
    full = pool(at(1, "/a", t0=200), at(1, "/b", t1=100, capacity=300), at(1, "/c", t2=400))
    assert full.taker(0, 0, room(0, 500, 500)) == (2, 2)
    assert full.taker(0, 0, room(0, 500, 0)) is None


def test_a_leader_stays_on_its_broker_where_it_can():
    parts = [at(1, "/a", t0=200), at(1, "/b", t1=400), at(2, "/a", t0=200), at(3, "/a")]
    made = pool(*parts)
    assert made.taker(0, 0, room(0, 500, 500, 500)) == (1, 1)
    assert made.taker(0, 0, room(0, 100, 500, 500)) == (3, 3)
    follower = next(r for r in range(3) if made.board.origin[r] == 2)
    assert made.taker(follower, 2, room(500, 500, 0, 500)) == (3, 3)


def test_a_broker_with_another_replica_of_the_partition_takes_none():
    made = pool(at(1, "/a", t0=200), at(2, "/a", t0=200), at(3, "/a", t1=400))
    assert made.taker(0, 0, room(0, 500, 500)) == (2, 2)
    assert made.taker(0, 0, room(0, 500, 0)) is None
    assert made.directory_for(0, 1) is None
    assert made.directory_for(0, 2) == 2


def test_racks_are_kept():
    made = pool(at(1, rack="x", t0=200), at(2, rack="y", t0=200), at(3, rack="y"), at(4, rack="x", t1=400))
    assert made.taker(0, 0, room(0, 500, 500, 500)) == (3, 3)
    assert made.directory_for(0, 2) is None
    assert made.directory_for(0, 3) == 3
    assert made.directory_for(0, 0) == 0, "back to its own broker always"
