"""Time to full from hourly peaks: what makes a straight line lie."""

import math
from array import array
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect.state.course import DAY, crests
from logdirwatch.detect.state.forecast import (
    KEPT_HOURS,
    Grown,
    Moving,
    Peaks,
    forecast,
    hourly_peaks,
    is_due,
    note,
    packed,
    unpacked,
)

GB = 10**9
TOTAL = 1_000 * GB


def watched(use, hours, *, arriving=lambda _: (None, None), skip=()):
    """Note six samples an hour of ``use(hour)``; return the peaks and what is free at the last one."""
    peaks, used = Peaks(), 0
    for step in range(hours * 6):
        hour = step / 6
        if math.floor(hour) not in skip:
            used = int(use(hour))
            note(peaks, int(hour * HOUR_MS), TOTAL, used, Moving(*arriving(hour)))
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


def turned_over(hour, waits_hours=0.0):
    """10 GB come an hour; when it is over as many are marked deleted, and leave the disk ``waits_hours`` later."""
    return 10 * GB * (hour % 1) + (10 * GB if hour >= 1 and hour % 1 < waits_hours else 0)


@pytest.mark.parametrize("hours", [12, 30, 72, 96])
def test_what_is_marked_deleted_and_not_gone_yet_is_no_growth(hours):
    """``file.delete.delay.ms`` is a minute (Kafka 4.3.1 ``LogConfig``); a tenth of an hour is longer."""
    assert hours_left(lambda hour: 900 * GB + turned_over(hour, 0.1), hours) is None
    free_gb = min(60, hours - 2)
    grows = [
        lambda hour, waits=waits: (1000 - free_gb - 10 + hour - hours) * GB + turned_over(hour, waits)
        for waits in (0.0, 0.1)
    ]
    in_time, late = (hours_left(use, hours) for use in grows)
    assert in_time - 3 <= late <= in_time, "it takes room while it is there, and nothing more"


@pytest.mark.parametrize("hours", range(72, 96, 3))
def test_the_wave_of_the_day_is_no_growth(hours):
    assert hours_left(lambda hour: 850 * GB + 100 * GB * math.sin(2 * math.pi * hour / DAY), hours) is None


def copy_of_300_gb(hour):
    return int(min(max(hour - 80, 0), 8) / 8 * 300 * GB)


def within_the_broker(hour):
    return (copy_of_300_gb(hour), 300 * GB - copy_of_300_gb(hour)) if 80 <= hour < 88 else (0, 0)


def from_another_broker(hour):
    return (0, 300 * GB - copy_of_300_gb(hour)) if 80 <= hour < 88 else (0, 0)


@pytest.mark.parametrize("moving", [within_the_broker, from_another_broker])
def test_bytes_that_a_move_brings_are_no_growth(moving):
    def use(hour):
        return 500 * GB + copy_of_300_gb(hour)

    for hours in range(81, 96):
        assert hours_left(use, hours, arriving=moving) is None, hours
    assert hours_left(use, 86) is not None, "the same without knowing of the move"


def test_a_move_that_is_taken_back_hides_no_growth():
    def use(hour):
        return TOTAL - 60 * GB + (hour - 96) * GB

    def given_up(hour):
        return (0, 300 * GB) if 60 <= hour < 61 else (0, 0)

    assert hours_left(use, 96, arriving=given_up) == pytest.approx(60, abs=3)


def test_a_burst_is_seen_and_not_believed_for_ever():
    def use(hour):
        return 500 * GB + max(0, hour - 80) * 50 * GB

    assert hours_left(use, 82) is None, "two hours of it may be anything"
    assert hours_left(use, 88) == pytest.approx(2, abs=1)


def test_hours_without_samples_are_gaps_and_not_zeros():
    left = hours_left(lambda hour: TOTAL - 60 * GB + (hour - 90) * GB, 90, skip=range(40, 60))
    assert left == pytest.approx(60, abs=2)


def test_the_past_is_bounded_and_a_long_absence_starts_anew():
    peaks, _ = watched(lambda hour: hour * GB, 450)
    assert len(hourly_peaks(peaks)) == KEPT_HOURS
    assert len(peaks.changes) <= 4 * KEPT_HOURS
    note(peaks, 1_000 * HOUR_MS, TOTAL, 5)
    assert hourly_peaks(peaks) == [5]


def test_the_past_is_kept_to_a_part_in_thirty_thousand_whatever_the_size_becomes():
    peaks, _ = watched(lambda hour: hour * GB, 10)
    note(peaks, 10 * HOUR_MS, 4 * TOTAL, 3_999 * GB)
    note(peaks, 11 * HOUR_MS, 4 * TOTAL, 4_000 * GB)
    kept = hourly_peaks(peaks)
    assert kept[:10] == pytest.approx([(hour + 5 / 6) * GB for hour in range(10)], abs=4 * TOTAL / 30_000)
    assert kept[10:] == pytest.approx([3_999 * GB, 4_000 * GB], abs=4 * TOTAL / 30_000)


