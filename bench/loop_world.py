"""A Kafka cluster as a model in memory, for bench_closed_loop.py: what is written, deleted, copied, and goes offline.

Time comes as an argument, in milliseconds. What the model holds to, each measured on real brokers (docs/kafka.md):
retention deletes whole segments, the oldest first, and their bytes are back six minutes later at the latest; a
directory that runs full goes offline with all its replicas until somebody makes room and restarts the broker; a new
replica for which nobody names a directory is created in the one with the fewest logs; a copy needs room at its
destination from its first byte, and frees the source only at its end; all copies to a broker share its throttle, and
while a partition is copied within a broker nothing of it is deleted; a partition without a replica in sync takes no
writes.

What it leaves out: what the brokers need besides (no leader is overloaded, no copy slows a producer), and how a replica
catches up after its directory is back. Deletions count once for a partition, not for each replica.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

SEGMENT_BYTES = 1 << 30
DELETION_MS = 360_000
"""``log.retention.check.interval.ms`` and ``file.delete.delay.ms``: how long expired segments take room at most."""
ROOM_RATIO = 0.8
"""What a person leaves used in a directory that ran full, before the broker is restarted."""
FAILED, FULL = "failed", "full"

LogDirId = tuple[int, str]
PartitionId = tuple[str, int]


@dataclass(slots=True)
class Log:
    """What one partition holds: segments as (time of the newest record, bytes), the oldest first."""

    segments: deque[list[int]] = field(default_factory=deque)
    size_bytes: int = 0

    def append(self, written_bytes: int, now_ms: int) -> None:
        newest = self.segments[-1] if self.segments else None
        if newest is None or newest[1] >= SEGMENT_BYTES:
            self.segments.append([now_ms, written_bytes])
        else:
            newest[0], newest[1] = now_ms, newest[1] + written_bytes
        self.size_bytes += written_bytes

    def drop_oldest(self) -> tuple[int, int]:
        """Delete the oldest segment and return the time of its newest record and its bytes."""
        newest_ms, dropped_bytes = self.segments.popleft()
        self.size_bytes -= dropped_bytes
        return newest_ms, dropped_bytes


@dataclass(slots=True)
class TopicModel:
    """A topic: ``retention_ms`` is what its owner wants, ``floor_ms`` what a cut must leave; both may be equal.

    ``rate`` is bytes per second and partition; ``limits`` are the retention settings in force; ``known_floor_ms`` is
    what everybody knows of the floor, None: nothing; ``lag_ms`` is how far the slowest consumer is behind, None: nobody
    reads it.
    """

    name: str
    rate: float
    daily_growth: float
    retention_ms: int
    floor_ms: int
    min_isr: int
    known_floor_ms: int | None = None
    lag_ms: int | None = None
    limits: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.limits = {"retention.ms": self.retention_ms, "retention.bytes": -1, **self.limits}


@dataclass(slots=True)
class LogDirModel:
    total_bytes: int
    other_bytes: int
    cause: str | None = None
    back_ms: int = 0
    used_bytes: int = 0
    is_cordoned: bool = False

    @property
    def is_online(self) -> bool:
        return self.cause is None

    @property
    def used_ratio(self) -> float:
        return self.used_bytes / self.total_bytes


@dataclass(slots=True)
class Copy:
    """A replica under way: from ``source`` to ``destination``; the source's replica goes when it has arrived."""

    source: LogDirId
    destination: LogDirId
    rate: float
    copied_bytes: int = 0

    @property
    def is_within(self) -> bool:
        return self.source[0] == self.destination[0]


@dataclass(slots=True)
class Tally:
    """What happened in a run. Early: before the retention that the owner wants; below floor: what no cut may take.

    Unread: what a consumer had not read. Added: the bytes by which volumes were grown. Unavailable: partitions without
    a replica in sync.
    """

    full: int = 0
    failed: int = 0
    early_bytes: int = 0
    below_floor_bytes: int = 0
    unread_bytes: int = 0
    moved_bytes: int = 0
    added_bytes: int = 0
    under_min_isr_minutes: float = 0.0
    unavailable_minutes: float = 0.0
    night_pages: int = 0
    actions: int = 0


