"""What copies occupy while they run, and which may begin beside them: the same for a plan and for its execution.

A broker receives, sends, and copies between its directories at a rate of its own for each (KIP-73, KIP-113). One copy
uses all of such a rate, so that a second one beside it ends no sooner, and the first one later.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Generic, NamedTuple, TypeVar

SHORT_MS = 300_000
"""Kafka's default between two checks of retention: copies that end within it may wait in Kafka's queue, since retention
does not run on a replica that waits there (KIP-113)."""

Dir = TypeVar("Dir")
"""A directory: its broker and path, or its index in a model."""


class Way(Enum):
    """How a broker takes part in a copy; each way has its own rate."""

    RECEIVES = "receives"
    SENDS = "sends"
    WITHIN = "within"


class Lane(NamedTuple):
    """One way of one broker."""

    way: Way
    broker: int


@dataclass(frozen=True)
class Copy(Generic[Dir]):
    """What the move of one replica occupies: lanes for some milliseconds, and bytes in two directories.

    The target counts from the beginning, the source until its files are deleted. A ``partition`` has one copy at a
    time, so that what runs of it, and what is left, is seen from its replicas alone.
    """

    partition: Hashable
    lanes: tuple[Lane, ...]
    takes_ms: int
    size_bytes: int
    source: Dir
    target: Dir


def lanes_of(source: int, target: int, sender: int) -> tuple[Lane, ...]:
    """Return the lanes of a copy between brokers, or within one; ``sender`` leads the partition."""
    if source == target:
        return (Lane(Way.WITHIN, target),)
    return Lane(Way.RECEIVES, target), Lane(Way.SENDS, sender)


class Occupied(Generic[Dir]):
    """The lanes and the room that copies have taken; ``room`` is what each directory may take before the first."""

    def __init__(self, room: Mapping[Dir, int]) -> None:
        self.room: defaultdict[Dir, int] = defaultdict(int, room)
        self._busy_ms: defaultdict[Lane, int] = defaultdict(int)
        self._copied: set[Hashable] = set()

    def may_begin(self, copy: Copy[Dir]) -> bool:
        """Tell whether the partition, the lanes and the directory are free."""
        is_free = copy.partition not in self._copied and copy.size_bytes <= self.room[copy.target]
        return is_free and all(self.is_free(lane, copy.takes_ms) for lane in copy.lanes)

    def is_free(self, lane: Lane, takes_ms: int) -> bool:
        """Tell whether a lane has no copy, or short ones that one more leaves short."""
        busy_ms = self._busy_ms[lane]
        return not busy_ms or busy_ms + takes_ms <= SHORT_MS

    def begin(self, copy: Copy[Dir]) -> None:
        """Take what a copy occupies."""
        self._copied.add(copy.partition)
        for lane in copy.lanes:
            self._busy_ms[lane] += copy.takes_ms
        self.room[copy.target] -= copy.size_bytes

    def end(self, copy: Copy[Dir]) -> None:
        """Free the partition and the lanes of a copy that has ended."""
        self._copied.discard(copy.partition)
        for lane in copy.lanes:
            self._busy_ms[lane] -= copy.takes_ms

    def settle(self, copy: Copy[Dir]) -> None:
        """Free the room of old files that are deleted."""
        self.room[copy.source] += copy.size_bytes
