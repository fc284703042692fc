"""Moves and swaps of two replicas for units that single moves cannot bring into their band."""

import numpy as np
import pytest

from logdirwatch.plan.balance.search.exchange import exchange
from tests.unit.plan.balance.builders import at
from tests.unit.plan.balance.search.test_pool import everything, pool


def exchanged(*directories, units=None, movable=None, attempts=None, low=400, high=600, limit=0.9):
    """What moves, as partition and directory, and how full the directories are afterwards."""
    made = pool(*directories, low=low, high=high, limit=limit)
    if attempts is not None:
        made.board.attempts_left = attempts
    chosen = everything(made) if movable is None else movable(made)
    exchange(made, chosen, units)
    model = made.board.model
    moves = {int(model.replica_partition[replica]): directory for replica, directory in made.board.moves.items()}
    assert made.used.tolist() == [float(used) for used in made.board.used]
    return moves, made.used.tolist()


def test_what_is_in_its_band_stays():
    assert exchanged(at(1, "/a", t0=400, t1=200), at(1, "/b", t2=400)) == ({}, [600, 400])


def test_a_single_move_that_helps_is_made():
    moves, used = exchanged(at(1, "/a", t0=500, t1=200), at(1, "/b", t2=300))
    assert (moves, used) == ({1: 1}, [500, 500])


def test_two_replicas_are_swapped_where_no_move_helps():
    moves, used = exchanged(at(1, "/a", t0=400, t1=300), at(1, "/b", t2=200, t3=100), low=490, high=510)
    assert used == [500, 500]
    assert moves == {1: 1, 3: 0}


def test_of_several_that_leave_nothing_off_the_one_that_copies_least_is_taken():
    moves, used = exchanged(at(1, "/a", t0=350, t1=330, t2=20), at(1, "/b", t3=220, t4=110))
    assert (moves, used) == ({1: 1, 4: 0}, [480, 550])


def test_help_of_less_than_a_tenth_of_what_it_is_off_is_no_help():
    assert exchanged(at(1, "/a", t0=850, t1=24), at(1, "/b", t2=390), low=0, high=600)[0] == {}
    assert exchanged(at(1, "/a", t0=850, t1=28), at(1, "/b", t2=390), low=0, high=600)[0] == {1: 1}


@pytest.mark.parametrize(("units", "moves"), [([], {}), ([0], {1: 1}), ([1], {1: 1}), (None, {1: 1})])
def test_only_the_units_that_are_asked_for_are_helped(units, moves):
    assert exchanged(at(1, "/a", t0=500, t1=200), at(1, "/b", t2=300), units=units)[0] == moves


def test_what_must_not_move_stays():
    def only_the_large(made):
        return np.array(made.board.sizes) > 400

    assert exchanged(at(1, "/a", t0=500, t1=200), at(1, "/b", t2=300), movable=only_the_large)[0] == {}


def test_a_swap_that_has_no_room_in_one_order_is_made_in_the_other():
    directories = at(1, "/a", t0=400, t1=300), at(1, "/b", t2=200, t3=100)
    # What /a holds already is its limit, so that /b can give nothing before it has taken.
    assert exchanged(*directories, low=490, high=510, limit=0.7) == ({1: 1, 3: 0}, [500, 500])
    assert exchanged(*directories, low=490, high=510, limit=0.55)[0] == {}, "in no order has /b room for it"


def test_no_broker_gets_a_partition_that_it_has():
    directories = at(1, t0=500, t1=200), at(2, t1=200, t2=100)
    assert exchanged(*directories) == ({}, [700, 300])


def test_without_attempts_nothing_is_tried():
    directories = at(1, "/a", t0=500, t1=200), at(1, "/b", t2=300)
    assert exchanged(*directories, attempts=0) == ({}, [700, 300])
    assert exchanged(*directories, attempts=20) == ({}, [700, 300])
    assert exchanged(*directories, attempts=1_000)[1] == [500, 500]


def test_all_units_that_are_off_are_helped():
    used = exchanged(
        at(1, "/a", t0=500, t1=200),
        at(1, "/b", t2=500, t3=200),
        at(1, "/c", t4=300),
        at(1, "/d", t5=300),
    )[1]
    assert used == [500, 500, 500, 500]
