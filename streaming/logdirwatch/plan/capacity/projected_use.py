"""How full directories get while a plan runs, including running copies and replicas created elsewhere first."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from logdirwatch.plan.capacity.copy_rates import copy_growth
from logdirwatch.plan.cluster.assignment import ANY, Assignment
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Policy, Veto
from logdirwatch.text.units import human_bytes, human_ratio

SAME_VOLUME_BYTES = 16 << 20
"""Directories of one volume report its numbers, taken one after the other while the broker writes."""
POOL_BYTES = 1 << 20
"""Data sets of one pool report its free bytes, which change only when it writes a group of transactions."""
_POOL_TIMES = 100_000
CLEARLY_LESS_RATIO = 0.02
"""How much less full than the source a move must leave its destination."""
_SAME_VOLUME_SHARE = 1000
_MORE_THAN_OVERHEAD = 0.1
"""More than any file system's own overhead: ext4 keeps 5 % for root, and its tables."""


class Space:
    """The used bytes of every directory after a plan's additions; directories of one volume share them."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self._directories = snapshot.directories
        self._volumes = volumes(snapshot)
        self._added: defaultdict[LogDirId, int] = defaultdict(int, in_flight_bytes(snapshot))
        for place, reserved_bytes in snapshot.reserved.items():
            self._added[place] += reserved_bytes

    def add(self, place: LogDirId, size_bytes: int) -> None:
        """Add bytes that will be written to a directory."""
        self._added[place] += size_bytes

    def used_bytes(self, place: LogDirId, more_bytes: int = 0) -> int | None:
        """Return a directory's used bytes after all additions and ``more_bytes``; None if unknown."""
        used = self._directories[place].used_bytes
        return None if used is None else used + more_bytes + sum(self._added[other] for other in self._volumes[place])

    def ratio(self, place: LogDirId, more_bytes: int = 0) -> float | None:
        """Return :meth:`used_bytes` as a share of the directory's size."""
        used, total = self.used_bytes(place, more_bytes), self._directories[place].total_bytes
        return None if used is None or not total else used / total

    def overflow(self, place: LogDirId, more_bytes: int, limit_ratio: float) -> Veto | None:
        """Return a veto if ``more_bytes`` would fill a directory above ``limit_ratio``, or if that is unknown."""
        ratio = self.ratio(place, more_bytes)
        where = f"{place[1]} on broker {place[0]}"
        if ratio is None:
            return Veto("destination_space_unknown", f"the free space of {where} is not known")
        if ratio > limit_ratio:
            more = human_bytes(more_bytes)
            return Veto(
                "destination_would_overflow",
                f"{more} more would fill {where} to {human_ratio(ratio)}, above {human_ratio(limit_ratio)}",
            )
        return None


def less_full_than(source: LogDir, snapshot: ClusterSnapshot, policy: Policy, by_ratio: float = 0.0) -> Policy:
    """Return a policy whose moves leave no directory fuller than ``source`` is now, less ``by_ratio``.

    Otherwise the next plan moves back. Directories that are about as full as each other would pass a replica on forever
    as they grow, so it stays only in one that is less full by ``CLEARLY_LESS_RATIO``.
    """
    used = Space(snapshot).ratio(source.place)
    if used is None:
        return policy
    most = min(policy.limits.destination_max_ratio, max(0.0, used - by_ratio))
    return replace(policy, limits=policy.limits.model_copy(update={"destination_max_ratio": most}))


def needed_bytes(source: LogDir, space: Space, policy: Policy) -> int | None:
    """Return the bytes that must leave a directory to get under the target ratio, including running copies.

    What running steps free in time is subtracted.
    """
    used = space.used_bytes(source.place)
    if used is None or source.total_bytes is None:
        return None
    return used - int(source.total_bytes * policy.limits.target_ratio) + 1 - source.relief_bytes


def on_disk(size_bytes: int, freed_bytes: int) -> str:
    """Say that replicas take less on their disk than their size; empty if they do not."""
    return "" if freed_bytes >= size_bytes else f"they take {human_bytes(freed_bytes)} of its disk, which come free; "


