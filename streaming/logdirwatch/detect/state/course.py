"""How a log directory's use goes on, from its hourly peaks. Pure.

Growth that lasts is what no other explanation is left for:

- A step is no growth: the steepest day is cut out, and growth must be there without it as well.
- A day's pattern repeats: growth is that of the highest peak of a day from day to day.
- A week's pattern repeats: use that the last weeks explain goes on as they did. Of two remembered weeks the fuller one
  counts, so that a holiday in one of them is no reason to expect another.
- A burst, growth faster than in nearly every hour before it, is extrapolated for ``BURST_TRUST`` times its duration,
  and only while it goes on.

With less than a day and a half of history there is only the median slope between the peaks, which is extrapolated for
``TRUST`` times the observed time.
"""

import math
import statistics
from collections import deque
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise, takewhile

from msgspec import Struct

from logdirwatch.model.times import WEEK_HOURS

DAY = 24
WEEK = WEEK_HOURS
RECENT_HOURS = 4 * DAY + 1
"""Growth from day to day is judged over as many hours."""
COMPARED_HOURS = 2 * DAY
"""The last weeks must have explained as many hours up to now."""
EXPLAINED_RATIO = 0.15
"""How far above the last weeks a use may be that they explain, as a share of the last week's range."""
SHORTEST_HOURS = 2
TRUST = 2.0
BURST_TRUST = 3.0
BURST_RATIO = 1.5
USUAL = 0.98
HARDLY_BEGUN = 0.25

Point = tuple[int, int]
"""An hour and its peak in bytes."""


class Course(Struct, frozen=True):
    """The growth that lasts, in bytes per hour, and in how many hours it fills the directory; None: not in a week."""

    growth_bytes_per_hour: float
    full_in_hours: float | None


def course(points: Sequence[Point], begun_ratio: float, limit: int) -> Course | None:
    """Return how hourly peaks, oldest first, go on towards ``limit`` bytes; None with too few of them.

    ``begun_ratio`` is the share of the last hour that has passed.
    """
    if len(points) <= SHORTEST_HOURS:
        return None
    found = _by_weeks(points, limit)
    if found is not None:
        return found
    recent = [point for point in points if point[0] > points[-1][0] - RECENT_HOURS]
    # After a long gap two complete days are rare, and one day is not enough to calculate growth.
    if recent[-1][0] - recent[0][0] >= DAY + DAY // 2 and len(highest := crests(recent)) > 1:
        return _by_days(recent, highest, begun_ratio, limit)
    return _by_slope(recent if len(recent) > SHORTEST_HOURS else points, limit)


