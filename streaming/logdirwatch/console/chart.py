"""A directory's use over a period as the points of an SVG: samples, thresholds, changes of status and the forecast."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import pairwise
from typing import NamedTuple

from logdirwatch.config.section import DAY_MS, HOUR_MS
from logdirwatch.text.units import human_ratio
from logdirwatch.text.words import utc

WIDTH, HEIGHT = 900, 240
GAP_STEPS = 4
MOST_TICKS = 7
STEPS_MS = (
    *(minutes * 60_000 for minutes in (1, 5, 10, 15, 30)),
    *(hours * HOUR_MS for hours in (1, 2, 4, 6, 12)),
    *(days * DAY_MS for days in (1, 2, 5, 10, 30)),
)
LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)

Point = tuple[int, float]
"""Milliseconds, used ratio."""


class Outlook(NamedTuple):
    """The forecast of the use: when it is full, and its growth, both None if unknown."""

    full_at_ms: int | None = None
    growth_ratio_per_ms: float | None = None


UNKNOWN = Outlook()


class Event(NamedTuple):
    """A change of status on the time axis."""

    at_ms: int
    status: str
    text: str


@dataclass(frozen=True)
class Chart:
    """The variables of the template; a line ends where samples are missing, ``forecast`` is empty if there is none.

    ``band`` is between the forecast and growth alone, ``thresholds`` are (height, status), ``events`` (x, event).
    ``now`` is the x of the present, where the measurements end; None if it is not in the chart.
    """

    lines: tuple[str, ...]
    forecast: str
    grid: tuple[tuple[float, str], ...]
    ticks: tuple[tuple[float, str], ...]
    text: str
    band: str = ""
    thresholds: tuple[tuple[float, str], ...] = ()
    events: tuple[tuple[float, Event], ...] = ()
    now: float | None = None
    width: int = WIDTH
    height: int = HEIGHT


class Frame(NamedTuple):
    """The period that is drawn."""

    from_ms: int
    to_ms: int

    def x(self, at_ms: float) -> float:
        """Return the position of a time."""
        return WIDTH * (at_ms - self.from_ms) / max(1, self.to_ms - self.from_ms)

    def points(self, points: Iterable[Point]) -> str:
        """Return points in SVG syntax."""
        return " ".join(f"{self.x(at_ms):.1f},{HEIGHT * (1 - ratio):.1f}" for at_ms, ratio in points)


def chart(
    points: Sequence[Point],
    frame: Frame,
    outlook: Outlook = UNKNOWN,
    thresholds: Mapping[str, float] | None = None,
    events: Iterable[Event] = (),
    now_ms: int | None = None,
) -> Chart:
    """Return the drawing of samples and, after the last one, of the forecast; ``thresholds`` are ratios by status."""
    forecast = _forecast(points, outlook.full_at_ms, frame.to_ms)
    span = frame.to_ms - frame.from_ms
    return Chart(
        lines=tuple(frame.points(part) for part in _unbroken(points, span)),
        forecast=frame.points(forecast),
        grid=tuple((HEIGHT * (1 - level), human_ratio(level, 0)) for level in LEVELS),
        ticks=tuple((frame.x(at_ms), text) for at_ms, text in ticks(frame)),
        text=_text(points, outlook.full_at_ms),
        band=frame.points(_band(forecast, outlook.growth_ratio_per_ms)),
        thresholds=tuple((HEIGHT * (1 - ratio), status) for status, ratio in (thresholds or {}).items()),
        events=tuple((frame.x(event.at_ms), event) for event in events if frame.from_ms <= event.at_ms <= frame.to_ms),
        now=frame.x(now_ms) if now_ms is not None and frame.from_ms < now_ms < frame.to_ms else None,
    )


def ticks(frame: Frame) -> Iterator[tuple[int, str]]:
    """Yield round times of a frame, in UTC, as milliseconds and text: the date at midnight and first, else the time."""
    span = frame.to_ms - frame.from_ms
    step_ms = next((step for step in STEPS_MS if span <= MOST_TICKS * step), STEPS_MS[-1])
    first = -(-frame.from_ms // step_ms) * step_ms
    for at_ms in range(first, frame.to_ms, max(step_ms, span // MOST_TICKS)):
        text = utc(at_ms)
        is_day = at_ms % DAY_MS == 0
        yield at_ms, text[5:10] if is_day else text[5:16] if at_ms == first else text[11:16]


def _unbroken(points: Sequence[Point], span_ms: int) -> list[list[Point]]:
    """Split the points where samples are missing: a line across a gap would show what was not measured."""
    steps = sorted(later[0] - earlier[0] for earlier, later in pairwise(points))
    usual_ms = steps[len(steps) // 2] if steps else span_ms
    parts: list[list[Point]] = []
    for point in points:
        if parts and point[0] - parts[-1][-1][0] <= GAP_STEPS * usual_ms:
            parts[-1].append(point)
        else:
            parts.append([point])
    return parts


def _forecast(points: Sequence[Point], full_at_ms: int | None, to_ms: int) -> list[Point]:
    if not points or full_at_ms is None or not points[-1][0] < min(full_at_ms, to_ms):
        return []
    at_ms, ratio = points[-1]
    end_ms = min(full_at_ms, to_ms)
    return [points[-1], (end_ms, ratio + (1 - ratio) * (end_ms - at_ms) / (full_at_ms - at_ms))]


def _band(forecast: Sequence[Point], growth_ratio_per_ms: float | None) -> list[Point]:
    """Return the corners between the forecast and a line of growth alone, without the daily pattern."""
    if not forecast or growth_ratio_per_ms is None:
        return []
    (at_ms, ratio), (end_ms, _) = forecast
    return [*forecast, (end_ms, max(0.0, min(1.0, ratio + growth_ratio_per_ms * (end_ms - at_ms))))]


def _text(points: Sequence[Point], full_at_ms: int | None) -> str:
    """Describe the chart for screen readers."""
    if not points:
        return "No samples are stored for this period."
    low, high = min(ratio for _, ratio in points), max(ratio for _, ratio in points)
    outlook = "not full within a week" if full_at_ms is None else f"full at {utc(full_at_ms)}"
    used = f"Used between {human_ratio(low)} and {human_ratio(high)}, last {human_ratio(points[-1][1])}"
    return f"{used}; forecast: {outlook}."


SPANS_MS = {"6h": 6 * HOUR_MS, "24h": DAY_MS, "7d": 7 * DAY_MS, "30d": 30 * DAY_MS}
USUAL = "24h"
SHORTEST_MS = 60_000


class Period(NamedTuple):
    """``span`` is the name of the span up to now, None if both ends were typed."""

    from_ms: int
    to_ms: int
    span: str | None

    @property
    def typed(self) -> tuple[str, str]:
        """Both ends in the format of the form."""
        return _field(self.from_ms), _field(self.to_ms)


def period(span: str, from_text: str, to_text: str, now_ms: int) -> Period:
    """Return the requested period; a span up to now if it cannot be parsed."""
    from_ms, to_ms = _at_ms(from_text), _at_ms(to_text)
    if from_ms is not None and from_ms < now_ms:
        end_ms = now_ms if to_ms is None else min(to_ms, now_ms)
        return Period(from_ms, max(end_ms, from_ms + SHORTEST_MS), None)
    name = span if span in SPANS_MS else USUAL
    return Period(now_ms - SPANS_MS[name], now_ms, name)


def _at_ms(text: str) -> int | None:
    try:
        return int(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def _field(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms // 1000, tz=timezone.utc).strftime("%Y-%m-%dT%H:%M")
