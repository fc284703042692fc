"""Units that are balanced with each other: what each holds and may give, and who may take a replica."""

import numpy as np
import pytest

from logdirwatch.plan.balance.model.board import Board
from logdirwatch.plan.balance.search.pool import Band, Flow, Pool, Side
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


GIVER, TAKER = Side(700, 450, 550), Side(300, 450, 550)
"""150 bytes too much and 150 missing: with 150 to 250 bytes gone, both are in their band."""


@pytest.mark.parametrize(("more", "off"), [(0, 150), (-150, 0), (-250, 0), (-251, 1), (-100, 50), (10, 160)])
def test_a_side_is_off_by_what_is_outside_its_band(more, off):
    assert GIVER.off_bytes(more) == off


@pytest.mark.parametrize(
    ("gone", "off"), [(0, 300), (50, 200), (149, 2), (150, 0), (250, 0), (251, 2), (300, 100), (400, 300)]
)
def test_both_are_off_by_the_sum(gone, off):
    assert Flow(GIVER, TAKER).off_bytes(np.array([float(gone)])).tolist() == [off]


def test_many_amounts_are_judged_at_once():
    assert Flow(GIVER, TAKER).off_bytes(np.array([0.0, 150.0, 300.0])).tolist() == [300, 0, 100]


@pytest.mark.parametrize(
    ("giver", "taker", "span"),
    [
        (GIVER, TAKER, (150, 250)),
        (Side(700, 450, 550), Side(450, 450, 550), (100, 150)),  # what helps the one beyond 100 bytes harms the other
        (Side(500, 450, 550), Side(430, 450, 550), (20, 50)),
        (Side(500, 450, 550), Side(500, 450, 550), (0, 50)),
        (Side(400, 450, 550), Side(600, 450, 550), (0, 0)),  # the wrong way round
    ],
)
def test_the_best_is_what_leaves_the_least(giver, taker, span):
    assert Flow(giver, taker).best() == span


@pytest.mark.parametrize(
    ("gain", "span"),
    [(1, (0.5, 399.5)), (100, (50, 350)), (200, (100, 300)), (300, (150, 250)), (301, None), (0, (0, 400))],
)
def test_helpful_is_what_gains_so_much(gain, span):
    assert Flow(GIVER, TAKER).helpful(gain) == span


def test_nothing_helps_two_units_in_their_band():
    assert Flow(Side(500, 450, 550), Side(500, 450, 550)).helpful(1) is None
    assert Flow(Side(400, 450, 550), Side(600, 450, 550)).helpful(1) is None
