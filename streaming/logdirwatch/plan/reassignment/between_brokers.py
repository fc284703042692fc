"""Moves off a filling directory to other brokers, if its own broker has no room.

No data is lost, but it is copied over the network, and the source is freed only when the last copy is in sync.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from logdirwatch.plan.capacity import copy_rates
from logdirwatch.plan.capacity.copy_rates import Pace
from logdirwatch.plan.capacity.timing import delete_delay_ms, time_to_full_ms
from logdirwatch.plan.cluster.layout import Partition, TopicPartition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Policy, Veto
from logdirwatch.plan.reassignment.replacement_replicas import Repair, plan_rebuild
from logdirwatch.plan.vetoes import replica_vetoes

ROUNDS = 3
"""How often further replicas are tried for those that found no place."""


@dataclass(frozen=True)
class Offload:
    """The destinations of replicas, the bytes that leave and come free; ``vetoes`` say why there are none."""

    repair: Repair | None = None
    moved_bytes: int = 0
    freed_bytes: int = 0
    rate: int = 0
    vetoes: tuple[Veto, ...] = ()


def plan_offload(
    source: LogDir, snapshot: ClusterSnapshot, policy: Policy, needed: int, taken: frozenset[TopicPartition]
) -> Offload:
    """Find destinations on other brokers for ``needed`` bytes of a directory, except the partitions ``taken``.

    They stay clearly less full than the directory is now, so that no plan moves the replicas on. Brokers that receive
    slowly under somebody else's throttle are taken only if there are no others: one such copy makes a whole plan slow.
    """
    refusals: Counter[Veto] = Counter()
    everything = _candidates(source, snapshot, policy, taken, _most(source, snapshot, policy), refusals)
    quick = _in_time_first(source, snapshot, policy, everything)
    settled = [candidate for candidate in quick if not is_behind(candidate[1], source.broker)]
    slow = copy_rates.slowed_by_others(policy.limits.replication_throttle_bytes_per_s, snapshot)
    needed = math.ceil(needed / snapshot.on_disk_ratio(source.place))
    ways = product(dict.fromkeys([slow, frozenset[int]()]), _each_once(settled, quick, everything))
    for passed_over, candidates in ways:
        found = _placed(source, candidates, snapshot, policy, needed, passed_over)
        if found.repair is not None and found.repair.assignments:
            return found
    refusals.update(left.veto for left in (found.repair.unplaced if found.repair is not None else ()))
    reasons = tuple(veto for veto, _ in refusals.most_common(3))
    return Offload(vetoes=reasons or (Veto("nothing_to_move", f"no replica of {source.path} may be moved"),))


def is_behind(partition: Partition, broker: int) -> bool:
    """Tell whether other replicas are out of sync: a reassignment completes only when all that stay are in sync."""
    return not set(partition.replicas) - {broker} <= set(partition.isr)


def _each_once(*ranked: Sequence[tuple[int, Partition]]) -> list[Sequence[tuple[int, Partition]]]:
    """Return the non-empty lists, each longer than the one before."""
    found: list[Sequence[tuple[int, Partition]]] = []
    for candidates in ranked:
        if len(candidates) > (len(found[-1]) if found else 0):
            found.append(candidates)
    return found or [()]


def _placed(
    source: LogDir,
    candidates: Sequence[tuple[int, Partition]],
    snapshot: ClusterSnapshot,
    policy: Policy,
    needed: int,
    passed_over: frozenset[int],
) -> Offload:
    """Find destinations for candidates until they free what is needed, and not much more."""
    written = max((snapshot.growth_of_partitions.get(one.key, 0.0) for _, one in candidates), default=0.0)
    rate = _rate(source, needed, snapshot, policy, written)
    sizes = {partition.key: size for size, partition in candidates}
    left = _with_a_place(candidates, snapshot, passed_over) or list(candidates)
    chosen, placed, repair = list[Partition](), 0, None
    for _ in range(ROUNDS):
        more = needed - placed
        while left and more > 0:
            taken = _next(left, more)
            left.remove(taken)
            more -= taken[0]
            chosen.append(taken[1])
        repair = plan_rebuild(
            source.broker,
            chosen,
            snapshot,
            policy,
            path=source.path,
            rate=rate,
            is_serving=True,
            relieved=source,
            passed_over=passed_over,
        )
        placed = sum(sizes[assignment.key] for assignment in repair.assignments)
        if placed >= needed or not left:
            break
    if repair is None:
        return Offload()
    freed = snapshot.on_disk_bytes(source.place, placed)
    return Offload(repair, placed, freed, max(rate, _rate(source, busiest(repair), snapshot, policy, written)))


def _with_a_place(
    candidates: Sequence[tuple[int, Partition]], snapshot: ClusterSnapshot, passed_over: frozenset[int]
) -> list[tuple[int, Partition]]:
    """Return the candidates that some broker could take: one that lives, has no replica, and is not passed over."""
    alive = {broker for broker in snapshot.brokers if snapshot.is_alive(broker)} - passed_over
    return [(size, partition) for size, partition in candidates if alive - set(partition.replicas)]


def _next(candidates: Sequence[tuple[int, Partition]], missing: int) -> tuple[int, Partition]:
    """Return the smallest candidate that alone frees what is missing, else the largest.

    Candidates are sorted, largest first.
    """
    enough = [candidate for candidate in candidates if candidate[0] >= missing]
    return min(enough, key=lambda candidate: candidate[0]) if enough else candidates[0]


def busiest(repair: Repair) -> int:
    """Return the bytes that the busiest broker sends and receives."""
    return max(repair.bytes_per_broker.values(), default=0)


def _in_time_first(
    source: LogDir, snapshot: ClusterSnapshot, policy: Policy, candidates: list[tuple[int, Partition]]
) -> list[tuple[int, Partition]]:
    """Return the candidates that can be copied before the directory is full; all if none can."""
    pace, total = Pace(source, _most(source, snapshot, policy), settles_ms(source, snapshot, policy)), 0
    quick = []
    for size, partition in candidates:
        if pace.is_in_time(total + size, 0):
            quick.append((size, partition))
            total += size
    return quick or candidates


def _candidates(
    source: LogDir,
    snapshot: ClusterSnapshot,
    policy: Policy,
    taken: frozenset[TopicPartition],
    rate: int,
    refusals: Counter[Veto],
) -> list[tuple[int, Partition]]:
    """Return movable replicas with their bytes, largest first; among equals those that grow least."""
    found = []
    for replica in snapshot.replicas_in(source.place):
        topic, partition = snapshot.topics.get(replica.topic), snapshot.partitions.get(replica.key)
        if topic is None or partition is None or not replica.size_bytes or replica.key in taken:
            continue
        veto = replica_vetoes.first(
            [
                replica_vetoes.internal_topic(topic, policy.limits),
                replica_vetoes.retention_waits(snapshot, topic.name),
                replica_vetoes.partition_moving(snapshot, partition),
                replica_vetoes.partition_claimed(snapshot, partition),
                replica_vetoes.no_live_source(snapshot, partition, without=None),
                replica_vetoes.slower_than_writes(rate, snapshot.growth_of_partitions.get(partition.key)),
            ]
        )
        refusals.update([veto] if veto is not None else [])
        if veto is None:
            found.append((replica.size_bytes, snapshot.growth_of(replica) or 0.0, partition))
    ranked = sorted(found, key=lambda item: (-item[0], item[1], item[2].key))
    return [(size, partition) for size, _, partition in ranked[: policy.limits.partitions_per_reassignment]]


def settles_ms(source: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> int:
    """Return the time beyond copying: the tool's wait for the new replicas, and the deletion delay."""
    return policy.tools.settings.timeout_ms + delete_delay_ms(source.broker, snapshot)


def _spare(source: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> int | None:
    directories = snapshot.directories_of.get(source.broker, ())
    return copy_rates.spare_network(policy.limits.network_bandwidth_bytes_per_s, directories)


def _most(source: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> int:
    return copy_rates.ceiling(policy.limits.replication_throttle_bytes_per_s, _spare(source, snapshot, policy))


def _rate(
    source: LogDir, copied_bytes: int, snapshot: ClusterSnapshot, policy: Policy, written_bytes_per_s: float
) -> int:
    return copy_rates.throttle(
        policy.limits.replication_throttle_bytes_per_s,
        _spare(source, snapshot, policy),
        copied_bytes,
        time_to_full_ms(source),
        settles_ms(source, snapshot, policy),
        written_bytes_per_s,
    )
