"""Replicas off a filling directory to other brokers: where its own broker has no room for them.

Nothing is lost, but it is copied over the network, and the source is free only once the last in-sync copy is made.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, REPLICATION_THROTTLES, ActionKind
from logdirwatch.plan.actions.replicas.reassign import back_of, born_elsewhere, limits_of_repair
from logdirwatch.plan.availability.impact import of_reassignment
from logdirwatch.plan.capacity import copy_rates
from logdirwatch.plan.capacity.copy_waves import Pace
from logdirwatch.plan.capacity.timing import (
    delete_delay_ms,
    file_name,
    in_time,
    no_retention_cut,
    nothing_runs,
    others_run,
    place_target,
    time_to_full_ms,
    way_back,
)
from logdirwatch.plan.cluster.assignment import to_json
from logdirwatch.plan.cluster.snapshot import Directory, Facts, Partition, TopicPartition
from logdirwatch.plan.proposal import Draft, Policy, Precondition, Veto, effect
from logdirwatch.plan.reassignment.replacement_replicas import Repair, plan_rebuild
from logdirwatch.plan.reassignment.throttles import unset
from logdirwatch.plan.vetoes import replica_vetoes
from logdirwatch.report.units import human_bytes
from logdirwatch.report.words import counted

ROUNDS = 3
"""How often replicas are added for those that found no place."""


@dataclass(frozen=True)
class Offload:
    """Where replicas go, and the bytes that leave; ``vetoes`` say why nothing does."""

    repair: Repair | None = None
    freed_bytes: int = 0
    rate: int = 0
    vetoes: tuple[Veto, ...] = ()


def plan_offload(
    source: Directory, facts: Facts, policy: Policy, needed: int, taken: frozenset[TopicPartition]
) -> Offload:
    """Find places on other brokers for ``needed`` bytes of a directory, ``taken`` partitions left out."""
    refusals: Counter[Veto] = Counter()
    everything = _candidates(source, facts, policy, taken, _most(source, facts, policy), refusals)
    quick = _in_time_first(source, facts, policy, everything)
    for candidates in [quick, everything] if len(quick) < len(everything) else [everything]:
        found = _placed(source, candidates, facts, policy, needed)
        if found.repair is not None and found.repair.assignments:
            return found
    refusals.update(left.veto for left in (found.repair.unplaced if found.repair is not None else ()))
    reasons = tuple(veto for veto, _ in refusals.most_common(3))
    return Offload(vetoes=reasons or (Veto("nothing_to_move", f"no replica of {source.path} may be moved"),))


def _placed(
    source: Directory, candidates: Sequence[tuple[int, Partition]], facts: Facts, policy: Policy, needed: int
) -> Offload:
    """Find places for as many candidates as give what is needed, the first ones first."""
    written = max((copy_rates.written_to(partition, facts) for _, partition in candidates), default=0.0)
    rate = _rate(source, needed, facts, policy, written)
    sizes = {partition.key: size for size, partition in candidates}
    count, placed, repair = 0, 0, None
    for _ in range(ROUNDS):
        more = needed - placed
        while count < len(candidates) and more > 0:
            more -= candidates[count][0]
            count += 1
        chosen = [partition for _, partition in candidates[:count]]
        repair = plan_rebuild(source.broker, chosen, facts, policy, path=source.path, rate=rate, is_serving=True)
        placed = sum(sizes[assignment.key] for assignment in repair.assignments)
        if placed >= needed or count == len(candidates):
            break
    if repair is None:
        return Offload()
    return Offload(repair, placed, max(rate, _rate(source, _busiest(repair), facts, policy, written)))


def _busiest(repair: Repair) -> int:
    """Return what the busiest broker sends and receives."""
    return max(repair.bytes_per_broker.values(), default=0)


def _in_time_first(
    source: Directory, facts: Facts, policy: Policy, candidates: list[tuple[int, Partition]]
) -> list[tuple[int, Partition]]:
    """Return the candidates that can be copied before the directory is full; all of them where none can."""
    pace, total = Pace.of(source, _most(source, facts, policy), _settles_ms(source, facts, policy)), 0
    quick = []
    for size, partition in candidates:
        if pace.is_in_time(total + size, 0):
            quick.append((size, partition))
            total += size
    return quick or candidates


def offload_drafts(
    source: Directory, plan: Offload, needed: int, facts: Facts, policy: Policy, now_ms: int
) -> list[Draft]:
    """Return the action for planned moves to other brokers; nothing where none was found."""
    if plan.repair is None:
        return []
    repair = plan.repair
    wanted = limits_of_repair(repair, plan.rate, facts)
    limits, rate = (
        unset(wanted, facts),
        copy_rates.under_others(plan.rate, wanted.brokers, REPLICATION_THROTTLES, facts),
    )
    written = max((copy_rates.written_to(facts.partitions[one.key], facts) for one in repair.assignments), default=0.0)
    too_slow = replica_vetoes.slower_than_writes(rate, written)
    settles = _settles_ms(source, facts, policy)
    needs = _busiest(repair) * 1000 // rate + settles
    usual = policy.limits.replication_throttle_bytes_per_s
    left_ms = time_to_full_ms(source)
    late_for_ms = left_ms if left_ms is not None and needs >= left_ms else None
    is_enough = plan.freed_bytes >= needed and late_for_ms is None
    enough = "enough" if is_enough else f"{human_bytes(needed)} are needed"
    paced = copy_rates.paced(rate, usual, _busiest(repair), late_for_ms, settles)
    name = file_name(ActionKind.REASSIGN, source.place)
    taken = [{"broker": b, "log_dir": path, "bytes": -size} for (b, path), size in sorted(repair.bytes_in.items())]
    return [
        Draft(
            kind=ActionKind.REASSIGN,
            target=place_target(source),
            reason=f"move {human_bytes(plan.freed_bytes)} in {counted(len(repair.assignments), 'replica')} from "
            f"{source.path} of broker {source.broker} to other brokers ({enough}) {paced}; "
            "its own directories have no room for them; no data is lost, racks, replication factor and order of "
            "preference stay",
            expected=effect(
                frees_bytes=plan.freed_bytes,
                frees_by_ms=now_ms + needs,
                needs_ms=needs,
                on=[{"broker": source.broker, "log_dir": source.path, "bytes": plan.freed_bytes}, *taken],
                time_to_full_after_ms=time_to_full_ms(source, plan.freed_bytes),
                throttle_bytes_per_s=rate,
                sets_limits=limits.as_data(),
                copies_bytes=repair.copied_bytes,
                leadership=of_reassignment(repair.assignments, facts),
            ),
            preconditions=(
                in_time(source, needs),
                *_sustained(plan, facts, policy),
                nothing_runs(facts),
                no_retention_cut(),
                copy_rates.throttle_free(wanted.brokers, (*REPLICATION_THROTTLES, LOG_DIR_THROTTLE), facts),
                *born_elsewhere(repair, facts),
            ),
            vetoes=() if too_slow is None else (too_slow,),
            commands=tuple(
                policy.tools.reassign(to_json(repair.assignments), name, limits=limits, beside=bool(others_run(facts)))
            ),
            reassignment=to_json(repair.assignments),
            undo=way_back(to_json(repair.before), name, policy, limits, back_of(repair, rate, facts)),
        )
    ]


def _candidates(
    source: Directory,
    facts: Facts,
    policy: Policy,
    taken: frozenset[TopicPartition],
    rate: int,
    refusals: Counter[Veto],
) -> list[tuple[int, Partition]]:
    """Return what may be moved with its bytes, largest first; of equally large ones those that grow least."""
    found = []
    for replica in facts.replicas_in(source.place):
        topic, partition = facts.topics.get(replica.topic), facts.partitions.get(replica.key)
        if topic is None or partition is None or not replica.size_bytes or replica.key in taken:
            continue
        veto = replica_vetoes.first(
            [
                replica_vetoes.internal_topic(topic, policy.limits),
                replica_vetoes.retention_waits(facts, topic.name),
                replica_vetoes.partition_moving(facts, partition),
                replica_vetoes.partition_claimed(facts, partition),
                replica_vetoes.no_live_source(facts, partition, without=None),
                replica_vetoes.slower_than_writes(rate, copy_rates.written_to(partition, facts)),
            ]
        )
        refusals.update([veto] if veto is not None else [])
        if veto is None:
            found.append((replica.size_bytes, facts.growth_of(replica) or 0.0, partition))
    ranked = sorted(found, key=lambda item: (-item[0], item[1], item[2].key))
    return [(size, partition) for size, _, partition in ranked[: policy.limits.partitions_per_reassignment]]


def _sustained(plan: Offload, facts: Facts, policy: Policy) -> tuple[Precondition, ...]:
    limits, places = policy.limits, plan.repair.bytes_in if plan.repair else {}
    seen, usual = copy_rates.seen_rate(places, facts), limits.replication_throttle_bytes_per_s
    return copy_rates.sustained(plan.rate, usual, limits.network_bandwidth_bytes_per_s, seen)


def _settles_ms(source: Directory, facts: Facts, policy: Policy) -> int:
    """Return what passes beside the copying: the tool's wait for the new replicas, and the delay of the deletion."""
    return policy.tools.settings.timeout_ms + delete_delay_ms(source.broker, facts)


def _spare(source: Directory, facts: Facts, policy: Policy) -> int | None:
    directories = facts.directories_of.get(source.broker, ())
    return copy_rates.spare_network(policy.limits.network_bandwidth_bytes_per_s, directories)


def _most(source: Directory, facts: Facts, policy: Policy) -> int:
    return copy_rates.ceiling(policy.limits.replication_throttle_bytes_per_s, _spare(source, facts, policy))


def _rate(source: Directory, copied_bytes: int, facts: Facts, policy: Policy, written_bytes_per_s: float) -> int:
    return copy_rates.throttle(
        policy.limits.replication_throttle_bytes_per_s,
        _spare(source, facts, policy),
        copied_bytes,
        time_to_full_ms(source),
        _settles_ms(source, facts, policy),
        written_bytes_per_s,
    )
