"""Lives of directories, each with what may be said of them: what looks like growth and is none, and what is growth."""

import math
from typing import NamedTuple

import pytest

from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect.state.course import DAY, WEEK
from logdirwatch.detect.state.forecast import Peaks, note, outlook

TB = 10**12
WEEKEND = (5, 6)


def retained(rate, keeps_hours, begins=0):
    """Return the use of a topic that is written at ``rate(hour)`` and keeps so many hours, in units of its own."""
    written = [0.0]
    for hour in range(12 * WEEK):
        written.append(written[-1] + (rate(hour) if hour >= begins else 0.0))

    def use(hour):
        whole = int(hour)
        return written[whole] - written[max(0, whole - keeps_hours)]

    return use


def working_days(by_day=0.5, weekend=0.5, holidays=()):
    """Return a rate with a daily wave that falls on weekends and holidays."""

    def rate(hour):
        day = hour // DAY
        is_off = day % 7 in WEEKEND or day in holidays
        return (1 + by_day * math.sin(2 * math.pi * hour / DAY)) * (weekend if is_off else 1.0)

    return rate


def scaled(use, hours, highest):
    most = max(use(hour) for hour in range(hours))
    return lambda hour: highest * use(hour) / most


def sawtooth(low, high, every_hours):
    return lambda hour: low + (high - low) * (hour % every_hours) / every_hours


def step(before, after, at_hour, lasts_hours=0.1):
    return lambda hour: before + (after - before) * min(1.0, max(0.0, (hour - at_hour) / lasts_hours))


def rising(start, per_day, begins=0):
    return lambda hour: start + per_day * max(0.0, hour - begins) / DAY


def added(*uses):
    return lambda hour: sum(use(hour) for use in uses)


