"""Moves off a filling directory to other brokers, if its own broker has no room.

No data is lost, but it is copied over the network, and the source is freed only when the last copy is in sync.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from logdirwatch.plan.capacity import copy_rates
from logdirwatch.plan.capacity.copy_rates import Pace, Rates
from logdirwatch.plan.capacity.timing import delete_delay_ms
from logdirwatch.plan.cluster.layout import Partition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Policy, Veto
from logdirwatch.plan.reassignment.replacement_replicas import Repair, plan_rebuild
from logdirwatch.plan.vetoes import replica_vetoes

ROUNDS = 3
"""How often further replicas are tried for those that found no place."""
_Candidate = tuple[int, Partition]
"""What a replica frees, and its partition."""


@dataclass(frozen=True)
class Offload:
    """The destinations of replicas, the bytes that leave and come free; ``vetoes`` say why there are none."""

    repair: Repair | None = None
    moved_bytes: int = 0
    freed_bytes: int = 0
    rate: int = 0
    vetoes: tuple[Veto, ...] = ()


def plan_offload(source: LogDir, snapshot: ClusterSnapshot, policy: Policy, needed: int) -> Offload:
    """Find destinations on other brokers for ``needed`` bytes of a directory.

    They stay clearly less full than the directory is now, so that no plan moves the replicas on. Brokers that receive
    slowly under somebody else's throttle are taken only if there are no others: one such copy makes a whole plan slow.
    """
    return _Planner(source, snapshot, policy).run(math.ceil(needed / snapshot.on_disk_ratio(source.place)))


def is_behind(partition: Partition, broker: int) -> bool:
    """Tell whether other replicas are out of sync: a reassignment completes only when all that stay are in sync."""
    return not set(partition.replicas) - {broker} <= set(partition.isr)


def settles_ms(source: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> int:
    """Return the time beyond copying: the tool's wait for the new replicas, and the deletion delay."""
    return policy.tools.settings.timeout_ms + delete_delay_ms(source.broker, snapshot)


class _Planner:
    """Chooses replicas and their destinations, in ways of which the first is best."""

    def __init__(self, source: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> None:
        self._source, self._snapshot, self._policy = source, snapshot, policy
        limits, directories = policy.limits, snapshot.directories_of.get(source.broker, ())
        spare = copy_rates.spare_network(limits.network_bandwidth_bytes_per_s, directories)
        after_ms = settles_ms(source, snapshot, policy)
        self._rates = Rates(source, limits.replication_throttle_bytes_per_s, spare, after_ms)
        self._refusals: Counter[Veto] = Counter()

    def run(self, needed: int) -> Offload:
        everything = self._candidates()
        quick = self._in_time(everything)
        settled = [candidate for candidate in quick if not is_behind(candidate[1], self._source.broker)]
        # Each of them once, the shortest first.
        ranked = {len(candidates): candidates for candidates in (settled, quick, everything) if candidates}
        slow = copy_rates.slowed_by_others(self._rates.usual, self._snapshot)
        for passed_over, candidates in product(dict.fromkeys([slow, frozenset[int]()]), ranked.values() or [[]]):
            found = self._placed(candidates, needed, passed_over)
            if found.repair is not None and found.repair.assignments:
                return found
        self._refusals.update(left.veto for left in (found.repair.unplaced if found.repair is not None else ()))
        reasons = tuple(veto for veto, _ in self._refusals.most_common(3))
        nothing = Veto("nothing_to_move", f"no replica of {self._source.path} may be moved")
        return Offload(vetoes=reasons or (nothing,))

    def _candidates(self) -> list[_Candidate]:
        """Return movable replicas with their bytes, largest first; among equals those that grow least."""
        snapshot, limits, found = self._snapshot, self._policy.limits, []
        for replica in snapshot.replicas_in(self._source.place):
            topic, partition = snapshot.topics.get(replica.topic), snapshot.partitions.get(replica.key)
            if topic is None or partition is None or not replica.size_bytes or replica.key in snapshot.set_aside:
                continue
            written = snapshot.growth_of_partitions.get(partition.key)
            veto = (
                replica_vetoes.internal_topic(topic, limits)
                or replica_vetoes.retention_waits(snapshot, topic.name)
                or replica_vetoes.partition_moving(snapshot, partition)
                or replica_vetoes.partition_claimed(snapshot, partition)
                or replica_vetoes.no_live_source(snapshot, partition, without=None)
                or replica_vetoes.slower_than_writes(self._rates.most, written)
            )
            if veto is None:
                found.append((replica.size_bytes, snapshot.growth_of(replica) or 0.0, partition))
            else:
                self._refusals[veto] += 1
        ranked = sorted(found, key=lambda item: (-item[0], item[1], item[2].key))
        return [(size, partition) for size, _, partition in ranked[: limits.partitions_per_reassignment]]

    def _in_time(self, candidates: list[_Candidate]) -> list[_Candidate]:
        """Return the candidates that can be copied before the directory is full; all if none can."""
        pace, quick, total = Pace(self._source, self._rates.most, self._rates.settles_ms), list[_Candidate](), 0
        for size, partition in candidates:
            if pace.is_in_time(total + size, 0):
                quick.append((size, partition))
                total += size
        return quick or candidates

    def _placed(self, candidates: Sequence[_Candidate], needed: int, passed_over: frozenset[int]) -> Offload:
        """Find destinations for candidates until they free what is needed, and not much more."""
        snapshot, sizes = self._snapshot, {partition.key: size for size, partition in candidates}
        written = max((snapshot.growth_of_partitions.get(key, 0.0) for key in sizes), default=0.0)
        rate = self._rates.of(needed, written)
        # Those that some broker could take: one that lives, has no replica, and is not passed over.
        alive = {broker for broker in snapshot.brokers if snapshot.is_alive(broker)} - passed_over
        left = [one for one in candidates if alive - set(one[1].replicas)] or list(candidates)
        chosen, placed, repair = list[Partition](), 0, None
        for _ in range(ROUNDS):
            more = needed - placed
            while left and more > 0:
                # The smallest that alone frees what is missing, else the largest.
                taken = min((one for one in left if one[0] >= more), key=lambda one: one[0], default=left[0])
                left.remove(taken)
                more -= taken[0]
                chosen.append(taken[1])
            repair = self._rebuilt(chosen, rate, passed_over)
            placed = sum(sizes[assignment.key] for assignment in repair.assignments)
            if placed >= needed or not left:
                break
        if repair is None:
            return Offload()
        freed = snapshot.on_disk_bytes(self._source.place, placed)
        return Offload(repair, placed, freed, max(rate, self._rates.of(repair.busiest_bytes, written)))

    def _rebuilt(self, chosen: Sequence[Partition], rate: int, passed_over: frozenset[int]) -> Repair:
        return plan_rebuild(
            self._source.broker,
            chosen,
            self._snapshot,
            self._policy,
            path=self._source.path,
            rate=rate,
            is_serving=True,
            relieved=self._source,
            passed_over=passed_over,
        )
