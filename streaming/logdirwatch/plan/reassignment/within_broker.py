"""Moves of the largest replicas of a filling directory to the emptiest directory of the same broker (KIP-113).

Kafka copies first and swaps afterwards: the destination needs the room at once, the source is freed only when the old
files are deleted. Kafka refuses moves within a broker while any of its directories is offline. The brokers of the other
replicas take no part in it (``AlterReplicaLogDirs``), so they may be away.
"""

import math
from collections import Counter
from dataclasses import dataclass, replace

from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE
from logdirwatch.plan.capacity import copy_rates
from logdirwatch.plan.capacity.copy_rates import Pace, Rates
from logdirwatch.plan.capacity.projected_use import Space, is_same_volume, needed_bytes
from logdirwatch.plan.capacity.timing import delete_delay_ms
from logdirwatch.plan.cluster.assignment import Assignment
from logdirwatch.plan.cluster.layout import LogDirId, Replica
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Policy, Veto
from logdirwatch.plan.reassignment.arrivals import Arrivals
from logdirwatch.plan.vetoes import replica_vetoes


@dataclass(frozen=True)
class Moves:
    """The moves off one directory; ``vetoes`` say why there are none, or apply to all of them.

    ``sizes`` are the bytes of each assignment, ``rate`` the bytes per second that they share, ``on_disk_ratio`` the
    share of them that comes free in the directory.
    """

    assignments: tuple[Assignment, ...] = ()
    before: tuple[Assignment, ...] = ()
    bytes_in: dict[LogDirId, int] | None = None
    needed_bytes: int = 0
    vetoes: tuple[Veto, ...] = ()
    sizes: tuple[int, ...] = ()
    rate: int = 0
    on_disk_ratio: float = 1.0

    @property
    def moved_bytes(self) -> int:
        """The bytes that are copied."""
        return sum((self.bytes_in or {}).values())

    @property
    def freed_bytes(self) -> int:
        """The bytes that come free in the directory."""
        return int(self.moved_bytes * self.on_disk_ratio)


def plan_moves(source: LogDir, snapshot: ClusterSnapshot, policy: Policy, goal_bytes: int | None = None) -> Moves:
    """Plan the moves that bring ``source`` under the target ratio, as far as the broker's other directories allow.

    With ``goal_bytes``, that many bytes leave it, whatever its ratio.
    """
    needed = needed_bytes(source, Space(snapshot), policy) if goal_bytes is None else goal_bytes
    limits, directories = policy.limits, snapshot.directories_of.get(source.broker, ())
    spare = copy_rates.spare_disk(limits.disk_bandwidth_bytes_per_s, directories)
    delay_ms = delete_delay_ms(source.broker, snapshot)
    rates = Rates(source, limits.log_dir_throttle_bytes_per_s, spare, delay_ms)
    most = _under_others(rates.most, source, snapshot)
    standing = (
        replica_vetoes.broker_not_alive(snapshot, source.broker),
        replica_vetoes.log_dir_offline(snapshot, source.broker),
        replica_vetoes.log_dir_unknown(snapshot, source.broker),
        # If the growing replica is unknown, it may be any of them.
        None if snapshot.growth else replica_vetoes.slower_than_writes(most, source.growth_bytes_per_s),
    )
    if vetoes := tuple(veto for veto in standing if veto):
        return Moves(vetoes=vetoes)
    if needed is None:
        return Moves(vetoes=(Veto("source_space_unknown", f"the free space of {source.path} is not known"),))
    if needed <= 0:
        return Moves(vetoes=(Veto("below_target", f"{source.path} is below the target ratio already"),))
    ratio = snapshot.on_disk_ratio(source.place)
    moves = _Planner(rates, snapshot, policy, most).run(math.ceil(needed / ratio))
    return replace(moves, needed_bytes=needed, on_disk_ratio=ratio)


def _under_others(rate: int, source: LogDir, snapshot: ClusterSnapshot) -> int:
    return copy_rates.under_others(rate, {source.broker: (LOG_DIR_THROTTLE,)}, snapshot)


