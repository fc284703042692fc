"""What is remembered of a log directory's use, and when it will be full. Pure; one number per hour and directory.

Use is a sawtooth, because retention deletes whole segments. Its peaks fill the disk, so the peak of each hour is kept,
for two weeks. Moves add bytes that no producer wrote; they are subtracted. How the peaks go on is computed in
:mod:`logdirwatch.detect.state.course`.
"""

from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterable
from zlib import crc32

import numpy as np
from msgspec import Struct

from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect.state import course
from logdirwatch.detect.state.turns import is_turn

KEPT_HOURS = 2 * course.WEEK + course.COMPARED_HOURS + 1
STEPS = 32_000
NO_SAMPLE = -(2**15)


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

    Own use excludes the bytes that moves added, ``brought_bytes``, which is negative where others of a pool took more
    than that. What is over is packed, two bytes per hour: state is
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


class Outlook(Struct, frozen=True):
    """The growth that lasts, in bytes per second, and when it fills the directory; None: not within a week."""

    growth_bytes_per_s: float
    end: Forecast | None


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
    # What others of a pool took counts as use, also of a size that is gone.
    unit_bytes = max(1, -(-max(total_bytes, total_bytes - peaks.brought_bytes) // STEPS))
    # Of an unchanged volume the hours before stay as they are: this is most of what a forecast costs.
    is_unchanged = bool(peaks.changes) and unit_bytes == peaks.unit_bytes
    before = unpacked(peaks.changes) if is_unchanged else [_step(used, unit_bytes) for used in _past(peaks)]
    unseen = [NO_SAMPLE] * (hour - peaks.hour - 1)
    peaks.changes = packed([*before, _step(peaks.peak_bytes, unit_bytes), *unseen][1 - KEPT_HOURS :])
    peaks.unit_bytes, peaks.past, peaks.hour = unit_bytes, "", hour


def _step(used_bytes: int | None, unit_bytes: int) -> int:
    return NO_SAMPLE if used_bytes is None else max(NO_SAMPLE, min(round(used_bytes / unit_bytes), 2**15 - 1))


def packed(steps: Iterable[int]) -> str:
    """Return numbers of two bytes as the changes between them, whose text compresses far better than their own."""
    changes = np.diff(np.fromiter(steps, np.int16), prepend=np.int16(0))
    return b64encode(changes.tobytes()).decode()


def unpacked(changes: str) -> list[int]:
    """Return the numbers that were packed."""
    found: list[int] = np.cumsum(np.frombuffer(b64decode(changes), np.int16), dtype=np.int16).tolist()
    return found


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
    """Return when ``free_bytes``, those of the last sample, will be used up; None if not within a week, or unknown."""
    found = outlook(peaks, free_bytes)
    return None if found is None else found.end


def outlook(peaks: Peaks, free_bytes: int) -> Outlook | None:
    """Return how a directory's use goes on, of which ``free_bytes`` are left; None: not watched for long enough."""
    points = [(hour, peak) for hour, peak in enumerate(hourly_peaks(peaks)) if peak is not None]
    begun_ratio = peaks.last_ms % HOUR_MS / HOUR_MS
    found = course.course(points, begun_ratio, peaks.last_bytes + free_bytes)
    if found is None:
        return None
    growth_bytes_per_s = found.growth_bytes_per_hour * 1000 / HOUR_MS
    if found.full_in_hours is None:
        return Outlook(growth_bytes_per_s, None)
    hours, watched = max(0.0, found.full_in_hours), points[-1][0] - points[0][0]
    end = Forecast(int(hours * HOUR_MS), round(min(1.0, watched / max(hours, 1.0)), 2))
    return Outlook(growth_bytes_per_s, end)