def compacted(low, high, every_hours, per_day=0.0):
    """Return a use that a cleaner brings back at each run, to a little more than before."""
    return lambda hour: low + per_day * (hour // DAY) + (high - low) * (hour % every_hours) / every_hours


def judged(use, hours, skip=()):
    """Watch a life, a sample each quarter of an hour; yield each hour and in how many hours it is said to be full."""
    peaks = Peaks()
    for quarter in range(hours * 4):
        hour = quarter / 4
        if int(hour) in skip:
            continue
        used = int(use(hour) * TB)
        note(peaks, int(hour * HOUR_MS) + 1_000, TB, used)
        if quarter % 4 == 3:
            found = outlook(peaks, TB - used)
            yield hour, None if found is None or found.end is None else found.end.full_in_ms / HOUR_MS


class Calm(NamedTuple):
    use: object
    hours: int
    begins: int = 2 * WEEK
    skip: object = ()


WEEKLY = working_days()
CALM = {
    "in balance, deleted every hour": Calm(sawtooth(0.83, 0.87, 1), 5 * DAY, 0),
    "in balance, long segments": Calm(sawtooth(0.6, 0.9, 7), 6 * DAY, 2 * DAY),
    "in balance, a segment lives a day": Calm(sawtooth(0.6, 0.9, 24), 8 * DAY, 3 * DAY),
    "in balance, two topics with segments of their own": Calm(
        added(sawtooth(0.3, 0.4, 5), sawtooth(0.3, 0.45, 11)), 8 * DAY, 3 * DAY
    ),
    "weekends half as busy, three days kept": Calm(scaled(retained(WEEKLY, 72), 5 * WEEK, 0.71), 5 * WEEK),
    "weekends idle, two days kept": Calm(scaled(retained(working_days(weekend=0.1), 48), 5 * WEEK, 0.8), 5 * WEEK),
    "weekends busier, a day kept": Calm(scaled(retained(working_days(weekend=2), 24), 5 * WEEK, 0.8), 5 * WEEK),
    "a week kept": Calm(scaled(retained(WEEKLY, WEEK), 5 * WEEK, 0.8), 5 * WEEK),
    "a holiday on a Wednesday": Calm(scaled(retained(working_days(holidays=(23,)), 72), 6 * WEEK, 0.75), 6 * WEEK),
    "a holiday on a Monday": Calm(scaled(retained(working_days(holidays=(21,)), 72), 6 * WEEK, 0.75), 6 * WEEK),
    "a holiday of two days": Calm(scaled(retained(working_days(holidays=(22, 23)), 48), 6 * WEEK, 0.75), 6 * WEEK),
    "one batch job a week": Calm(lambda hour: 0.5 + 0.3 * max(0.0, 1 - (hour % WEEK) / 36), 5 * WEEK),
    "a plateau after a rise of six days": Calm(lambda hour: min(0.85, 0.4 + 0.08 * hour / DAY), 4 * WEEK, 9 * DAY),
    "a step in the first days": Calm(step(0.55, 0.8, 48), 6 * DAY, 49),
    "a step in the first hours": Calm(step(0.5, 0.8, 6), 6 * DAY, 8),
    "a step that takes an hour": Calm(step(0.5, 0.7, 60, 1.0), 8 * DAY, 64),
    "a step on a weekly pattern": Calm(
        added(scaled(retained(WEEKLY, 72), 5 * WEEK, 0.5), step(0, 0.2, 3 * WEEK)), 5 * WEEK, 3 * WEEK + 2 * DAY
    ),
    "two steps, days apart": Calm(added(step(0.4, 0.5, 200), step(0, 0.15, 260)), 16 * DAY, 262),
    "compaction every six hours": Calm(compacted(0.6, 0.8, 6), 8 * DAY, 2 * DAY),
    "compaction every nine hours": Calm(compacted(0.5, 0.8, 9), 8 * DAY, 3 * DAY),
    "a shrinking directory": Calm(lambda hour: 0.9 - 0.02 * hour / DAY, 10 * DAY, 0),
    "balance with missing hours": Calm(
        scaled(retained(WEEKLY, 72), 5 * WEEK, 0.7), 5 * WEEK, 2 * WEEK, range(3 * WEEK, 3 * WEEK + 9)
    ),
    "a flat directory watched again after two days": Calm(lambda _: 0.8, 8 * DAY, 0, range(60, 108)),
}
GROWING = {
    "a slow rise": (rising(0.5, 0.03), 20 * DAY, 72),
    "a rise under a daily wave": (
        added(rising(0.4, 0.04), lambda h: 0.05 * math.sin(2 * math.pi * h / DAY)),
        20 * DAY,
        48,
    ),
    "a rise under a sawtooth": (added(rising(0.4, 0.05), sawtooth(0, 0.1, 7)), 20 * DAY, 48),
    "a rise that begins after a week": (rising(0.5, 0.1, WEEK), 20 * DAY, 48),
    "a rise that begins after three quiet weeks": (rising(0.5, 0.1, 3 * WEEK), 5 * WEEK, 48),
    "a rise on a weekly pattern": (
        added(scaled(retained(WEEKLY, 72), 5 * WEEK, 0.5), rising(0, 0.06, 2 * WEEK)),
        5 * WEEK,
        48,
    ),
    "weekly growth of a growing business": (
        lambda hour: scaled(retained(WEEKLY, 72), 9 * WEEK, 0.5)(hour) * (1 + 0.15 * hour / WEEK),
        9 * WEEK,
        48,
    ),
    "retention about to begin too late": (scaled(retained(lambda _: 1.0, 20 * DAY), 30 * DAY, 1.3), 30 * DAY, 72),
    "traffic doubles under retention": (
        scaled(retained(lambda hour: 1.0 if hour < 20 * DAY else 2.0, 72), 20 * DAY, 0.6),
        40 * DAY,
        12,
    ),
    "a burst of hours": (rising(0.5, 1.0, 80), 10 * DAY, 3),
    "compaction that keeps more at each run": (compacted(0.4, 0.5, 6, 0.05), 20 * DAY, 48),
    "a rise with missing hours": (rising(0.5, 0.05), 20 * DAY, 48, range(100, 130)),
}


@pytest.mark.parametrize("life", CALM.values(), ids=CALM)
def test_nothing_is_said_to_be_full_within_four_days_where_nothing_grows(life):
    said = [
        (hour // DAY, hour % DAY, full_in_hours)
        for hour, full_in_hours in judged(life.use, life.hours, life.skip)
        if hour >= life.begins and full_in_hours is not None and full_in_hours <= 4 * DAY
    ]
    assert said == []


@pytest.mark.parametrize("life", GROWING.values(), ids=GROWING)
def test_what_fills_is_said_to_and_in_time(life):
    use, hours, lead_hours, *skip = life
    full = next(hour for hour in range(hours) if use(hour) >= 1)
    said = [hour for hour, full_in in judged(use, full, *skip) if full_in is not None and full_in <= 4 * DAY]
    standing = [hour for hour in said if all(later in said for later in said if later > hour)]
    assert standing
    assert full - standing[0] >= lead_hours
    assert said[-1] > full - 2, "it is still said at the end"
