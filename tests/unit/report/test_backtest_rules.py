"""Rules over a history whose end is known: what was false, what was told, and how early."""

import pytest

from logdirwatch.config.section import DAY_MS
from logdirwatch.report.backtest import Interval, Past, RuleFired, compared

D1 = ("prod", 1, "/d1")
UNTIL_MS = 60 * DAY_MS


def past(*uses, total=1_000):
    """A directory of which 95 % or more is full; uses are days and permilles, with a third the size."""
    found = Past(0.95, 0.05)
    for day, used, *size in uses:
        whole = size[0] if size else total
        found.note(int(day * DAY_MS), whole, whole - used)
    return found


def judged(history, *alerts, other=()):
    fired = [RuleFired(D1, Interval(int(begin * DAY_MS), end and int(end * DAY_MS))) for begin, end in alerts]
    compare = [RuleFired(D1, Interval(int(begin * DAY_MS), int(end * DAY_MS))) for begin, end in other]
    return compared([("ours", fired), ("theirs", compare)], {D1: history}, UNTIL_MS)


FILLS_ON_DAY_20 = past((0, 500), (19, 900), (20, 960), (21, 300))
QUIET = past((0, 500), (59, 500))
ENLARGED = past((0, 500), (22, 800, 2_000))


@pytest.mark.parametrize(
    ("history", "alert", "is_false"),
    [
        (QUIET, (10, 11), True),
        (QUIET, (58, None), False),
        (FILLS_ON_DAY_20, (14, 15), False),
        (FILLS_ON_DAY_20, (12, 13), True),
        (FILLS_ON_DAY_20, (20.5, 21), False),
        (FILLS_ON_DAY_20, (22, 23), True),
        (ENLARGED, (20, 22), False),
    ],
)
def test_an_alert_is_false_when_nothing_came_of_it_within_a_week(history, alert, is_false):
    assert judged(history, alert)[0].false_alerts == is_false


@pytest.mark.parametrize(
    ("alerts", "hours"),
    [
        ([(18, 21)], 48),
        ([(18, 19.5)], 48),
        ([(16, 18), (19, None)], 24),
        ([(5, 30)], 7 * 24),
        ([(16, 18)], 0),
        ([(20.5, 21)], 0),
        ([], 0),
    ],
)
def test_the_hours_before_a_directory_is_full_are_those_of_the_alerts_of_its_last_day(alerts, hours):
    (row, _) = judged(FILLS_ON_DAY_20, *alerts)
    assert (row.full, row.told, row.hours_before) == (1, bool(hours), hours)


def test_hours_are_gained_against_each_other_rule():
    ours, theirs = judged(FILLS_ON_DAY_20, (18, 21), other=[(19.75, 21)])
    assert (ours.hours_gained, theirs.hours_gained) == (0, 42)


def test_without_a_full_directory_there_is_nothing_to_gain():
    row = judged(QUIET, (1, 2))[0]
    assert (row.full, row.hours_before, row.hours_gained) == (0, None, None)


def test_full_from_the_beginning_or_still_full_is_no_second_time():
    assert past((0, 960), (1, 300)).filled_ms == []
    assert past((0, 300), (1, 960), (2, 920), (3, 960)).filled_ms == [DAY_MS]
    assert past((0, 300), (1, 960), (2, 890), (3, 960)).filled_ms == [DAY_MS, 3 * DAY_MS]
