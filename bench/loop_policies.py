"""What somebody does about disks that fill, for bench_closed_loop.py: the habits of people without logdirwatch."""

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence

from logdirwatch.config.section import DAY_MS, HOUR_MS
from loop_orders import Orders
from loop_world import LogDirId, PartitionId, World

COPY_BYTES_PER_S = 50_000_000


class Way(ABC):
    """Acts on a world after each step; ``next_ms`` is when it wants to look again at the latest, None: any time."""

    next_ms: int | None = None

    @abstractmethod
    def act(self, now_ms: int) -> None: ...


class Together(Way):
    """Several habits, one after the other."""

    def __init__(self, habits: Sequence[Way]) -> None:
        self._habits = habits

    def act(self, now_ms: int) -> None:
        for habit in self._habits:
            habit.act(now_ms)


class Pager(Way):
    """The usual alarm: a directory is used to 85 % or offline; it may ring again once it is below 80 %."""

    FROM, UNTIL = 0.85, 0.80

    def __init__(self, world: World) -> None:
        self._world = world
        self._ringing: set[LogDirId] = set()

    def act(self, now_ms: int) -> None:
        for place, seen in self._world.log_dirs.items():
            is_bad = not seen.is_online or seen.used_ratio >= (self.UNTIL if place in self._ringing else self.FROM)
            if is_bad and place not in self._ringing:
                self._world.tally.night_pages += is_night(now_ms)
            (self._ringing.add if is_bad else self._ringing.discard)(place)


class DeleteOldest(Way):
    """The oldest segments of a directory are deleted from 85 % of its size until it is below 80 %, down to floors."""

    FROM, TO = 0.85, 0.80

    def __init__(self, world: World) -> None:
        self._world = world

    def act(self, now_ms: int) -> None:
        del now_ms
        for place, seen in self._world.log_dirs.items():
            if seen.is_online and seen.used_ratio >= self.FROM:
                over_bytes = seen.used_bytes - int(self.TO * seen.total_bytes)
                gone_bytes = self._world.cut_oldest(self._world.held(place), over_bytes, keeps_floors=True)
                self._world.tally.actions += gone_bytes > 0


class Balance(Way):
    """Every hour, as Cruise Control does by itself: no directory above 80 %, none 10 % above the mean use.

    Replicas go from the directories above to the emptiest ones; nobody looks at growth.
    """

    LIMIT, ABOVE_MEAN, EVERY_MS = 0.80, 1.10, HOUR_MS

    def __init__(self, world: World) -> None:
        self._world, self._looked_ms = world, -HOUR_MS

    def act(self, now_ms: int) -> None:
        world = self._world
        if world.copies or now_ms - self._looked_ms < self.EVERY_MS:
            return
        self._looked_ms = now_ms
        coming = dict.fromkeys(world.log_dirs, 0)
        limit = self._limit()
        for place, seen in sorted(world.log_dirs.items(), key=lambda item: -item[1].used_ratio):
            over_bytes = seen.used_bytes - limit * seen.total_bytes
            if seen.is_online and over_bytes > 0:
                self._empty(place, over_bytes, limit, coming)

    def _limit(self) -> float:
        online = [seen for seen in self._world.log_dirs.values() if seen.is_online]
        mean = sum(seen.used_bytes for seen in online) / max(1, sum(seen.total_bytes for seen in online))
        return min(self.LIMIT, self.ABOVE_MEAN * mean)

    def _empty(self, place: LogDirId, over_bytes: float, limit: float, coming: dict[LogDirId, int]) -> None:
        world = self._world
        for key in sorted(world.held(place), key=lambda key: world.logs[key].size_bytes, reverse=True):
            size = world.logs[key].size_bytes
            if over_bytes <= 0:
                return
            destination = self._destination(key, place, limit, coming) if size <= over_bytes * 2 else None
            if destination and world.copy(key, place, destination, COPY_BYTES_PER_S):
                coming[destination] += size
                over_bytes -= size
                world.tally.actions += 1

    def _destination(
        self, key: PartitionId, source: LogDirId, limit: float, coming: dict[LogDirId, int]
    ) -> LogDirId | None:
        world, size = self._world, self._world.logs[key].size_bytes
        others = {place[0] for place in world.replicas[key] if place != source}
        found = {
            place: (seen.used_bytes + coming[place] + size) / seen.total_bytes
            for place, seen in world.log_dirs.items()
            if seen.is_online and place != source and place[0] not in others
        }
        best = min(found, key=lambda place: (found[place], place), default=None)
        return best if best is not None and found[best] < limit else None


class Buy(Way):
    """Amazon MSK's documented rule: a volume that is used to 80 % grows by 10 %, at most every six hours.

    Where space has to be ordered, a person does it.
    """

    FROM, MORE, PAUSE_MS = 0.80, 0.10, 6 * HOUR_MS

    def __init__(self, world: World, orders: Orders, seed: int) -> None:
        self._world, self._orders, self._chance = world, orders, random.Random(f"{seed}/buy")
        self._ordered_ms: dict[LogDirId, int] = {}

    def act(self, now_ms: int) -> None:
        self._orders.deliver(now_ms)
        for place, seen in self._world.log_dirs.items():
            is_soon = now_ms - self._ordered_ms.get(place, -DAY_MS) < self.PAUSE_MS
            if seen.used_ratio < self.FROM or is_soon or self._orders.is_open(place):
                continue
            self._ordered_ms[place] = now_ms
            wait_ms = 0 if self._orders.is_at_once else delay_ms(self._chance, now_ms, is_page=False)
            self._orders.order(place, int(self.MORE * seen.total_bytes), now_ms + wait_ms)
            self._world.tally.actions += 1
        self._orders.deliver(now_ms)


def is_night(now_ms: int) -> bool:
    """Tell whether people sleep: the model's time begins at midnight."""
    return not 6 * HOUR_MS <= now_ms % DAY_MS < 22 * HOUR_MS


def delay_ms(chance: random.Random, at_ms: int, *, is_page: bool) -> int:
    """Return how long a person takes: minutes with a page; else an hour or several, not before 8 in the morning."""
    if is_page:
        return int(chance.uniform(0.2, 1.0) * HOUR_MS)
    of_day_ms = at_ms % DAY_MS
    until_morning_ms = (8 * HOUR_MS - of_day_ms) % DAY_MS if not 8 * HOUR_MS <= of_day_ms < 18 * HOUR_MS else 0
    return until_morning_ms + int(chance.uniform(0.5, 6.0) * HOUR_MS)