class NewReplicas:
    """The new replicas of one broker: the directory of each, and where Kafka may create it first.

    Kafka may create a replica in another directory than planned and copy it from there. So every directory that it may
    choose needs room for the copies that can reach it and, at a known ``rate``, for its growth until all have arrived.
    """

    def __init__(
        self, snapshot: ClusterSnapshot, broker: int, space: Space, limit_ratio: float, rate: int | None = None
    ) -> None:
        self._space, self._limit_ratio, self._rate = space, limit_ratio, rate
        self._eligible = {
            d.path: d for d in snapshot.directories_of.get(broker, ()) if d.is_serving and not d.is_cordoned
        }
        self._counts = {d.path: log_count(snapshot, d) for d in self._eligible.values()}
        self._landed: list[tuple[int, str | None]] = []

    def veto(self, size_bytes: int, path: str | None) -> Veto | None:
        """Return why one more replica of ``size_bytes`` has no room in the directory ``path``, or anywhere (None)."""
        landed = [*self._landed, (size_bytes, path)]
        if not self._eligible:
            return Veto("no_directory", "the broker has no directory that serves and is not cordoned")
        found = (self._worst(directory, landed) for directory in self._eligible.values())
        return next((veto for veto in found if veto is not None), None)

    def land(self, size_bytes: int, path: str | None) -> None:
        """Add one more replica."""
        self._landed.append((size_bytes, path))

    def passing_bytes(self) -> dict[LogDirId, int]:
        """Return the most bytes that each directory may get of replicas for another directory, or for any."""
        found = {d.place: sum(passing_sizes(self._counts, self._landed, d.path)) for d in self._eligible.values()}
        return {place: most for place, most in found.items() if most}

    def _worst(self, directory: LogDir, landed: Sequence[tuple[int, str | None]]) -> Veto | None:
        settled = [size for size, path in landed if path == directory.path]
        passing = passing_sizes(self._counts, landed, directory.path)
        if not settled and not passing:
            return None
        copied = sum(size for size, _ in landed)
        grown = 0 if self._rate is None else copy_growth(directory.outlook_bytes_per_s, copied, self._rate)
        return self._space.overflow(directory.place, sum(settled) + sum(passing) + grown, self._limit_ratio)


def passing_bytes(assignments: Iterable[Assignment], snapshot: ClusterSnapshot) -> Counter[LogDirId]:
    """Return the most bytes that each directory may get, temporarily or for good, of replicas not meant for it.

    These are new on its broker, which chooses where they are created.
    """
    landings: dict[int, NewReplicas] = {}
    for assignment in assignments:
        partition = snapshot.partitions.get(assignment.key)
        for broker, path in zip(assignment.replicas, assignment.log_dirs, strict=True):
            if partition is not None and broker not in partition.replicas:
                if broker not in landings:
                    landings[broker] = NewReplicas(snapshot, broker, Space(snapshot), limit_ratio=1.0)
                size_bytes = snapshot.layout.size_of(assignment.key) or 0
                landings[broker].land(size_bytes, None if path == ANY else path)
    return Counter({place: most for landing in landings.values() for place, most in landing.passing_bytes().items()})


def log_count(snapshot: ClusterSnapshot, directory: LogDir) -> int:
    """Return the number of logs that Kafka counts in a directory when it chooses the one with the fewest."""
    listed = len(snapshot.replicas_in(directory.place)) + len(snapshot.strays_in(directory.place))
    return max(directory.replica_count or 0, listed)


def in_flight_bytes(snapshot: ClusterSnapshot) -> dict[LogDirId, int]:
    """Return the bytes that running copies still have to write: between directories, and replicas catching up.

    The larger of what the collector counted, and what sizes and in-sync replicas show.
    """
    found: defaultdict[LogDirId, int] = defaultdict(int)
    for place, missing in snapshot.layout.catching_up:
        found[place] += missing
    return {
        directory.place: max(directory.incoming_bytes or 0, found[directory.place])
        for directory in snapshot.directories.values()
        if directory.is_serving
    }


def volumes(snapshot: ClusterSnapshot, broker: int | None = None) -> dict[LogDirId, tuple[LogDirId, ...]]:
    """Return for each directory, of one broker or of all, the directories on its volume, including itself."""
    of = snapshot.directories.values() if broker is None else snapshot.directories_of.get(broker, ())
    return {
        directory.place: tuple(
            other.place
            for other in snapshot.directories_of[directory.broker]
            if shares_volume(directory, other, snapshot)
        )
        for directory in of
    }