def _by_slope(points: Sequence[Point], limit: int) -> Course:
    # The first and the last hour are incomplete: their peaks were before, or are still to come.
    whole = points[1:-1] if len(points) > SHORTEST_HOURS + 2 else points
    watched = points[-1][0] - points[0][0]
    slope = min(_median_slope(whole), _median_slope(_without_steepest(whole, max(1, watched // 4))))
    hours = (limit - points[-1][1]) / slope if slope > 0 else WEEK
    return Course(slope, hours if hours <= TRUST * watched else None)


def _median_slope(points: Sequence[Point]) -> float:
    slopes = [(b - a) / (j - i) for (i, a), (j, b) in combinations(points, 2)]
    return statistics.median(slopes) if slopes else 0.0


def _without_steepest(points: Sequence[Point], hours: int) -> list[Point]:
    """Return the points without the ``hours`` in which use rose most; what follows moves up, and down by that rise."""
    by_hour = dict(points)
    rises = [(used - by_hour[hour - hours], hour) for hour, used in points if hour - hours in by_hour]
    rise, end = max(rises, default=(0, 0))
    if rise <= 0:
        return list(points)
    before = [point for point in points if point[0] <= end - hours]
    return before + [(hour - hours, used - rise) for hour, used in points if hour > end]


def _by_days(points: Sequence[Point], highest: Sequence[Point], begun_ratio: float, limit: int) -> Course:
    drift = _drift(points, highest)
    shape = _shape_of_the_day(points, drift)
    now = points[-1][0]
    levels = [(hour, used - drift * (hour - now) - shape.get(hour % DAY, 0.0)) for hour, used in points]
    burst, lasts_hours = _burst(levels, begun_ratio)
    level = levels[-1][1] if burst else max(used for hour, used in levels if hour > now - DAY)
    # A pattern explains no more than was seen.
    seen = max(used - drift * (hour - now) for hour, used in points)
    # Most directories fill in no hour of the week: their highest possible use says so at once.
    highest_bytes = seen + max(drift, drift * WEEK) + burst * lasts_hours

    def used_in(hour: int) -> float:
        by_pattern = min(seen, level + shape.get((now + hour) % DAY, 0.0))
        return by_pattern + drift * hour + burst * min(hour, lasts_hours)

    return Course(drift + burst, None if highest_bytes < limit else _first_full(used_in, limit))


def _first_full(used_in: Callable[[int], float], limit: int) -> int | None:
    return next((hour for hour in range(1, WEEK + 1) if used_in(hour) >= limit), None)


def _drift(points: Sequence[Point], highest: Sequence[Point]) -> float:
    """Return the growth per hour that is there with the steepest day and without it."""
    drift = _daily(highest)
    if drift <= 0:
        return drift
    rest = _without_steepest(points, DAY)
    found = crests(rest) if rest else []
    return min(drift, _daily(found) if len(found) > DAY // 2 else _median_slope(rest))


def _daily(crests: Sequence[Point]) -> float:
    """Return the growth per hour from day to day; from hour to hour if there are too few days."""
    by_hour = dict(crests)
    steps = [used - by_hour[hour - DAY] for hour, used in crests if hour - DAY in by_hour]
    return statistics.median(steps) / DAY if len(steps) >= DAY else _median_slope(crests)


def crests(points: Sequence[Point]) -> list[Point]:
    """Return the highest peak of the preceding day for every hour that has a day of history."""
    whole_from = points[0][0] + DAY - 1
    falling: deque[Point] = deque()
    found = []
    for hour, used in points:
        # A lower peak that came earlier is never the highest again.
        while falling and falling[-1][1] <= used:
            falling.pop()
        falling.append((hour, used))
        while falling[0][0] <= hour - DAY:
            falling.popleft()
        if hour >= whole_from:
            found.append((hour, falling[0][1]))
    return found


def _shape_of_the_day(points: Sequence[Point], drift: float) -> dict[int, float]:
    """Return the deviation of each hour of the day from its day's mean; the median over the days."""
    flat = [(hour, used - drift * hour) for hour, used in points]
    middles = {
        day: statistics.median(used for hour, used in flat if hour // DAY == day)
        for day in {hour // DAY for hour, _ in flat}
    }
    far: dict[int, list[float]] = {}
    for hour, used in flat:
        far.setdefault(hour % DAY, []).append(used - middles[hour // DAY])
    return {hour: statistics.median(values) for hour, values in far.items()}


def _burst(levels: Sequence[tuple[int, float]], begun_ratio: float) -> tuple[float, float]:
    """Return the growth per hour that the previous days do not explain, and for how many hours to extrapolate it.

    The last hour must show that it goes on, or two before if it has hardly begun: a single copied file is no burst.
    """
    *whole, (_, present) = levels
    steps = [(b - a) / (j - i) for (i, a), (j, b) in pairwise(whole)]
    latest = statistics.median(steps[-2:])
    lasted = sum(1 for _ in takewhile(lambda step: step >= latest / 2, reversed(steps)))
    before = sorted(steps[:-lasted] if lasted else steps)
    if latest <= 0 or not before or latest <= BURST_RATIO * max(0.0, before[int(len(before) * USUAL)]):
        return 0.0, 0.0
    goes_on = lasted > 1 if begun_ratio < HARDLY_BEGUN else present - whole[-1][1] >= latest / 2 * begun_ratio
    if not goes_on:
        return 0.0, 0.0
    return latest, BURST_TRUST * lasted


def _by_weeks(points: Sequence[Point], limit: int) -> Course | None:
    """Return how use goes on if the last weeks explain it; None if they do not, or there is none."""
    now, used = points[-1][0], dict(points)
    if now - points[0][0] < WEEK + COMPARED_HOURS:
        return None
    compared = range(now - COMPARED_HOURS + 1, now + 1)
    weeks = _grown_by_weeks(used, now)
    if not weeks:
        return None

    def expected(hours: range) -> list[float]:
        by_week = [[used.get(hour - ago, -math.inf) + grown for hour in hours] for ago, grown in weeks.items()]
        return list(map(max, *by_week)) if len(by_week) > 1 else by_week[0]

    known = [(used[hour], more) for hour, more in zip(compared, expected(compared), strict=True) if hour in used]
    above = max(bytes_in_use - more for bytes_in_use, more in known if more > -math.inf)
    last_week = [used[hour] for hour in range(now - WEEK, now) if hour in used]
    if above > EXPLAINED_RATIO * (max(last_week) - min(last_week)):
        return None
    higher = max(0.0, above)
    ahead = enumerate(expected(range(now + 1, now + WEEK + 1)), start=1)
    full_in_hours = next((hour for hour, more in ahead if more + higher >= limit), None)
    return Course(weeks[WEEK] / WEEK, full_in_hours)


def _grown_by_weeks(used: dict[int, int], now: int) -> dict[int, float]:
    """Return the growth since one week ago, and since two if they are remembered; empty if hardly any hour is known.

    A week that is lower for a holiday is no growth of the next one: growth must be there since both.
    """
    last, before = _grown(used, now, WEEK), _grown(used, now, 2 * WEEK)
    if last is None:
        return {}
    if before is None:
        return {WEEK: last}
    last = min(last, before)
    return {WEEK: last, 2 * WEEK: min(before, 2 * last)}


def _grown(used: dict[int, int], now: int, ago: int) -> float | None:
    """Return the growth since earlier hours, the median; a shrinking, which a holiday may be, counts as none."""
    compared = range(now - COMPARED_HOURS + 1, now + 1)
    grown = [used[hour] - used[hour - ago] for hour in compared if hour in used and hour - ago in used]
    return max(0.0, statistics.median(grown)) if len(grown) > COMPARED_HOURS // 2 else None
