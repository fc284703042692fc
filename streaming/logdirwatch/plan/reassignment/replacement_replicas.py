"""Rebuild lost replicas on other brokers, keeping racks, replication factor and order of preference.

They are lost with a failed directory, with their broker, or one by one. Nothing can be moved within the broker: Kafka
refuses that while one of its directories is offline.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from logdirwatch.plan.availability.fault_tolerance import danger, lost_together, urgency
from logdirwatch.plan.capacity.copy_rates import copy_growth, slowed_by_others
from logdirwatch.plan.capacity.projected_use import CLEARLY_LESS_RATIO, NewReplicas, Space, less_full_than
from logdirwatch.plan.cluster.assignment import Assignment
from logdirwatch.plan.cluster.layout import MOST_MS, LogDirId, Partition, Replica, TopicPartition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import EXAMPLES, Policy, Veto
from logdirwatch.plan.reassignment.arrivals import Arrivals
from logdirwatch.plan.vetoes import replica_vetoes
from logdirwatch.text.units import human_ratio


class Destination(NamedTuple):
    """A place for one replica: a broker and one of its directories, or ``any`` if a path would be refused.

    ``ratio`` is its fill ratio with the replica; a directory of unknown space counts as full.
    """

    broker: int
    path: str | None
    ratio: float


class Destinations:
    """The places on live brokers; each place taken counts for the next replica.

    Healthy brokers come first, then those without a suspect disk that are not about to be stopped and receive at
    ``rate`` bytes per second, not under a lower throttle of somebody else, then the replica's previous rack, then the
    emptiest directory; within a rack a directory with the metadata log comes last, because its broker halts when it
    fills. ``refused`` says by broker why directories of live brokers take nothing.
    """

    def __init__(self, snapshot: ClusterSnapshot, space: Space, lost_rack: str | None, rate: int | None = None) -> None:
        self.refused: dict[int, list[Veto]] = defaultdict(list)
        self._snapshot = snapshot
        self._degraded: dict[int, list[int]] = defaultdict(list)
        self._directories = [d for number in sorted(snapshot.brokers) for d in self._usable(number)]
        self._index = {directory.place: row for row, directory in enumerate(self._directories)}
        for row, directory in enumerate(self._directories):
            if not snapshot.all_serving(directory.broker):
                self._degraded[directory.broker].append(row)
        used = [space.used_bytes(directory.place) for directory in self._directories]
        self._used = np.array([0 if size is None else size for size in used], dtype=np.float64)
        self._total = np.array([directory.total_bytes or 0 for directory in self._directories], dtype=np.float64)
        self._unknown = np.array([size is None for size in used], dtype=bool) | (self._total == 0)
        last = {n for n, broker in snapshot.brokers.items() if broker.is_suspect or snapshot.is_leaving(n)}
        last |= frozenset[int]() if rate is None else slowed_by_others(rate, snapshot)
        self._rank = np.array(
            [
                4 * (d.broker in last) + 2 * (snapshot.rack_of(d.broker) != lost_rack) + (d.is_metadata_dir is True)
                for d in self._directories
            ],
            dtype=np.int64,
        )

    def ordered(self, size_bytes: int) -> Iterator[Destination]:
        """Yield the places for a replica of ``size_bytes``, the best first."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(self._unknown, 1.0, (self._used + size_bytes) / self._total)
        for row in np.lexsort((ratios, self._rank)):
            directory = self._directories[row]
            if directory.broker not in self._degraded:
                yield Destination(directory.broker, directory.path, float(ratios[row]))
        fullest = {broker: float(max(ratios[rows])) for broker, rows in self._degraded.items()}
        for broker in sorted(fullest, key=lambda broker: (self._rank[self._degraded[broker][0]] // 2, fullest[broker])):
            yield Destination(broker, None, fullest[broker])

    def take(self, place: LogDirId, size_bytes: int) -> None:
        """Add a replica to a directory."""
        self._used[self._index[place]] += size_bytes

    def _usable(self, broker: int) -> Iterator[LogDir]:
        """Yield the directories of a broker that may take a replica; the others are recorded in ``refused``."""
        if replica_vetoes.broker_not_alive(self._snapshot, broker) is not None:
            return
        # Only "any" works on a broker with a directory that is offline: Kafka chooses.
        by_kafka = not self._snapshot.all_serving(broker)
        chosen_by_kafka = replica_vetoes.marked_may_be_chosen(self._snapshot, broker) if by_kafka else None
        for directory in sorted(self._snapshot.directories_of.get(broker, ()), key=lambda found: found.path):
            veto = (
                replica_vetoes.destination_not_serving(directory)
                or replica_vetoes.destination_closed(directory)
                or chosen_by_kafka
            )
            if veto is None:
                yield directory
            else:
                self.refused[broker].append(veto)


REASONS = 3


class Unplaced(NamedTuple):
    """A lost replica that has no place, and why."""

    label: str
    veto: Veto
    size_bytes: int | None = None


@dataclass(frozen=True)
class Repair:
    """The destinations of lost replicas, the assignment before, replicas without a place, and how many are left over.

    A later plan takes those left over.
    """

    assignments: tuple[Assignment, ...]
    before: tuple[Assignment, ...]
    unplaced: tuple[Unplaced, ...]
    bytes_in: Mapping[LogDirId, int]
    bytes_per_broker: Mapping[int, int]
    later: int = 0
    written_per_broker: Mapping[int, float] = field(default_factory=dict)

    def copying_ms(self, rate: int) -> int:
        """Return how long the busiest broker copies at ``rate``, with what is written to its copies meanwhile."""
        net = {broker: max(1, rate - int(self.written_per_broker.get(broker, 0))) for broker in self.bytes_per_broker}
        found = max((size * 1000 // net[broker] for broker, size in self.bytes_per_broker.items()), default=0)
        return min(found, MOST_MS)

    @property
    def busiest_bytes(self) -> int:
        """The bytes that the busiest broker sends and receives."""
        return max(self.bytes_per_broker.values(), default=0)

    @property
    def copied_bytes(self) -> int:
        """The bytes to copy: each byte is read from one broker and written to another."""
        return sum(self.bytes_per_broker.values()) // 2

    @property
    def arriving(self) -> list[tuple[TopicPartition, int]]:
        """The new replicas, by partition and broker."""
        pairs = zip(self.assignments, self.before, strict=True)
        return [(new.key, broker) for new, old in pairs for broker in new.replicas if broker not in old.replicas]


def plan_repair(place: LogDirId, snapshot: ClusterSnapshot, policy: Policy) -> Repair:
    """Find a place on another broker for every replica lost, or about to be lost, with the directory ``place``.

    Replicas that cannot be rebuilt, or have no place, are in ``unplaced``; the others are planned without them. While
    the directory still serves, replicas that only it holds are copied from there.
    """
    directory = snapshot.directories.get(place)
    is_serving = directory is not None and directory.is_serving
    lost = lost_together([place], snapshot)
    return plan_rebuild(place[0], lost, snapshot, policy, path=place[1], is_serving=is_serving)


def plan_rebuild(
    broker: int,
    lost: Sequence[Partition],
    snapshot: ClusterSnapshot,
    policy: Policy,
    *,
    path: str | None = None,
    rate: int | None = None,
    is_serving: bool = False,
    relieved: LogDir | None = None,
    passed_over: frozenset[int] = frozenset(),
) -> Repair:
    """Find a place on another broker for a broker's replicas of ``lost``, the most endangered first.

    ``path`` is their directory, None for several; ``rate`` is the copy rate of a broker in bytes per second, None for
    the usual one. One plan takes as many as the settings allow, because it must fit into one record; the choice does
    not depend on sizes, which change with every inventory. ``is_serving``: the replicas still exist and can be copied.
    ``relieved`` is a directory that only fills: none that gets its replicas is as full with them, or full sooner.
    ``passed_over`` are brokers that get nothing.
    """
    limit, lost = policy.limits.partitions_per_reassignment, [one for one in lost if one.key not in snapshot.set_aside]
    wave = sorted(lost, key=lambda partition: (*danger(partition, snapshot, broker), partition.key))[:limit]
    wave.sort(key=lambda partition: urgency(partition, snapshot, broker))
    rate = rate or policy.limits.replication_throttle_bytes_per_s
    planner = _Planner(broker, path, snapshot, policy, rate, None if is_serving else broker, relieved, passed_over)
    return planner.run(wave, len(lost) - len(wave))


@dataclass
class _Planner:
    """Places one replica after the other; each place taken counts for the next one."""

    broker: int
    path: str | None
    snapshot: ClusterSnapshot
    policy: Policy
    rate: int
    without: int | None
    relieved: LogDir | None
    passed_over: frozenset[int]

    def __post_init__(self) -> None:
        snapshot, policy = self.snapshot, self.policy
        self._arrivals, self._settled_max_ratio = None, 1.0
        if self.relieved is not None:
            self._arrivals = Arrivals(self.relieved, snapshot, policy)
            less_full = less_full_than(self.relieved, snapshot, policy, CLEARLY_LESS_RATIO)
            self._settled_max_ratio = less_full.limits.destination_max_ratio
        self._limit, self._space = policy.limits.destination_max_ratio, Space(snapshot)
        self._landings: dict[int, NewReplicas] = {}
        self._bytes_in: Counter[LogDirId] = Counter()
        self._bytes_per_broker: Counter[int] = Counter()
        self._written: defaultdict[int, float] = defaultdict(float)
        self._destinations = Destinations(snapshot, self._space, snapshot.rack_of(self.broker), self.rate)
        self._alive = [
            (found.id, found.rack)
            for found in snapshot.brokers.values()
            if snapshot.is_alive(found.id) and found.id not in self.passed_over
        ]

    def run(self, lost: Sequence[Partition], later: int) -> Repair:
        assignments, before, unplaced = [], [], []
        for partition in lost:
            found = self._blocked(partition) or self._find(partition)
            if isinstance(found, Veto):
                unplaced.append(Unplaced(partition.label, found, self.snapshot.layout.size_of(partition.key)))
                continue
            self._take(partition, found)
            there = self._replaced(partition, found.broker)
            assignments.append(Assignment.naming(partition.key, there, found.broker, found.path))
            before.append(Assignment.naming(partition.key, partition.replicas, self.broker, self.path))
        made, was, left = tuple(assignments), tuple(before), tuple(unplaced)
        return Repair(made, was, left, self._bytes_in, self._bytes_per_broker, later, self._written)

    def _blocked(self, partition: Partition) -> Veto | None:
        snapshot = self.snapshot
        others = [other for other in partition.replicas if other != self.broker]
        return replica_vetoes.first(
            [
                replica_vetoes.never_touch(partition.topic, self.policy.limits),
                replica_vetoes.no_live_source(snapshot, partition, without=self.without),
                *(replica_vetoes.broker_not_alive(snapshot, other) for other in others),
                replica_vetoes.partition_moving(snapshot, partition),
                replica_vetoes.partition_claimed(snapshot, partition),
                replica_vetoes.size_unknown(snapshot, partition),
                self._too_slow(partition, self._sender(partition)),
            ]
        )

    def _find(self, partition: Partition) -> Destination | Veto:
        """Take the best place without a veto; if there is none, report the first vetoes."""
        fit, refused = self._fit(partition), list[Veto]()
        for destination in self._destinations.ordered(self._size(partition)):
            is_told = len(refused) >= REASONS
            is_full = destination.path is not None and destination.ratio > self._limit
            if destination.broker not in fit or (is_full and is_told):
                continue
            veto = (
                self._too_slow(partition, destination.broker)
                or self._landing(destination.broker).veto(self._copied_bytes(partition), destination.path)
                or self._too_full(destination, partition)
            )
            if veto is None:
                return destination
            if not is_told:
                refused.append(veto)
        return self._why(partition, fit, refused)

    def _size(self, partition: Partition) -> int:
        return self.snapshot.layout.size_of(partition.key) or 0

    def _growth(self, partition: Partition) -> float:
        return self.snapshot.growth_of_partitions.get(partition.key, 0.0)

    def _sender(self, partition: Partition) -> int | None:
        """Return the broker whose sending limits the copy; None if the lost replica's broker is down."""
        return partition.leader if self.snapshot.is_alive(self.broker) else None

    def _too_slow(self, partition: Partition, broker: int | None) -> Veto | None:
        """Veto a replica that is written as fast as the broker may copy, with all its other copies (KIP-73)."""
        if broker is None:
            return None
        return replica_vetoes.slower_than_writes(self.rate, self._written[broker] + self._growth(partition))

    def _too_full(self, destination: Destination, partition: Partition) -> Veto | None:
        """Veto a place whose directory would be too full with the replica to keep it, or full too soon."""
        if self._arrivals is None:
            return None
        if destination.ratio > (most := self._settled_max_ratio):
            where = f"{destination.path or 'a directory'} on broker {destination.broker}"
            filled = f"{where} would be {human_ratio(destination.ratio)} full with it, above {human_ratio(most)}"
            return Veto("destination_would_overflow", filled)
        replica, size = self._here(partition), self._size(partition)
        return replica_vetoes.first(self._arrivals.veto(one, replica, size) for one in self._places(destination))

    def _copied_bytes(self, partition: Partition) -> int:
        """Return the size of a new replica when it is in sync, including what is written until then."""
        size = self._size(partition)
        return size + copy_growth(self._growth(partition), size, self.rate)

    def _fit(self, partition: Partition) -> set[int]:
        """Return the brokers that may take a replica of a partition; those of one rack are treated alike."""
        others = [(broker, rack) for broker, rack in self._alive if broker not in partition.replicas]
        of_rack = {rack: broker for broker, rack in others}
        good = {rack for rack, broker in of_rack.items() if self._left_out(partition, broker) is None}
        return {broker for broker, rack in others if rack in good}

    def _left_out(self, partition: Partition, broker: int) -> Veto | None:
        """Return why a broker without a replica of the partition cannot take one."""
        return replica_vetoes.broker_not_alive(self.snapshot, broker) or replica_vetoes.rack_spread_lost(
            self.snapshot, partition.replicas, self._replaced(partition, broker)
        )

    def _why(self, partition: Partition, fit: Collection[int], refused: Sequence[Veto]) -> Veto:
        """Say why a replica has no place: excluded brokers first, then directories."""
        if refused and all(veto.name == "slower_than_writes" for veto in refused):
            return refused[0]
        others = [broker for broker in self.snapshot.brokers if broker not in partition.replicas]
        found = Counter(veto for broker in others if (veto := self._left_out(partition, broker)) is not None)
        found.update(veto for broker in others if broker in fit for veto in self._destinations.refused.get(broker, ()))
        found.update(refused)
        if not found:
            return Veto("no_broker_left", f"every broker that is alive holds a replica of {partition.label} already")
        return Veto("nothing_fits", "; ".join(veto.reason for veto, _ in found.most_common(REASONS)))

    def _landing(self, broker: int) -> NewReplicas:
        if broker not in self._landings:
            self._landings[broker] = NewReplicas(self.snapshot, broker, self._space, self._limit, self.rate)
        return self._landings[broker]

    def _take(self, partition: Partition, destination: Destination) -> None:
        size = self._size(partition)
        self._landing(destination.broker).land(self._copied_bytes(partition), destination.path)
        for broker in (destination.broker, self._sender(partition)):
            if broker is not None:
                self._written[broker] += self._growth(partition)
        self._bytes_per_broker[destination.broker] += size
        if partition.leader is not None:
            self._bytes_per_broker[partition.leader] += size
        if destination.path is not None:
            self._bytes_in[destination.broker, destination.path] += size
            self._destinations.take((destination.broker, destination.path), size)
        if self._arrivals is not None:
            for place in self._places(destination):
                self._arrivals.take(place, self._here(partition), size)

    def _places(self, destination: Destination) -> list[LogDirId]:
        """Return where a replica may come to lie: Kafka chooses where no path can be named."""
        if destination.path is not None:
            return [(destination.broker, destination.path)]
        return [one.place for one in self.snapshot.directories_of[destination.broker] if one.is_serving]

    def _here(self, partition: Partition) -> Replica:
        """Return the replica that leaves."""
        return Replica(self.broker, self.path or "", *partition.key, self.snapshot.layout.size_of(partition.key))

    def _replaced(self, partition: Partition, broker: int) -> tuple[int, ...]:
        """Put the new broker in the lost one's position, so that the order of preference stays."""
        return tuple(broker if old == self.broker else old for old in partition.replicas)


_CORDONED = re.compile(r"(?P<path>/.*) on broker (?P<broker>\d+) is cordoned$")
DEFAULT_REMEDY = "what stands against it gone"
REMEDIES = {
    "no_live_source": "the data itself, which only the lost copies hold: try to save this disk before it goes",
    "no_broker_left": "one broker more than the replication factor",
    "nothing_fits": "room on another broker: topics deleted, retention cut, a disk more or a bigger volume",
    "broker_not_alive": "bring back the brokers that are away",
    "partition_moving": "the end of the moves that run, or their cancelling",
    "partition_claimed": "the other reassignment done",
    "slower_than_writes": "a higher plan.replication_throttle_bytes_per_s, or fewer writes",
    "size_unknown": "an inventory that tells their sizes",
    "never_touch": "the configuration changed: plan.never_touch names them",
}


def unplaced(repair: Repair) -> dict[str, Any]:
    """Return which replicas cannot be rebuilt, why, and what would help, in the format of action records."""
    left = repair.unplaced
    return {
        "unplaced": [{"partition": one.label, **one.veto._asdict()} for one in left[:EXAMPLES]],
        "unplaced_count": len(left),
        "unplaced_bytes": None if None in (sizes := [one.size_bytes for one in left]) else sum(filter(None, sizes)),
        "would_help": remedies(repair),
        "later": repair.later,
    }


def remedies(repair: Repair) -> list[str]:
    """Return what would help."""
    names = sorted({left.veto.name for left in repair.unplaced})
    vetoes = [left.veto for left in repair.unplaced if left.veto.name == "broker_not_alive"]
    away = {broker for veto in vetoes for broker in veto.about}
    closed = {found for left in repair.unplaced if (found := _CORDONED.match(left.veto.reason)) is not None}
    told = {
        "broker_not_alive": [f"bring broker {broker} back" for broker in sorted(away)],
        "nothing_fits": [
            f"uncordon {path} of broker {broker}, if the owner of the cordon agrees"
            for broker, path in sorted({(int(found["broker"]), found["path"]) for found in closed})
        ],
    }
    listed = (told.get(name) or [REMEDIES.get(name, DEFAULT_REMEDY)] for name in names)
    return list(dict.fromkeys(remedy for remedies in listed for remedy in remedies))


def nothing_fits(repair: Repair) -> str:
    """Say that no replica can be rebuilt, why, and what would help; empty if some can."""
    if repair.assignments or not repair.unplaced:
        return ""
    count = len(repair.unplaced) + repair.later
    none = "its only replica cannot" if count == 1 else f"none of its {count} replicas can"
    return f"; {none} be rebuilt elsewhere ({_reasons(repair)}). Would help: {'; '.join(remedies(repair))}"


def left_out(repair: Repair) -> str:
    """Say how many replicas are left to the next reassignment, and which have no place."""
    later = f"; {repair.later} more follow when these are done" if repair.later else ""
    if not repair.unplaced:
        return later
    return f"{later}; {len(repair.unplaced)} more cannot be rebuilt now ({_reasons(repair)})"


def _reasons(repair: Repair) -> str:
    by_name: dict[str, Veto] = {left.veto.name: left.veto for left in reversed(repair.unplaced)}
    return "; ".join(f"{name}: {veto.reason}" for name, veto in sorted(by_name.items()))
