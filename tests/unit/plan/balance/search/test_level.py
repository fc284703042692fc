"""Single moves that bring units into their band: which go first, how little is wasted, which circle may give."""

import numpy as np
import pytest

from logdirwatch.plan.balance.search.level import Leveller
from tests.unit.plan.balance.builders import at
from tests.unit.plan.balance.search.test_pool import everything, pool


def leveller(*directories, circles=None, **fields):
    made = pool(*directories, **fields)
    masks = [everything(made)] if circles is None else [allowed(made, numbers) for numbers in circles]
    return made, Leveller(made, masks)


def allowed(made, numbers):
    """The replicas of these partitions may move."""
    return np.isin(made.board.model.replica_partition, list(numbers))


def levelled(*directories, circles=None, **fields):
    """What moves, by partition, and how full the units are afterwards."""
    made, planner = leveller(*directories, circles=circles, **{"low": 400, "high": 600} | fields)
    planner.run()
    model = made.board.model
    moves = {int(model.replica_partition[replica]): directory for replica, directory in made.board.moves.items()}
    return moves, made.used.tolist()


def test_what_is_in_its_band_stays():
    assert levelled(at(1, "/a", t0=300, t1=300), at(1, "/b", t2=400)) == ({}, [600, 400])


@pytest.mark.parametrize(
    ("sizes", "goes"),
    [
        ((500, 120, 100), {1}),  # exactly what is too much
        ((500, 100, 124), {2}),
        ((500, 90, 110), {2}),  # the smallest that is enough
        ((500, 60, 70, 80), {1, 3}),  # none alone is enough: the largest, and then the smallest that is
    ],
)
def test_as_little_goes_as_ends_the_excess(sizes, goes):
    moves, used = levelled(at(1, "/a", **{f"t{n}": size for n, size in enumerate(sizes)}), at(1, "/b", u0=300))
    assert set(moves) == goes
    assert used[0] <= 600


def test_the_emptiest_unit_takes():
    moves, _ = levelled(at(1, "/a", t0=500, t1=200), at(1, "/b", t2=380), at(1, "/c", t3=300))
    assert moves[1] == 2


def test_what_is_missing_is_taken_from_the_fullest_that_has_it():
    lacking = at(1, "/c", t4=300)
    moves, _ = levelled(at(1, "/a", t0=450, t1=120), at(1, "/b", t2=450, t3=100), lacking)
    assert moves == {3: 2}, "exactly what is missing, though /a is fuller"
    moves, _ = levelled(at(1, "/a", t0=450, t1=100), at(1, "/b", t2=440, t3=100), lacking)
    assert moves == {1: 2}


def test_a_wider_circle_gives_only_what_the_nearer_one_cannot():
    directories = at(1, "/a", t0=500, t1=100, t2=110), at(1, "/b", t3=300)
    assert levelled(*directories, circles=[{1}, {0, 1, 2, 3}]) == ({2: 1}, [600, 410])
    assert levelled(*directories, circles=[{2}, {0, 1, 2, 3}]) == ({2: 1}, [600, 410])
    assert levelled(*directories, circles=[{3}]) == ({}, [710, 300])


def test_no_unit_is_brought_out_of_its_band_for_another():
    moves, used = levelled(at(1, "/a", t0=400, t1=300), at(1, "/b", t2=400), at(1, "/c", t3=550))
    assert used[1] <= 600
    assert used[2] <= 600
    assert moves in ({}, {1: 1})


@pytest.mark.parametrize(
    ("sizes", "stuck"),
    [
        ((700,), [0]),  # it is too large for the others
        ((595, 105), []),  # within a twentieth of the excess
        ((590, 105), [0]),
        ((500, 100, 100), []),
        ((300, 300), []),
    ],
)
def test_units_that_single_moves_cannot_bring_in_are_stuck(sizes, stuck):
    parts = {f"t{number}": size for number, size in enumerate(sizes)}
    _, planner = leveller(at(1, "/a", **parts), at(1, "/b", u0=300), low=400, high=600)
    assert planner.stuck() == stuck


def test_large_replicas_are_matched_while_the_emptiest_still_have_room():
    directories = at(1, "/a", t0=300, t1=300, t2=300), at(1, "/b", t3=260), at(1, "/c", t4=500)
    made, planner = leveller(*directories, low=450, high=600)
    planner.match_large()
    assert list(made.board.moves.values()) == [1]
    assert made.used.tolist() == [600, 560, 500]


def test_what_is_not_larger_than_the_band_is_wide_is_left_to_the_rest():
    made, planner = leveller(at(1, "/a", t0=500, t1=150), at(1, "/b", t2=300), low=450, high=600)
    planner.match_large()
    assert made.board.moves == {}
