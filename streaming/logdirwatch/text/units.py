"""Bytes, times and ratios as people read them."""

import re

_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_TIME_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1))
_WRITTEN_MS = {"d": 86_400_000, "h": 3_600_000, "min": 60_000, "m": 60_000, "s": 1_000}
_WRITTEN_PART = re.compile(r"(\d+)\s*(d|h|min|m|s)\s*")
BAR_BLOCKS = 10


def human_bytes(size_bytes: float | None) -> str:
    """Return ``size_bytes`` with a binary unit, ``-`` when nobody knows it."""
    if size_bytes is None:
        return "-"
    value, unit = float(size_bytes), 0
    while round(abs(value), 1) >= 1024 and unit < len(_BYTE_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.1f}".removesuffix(".0") + f" {_BYTE_UNITS[unit]}"


def human_ms(duration_ms: float | None) -> str:
    """Return a duration in the largest unit that it fills, ``-`` when nobody knows it."""
    if duration_ms is None:
        return "-"
    for unit, size in _TIME_UNITS:
        if duration_ms >= size:
            return f"{duration_ms / size:.1f}".removesuffix(".0") + f" {unit}"
    return "0 s"


def written_ms(text: str) -> int | None:
    """Return a duration as people write it, such as ``2h``, ``90m`` or ``1d 12h``; None when it is none."""
    parts = _WRITTEN_PART.findall(text)
    if not parts or _WRITTEN_PART.sub("", text.strip()):
        return None
    return sum(int(count) * _WRITTEN_MS[unit] for count, unit in parts)


CLOCK_TOLERANCE_MS = 60_000
"""How far a time may lie ahead of the clock that looks at it: clocks of hosts differ a little."""


def age_ms(at_ms: int | None, now_ms: int, tolerance_ms: int = CLOCK_TOLERANCE_MS) -> int | None:
    """Return how long ago ``at_ms`` was; None where nobody knows.

    A time that lies ahead says that the clock is behind, as one that was set back: nothing is fresh by that.
    """
    if at_ms is None or at_ms - now_ms > tolerance_ms:
        return None
    return max(0, now_ms - at_ms)


def human_ago(at_ms: int | None, now_ms: int) -> str:
    """Return how long ago ``at_ms`` was, seen from ``now_ms``."""
    if at_ms is None:
        return "never"
    age = age_ms(at_ms, now_ms)
    return behind(at_ms, now_ms) if age is None else f"{human_ms(age)} ago"


def behind(at_ms: int, now_ms: int) -> str:
    """Say that nobody knows how long ago a time was that lies ahead."""
    return f"an unknown time ago (this clock is {human_ms(at_ms - now_ms)} behind)"


def human_ratio(ratio: float | None) -> str:
    """Return a share as percent, ``-`` when nobody knows it. Rounds down, so that only a full disk reads 100 %."""
    return "-" if ratio is None else f"{int(ratio * 1000) / 10:.1f} %"


def bar(ratio: float | None, blocks: int = BAR_BLOCKS) -> str:
    """Return ``ratio`` drawn in ``blocks`` characters, the last one only for a full disk; question marks for None."""
    if ratio is None:
        return "?" * blocks
    filled = int(min(max(ratio, 0.0), 1.0) * blocks)
    return "█" * filled + "░" * (blocks - filled)
