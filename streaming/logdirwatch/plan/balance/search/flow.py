"""How far two units are outside their bands as bytes go from one to the other: a convex, piecewise linear function."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from logdirwatch.plan.balance.model.cluster import Ratios

_Point = tuple[float, float]
Span = tuple[float, float]
"""The minimum and maximum bytes of a range."""


class Side(NamedTuple):
    """A unit's bytes and its band."""

    used_bytes: float
    low_bytes: float
    high_bytes: float

    def off_bytes(self, more_bytes: float) -> float:
        """Return its distance from the band with ``more_bytes`` added."""
        used = self.used_bytes + more_bytes
        return max(0.0, used - self.high_bytes, self.low_bytes - used)


class Flow:
    """Bytes that may go from one unit to another."""

    def __init__(self, candidate: Side, taker: Side) -> None:
        bends = {0.0, candidate.used_bytes - candidate.high_bytes, candidate.used_bytes - candidate.low_bytes}
        bends |= {taker.low_bytes - taker.used_bytes, taker.high_bytes - taker.used_bytes}
        known = sorted(bend for bend in bends if bend >= 0)
        # Behind the last bend both leave their bands, so that the function is back at its first value soon.
        known.append(known[-1] + candidate.off_bytes(0) + taker.off_bytes(0) + 1)
        self._bends = [(bend, candidate.off_bytes(-bend) + taker.off_bytes(bend)) for bend in known]

    def off_bytes(self, flowing_bytes: Ratios) -> Ratios:
        """Return the distance of both together once that many bytes have moved."""
        found: Ratios = np.interp(flowing_bytes, [bend for bend, _ in self._bends], [off for _, off in self._bends])
        return found

    def best(self) -> Span:
        """Return the range of bytes that leaves both with the least distance."""
        return self._at_most(min(off for _, off in self._bends)) or (0.0, 0.0)

    def helpful(self, gain_bytes: float) -> Span | None:
        """Return the range of bytes that reduces the distance by at least ``gain_bytes``; None if there is none."""
        return self._at_most(self._bends[0][1] - gain_bytes)

    def _at_most(self, level: float) -> Span | None:
        ends = [end for left, right in pairwise(self._bends) for end in _ends(left, right, level)]
        return (min(ends), max(ends)) if ends else None


def _ends(left: _Point, right: _Point, level: float) -> list[float]:
    """Return the ends of the part of a straight line that is not above a level; empty if all of it is."""
    found = [x for x, y in (left, right) if y <= level]
    if len(found) == 1:
        found.append(left[0] + (right[0] - left[0]) * (level - left[1]) / (right[1] - left[1]))
    return found