class World:
    """One cluster; ``step`` lets time pass. ``full`` are the times and places of directories that ran full.

    ``shares`` are how much a partition takes in, over the mean of its topic.
    """

    def __init__(
        self,
        topics: Iterable[TopicModel],
        log_dirs: dict[LogDirId, LogDirModel],
        replicas: dict[PartitionId, list[LogDirId]],
    ) -> None:
        self.topics = {topic.name: topic for topic in topics}
        self.log_dirs, self.replicas = log_dirs, replicas
        self.logs = {key: Log() for key in replicas}
        self.shares = dict.fromkeys(replicas, 1.0)
        self.copies: dict[tuple[PartitionId, LogDirId], Copy] = {}
        self.tally = Tally()
        self.full: list[tuple[int, LogDirId]] = []
        self.highest_ratio = 0.0
        self.now_ms = 0

    # What is there.

    def in_sync(self, key: PartitionId) -> list[LogDirId]:
        return [place for place in self.replicas[key] if self.log_dirs[place].cause is None]

    @property
    def offline(self) -> list[LogDirId]:
        return [place for place, seen in self.log_dirs.items() if seen.cause is not None]

    def held(self, place: LogDirId) -> list[PartitionId]:
        return [key for key, places in self.replicas.items() if place in places]

    def fewest_logs(self, broker: int) -> LogDirId | None:
        """Where Kafka creates a replica on a broker when nobody names a directory."""
        open_dirs = [
            place
            for place, seen in self.log_dirs.items()
            if place[0] == broker and seen.is_online and not seen.is_cordoned
        ]
        arriving = [copy.destination for copy in self.copies.values()]
        return min(open_dirs, key=lambda place: (len(self.held(place)) + arriving.count(place), place), default=None)

    # What is done to it.

    def copy(self, key: PartitionId, source: LogDirId, destination: LogDirId, rate: float) -> bool:
        """Begin a copy; False where Kafka would refuse it or it makes no sense."""
        busy = any(found == key for found, _ in self.copies)
        if busy or source not in self.replicas[key] or destination in self.replicas[key]:
            return False
        if not self.log_dirs[destination].is_online or not self.in_sync(key):
            return False
        if source[0] == destination[0] and any(place[0] == source[0] for place in self.offline):
            return False
        brokers = [place[0] for place in self.replicas[key] if place != source]
        if destination[0] in brokers:
            return False
        self.copies[key, source] = Copy(source, destination, rate)
        return True

    def cut_oldest(self, keys: Iterable[PartitionId], enough_bytes: int, *, keeps_floors: bool = False) -> int:
        """Delete the oldest closed segments of partitions until ``enough_bytes`` are gone; return what went."""
        keys, gone_bytes = list(keys), 0
        while gone_bytes < enough_bytes:
            full = [
                key
                for key in keys
                if len(self.logs[key].segments) > 1
                and (not keeps_floors or self._oldest_age_ms(key) >= (self.topics[key[0]].known_floor_ms or 0))
            ]
            if not full:
                break
            gone_bytes += self._drop(min(full, key=lambda key: self.logs[key].segments[0][0]))
        self._measure()
        return gone_bytes

    def _oldest_age_ms(self, key: PartitionId) -> int:
        return self.now_ms - self.logs[key].segments[0][0]

    def unread_ratio(self, key: PartitionId) -> float:
        """Return the share of a partition that its slowest consumer has not read."""
        lag_ms, segments = self.topics[key[0]].lag_ms, self.logs[key].segments
        if lag_ms is None or not segments:
            return 0.0
        return min(1.0, lag_ms / max(1, self._oldest_age_ms(key)))

    def fail(self, place: LogDirId, back_ms: int) -> None:
        """A disk breaks; it is back with its replicas at ``back_ms``: how they are fetched is not modelled."""
        if self.log_dirs[place].is_online:
            self.tally.failed += 1
            self._take_offline(place, FAILED, back_ms)

    # Time.

    def step(self, now_ms: int, rates: dict[str, float], repair_ms: Callable[[LogDirId], int]) -> None:
        """Let the time since the last step pass; ``rates`` by topic, ``repair_ms`` of a directory that ran full."""
        passed_ms, self.now_ms = now_ms - self.now_ms, now_ms
        self._write(passed_ms, rates)
        self._delete()
        self._copy(passed_ms)
        self._measure()
        for place, seen in self.log_dirs.items():
            if seen.cause is not None:
                if now_ms >= seen.back_ms:
                    self._bring_back(place, seen)
                continue
            self.highest_ratio = max(self.highest_ratio, seen.used_ratio)
            if seen.used_bytes >= seen.total_bytes:
                self.tally.full += 1
                self.full.append((now_ms, place))
                self._take_offline(place, FULL, now_ms + repair_ms(place))
        self._count_missing(passed_ms)

    def _write(self, passed_ms: int, rates: dict[str, float]) -> None:
        written = {name: rate * passed_ms / 1000 for name, rate in rates.items()}
        is_whole = not self.offline
        for key, log in self.logs.items():
            if is_whole or self.in_sync(key):
                log.append(int(written[key[0]] * self.shares[key]), self.now_ms)

    def _delete(self) -> None:
        paused = {key for (key, _), copy in self.copies.items() if copy.is_within}
        for key, log in self.logs.items():
            limits = self.topics[key[0]].limits
            oldest_ms, most_bytes = self.now_ms - limits["retention.ms"] - DELETION_MS, limits["retention.bytes"]
            if key in paused:
                continue
            while log.segments and log.segments[0][0] < oldest_ms:
                self._drop(key)
            while most_bytes >= 0 and len(log.segments) > 1 and log.size_bytes - log.segments[0][1] >= most_bytes:
                self._drop(key)

    def _drop(self, key: PartitionId) -> int:
        newest_ms, dropped_bytes = self.logs[key].drop_oldest()
        topic, age_ms = self.topics[key[0]], self.now_ms - newest_ms
        self.tally.early_bytes += dropped_bytes if age_ms < topic.retention_ms else 0
        self.tally.below_floor_bytes += dropped_bytes if age_ms < topic.floor_ms else 0
        self.tally.unread_bytes += dropped_bytes if age_ms < (topic.lag_ms or 0) else 0
        return dropped_bytes

    def _copy(self, passed_ms: int) -> None:
        arriving = [copy.destination[0] for copy in self.copies.values()]
        for (key, source), copy in list(self.copies.items()):
            if not self.log_dirs[copy.destination].is_online or not self.in_sync(key):
                del self.copies[key, source]
                continue
            wanted = int(copy.rate / arriving.count(copy.destination[0]) * passed_ms / 1000)
            came = max(0, min(wanted, self.logs[key].size_bytes - copy.copied_bytes))
            copy.copied_bytes += came
            self.tally.moved_bytes += came
            if copy.copied_bytes >= self.logs[key].size_bytes:
                places = self.replicas[key]
                places[places.index(source)] = copy.destination
                del self.copies[key, source]

    def _measure(self) -> None:
        used = {place: seen.other_bytes for place, seen in self.log_dirs.items()}
        for key, places in self.replicas.items():
            size = self.logs[key].size_bytes
            for place in places:
                used[place] += size
        for copy in self.copies.values():
            used[copy.destination] += copy.copied_bytes
        for place, seen in self.log_dirs.items():
            seen.used_bytes = used[place]

    def _take_offline(self, place: LogDirId, cause: str, back_ms: int) -> None:
        seen = self.log_dirs[place]
        seen.cause, seen.back_ms = cause, back_ms

    def _bring_back(self, place: LogDirId, seen: LogDirModel) -> None:
        """Somebody made room, where it was full, by deleting the oldest segments of what lies there; it is back."""
        over_bytes = seen.used_bytes - int(ROOM_RATIO * seen.total_bytes)
        if seen.cause == FULL and over_bytes > 0:
            self.cut_oldest(self.held(place), over_bytes)
        seen.cause = None

    def _count_missing(self, passed_ms: int) -> None:
        if self.offline:
            in_sync = {key: len(self.in_sync(key)) for key in self.replicas}
            under = sum(number < self.topics[key[0]].min_isr for key, number in in_sync.items())
            self.tally.under_min_isr_minutes += under * passed_ms / 60_000
            self.tally.unavailable_minutes += sum(not number for number in in_sync.values()) * passed_ms / 60_000
