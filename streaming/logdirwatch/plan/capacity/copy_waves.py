"""Moves in waves: copies that run together are freed together, at the end; waves are freed one after the other.

All moves between the directories of a broker share one throttle, so a directory that is full before the last copy ends
may be saved by a first wave that ends earlier. No wave has more copies than the broker runs at once, within
``MOST_WAVES``: the others would only wait in Kafka's queue, where retention does not run on them (KIP-113).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from logdirwatch.plan.capacity.timing import time_to_full_ms
from logdirwatch.plan.cluster.snapshot import LogDir

MOST_WAVES = 6


@dataclass(frozen=True)
class Waves:
    """The copies by index, in the order of the waves; ``is_in_time`` None: the growth is unknown.

    ``in_time_bytes`` are those of the leading waves that are in time.
    """

    groups: tuple[tuple[int, ...], ...]
    needs_ms: int
    is_in_time: bool | None
    in_time_bytes: int = 0


@dataclass(frozen=True)
class Pace:
    """The rate of the copies, the delay until deleted files are gone, and the growth of the directory.

    ``at_once`` is the number of copies that the broker runs in parallel.
    """

    bytes_per_s: int
    settles_ms: int
    usable_bytes: int | None
    growth_bytes_per_s: float | None
    at_once: int = 1

    @classmethod
    def of(cls, source: LogDir, bytes_per_s: int, settles_ms: int, at_once: int = 1) -> "Pace":
        """Return the pace of copies off a directory, including what other steps add to it and take from it."""
        growth, left_ms = source.outlook_bytes_per_s, time_to_full_ms(source)
        usable = None if growth is None or left_ms is None else int(left_ms * growth / 1000)
        return cls(bytes_per_s, settles_ms, usable, growth, at_once)

    def is_in_time(self, size_bytes: int, freed_bytes: int) -> bool:
        """Tell whether a copy is freed before the directory is full, after others in sequence; True if unknown."""
        full_at_ms = self.full_at_ms(freed_bytes)
        return full_at_ms is None or self.copy_ms(freed_bytes + size_bytes) + self.settles_ms < full_at_ms

    def copy_ms(self, size_bytes: int) -> int:
        """Return how long copies of ``size_bytes`` take together, including what is written to them meanwhile."""
        grown = int(max(0.0, self.growth_bytes_per_s or 0.0) * size_bytes / self.bytes_per_s)
        return (size_bytes + grown) * 1000 // self.bytes_per_s

    def full_at_ms(self, freed_bytes: int) -> float | None:
        """Return in how many milliseconds the directory is full if ``freed_bytes`` are freed before; None: unknown."""
        growth = self.growth_bytes_per_s
        if growth is None or growth <= 0 or self.usable_bytes is None:
            return None
        return (self.usable_bytes + freed_bytes) / growth * 1000


def in_waves(sizes: Sequence[int], pace: Pace) -> Waves:
    """Split copies of ``sizes`` into as few waves as end in time; if time suffices or is unknown, by number only.

    A wave is in time if its bytes are freed before those that earlier waves freed are full again.
    """
    everything = tuple(range(len(sizes)))
    needs_ms = pace.copy_ms(sum(sizes)) + pace.settles_ms
    full_at_ms, most = pace.full_at_ms(0), max(pace.at_once, math.ceil(len(sizes) / MOST_WAVES))
    if full_at_ms is None or needs_ms < full_at_ms:
        parts = tuple(everything[begin : begin + most] for begin in range(0, len(sizes), most))
        return Waves(parts, needs_ms, None if full_at_ms is None else True, sum(sizes))
    groups: list[tuple[int, ...]] = []
    left, elapsed_ms, freed, is_in_time, in_time_bytes = list(everything), 0, 0, True, 0
    while left:
        budget_ms = (pace.full_at_ms(freed) or 0) - pace.settles_ms - elapsed_ms
        group = _first_fit(left, sizes, pace, budget_ms)[:most] if len(groups) < MOST_WAVES - 1 else ()
        if not group:
            group = tuple(left if len(groups) == MOST_WAVES - 1 else left[:most])
            is_in_time = is_in_time and pace.copy_ms(_sum(group, sizes)) < budget_ms
        groups.append(group)
        left = [number for number in left if number not in group]
        elapsed_ms += pace.copy_ms(_sum(group, sizes))
        freed += _sum(group, sizes)
        in_time_bytes = freed if is_in_time else in_time_bytes
    return Waves(tuple(groups), elapsed_ms + pace.settles_ms, is_in_time, in_time_bytes)


def _first_fit(left: Sequence[int], sizes: Sequence[int], pace: Pace, budget_ms: float) -> tuple[int, ...]:
    group: list[int] = []
    for number in left:
        if pace.copy_ms(_sum([*group, number], sizes)) < budget_ms:
            group.append(number)
    return tuple(group)


def _sum(numbers: Iterable[int], sizes: Sequence[int]) -> int:
    return sum(sizes[number] for number in numbers)
