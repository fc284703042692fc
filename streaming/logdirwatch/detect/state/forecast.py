"""When a log directory will be full: a forecast from hourly peaks. Pure; it keeps one number per hour and directory.

Three things make a straight line through the samples misleading, and each is handled here:

- Retention deletes whole segments, so use is a sawtooth. Its peaks fill the disk: the peak of each hour is kept, and
  growth is that of the daily peak from day to day; the median, so that a single step counts as one.
- Traffic has a daily pattern. The deviation of each hour from its day's mean, the median over the days, is expected to
  repeat.
- Moves add bytes that no producer wrote. They are subtracted from the series.

With less than a day and a half of history there is only the median slope between the peaks, which is extrapolated for
``TRUST`` times the observed time. A burst, growth faster than in nearly every hour before it, is extrapolated for
``BURST_TRUST`` times its duration.
"""

import statistics
from array import array
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Iterable
from itertools import accumulate, chain, combinations, pairwise, takewhile
from zlib import crc32

from msgspec import Struct

from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect.state.turns import is_turn

DAY = 24
KEPT_HOURS = 4 * DAY + 1
LONGEST_HOURS = 7 * DAY
SHORTEST_HOURS = 2
TRUST = 2.0
BURST_TRUST = 3.0
BURST_RATIO = 1.5
USUAL = 0.98
STEPS = 32_000
NO_SAMPLE = -(2**15)

Point = tuple[int, int]


class Moving(Struct, frozen=True):
    """Moves in a directory: bytes of copies that arrived and bytes still to come; None when unknown."""

    future_bytes: int | None = None
    incoming_bytes: int | None = None


NO_MOVES = Moving()


class Grown(Struct, frozen=True):
    """The growth of a directory in bytes, without moved bytes, and the time it took (above 0)."""

    own_bytes: int
    in_ms: int


class Peaks(Struct, kw_only=True, omit_defaults=True):
    """The highest own use of each hour: of those that are over ``changes``, of the present ``hour`` ``peak_bytes``.

    Own use excludes the bytes that moves added, ``brought_bytes``. What is over is packed, two bytes per hour: state is
    written with every batch, and this is most of it. In ``past`` it is packed as older releases did.
    """

    hour: int = 0
    peak_bytes: int | None = None
    past: str = ""
    changes: str = ""
    unit_bytes: int = 1
    last_bytes: int = 0
    brought_bytes: int = 0
    future_bytes: int = 0
    incoming_bytes: int = 0
    used_at_scan_bytes: int = 0
    last_ms: int = 0
    scan_ms: int = 0


class Forecast(Struct, frozen=True):
    """Milliseconds until full, and the confidence: observed time divided by forecast time, at most 1."""

    full_in_ms: int
    confidence: float


def note(peaks: Peaks, at_ms: int, total_bytes: int, used_bytes: int, moving: Moving = NO_MOVES) -> Grown | None:
    """Add a sample of a directory's bytes in use.

    Return the growth since the previous sample; while moves add bytes, which are only counted by scans, the growth
    since the last count, and None in between.
    """
    at_count = peaks.used_at_scan_bytes - peaks.brought_bytes, peaks.scan_ms
    is_counted = _take_out_what_came(peaks, at_ms, used_bytes, moving)
    own, hour = used_bytes - peaks.brought_bytes, at_ms // HOUR_MS
    since = at_count if is_counted else (peaks.last_bytes, peaks.last_ms)
    grown = None if peaks.incoming_bytes and not is_counted else _grown(own, at_ms, *since)
    if at_ms > peaks.last_ms:
        peaks.last_bytes, peaks.last_ms = own, at_ms
    if peaks.peak_bytes is None or hour - peaks.hour >= KEPT_HOURS:
        peaks.hour, peaks.peak_bytes, peaks.past, peaks.changes = hour, own, "", ""
    elif hour > peaks.hour:
        _close_hours(peaks, hour, total_bytes)
        peaks.peak_bytes = own
    elif hour == peaks.hour:
        peaks.peak_bytes = max(peaks.peak_bytes, own)
    return grown


def _grown(own_bytes: int, at_ms: int, from_bytes: int, from_ms: int) -> Grown | None:
    return Grown(own_bytes - from_bytes, at_ms - from_ms) if 0 < from_ms < at_ms else None


def _take_out_what_came(peaks: Peaks, at_ms: int, used_bytes: int, moving: Moving) -> bool:
    """Count the bytes that moves added between two scans, at most the rise in use; return whether this is a scan.

    A cancelled move removes its bytes, which looks like a deletion and only lowers the forecast.
    """
    future = peaks.future_bytes if moving.future_bytes is None else moving.future_bytes
    incoming = peaks.incoming_bytes if moving.incoming_bytes is None else moving.incoming_bytes
    if (future, incoming) == (peaks.future_bytes, peaks.incoming_bytes):
        return False
    came = max(future - peaks.future_bytes, peaks.incoming_bytes - incoming, 0)
    peaks.brought_bytes += min(came, max(0, used_bytes - peaks.used_at_scan_bytes))
    peaks.future_bytes, peaks.incoming_bytes, peaks.used_at_scan_bytes = future, incoming, used_bytes
    peaks.scan_ms = at_ms
    return True


