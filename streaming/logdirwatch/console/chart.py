"""A directory's use over time as the points of an SVG: measured samples and the forecast."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from logdirwatch.text.units import human_ratio
from logdirwatch.text.words import utc

WIDTH, HEIGHT = 900, 240
GAP_STEPS = 4
LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)

Point = tuple[int, float]
"""Milliseconds, used ratio."""


@dataclass(frozen=True)
class Chart:
    """What the template draws; a line ends where samples are missing, ``forecast`` is empty if there is none."""

    lines: tuple[str, ...]
    forecast: str
    grid: tuple[tuple[float, str], ...]
    ticks: tuple[tuple[float, str], ...]
    text: str
    width: int = WIDTH
    height: int = HEIGHT


def chart(points: Sequence[Point], from_ms: int, now_ms: int, full_at_ms: int | None, to_ms: int) -> Chart:
    """Return the drawing of samples from ``from_ms`` to ``now_ms`` and of a forecast up to ``to_ms``."""
    span = max(1, to_ms - from_ms)

    def place(at_ms: float, ratio: float) -> str:
        return f"{WIDTH * (at_ms - from_ms) / span:.1f},{HEIGHT * (1 - ratio):.1f}"

    lines = tuple(" ".join(place(*point) for point in part) for part in _unbroken(points, from_ms, now_ms))
    forecast = _forecast(points, full_at_ms, to_ms)
    grid = tuple((HEIGHT * (1 - level), human_ratio(level, 0)) for level in LEVELS)
    ticks = tuple((WIDTH * n / 4, utc(from_ms + span * n // 4)[5:16]) for n in range(4))
    return Chart(lines, " ".join(place(*point) for point in forecast), grid, ticks, _text(points, full_at_ms))


def _unbroken(points: Sequence[Point], from_ms: int, now_ms: int) -> list[list[Point]]:
    """Split the points where samples are missing: a line across a gap would show what was not measured."""
    steps = sorted(later[0] - earlier[0] for earlier, later in pairwise(points))
    usual_ms = steps[len(steps) // 2] if steps else now_ms - from_ms
    parts: list[list[Point]] = []
    for point in points:
        if parts and point[0] - parts[-1][-1][0] <= GAP_STEPS * usual_ms:
            parts[-1].append(point)
        else:
            parts.append([point])
    return parts


def _forecast(points: Sequence[Point], full_at_ms: int | None, to_ms: int) -> list[Point]:
    if not points or full_at_ms is None or full_at_ms <= points[-1][0]:
        return []
    at_ms, ratio = points[-1]
    end_ms = min(full_at_ms, to_ms)
    return [points[-1], (end_ms, ratio + (1 - ratio) * (end_ms - at_ms) / (full_at_ms - at_ms))]


def _text(points: Sequence[Point], full_at_ms: int | None) -> str:
    """Describe the chart in words, for screen readers."""
    if not points:
        return "No samples are stored for this period."
    low, high = min(ratio for _, ratio in points), max(ratio for _, ratio in points)
    outlook = "not full within a week" if full_at_ms is None else f"full at {utc(full_at_ms)}"
    used = f"Used between {human_ratio(low)} and {human_ratio(high)}, last {human_ratio(points[-1][1])}"
    return f"{used}; forecast: {outlook}."
