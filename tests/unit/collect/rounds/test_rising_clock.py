"""Times of records on a clock that is set."""

import itertools

import pytest

from logdirwatch.collect.rounds.rising_clock import MOST_AHEAD_MS, RisingClock

T0 = 1_700_000_000_000
POLL_MS = 5_000


def times(*steps_ms, at=3, polls=6, step_ms=1):
    """The times of polls whose clock is set by each step, one every ``at`` polls, and how the clock is then."""
    now, found, steps = [T0], [], list(steps_ms)
    clock = RisingClock(lambda: now[0], step_ms)
    for number in range(polls):
        now[0] += POLL_MS + (steps.pop(0) if steps and number % at == at - 1 else 0)
        found.append((clock(), now[0]))
    return found


def paces(found):
    return [after - before for (before, _), (after, _) in itertools.pairwise(found)]


def test_without_a_step_they_are_the_clocks():
    assert all(at_ms == now_ms for at_ms, now_ms in times())


@pytest.mark.parametrize("back_ms", [15_000, 30_000, MOST_AHEAD_MS])
def test_after_a_short_step_back_they_go_on_at_the_clocks_pace(back_ms):
    found = times(-back_ms)
    assert paces(found) == [POLL_MS, 1, POLL_MS, POLL_MS, POLL_MS]
    assert all(at_ms - now_ms <= MOST_AHEAD_MS for at_ms, now_ms in found)


@pytest.mark.parametrize("back_ms", [MOST_AHEAD_MS + POLL_MS, 3_600_000])
def test_after_a_long_step_back_they_follow_the_clock(back_ms):
    assert all(at_ms == now_ms for at_ms, now_ms in times(-back_ms))


def test_short_steps_add_up_to_a_long_one():
    found = times(*[-20_000] * 4, at=2, polls=20)
    assert [at_ms - now_ms for at_ms, now_ms in found][-1] == 0
    assert all(0 <= at_ms - now_ms <= MOST_AHEAD_MS for at_ms, now_ms in found)


def test_a_step_forward_ends_it():
    assert [at_ms - now_ms for at_ms, now_ms in times(-30_000, 30_000, polls=9)] == [0, 0, *[25_001] * 3, *[0] * 4]


def test_records_of_one_moment_have_times_of_their_own():
    clock = RisingClock(lambda: T0)
    assert [clock(more=2), clock(), clock()] == [T0, T0 + 3, T0 + 4]
    assert RisingClock(lambda: T0, 1_000)() == T0
    beat = RisingClock(lambda: T0, 1_000)
    assert [beat(), beat()] == [T0, T0 + 1_000]
