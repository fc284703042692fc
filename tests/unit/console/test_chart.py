"""The drawing of a directory's use, and the part of time that it shows."""

import pytest

from logdirwatch.console.chart import HEIGHT, WIDTH, Event, Frame, Outlook, chart
from logdirwatch.console.period import period
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
