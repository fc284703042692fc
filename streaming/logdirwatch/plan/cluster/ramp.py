"""Growth that ends: a rate of bytes until a known time."""

from collections.abc import Iterable
from dataclasses import dataclass

MOST_MS = 100 * 365 * 86_400_000
"""A time beyond a century counts as never."""


@dataclass(frozen=True, slots=True)
class Ramp:
    """Growth in bytes per second, until ``until_ms`` from now."""

    bytes_per_s: float
    until_ms: int


def full_in_ms(left_bytes: float, growth_bytes_per_s: float, ramps: Iterable[Ramp] = ()) -> int | None:
    """Return when ``left_bytes`` are used up, at steady growth plus that of each ramp while it lasts.

    None: never. Negative growth never fills a directory.
    """
    left, at_ms = float(left_bytes), 0
    open_ramps = sorted(ramps, key=lambda ramp: ramp.until_ms)
    while left > 0:
        rate = growth_bytes_per_s + sum(ramp.bytes_per_s for ramp in open_ramps)
        ends_ms = open_ramps[0].until_ms if open_ramps else MOST_MS
        lasts_ms = left * 1000 / rate if rate > 0 else float("inf")
        if at_ms + lasts_ms <= ends_ms:
            return int(at_ms + lasts_ms)
        if not open_ramps:
            return None
        left -= rate * (ends_ms - at_ms) / 1000
        at_ms = ends_ms
        open_ramps.pop(0)
    return at_ms
