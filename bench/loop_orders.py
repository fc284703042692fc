"""Disk space that people buy on advice, for bench_closed_loop.py: a volume grows days after its growth was advised."""

import random
from collections import Counter
from collections.abc import Iterable

from logdirwatch.config.section import DAY_MS
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind, ActionStatus
from loop_world import LogDirId, World

DELIVERY_DAYS = 2, 5
"""How long it takes from the first advice until the space is there."""


class Orders:
    """Space that was ordered: ``due_ms`` is when it is there, by directory, in the model's time.

    One order is made for a directory at a time. It is used once it is there, as soon as its advice stands.
    """

    def __init__(self, world: World, seed: int) -> None:
        self._world, self._seed = world, seed
        self._arrived: Counter[LogDirId] = Counter()
        self.due_ms: dict[LogDirId, int] = {}

    def follow(self, actions: Iterable[ActionRecord], now_ms: int) -> None:
        """Order what is advised for the first time, and grow the volumes whose order has arrived."""
        for action in actions:
            is_advised = action.status is ActionStatus.PROPOSED and not action.vetoes
            if action.kind is not ActionKind.EXPAND_DISK or not is_advised:
                continue
            place = int(action.target["broker"]), str(action.target["log_dir"])
            if self.due_ms.setdefault(place, now_ms + self._delivery_ms(place)) <= now_ms:
                self._grow(place, int(action.expected["frees_bytes"]))

    def _delivery_ms(self, place: LogDirId) -> int:
        chance = random.Random(f"{self._seed}/{place}/{self._arrived[place]}")
        return int(chance.uniform(*DELIVERY_DAYS) * DAY_MS)

    def _grow(self, place: LogDirId, more_bytes: int) -> None:
        del self.due_ms[place]
        self._arrived[place] += 1
        self._world.log_dirs[place].total_bytes += more_bytes
        self._world.tally.added_bytes += more_bytes