def shares_volume(one: LogDir, other: LogDir, snapshot: ClusterSnapshot) -> bool:
    """Whether two directories of a broker are on one volume, as reported or as their replicas show.

    Equal numbers alone prove nothing, since new disks of one type are equal and empty. They do prove it if the bytes
    that one directory holds more than the other make no difference to the free space, or if the used bytes of each
    exceed the replicas of both; a file system's own overhead is far smaller.
    """
    is_same = is_same_volume(one, other)
    if not is_same or one.path == other.path or one.volume is not None or one.total_bytes != other.total_bytes:
        return is_same
    held = [
        sum(replica.size_bytes or 0 for replica in snapshot.replicas_in(d.place))
        + sum(snapshot.strays_in(d.place).values())
        for d in (one, other)
    ]
    if sum(held) > (one.used_bytes or 0) + SAME_VOLUME_BYTES:
        return False
    is_hidden = abs(held[0] - held[1]) > 2 * _tolerance_bytes(one)
    return is_hidden or min(held) > _MORE_THAN_OVERHEAD * (one.total_bytes or 0)


def alike(snapshot: ClusterSnapshot) -> Iterator[tuple[LogDir, ...]]:
    """Yield the directories of a broker that report the same numbers and are still taken for separate disks."""
    for directories in snapshot.directories_of.values():
        left = sorted((d for d in directories if d.volume is None), key=lambda d: d.path)
        while left:
            first = left.pop(0)
            same = [d for d in left if is_same_volume(first, d) and not shares_volume(first, d, snapshot)]
            left = [d for d in left if d not in same]
            if same:
                yield (first, *same)


def is_same_volume(one: LogDir, other: LogDir) -> bool:
    """Whether two directories of a broker look like one volume, so that a move between them may free nothing."""
    if one.broker != other.broker:
        return False
    if one.path == other.path or one.volume is not None or other.volume is not None:
        return one.path == other.path or one.volume == other.volume
    if None in (one.total_bytes, one.usable_bytes, other.total_bytes, other.usable_bytes):
        return False
    apart_bytes = abs((one.usable_bytes or 0) - (other.usable_bytes or 0))
    is_alike = apart_bytes <= _tolerance_bytes(one)
    return is_alike if one.total_bytes == other.total_bytes else is_alike and _is_one_pool(one, apart_bytes)


def _is_one_pool(one: LogDir, apart_bytes: int) -> bool:
    """Whether directories of unlike size with the same free bytes are data sets of one pool, as of ZFS.

    Each reports its own use and the pool's free bytes. Disks that are full have the same by chance.
    """
    return apart_bytes <= POOL_BYTES and (one.usable_bytes or 0) > _POOL_TIMES * max(1, apart_bytes)


def _tolerance_bytes(directory: LogDir) -> int:
    return min(SAME_VOLUME_BYTES, (directory.total_bytes or 0) // _SAME_VOLUME_SHARE)


# kafka-reassign-partitions changes the assignment first and the directories afterwards. Kafka creates a new replica in
# the directory of its broker with the fewest logs (Kafka 4.3.1 LogManager.nextLogDirs) unless the broker already knows
# the wanted one, and then copies it from there at the rate that replica.alter.log.dirs.io.max.bytes.per.second leaves.
Dir = TypeVar("Dir")
"""A directory of one broker: its path, or its index in a model."""


def passing_sizes(counts: Mapping[Dir, int], landed: Sequence[tuple[int, Dir | None]], directory: Dir) -> list[int]:
    """Return the sizes of the replicas that, at worst, are created in a directory and meant for another."""
    births = most_births(counts, Counter(target for _, target in landed), directory, len(landed))
    return sorted((size for size, target in landed if target != directory), reverse=True)[:births]


def most_births(counts: Mapping[Dir, int], targeted: Counter[Dir | None], directory: Dir, new: int) -> int:
    """Return how many of ``new`` replicas can at most be created in a directory.

    Kafka takes the directory with the fewest logs each time, ties in any order; meanwhile copies to ``targeted``
    directories raise their counts. The n-th creation there requires that every other directory has reached its count.
    """
    births = 0
    while births < new:
        level = counts[directory] + births
        elsewhere = sum(
            max(0, level - count - targeted[other]) for other, count in counts.items() if other != directory
        )
        if elsewhere + births + 1 > new:
            break
        births += 1
    return births
