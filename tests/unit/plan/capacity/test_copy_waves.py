"""Moves in waves: one when time is enough or not known, several when a part must be free sooner."""

from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.plan.capacity.copy_rates import MOST_WAVES, Pace, in_waves
from logdirwatch.plan.capacity.timing import REACTION_MS
from tests.unit.plan.builders import directory

MINUTE_MS = 60_000


def pace(usable, growth, *, rate=10, settles=0, at_once=100):
    return Pace(directory(1, used=0, total=usable, growth_bytes_per_s=growth), rate, settles, at_once)


def test_with_time_enough_there_is_one_wave():
    waves = in_waves([600, 600], pace(10_000, 1.0))
    assert waves.groups == ((0, 1),)
    assert waves.is_in_time is True
    assert waves.needs_ms == (1200 + 120) * 1000 // 10


def test_where_nobody_knows_the_growth_there_is_one_wave_and_no_claim():
    assert in_waves([600, 600], pace(100, None)).groups == ((0, 1),)
    assert in_waves([600, 600], pace(100, None)).is_in_time is None


def test_what_can_end_in_time_is_copied_first():
    """Full 100 s after a person has begun, who takes ten minutes. 600 bytes take 66 s, both together 132."""
    waves = in_waves([600, 600], pace(700, 1.0))
    assert waves.groups == ((0,), (1,))
    assert waves.is_in_time is True


def test_a_wave_has_no_more_copies_than_the_broker_runs_at_once():
    assert in_waves([100] * 5, pace(100_000, 1.0, at_once=2)).groups == ((0, 1), (2, 3), (4,))
    assert in_waves([100] * 5, pace(100, None, at_once=2)).groups == ((0, 1), (2, 3), (4,))
    hurried = in_waves([100] * 5, pace(45, 1.0, at_once=2))
    assert [len(group) for group in hurried.groups] == [2, 2, 1]
    hopeless = in_waves([2000] * 5, pace(100, 1.0, at_once=2))
    assert [len(group) for group in hopeless.groups] == [2, 2, 1]
    assert not hopeless.is_in_time


def test_more_waves_than_anybody_would_follow_are_not_made_of_it():
    assert [len(group) for group in in_waves([1] * 30, pace(100_000, 1.0, at_once=1)).groups] == [5] * MOST_WAVES


def test_a_replica_too_large_for_the_first_wave_waits_for_a_smaller_one():
    waves = in_waves([1000, 300], pace(100, 1.0))
    assert waves.groups == ((1,), (0,))


def test_what_cannot_end_in_time_is_said():
    waves = in_waves([2000], pace(100, 1.0))
    assert waves.groups == ((0,),)
    assert waves.is_in_time is False


def test_deleted_files_keep_their_bytes_for_a_while():
    assert in_waves([600], pace(700, 1.0, settles=30_000)).is_in_time is True
    assert in_waves([600], pace(700, 1.0, settles=40_000)).is_in_time is None, "only if they begin at once"
    assert in_waves([600], pace(100, 1.0, settles=40_000)).is_in_time is False


@given(st.lists(st.integers(1, 500), min_size=1, max_size=30), st.integers(0, 30_000), st.floats(0.1, 9.0))
def test_every_copy_is_made_once_and_a_plan_in_time_never_overflows(sizes, usable, growth):
    """The source is followed byte by byte: it must not be full before a wave has freed what it holds.

    A person begins after ten minutes.
    """
    found = in_waves(sizes, pace(usable, growth, settles=1_000))
    assert sorted(number for group in found.groups for number in group) == list(range(len(sizes)))
    assert len(found.groups) <= MOST_WAVES
    if not found.is_in_time:
        return
    elapsed_ms, freed = REACTION_MS, 0
    for group in found.groups:
        moved = sum(sizes[number] for number in group)
        elapsed_ms += pace(usable, growth).copy_ms(moved)
        assert growth * (elapsed_ms + 1_000) / 1000 <= usable + freed + 1
        freed += moved