def _close_hours(peaks: Peaks, hour: int, total_bytes: int) -> None:
    past = [*_past(peaks), peaks.peak_bytes, *[None] * (hour - peaks.hour - 1)][1 - KEPT_HOURS :]
    peaks.unit_bytes = max(1, -(-total_bytes // STEPS))
    steps = (NO_SAMPLE if used is None else round(used / peaks.unit_bytes) for used in past)
    peaks.changes = packed(max(NO_SAMPLE, min(step, 2**15 - 1)) for step in steps)
    peaks.past, peaks.hour = "", hour


def packed(steps: Iterable[int]) -> str:
    """Return numbers of two bytes as the changes between them, whose text compresses far better than their own."""
    changes = array("H", ((step - before) % 2**16 for before, step in pairwise(chain([0], steps))))
    return b64encode(changes.tobytes()).decode()


def unpacked(changes: str) -> list[int]:
    """Return the numbers that were packed."""
    return [(step + 2**15) % 2**16 - 2**15 for step in accumulate(array("H", b64decode(changes)))]


def _past(peaks: Peaks) -> list[int | None]:
    steps = unpacked(peaks.changes) if peaks.changes else array("h", b64decode(peaks.past))
    return [None if step == NO_SAMPLE else step * peaks.unit_bytes for step in steps]


def hourly_peaks(peaks: Peaks) -> list[int | None]:
    """Return the highest own use of each hour in bytes, oldest first, the current hour last; None without a sample."""
    return [] if peaks.peak_bytes is None else [*_past(peaks), peaks.peak_bytes]


def is_due(path: str, before_ms: int | None, at_ms: int, seed: int = 0) -> bool:
    """Tell whether a directory's forecast is due: once per hour, and not for all in the same second.

    ``seed`` is a number specific to its broker.
    """
    return before_ms is None or is_turn(before_ms, at_ms, HOUR_MS, crc32(path.encode(), seed))


def missing_bytes(peaks: Peaks, total_bytes: int) -> int | None:
    """Return how many of the bytes that running moves will add do not fit; None if there are none."""
    if not peaks.incoming_bytes:
        return None
    return max(0, peaks.incoming_bytes + peaks.used_at_scan_bytes - total_bytes)


def forecast(peaks: Peaks, free_bytes: int) -> Forecast | None:
    """Return when ``free_bytes``, those of the last sample, will be used up; None if not within a week."""
    points = [(hour, peak) for hour, peak in enumerate(hourly_peaks(peaks)) if peak is not None]
    if len(points) <= SHORTEST_HOURS:
        return None
    limit = peaks.last_bytes + free_bytes
    # After a long gap two complete days are rare, and one day is not enough to calculate growth.
    if points[-1][0] - points[0][0] >= DAY + DAY // 2 and len(found := crests(points)) > 1:
        return _by_days(points, found, limit)
    return _by_slope(points, limit)


def _by_slope(points: list[Point], limit: int) -> Forecast | None:
    # The first and the last hour are incomplete: their peaks were before, or are still to come.
    whole = points[1:-1] if len(points) > SHORTEST_HOURS + 2 else points
    slope = _median_slope(whole)
    watched = points[-1][0] - points[0][0]
    hours = (limit - points[-1][1]) / slope if slope > 0 else LONGEST_HOURS
    return _forecast(hours, watched) if hours <= TRUST * watched else None


def _median_slope(points: list[Point]) -> float:
    return statistics.median((b - a) / (j - i) for (i, a), (j, b) in combinations(points, 2))


def _by_days(points: list[Point], highest: list[Point], limit: int) -> Forecast | None:
    drift = _drift(highest)
    shape = _shape_of_the_day(points, drift)
    now = points[-1][0]
    levels = [(hour, used - drift * (hour - now) - shape.get(hour % DAY, 0.0)) for hour, used in points]
    # The last hour has only begun.
    burst, lasts_hours = _burst(levels[:-1])
    level = levels[-1][1] if burst else max(used for hour, used in levels if hour > now - DAY)
    # Most directories fill in no hour of the week: their highest possible use says so at once.
    highest_bytes = level + max(drift, drift * LONGEST_HOURS) + max(chain([0.0], shape.values())) + burst * lasts_hours
    if highest_bytes < limit:
        return None
    for hour in range(1, LONGEST_HOURS + 1):
        expected = level + drift * hour + shape.get((now + hour) % DAY, 0.0)
        if expected + burst * min(hour, lasts_hours) >= limit:
            return _forecast(hour, now - points[0][0])
    return None


def _drift(crests: list[Point]) -> float:
    """Return the growth per hour: from day to day if there are enough days, so that a single step counts as one."""
    by_hour = dict(crests)
    steps = [used - by_hour[hour - DAY] for hour, used in crests if hour - DAY in by_hour]
    return statistics.median(steps) / DAY if len(steps) >= DAY else _median_slope(crests)


def crests(points: list[Point]) -> list[Point]:
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


def _shape_of_the_day(points: list[Point], drift: float) -> dict[int, float]:
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


def _burst(levels: list[tuple[int, float]]) -> tuple[float, float]:
    """Return the growth per hour that the previous days do not explain, and for how many hours to extrapolate it."""
    steps = [(b - a) / (j - i) for (i, a), (j, b) in pairwise(levels)]
    latest = statistics.median(steps[-2:])
    lasted = sum(1 for _ in takewhile(lambda step: step >= latest / 2, reversed(steps)))
    before = sorted(steps[:-lasted] if lasted else steps)
    if latest <= 0 or not before or latest <= BURST_RATIO * max(0.0, before[int(len(before) * USUAL)]):
        return 0.0, 0.0
    return latest, BURST_TRUST * lasted


def _forecast(hours: float, watched: int) -> Forecast:
    return Forecast(int(max(0.0, hours) * HOUR_MS), round(min(1.0, watched / max(hours, 1.0)), 2))
