"""Periodic work of all processes begins at the same moments."""

import pytest

from logdirwatch.model.times import LEAD_MS, until_round_ms

HOUR_MS = 3_600_000
AT_MS = 500_000 * HOUR_MS


@pytest.mark.parametrize("interval_ms", [1, 250, 1_000, 5_000, 7_000, 10_000, HOUR_MS])
@pytest.mark.parametrize("past_ms", [0, 1, 249, 2_999, 3_000, 3_001, 59_999])
def test_the_next_round_is_within_the_interval_and_shortly_before_a_multiple_of_it(interval_ms, past_ms):
    now_ms = AT_MS + past_ms
    begin_ms = now_ms + until_round_ms(now_ms, interval_ms)
    assert now_ms < begin_ms <= now_ms + interval_ms
    assert (begin_ms + LEAD_MS) % interval_ms == 0


def test_whoever_asks_within_one_round_begins_the_next_one_at_the_same_moment():
    asked_ms = [AT_MS + past_ms for past_ms in (0, 3_000, 7_999)]
    assert {at_ms + until_round_ms(at_ms, 10_000) for at_ms in asked_ms} == {AT_MS + 8_000}


def test_a_round_of_a_shorter_interval_begins_with_each_of_a_longer_one():
    at_ms = AT_MS - 1
    begins_ms = [at_ms + until_round_ms(at_ms, interval_ms) for interval_ms in (5_000, 10_000, 60_000)]
    assert {begin_ms % 5_000 for begin_ms in begins_ms} == {3_000}
