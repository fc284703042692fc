"""Sizes, rates, shares and durations as people read them: the only place that formats them.

Sizes take binary units, as Kafka's own tools and ``df -h`` do. A space parts a number from its unit, ``%`` too.
"""

import math
import re
from itertools import pairwise

_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_DAY_MS = 86_400_000
_TIME_UNITS = (("d", _DAY_MS), ("h", 3_600_000), ("min", 60_000), ("s", 1_000))
_WRITTEN_MS = {"d": _DAY_MS, "h": 3_600_000, "min": 60_000, "m": 60_000, "s": 1_000}
_WRITTEN_PART = re.compile(r"(\d+)\s*(d|h|min|m|s)\s*")
_WRITTEN_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*([kKMGTP])(i?)B")
_WHOLE_DAYS_FROM = 10
"""From this many days on the hours are left out."""
_MONTH_MS = 365 * _DAY_MS / 12
_MONTHS_FROM_MS = 60 * _DAY_MS
_YEAR_MS = 365 * _DAY_MS
BAR_BLOCKS = 10


def human_bytes(size_bytes: float | None) -> str:
    """Return ``size_bytes`` with a binary unit, ``-`` when it is unknown."""
    if size_bytes is None:
        return "-"
    value, unit = float(size_bytes), 0
    while round(abs(value), 1) >= 1024 and unit < len(_BYTE_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{_one_decimal(value)} {_BYTE_UNITS[unit]}"


def human_parts(part_bytes: int, whole_bytes: int) -> tuple[str, str]:
    """Return a part and its whole, in a unit in which they differ if they are not equal: ``1065.6 GiB``."""
    texts = human_bytes(part_bytes), human_bytes(whole_bytes)
    unit = _BYTE_UNITS.index(texts[0].split()[1])
    while texts[0] == texts[1] and part_bytes != whole_bytes and unit > 0:
        unit -= 1
        values = (f"{size / 1024**unit:.1f}".removesuffix(".0") for size in (part_bytes, whole_bytes))
        texts = next(values) + f" {_BYTE_UNITS[unit]}", next(values) + f" {_BYTE_UNITS[unit]}"
    return texts


def human_count(count: float) -> str:
    """Return a whole number with commas between thousands: ``1,234``."""
    return f"{count:,.0f}"


def human_rate(bytes_per_s: float | None) -> str:
    """Return bytes per second, ``-`` when the rate is unknown."""
    return "-" if bytes_per_s is None else f"{human_bytes(bytes_per_s)}/s"


def human_ms(duration_ms: float | None) -> str:
    """Return a duration in its two largest units, such as ``3 h 20 min``; ``-`` when it is unknown."""
    if duration_ms is None:
        return "-"
    if duration_ms < 0:
        return f"-{human_ms(-duration_ms)}"
    if duration_ms < 999.5:
        return _below_a_second(duration_ms)
    if duration_ms < 59_950:
        return f"{_one_decimal(duration_ms / 1000)} s"
    return _two_units(duration_ms)


def human_age(age_ms: float | None) -> str:
    """Return the age of something to the second, as a page that counts on shows it; ``-`` when it is unknown."""
    return "-" if age_ms is None else human_ms(round(age_ms / 1000) * 1000)


def _below_a_second(duration_ms: float) -> str:
    if round(duration_ms, 1) == 0:
        return "0 s"
    return f"{duration_ms:.0f} ms" if duration_ms >= 9.95 else f"{_one_decimal(duration_ms)} ms"


def _two_units(duration_ms: float) -> str:
    for (name, unit_ms), (lesser, lesser_ms) in pairwise(_TIME_UNITS):
        whole, rest = divmod(round(duration_ms / lesser_ms), unit_ms // lesser_ms)
        if whole >= _WHOLE_DAYS_FROM and unit_ms == _DAY_MS:
            return f"{round(duration_ms / _DAY_MS)} d"
        if whole:
            return f"{whole} {name} {rest} {lesser}" if rest else f"{whole} {name}"
    return "1 min"


def human_s(duration_s: float) -> str:
    """Return a duration given in seconds, as ``human_ms`` does."""
    return human_ms(duration_s * 1000)


def human_in(left_ms: float | None) -> str:
    """Return when something estimated happens: ``in about 3 h 20 min``, no more exactly than a forecast knows it."""
    if left_ms is None:
        return "at an unknown time"
    if left_ms <= 0:
        return "now"
    if left_ms > _YEAR_MS:
        return "in more than a year"
    if left_ms >= _MONTHS_FROM_MS:
        return f"in about {round(left_ms / _MONTH_MS)} months"
    return f"in about {human_ms(max(1_000, round(left_ms / 1000) * 1000))}"


def _one_decimal(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def written_ms(text: str) -> int | None:
    """Parse a duration such as ``2h``, ``90m`` or ``1d 12h``; None if it is not one."""
    parts = _WRITTEN_PART.findall(text)
    if not parts or _WRITTEN_PART.sub("", text.strip()):
        return None
    return sum(int(count) * _WRITTEN_MS[unit] for count, unit in parts)


def written_bytes(text: str) -> int | None:
    """Parse a size such as ``8TB`` (decimal, as disks are sold) or ``1.5 TiB`` (binary); None if it is not one."""
    found = _WRITTEN_SIZE.fullmatch(text.strip())
    if found is None:
        return None
    number, prefix, binary = found.groups()
    unit = 1024 if binary else 1000
    return int(float(number) * unit ** (1 + "KMGTP".index(prefix.upper())))


CLOCK_TOLERANCE_MS = 60_000
"""How far a time may be ahead of this clock: clocks of hosts differ a little."""


def age_ms(at_ms: int | None, now_ms: int, tolerance_ms: int = CLOCK_TOLERANCE_MS) -> int | None:
    """Return how long ago ``at_ms`` was; None if unknown.

    A time in the future means that the clock was set back or is behind: it does not make anything fresh.
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
    """Return the text for a time ahead of this clock, whose age is unknown."""
    return f"an unknown time ago (this clock is {human_ms(at_ms - now_ms)} behind)"


def human_ratio(ratio: float | None, decimals: int = 1) -> str:
    """Return a share as percent, ``-`` when it is unknown.

    Rounds down, so that only a full disk reads 100 %: 99.96 % used is room for writes that 100.0 % would deny.
    """
    if ratio is None:
        return "-"
    steps = 100 * 10**decimals
    # 0.29 * 1000 is a little less than 290: what lies so near the next step is the next step, save at the full disk.
    floored = math.floor(ratio * steps + 1e-6)
    if ratio < 1:
        floored = min(floored, steps - 1)
    return f"{floored * 100 / steps:.{decimals}f} %"


def bar(ratio: float | None) -> str:
    """Return ``ratio`` drawn in characters, the last one only for a full disk; question marks for None."""
    if ratio is None:
        return "?" * BAR_BLOCKS
    filled = int(min(max(ratio, 0.0), 1.0) * BAR_BLOCKS)
    return "█" * filled + "░" * (BAR_BLOCKS - filled)