@given(st.lists(st.integers(-(2**15), 2**15 - 1)))
def test_the_past_is_unpacked_as_it_was_packed(steps):
    assert unpacked(packed(steps)) == steps


@given(st.lists(st.none() | st.integers(0, TOTAL), min_size=3, max_size=200))
def test_every_history_is_read_as_releases_before_packed_it(uses):
    present, before = Peaks(), Peaks()
    for hour, used in enumerate(uses):
        for peaks in (present, before):
            if used is not None:
                note(peaks, hour * HOUR_MS + 1, TOTAL, used)
        assert hourly_peaks(present) == hourly_peaks(before)
        if before.changes:
            before.past, before.changes = b64encode(array("h", unpacked(before.changes)).tobytes()).decode(), ""
    assert hourly_peaks(present) == hourly_peaks(before)


def test_a_late_sample_changes_nothing():
    peaks, _ = watched(lambda hour: hour * GB, 10)
    before = hourly_peaks(peaks)
    note(peaks, 3 * HOUR_MS, TOTAL, TOTAL)
    assert hourly_peaks(peaks) == before


def test_each_directory_is_forecast_once_an_hour_and_not_all_at_once():
    names = [f"prod/{broker}/d{number}" for broker in range(50) for number in range(12)]
    minutes = [[name for name in names if is_due(name, minute * 60_000, (minute + 1) * 60_000)] for minute in range(60)]
    assert sorted(name for due in minutes for name in due) == sorted(names)
    assert max(map(len, minutes)) <= 3 * len(names) / 60
    assert is_due("prod/1/d1", None, 0)


def test_confidence_grows_with_what_was_watched():
    short = forecast(*watched(lambda hour: TOTAL - 10 * GB + (hour - 12) * GB, 12))
    long = forecast(*watched(lambda hour: TOTAL - 10 * GB + (hour - 90) * GB, 90))
    far = forecast(*watched(lambda hour: TOTAL - 150 * GB + (hour - 90) * GB, 90))
    assert far.confidence < long.confidence
    assert short.confidence <= long.confidence == 1.0


@pytest.mark.parametrize("before", [3, 12, 60, 200])
def test_no_gap_is_so_long_that_nothing_can_be_told_at_all(before):
    """Of the days on its two sides hardly one may be whole."""
    for gap in range(30, KEPT_HOURS + 30, 4):
        hours_left(lambda hour: 500 * GB + hour * GB, before + gap + 1, skip=range(before, before + gap))


class TestGrown:
    """What a sample says of the growth since the one before it."""

    def test_it_is_the_difference_to_the_last_sample(self):
        peaks = Peaks()
        assert note(peaks, 10_000, TOTAL, 100) is None
        assert note(peaks, 15_000, TOTAL, 130) == Grown(30, 5_000)
        assert note(peaks, 25_000, TOTAL, 120) == Grown(-10, 10_000)

    def test_a_sample_of_a_clock_that_is_behind_says_nothing_and_is_no_measure_for_the_next(self):
        peaks = Peaks()
        note(peaks, 40_000, TOTAL, 100)
        assert note(peaks, 20_000, TOTAL, 110) is None
        assert note(peaks, 50_000, TOTAL, 120) == Grown(20, 10_000)

    def test_what_a_move_brings_is_none_of_it(self):
        """A scan each minute, a sample each ten seconds; 10 GB a second come, and 1 GB is written."""
        peaks, found = Peaks(), []
        for second in range(0, 600, 10):
            copied = min(second, 400) * 10 * GB
            counted = min(second // 60 * 60, 400) * 10 * GB
            moving = Moving(0, 4_000 * GB - counted)
            found.append(note(peaks, 1_000 + second * 1_000, 100 * TOTAL, 500 * GB + copied + second * GB, moving))
        told = [grown for grown in found if grown is not None]
        assert {round(grown.own_bytes / grown.in_ms * 1_000 / GB) for grown in told} == {1}
        assert sum(grown.in_ms for grown in told) == 590_000, "no second is left out or counted twice"


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(-5, 5)), min_size=1, max_size=60))
def test_the_crest_of_an_hour_is_the_highest_peak_of_its_day(steps):
    hours = [sum(step for step, _ in steps[: number + 1]) for number in range(len(steps))]
    points = list(zip(hours, (used for _, used in steps), strict=True))
    assert crests(points) == [
        (hour, max(used for then, used in points if hour - DAY < then <= hour))
        for hour in hours
        if hour >= hours[0] + DAY - 1
    ]
