"""Time to full from hourly peaks: what makes a straight line lie."""

import math

import pytest

from logdirwatch.detect.forecast import DAY, HOUR_MS, KEPT_HOURS, Peaks, forecast, note

GB = 10**9
TOTAL = 1_000 * GB


def watched(use, hours, *, arriving=lambda _: None, skip=()):
    """Note six samples an hour of ``use(hour)``; return the peaks and what is free at the last one."""
    peaks, used = Peaks(), 0
    for step in range(hours * 6):
        hour = step / 6
        if math.floor(hour) not in skip:
            used = int(use(hour))
            note(peaks, int(hour * HOUR_MS), used, arriving(hour))
    return peaks, TOTAL - used


def hours_left(use, hours, **told):
    found = forecast(*watched(use, hours, **told))
    return None if found is None else found.full_in_ms / HOUR_MS


@pytest.mark.parametrize("hours", [12, 30, 60, 96, 300])
def test_steady_growth_is_told_however_long_it_was_watched(hours):
    free_gb = min(60, hours - 2)
    assert hours_left(lambda hour: TOTAL - free_gb * GB + (hour - hours) * GB, hours) == pytest.approx(free_gb, abs=2)


def test_nothing_is_told_before_there_is_something_to_tell():
    assert forecast(Peaks(), TOTAL) is None
    assert hours_left(lambda hour: 500 * GB + hour * GB, 2) is None
    assert hours_left(lambda hour: 500 * GB + hour * GB, 6) is None, "500 hours are not told from six"


def test_a_disk_that_does_not_grow_is_never_full():
    assert hours_left(lambda _: 900 * GB, 96) is None
    assert hours_left(lambda hour: 900 * GB - hour * GB, 96) is None


@pytest.mark.parametrize("period", [3, 7, 11])
def test_the_sawtooth_of_retention_is_no_growth(period):
    for hours in range(72, 72 + period):
        assert hours_left(lambda hour: 850 * GB + 100 * GB * (hour % period) / period, hours) is None


@pytest.mark.parametrize("hours", range(72, 96, 3))
def test_the_wave_of_the_day_is_no_growth(hours):
    assert hours_left(lambda hour: 850 * GB + 100 * GB * math.sin(2 * math.pi * hour / DAY), hours) is None


def test_bytes_that_a_move_brings_are_no_growth():
    def use(hour):
        return 500 * GB + min(max(hour - 80, 0), 8) / 8 * 300 * GB

    def arriving(hour):
        return int(use(hour) - 500 * GB) if hour < 88 else 0

    for hours in range(81, 96):
        assert hours_left(use, hours, arriving=arriving) is None, hours
    assert hours_left(use, 86) is not None, "the same without knowing of the move"


def test_a_burst_is_seen_and_not_believed_for_ever():
    def use(hour):
        return 500 * GB + max(0, hour - 80) * 50 * GB

    assert hours_left(use, 82) is None, "two hours of it may be anything"
    assert hours_left(use, 88) == pytest.approx(2, abs=1)


def test_hours_without_samples_are_gaps_and_not_zeros():
    left = hours_left(lambda hour: TOTAL - 60 * GB + (hour - 90) * GB, 90, skip=range(40, 60))
    assert left == pytest.approx(60, abs=2)


def test_the_past_is_bounded_and_a_long_absence_starts_anew():
    peaks, _ = watched(lambda hour: hour * GB, 300)
    assert len(peaks.used_bytes) == KEPT_HOURS
    note(peaks, 1_000 * HOUR_MS, 5, None)
    assert peaks.used_bytes == [5]


def test_a_late_sample_changes_nothing():
    peaks, _ = watched(lambda hour: hour * GB, 10)
    before = list(peaks.used_bytes)
    note(peaks, 3 * HOUR_MS, TOTAL, None)
    assert peaks.used_bytes == before


def test_confidence_grows_with_what_was_watched():
    short = forecast(*watched(lambda hour: TOTAL - 10 * GB + (hour - 12) * GB, 12))
    long = forecast(*watched(lambda hour: TOTAL - 10 * GB + (hour - 90) * GB, 90))
    far = forecast(*watched(lambda hour: TOTAL - 150 * GB + (hour - 90) * GB, 90))
    assert far.confidence < long.confidence
    assert short.confidence <= long.confidence == 1.0
