"""What somebody does about disks that fill, for bench_closed_loop.py: the ways that know no logdirwatch."""

from abc import ABC, abstractmethod

from loop_world import LogDirId, PartitionId, World

COPY_BYTES_PER_S = 50_000_000


class Way(ABC):
    """Acts on a world after each step; ``next_ms`` is when it wants to look again at the latest, None: any time."""

    next_ms: int | None = None

    @abstractmethod
    def act(self, now_ms: int) -> None: ...


class Nothing(Way):
    """Nobody acts before a directory is offline."""

    def act(self, now_ms: int) -> None:
        del now_ms


class DeleteOldest(Way):
    """The oldest segments of a directory are deleted from 85 % of its size until it is below 80 %."""

    FROM, TO = 0.85, 0.80

    def __init__(self, world: World) -> None:
        self._world = world

    def act(self, now_ms: int) -> None:
        del now_ms
        for place, seen in self._world.log_dirs.items():
            if seen.is_online and seen.used_ratio >= self.FROM:
                over_bytes = seen.used_bytes - int(self.TO * seen.total_bytes)
                self._world.cut_oldest(self._world.held(place), over_bytes)
                self._world.tally.actions += 1


class Rebalance(Way):
    """Above 80 % replicas are moved to the emptiest directories, until both are below; nobody looks at growth."""

    LIMIT = 0.80

    def __init__(self, world: World) -> None:
        self._world = world

    def act(self, now_ms: int) -> None:
        del now_ms
        world = self._world
        if world.copies:
            return
        coming = dict.fromkeys(world.log_dirs, 0)
        for place, seen in world.log_dirs.items():
            over_bytes = seen.used_bytes - self.LIMIT * seen.total_bytes
            if not seen.is_online or over_bytes <= 0:
                continue
            for key in sorted(world.held(place), key=lambda key: world.logs[key].size_bytes, reverse=True):
                if over_bytes <= 0:
                    break
                destination = self._destination(key, place, coming)
                if destination and world.copy(key, place, destination, COPY_BYTES_PER_S):
                    coming[destination] += world.logs[key].size_bytes
                    over_bytes -= world.logs[key].size_bytes
                    world.tally.actions += 1

    def _destination(self, key: PartitionId, source: LogDirId, coming: dict[LogDirId, int]) -> LogDirId | None:
        world, size = self._world, self._world.logs[key].size_bytes
        others = {place[0] for place in world.replicas[key] if place != source}
        found = {
            place: (seen.used_bytes + coming[place] + size) / seen.total_bytes
            for place, seen in world.log_dirs.items()
            if seen.is_online and place != source and place[0] not in others
        }
        best = min(found, key=lambda place: (found[place], place), default=None)
        return best if best is not None and found[best] < self.LIMIT else None