class _Planner:
    """Chooses one replica after the other; those that would be late only if there are no others."""

    def __init__(self, rates: Rates, snapshot: ClusterSnapshot, policy: Policy, most: int) -> None:
        self._source, self._snapshot, self._policy = rates.source, snapshot, policy
        self._rates, self._most, self._rate = rates, most, most
        self._pace = Pace(rates.source, most, rates.settles_ms)
        self._space, self._needed = Space(snapshot), 0
        self._written = 0.0
        self._refusals: Counter[Veto] = Counter()
        self._bytes_in: Counter[LogDirId] = Counter()
        self._arrivals = Arrivals(rates.source, snapshot, policy)
        self._destinations = [d for d in snapshot.directories_of[rates.source.broker] if self._is_destination(d)]

    def run(self, needed: int) -> Moves:
        assignments, before = [], []
        sizes: list[int] = []
        movable = [r for r in self._snapshot.replicas_in(self._source.place) if self._is_movable(r)]
        # The largest first; among equals those that grow least.
        candidates = sorted(movable, key=lambda r: (-(r.size_bytes or 0), self._snapshot.growth_of(r) or 0.0, r.key))
        fastest = max((self._snapshot.growth_of(replica) or 0.0 for replica in candidates), default=0.0)
        self._needed, self._rate = needed, self._rate_for(needed, fastest)
        while sum(sizes) < needed:
            missing = needed - sum(sizes)
            quick = [replica for replica in candidates if self._pace.is_in_time(replica.size_bytes or 0, sum(sizes))]
            found = self._next(quick, missing) or (None if sizes else self._next(candidates, missing))
            if found is None:
                break
            replica, destination = found
            candidates.remove(replica)
            size = replica.size_bytes or 0
            self._space.add(destination.place, size)
            self._bytes_in[destination.place] += size
            self._arrivals.take(destination.place, replica, size)
            self._written += self._snapshot.growth_of(replica) or 0.0
            sizes.append(size)
            replicas = self._snapshot.partitions[replica.key].replicas
            assignments.append(Assignment.naming(replica.key, replicas, replica.broker, destination.path))
            before.append(Assignment.naming(replica.key, replicas, replica.broker, self._source.path))
        reasons = tuple(veto for veto, _ in self._refusals.most_common(3))
        nothing = reasons or (Veto("nothing_to_move", f"no replica of {self._source.path} may be moved"),)
        return Moves(
            assignments=tuple(assignments),
            before=tuple(before),
            bytes_in=dict(self._bytes_in),
            vetoes=() if assignments else nothing,
            sizes=tuple(sizes),
            rate=max(self._rate, self._rate_for(sum(sizes), self._written)),
        )

    def _rate_for(self, copied_bytes: int, written: float) -> int:
        """Return the rate for some bytes; if it is not known what is written to them, it may be all of the growth."""
        known = written if self._snapshot.growth else self._source.growth_bytes_per_s or 0.0
        return _under_others(self._rates.of(copied_bytes, known), self._source, self._snapshot)

    def _is_destination(self, directory: LogDir) -> bool:
        if directory.path == self._source.path:
            return False
        veto = replica_vetoes.destination_closed(directory)
        if veto is None and is_same_volume(self._source, directory):
            veto = Veto("same_volume", f"{directory.path} is on the volume of {self._source.path}")
        return self._passes(veto)

    def _passes(self, veto: Veto | None) -> bool:
        if veto is not None:
            self._refusals[veto] += 1
        return veto is None

    def _is_movable(self, replica: Replica) -> bool:
        topic, partition = self._snapshot.topics.get(replica.topic), self._snapshot.partitions.get(replica.key)
        if topic is None or partition is None or not replica.size_bytes or replica.key in self._snapshot.set_aside:
            return False
        return self._passes(
            replica_vetoes.internal_topic(topic, self._policy.limits)
            or replica_vetoes.never_touch(topic.name, self._policy.limits)
            or replica_vetoes.partition_moving(self._snapshot, partition)
            or replica_vetoes.partition_claimed(self._snapshot, partition)
            or replica_vetoes.retention_waits(self._snapshot, topic.name)
            or replica_vetoes.name_too_long(topic.name, partition.partition)
            or self._too_slow(replica)
        )

    def _too_slow(self, replica: Replica) -> Veto | None:
        """Veto a replica that is written as fast as all copies together may run: they share one throttle."""
        written = self._snapshot.growth_of(replica)
        return None if written is None else replica_vetoes.slower_than_writes(self._most, self._written + written)

    def _next(self, candidates: list[Replica], needed: int) -> tuple[Replica, LogDir] | None:
        """Return the smallest replica that alone suffices, else the largest, among those that have a destination."""
        sufficient = [replica for replica in reversed(candidates) if (replica.size_bytes or 0) >= needed]
        sufficient.sort(key=lambda replica: (replica.size_bytes or 0, self._snapshot.growth_of(replica) or 0.0))
        for replica in [*sufficient, *candidates]:
            destination = None if self._too_slow(replica) else self._emptiest(replica)
            if destination is not None:
                return replica, destination
        return None

    def _emptiest(self, replica: Replica) -> LogDir | None:
        extra = (replica.size_bytes or 0) + self._growth_meanwhile(replica)
        fitting = [d for d in self._destinations if self._fits(d, replica, extra)]
        return min(fitting, key=lambda d: self._preference(d, extra), default=None)

    def _preference(self, destination: LogDir, extra: int) -> tuple[bool, float, str]:
        """Sort key: the one first that is emptiest in the end; last the one with the metadata log.

        The broker halts when that one fills.
        """
        ratio = self._space.ratio(destination.place, self._in_the_end(destination, extra))
        return destination.is_metadata_dir is True, 1.0 if ratio is None else ratio, destination.path

    def _in_the_end(self, destination: LogDir, extra: int) -> int:
        """Return what a destination holds more when all copies are done: it grows while others are copied, too."""
        copied = max(self._needed, self._bytes_in.total() + extra)
        return extra + copy_rates.copy_growth(destination.outlook_bytes_per_s, copied, self._rate)

    def _fits(self, destination: LogDir, replica: Replica, extra: int) -> bool:
        more = self._in_the_end(destination, extra)
        veto = self._space.overflow(destination.place, more, self._policy.limits.destination_max_ratio)
        return self._passes(veto or self._arrivals.veto(destination.place, replica, extra))

    def _growth_meanwhile(self, replica: Replica) -> int:
        """Return what a replica, at worst all of its directory, grows while it moves, without retention or cleaning."""
        written = self._snapshot.growth_of(replica)
        written = self._source.growth_bytes_per_s if written is None else written
        return copy_rates.copy_growth(written, replica.size_bytes or 0, self._rate)
