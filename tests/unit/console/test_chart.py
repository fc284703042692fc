"""The drawing of a directory's use, and the part of time that it shows."""

import pytest

from logdirwatch.console.chart import HEIGHT, WIDTH, Event, Frame, Outlook, chart, period, ticks
from tests.unit.report.builders import NOW_MS

HOUR_MS = 3_600_000
POINTS = [(0, 0.2), (100, 0.5)]


def test_the_band_lies_between_the_forecast_and_growth_alone():
    drawn = chart(POINTS, Frame(0, 200), Outlook(full_at_ms=200, growth_ratio_per_ms=0.001))
    assert drawn.forecast == f"450.0,{HEIGHT / 2} 900.0,0.0"
    assert drawn.band == f"{drawn.forecast} 900.0,{HEIGHT * 0.4:.1f}"


@pytest.mark.parametrize("outlook", [Outlook(), Outlook(growth_ratio_per_ms=0.001), Outlook(full_at_ms=200)])
def test_without_a_forecast_or_growth_there_is_no_band(outlook):
    assert chart(POINTS, Frame(0, 200), outlook).band == ""


def test_thresholds_are_lines_and_changes_stand_on_the_axis_of_time():
    inside, outside = Event(50, "filling", "then"), Event(300, "online", "later")
    drawn = chart(POINTS, Frame(0, 200), thresholds={"filling": 0.75}, events=[inside, outside])
    assert drawn.thresholds == ((HEIGHT / 4, "filling"),)
    assert drawn.events == ((WIDTH / 4, inside),)


@pytest.mark.parametrize(
    ("hours", "expected"),
    [
        (6, ["11-14 17:00", "18:00", "19:00", "20:00", "21:00", "22:00"]),
        (24, ["11-15", "04:00", "08:00", "12:00", "16:00", "20:00"]),
        (7 * 24, ["11-15", "11-16", "11-17", "11-18", "11-19", "11-20", "11-21"]),
        (30 * 24, ["11-19", "11-24", "11-29", "12-04", "12-09", "12-14"]),
    ],
)
def test_the_axis_of_time_has_round_times(hours, expected):
    from_ms = NOW_MS - 6 * HOUR_MS if hours == 6 else NOW_MS
    assert [text for _, text in ticks(Frame(from_ms, from_ms + hours * HOUR_MS))] == expected


def test_a_year_has_no_more_marks_than_a_day():
    assert len(list(ticks(Frame(0, 400 * 24 * HOUR_MS)))) <= 8


def test_now_is_marked_only_where_something_lies_ahead():
    assert chart(POINTS, Frame(0, 200), now_ms=100).now == WIDTH / 2
    assert chart(POINTS, Frame(0, 100), now_ms=100).now is None
    assert chart(POINTS, Frame(0, 100)).now is None


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (("6h", "", ""), (NOW_MS - 6 * HOUR_MS, NOW_MS, "6h")),
        (("never", "", ""), (NOW_MS - 24 * HOUR_MS, NOW_MS, "24h")),
        (("", "2023-11-14T20:00", "2023-11-14T21:00"), (NOW_MS - 8_000_000, NOW_MS - 4_400_000, None)),
        (("", "2023-11-14T20:00", ""), (NOW_MS - 8_000_000, NOW_MS, None)),
        (("", "2023-11-14T20:00", "2023-11-14T19:00"), (NOW_MS - 8_000_000, NOW_MS - 7_940_000, None)),
        (("", "2999-01-01T00:00", ""), (NOW_MS - 24 * HOUR_MS, NOW_MS, "24h")),
        (("", "<script>", "x"), (NOW_MS - 24 * HOUR_MS, NOW_MS, "24h")),
    ],
)
def test_a_period_is_a_span_or_what_was_typed(asked, expected):
    assert period(*asked, NOW_MS) == expected


def test_what_was_typed_is_shown_again():
    assert period("", "2023-11-14T20:00", "2023-11-14T21:00", NOW_MS).typed == ("2023-11-14T20:00", "2023-11-14T21:00")
