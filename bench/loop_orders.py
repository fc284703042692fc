"""Disk space that people buy, for bench_closed_loop.py: every way to act has the same right to it."""

import random
from enum import Enum

from logdirwatch.config.section import DAY_MS
from loop_world import LogDirId, World

DELIVERY_DAYS = 2, 5


class Disks(str, Enum):
    """How a directory gets more space: at once, as a volume of a cloud; days after the order; or never."""

    CLOUD = "cloud"
    ORDERED = "ordered"
    FIXED = "fixed"


class Orders:
    """Space that was ordered: one order for a directory at a time, which is used as soon as it is there."""

    def __init__(self, world: World, seed: int, disks: Disks) -> None:
        self._world, self._seed, self.is_at_once = world, seed, disks is Disks.CLOUD
        self._due: dict[LogDirId, tuple[int, int]] = {}
        self._number = 0

    def is_open(self, place: LogDirId) -> bool:
        """Whether space for a directory is on its way."""
        return place in self._due

    def order(self, place: LogDirId, more_bytes: int, at_ms: int) -> None:
        """Order space at ``at_ms``, unless an order is open."""
        if place not in self._due:
            self._number += 1
            chance = random.Random(f"{self._seed}/{place}/{self._number}")
            days = 0.0 if self.is_at_once else chance.uniform(*DELIVERY_DAYS)
            self._due[place] = at_ms + int(days * DAY_MS), more_bytes

    def deliver(self, now_ms: int) -> None:
        """Grow the volumes whose order has arrived."""
        for place, (due_ms, more_bytes) in list(self._due.items()):
            if due_ms <= now_ms:
                del self._due[place]
                self._world.log_dirs[place].total_bytes += more_bytes
                self._world.tally.added_bytes += more_bytes
