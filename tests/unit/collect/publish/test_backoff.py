"""Pauses between attempts."""

from logdirwatch.collect.publish.backoff import Backoff


def test_pauses_double_up_to_their_limit_and_begin_anew_after_success():
    backoff = Backoff(max_ms=3_000)
    assert [backoff.failed() for _ in range(5)] == [500, 1_000, 2_000, 3_000, 3_000]
    assert backoff.is_away
    backoff.worked()
    assert not backoff.is_away
    assert backoff.failed() == 500
