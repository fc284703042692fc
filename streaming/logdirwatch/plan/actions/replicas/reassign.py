"""``reassign``: rebuild lost replicas on other brokers, or move replicas there.

Progress and validity are those of every kind that reassigns.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import structs

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import FOLLOWER_THROTTLE, LOG_DIR_THROTTLE, ActionKind, OperationKind
from logdirwatch.plan.actions.action_type import ActionType, FixRole, FollowUp, Relief, names_all_partitions, only
from logdirwatch.plan.actions.parts import bytes_at, carried_out_by, frees
from logdirwatch.plan.actions.progress import Progress, space_seen
from logdirwatch.plan.actions.replicas.clear_throttles import clear_left_behind
from logdirwatch.plan.availability.fault_tolerance import fault_tolerance_of
from logdirwatch.plan.availability.impact import of_reassignment
from logdirwatch.plan.capacity import copy_rates
from logdirwatch.plan.capacity.copy_rates import foreign, throttle_free, under_others
from logdirwatch.plan.capacity.projected_use import on_disk, passing_bytes
from logdirwatch.plan.capacity.timing import in_time, place_target, time_to_full_ms
from logdirwatch.plan.cluster.assignment import Assignment, from_json, to_json
from logdirwatch.plan.cluster.layout import LogDirId, Partition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.operations import reassign
from logdirwatch.plan.commands.throttles import Limits, of_plan
from logdirwatch.plan.operator_decisions import moved_topics
from logdirwatch.plan.proposal import EXAMPLES, Policy, Precondition, ProposedAction, Veto, effect, vetoes_of
from logdirwatch.plan.reassignment.between_brokers import Offload, is_behind, settles_ms
from logdirwatch.plan.reassignment.replacement_replicas import Repair, left_out, unplaced
from logdirwatch.plan.reassignment.throttles import limits_of_copies, unset
from logdirwatch.plan.reassignment.tool_run import (
    destinations_stay,
    file_name,
    no_retention_cut,
    nothing_runs,
    undo_of_reassignment,
)
from logdirwatch.plan.vetoes import replica_vetoes
from logdirwatch.plan.vetoes.reassignment import violations
from logdirwatch.text.units import human_bytes
from logdirwatch.text.words import counted, some_of

CLEARS_THROTTLES = FollowUp(clear_left_behind, while_firing=True)


def copying_progress(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:
    """Return how many partitions a reassignment has placed, and how many are on their way."""
    if action.reassignment is None:
        return None
    assignments = from_json(action.reassignment)
    before = {old.key: old for old in from_json(action.undo["reassignment"])}
    arriving = [(one, *_arriving(one, before.get(one.key))) for one in assignments]
    reached = sum(_is_reached(assignment, snapshot) for assignment in assignments)
    begun = sum(_is_begun(assignment, added, snapshot) for assignment, added, _ in arriving)
    observed = {
        "reached": reached,
        "of": len(assignments),
        **_copied_bytes(arriving, action.kind, snapshot),
        **space_seen(action, snapshot),
    }
    return Progress(max(begun, reached), reached, len(assignments), observed)


def reasons_against_reassignment(action: ActionRecord, snapshot: ClusterSnapshot, policy: Policy) -> Sequence[str]:
    """Return why a published reassignment may no longer be carried out."""
    if action.reassignment is None:
        return ()
    changed = [
        f"the replicas of {old.label} are no longer those that it was planned for"
        for old in from_json(action.undo["reassignment"])
        if old.key in snapshot.partitions and snapshot.partitions[old.key].replicas != old.replicas
    ]
    cut = sorted(moved_topics(action) & snapshot.decisions.cutting)
    waiting = [f"a retention cut of {topic} was taken up" for topic in cut]
    # A plan names whole sets of replicas: after another move it would undo that one, so nothing else matters then.
    return changed or waiting or [veto.reason for veto in violations(from_json(action.reassignment), snapshot, policy)]


def _is_reached(assignment: Assignment, snapshot: ClusterSnapshot) -> bool:
    partition = snapshot.partitions.get(assignment.key)
    if partition is None or partition.replicas != assignment.replicas:
        return False
    places = {replica.place for replica in snapshot.replicas_of(assignment.key)}
    # A folder is there as soon as the copy begins; a replica is complete once it is in the ISR.
    return all(place in places and place[0] in partition.isr for place in assignment.chosen)


def _is_begun(assignment: Assignment, added: set[int], snapshot: ClusterSnapshot) -> bool:
    partition = snapshot.partitions.get(assignment.key)
    futures = (copy.place for copy in snapshot.layout.copies_of.get(assignment.key, ()))
    is_copied = not set(futures).isdisjoint(assignment.chosen)
    return is_copied or (partition is not None and not added.isdisjoint(partition.replicas))


def _arriving(assignment: Assignment, before: Assignment | None) -> tuple[set[int], set[LogDirId]]:
    """Return the brokers that an assignment adds, and the directories that it chooses, besides those from before."""
    brokers, places = ((), ()) if before is None else (before.replicas, before.chosen)
    return set(assignment.replicas) - set(brokers), set(assignment.chosen) - set(places)


def _copied_bytes(
    arriving: Iterable[tuple[Assignment, set[int], set[LogDirId]]], kind: ActionKind, snapshot: ClusterSnapshot
) -> dict[str, Any]:
    """Return the bytes that a reassignment has copied so far: of replicas that are where it wants them.

    Within a broker these are also the bytes that left the source directory (KIP-113).
    """
    copied = sum(
        replica.size_bytes or 0
        for assignment, added, moved in arriving
        for replica in snapshot.replicas_of(assignment.key)
        if replica.broker in added or replica.place in moved
    )
    return {"copies_bytes": copied, **({"frees_bytes": copied} if kind is ActionKind.MOVE_LOG_DIR else {})}


class Loss(NamedTuple):
    """What was lost, as text.

    ``what`` follows "replicas"; ``stray`` says what happens to the old copies, ``undo`` how to undo the reassignment.
    """

    what: str
    stray: str
    undo: str


def rebuild(
    place: LogDirId,
    target: Mapping[str, Any],
    loss: Loss,
    repair: Repair,
    snapshot: ClusterSnapshot,
    policy: Policy,
) -> ProposedAction:
    """Return the reassignment of a repair; ``place`` names its file (an empty path: the whole broker)."""
    rate = policy.limits.replication_throttle_bytes_per_s
    wanted = limits_of_repair(repair, rate, snapshot)
    limits, reached = unset(wanted, snapshot), under_others(rate, wanted.brokers, snapshot)
    # The tool tries until its timeout to choose the directory of a replica that its broker has not created yet.
    needs = repair.copying_ms(reached) + policy.tools.settings.timeout_ms
    lost = [snapshot.partitions[assignment.key] for assignment in repair.assignments]
    return ProposedAction(
        kind=ActionKind.REASSIGN,
        target=target,
        reason=f"rebuild {counted(len(repair.assignments), 'replica')} {loss.what} on other brokers "
        f"({human_bytes(repair.copied_bytes)} to copy); racks, replication factor and order of preference stay"
        f"{left_out(repair)}",
        expected=effect(
            frees_bytes=0,
            needs_ms=needs,
            on=bytes_at({place: -size for place, size in repair.bytes_in.items()}),
            rebuilds=len(repair.assignments),
            copies_bytes=repair.copied_bytes,
            sets_limits=limits.as_data(),
            leadership=of_reassignment(repair.assignments, snapshot),
            endurance=fault_tolerance_of(lost, snapshot),
            **unplaced(repair),
        ),
        preconditions=(
            nothing_runs(snapshot),
            Precondition("strays", loss.stray, None),
            throttle_free(_keys_of(wanted), snapshot),
            *_of_destinations(repair, snapshot),
        ),
        **_assigned(place, repair, limits, rate, snapshot, policy, text=loss.undo),
    )


def _assigned(
    place: LogDirId, repair: Repair, limits: Limits, rate: int, snapshot: ClusterSnapshot, policy: Policy, **undo: str
) -> dict[str, Any]:
    """Return the fields of a repair's reassignment; ``limits`` are its throttles, ``rate`` that of its undo."""
    back = back_of(repair, rate, snapshot)
    plan, before, name = to_json(repair.assignments), to_json(repair.before), file_name(ActionKind.REASSIGN, place)
    operation = reassign(plan, before, name, limits=limits, back=back, beside=bool(snapshot.layout.reassigned))
    back_again = undo_of_reassignment(before, name, policy, limits, back, snapshot)
    return {**carried_out_by(policy, operation), "reassignment": plan, "undo": {**back_again, **undo}}


def limits_of_repair(repair: Repair, rate: int, snapshot: ClusterSnapshot) -> Limits:
    """Return the throttles of a repair: for its new replicas, and for the leaders that send them."""
    arriving = [(snapshot.partitions[key], broker) for key, broker in repair.arriving]
    return limits_of_copies(arriving, rate, snapshot)


def _keys_of(limits: Limits) -> dict[int, tuple[str, ...]]:
    """Return by broker the throttle keys that affect the copies.

    Where they arrive, also the one between directories.
    """
    return {
        # A replica created in another directory is then moved inside its broker, under that throttle.
        broker: (*rates, LOG_DIR_THROTTLE) if FOLLOWER_THROTTLE in rates else tuple(rates)
        for broker, rates in limits.brokers.items()
    }


def back_of(repair: Repair, rate: int, snapshot: ClusterSnapshot) -> Limits:
    """Return the throttles for undoing the move, where none is set; brokers that are down take none."""
    wanted = of_plan(to_json(repair.before), log_dir_rate=None, rate=rate)
    living = {broker: rates for broker, rates in wanted.brokers.items() if snapshot.is_alive(broker)}
    return unset(Limits(living, wanted.topics), snapshot)


def born_elsewhere(repair: Repair, snapshot: ClusterSnapshot) -> tuple[Precondition, ...]:
    """Say where Kafka may create new replicas that the plan assigns to another directory.

    They occupy their full size there until moved: Kafka's tool assigns first and places afterwards. So nothing may slow
    down their way to the right directory.
    """
    passing = passing_bytes(repair.assignments, snapshot)
    if not passing:
        return ()
    places = sorted(passing.items())[:EXAMPLES]
    told = ", ".join(f"{human_bytes(size)} in {path} of broker {broker}" for (broker, path), size in places)
    text = (
        f"Kafka may make new replicas in other directories first (at most {told}; that much room is counted there) and "
        "then copies them to the planned one: no other move inside these brokers runs meanwhile, and none is limited"
    )
    limited = foreign({broker: (LOG_DIR_THROTTLE,) for broker, _ in passing}, snapshot)
    return (Precondition("born_elsewhere", text, False if any(limited) else None),)


def _of_destinations(repair: Repair, snapshot: ClusterSnapshot) -> tuple[Precondition, ...]:
    return (*destinations_stay((broker for _, broker in repair.arriving), snapshot), *born_elsewhere(repair, snapshot))


def rebuild_later(
    target: Mapping[str, Any], loss: Loss, repair: Repair, snapshot: ClusterSnapshot, veto: Veto
) -> ProposedAction:
    """Return the same reassignment with a veto: its cost, and no commands."""
    lost = [snapshot.partitions[assignment.key] for assignment in repair.assignments]
    return ProposedAction(
        kind=ActionKind.REASSIGN,
        target=target,
        reason=f"rebuild {counted(len(repair.assignments), 'replica')} {loss.what} on other brokers "
        f"({human_bytes(repair.copied_bytes)} to copy), but not yet{left_out(repair)}",
        expected=effect(
            rebuilds=len(repair.assignments),
            copies_bytes=repair.copied_bytes,
            endurance=fault_tolerance_of(lost, snapshot),
            **unplaced(repair),
        ),
        vetoes=(veto,),
    )


def propose_offload(
    source: LogDir, plan: Offload, needed: int, snapshot: ClusterSnapshot, policy: Policy
) -> list[ProposedAction]:
    """Return the action for planned moves to other brokers; empty if there are none."""
    if plan.repair is None:
        return []
    repair = plan.repair
    wanted = limits_of_repair(repair, plan.rate, snapshot)
    limits, rate = unset(wanted, snapshot), under_others(plan.rate, wanted.brokers, snapshot)
    usual, seen = policy.limits.replication_throttle_bytes_per_s, copy_rates.seen_rate(repair.bytes_in, snapshot)
    needs = repair.copying_ms(copy_rates.as_seen(rate, usual, seen)) + settles_ms(source, snapshot, policy)
    moved = [snapshot.partitions[one.key] for one in repair.assignments]
    # Below the write rate a new replica never joins the ISR, and the old one is never removed.
    too_slow = replica_vetoes.slower_than_writes(rate, max(repair.written_per_broker.values(), default=0.0))
    return [
        ProposedAction(
            kind=ActionKind.REASSIGN,
            target=place_target(source),
            reason=_why_offload(source, plan, needed, rate, needs, snapshot, policy),
            expected=frees(
                source,
                plan.freed_bytes,
                needs_ms=needs,
                taken=repair.bytes_in,
                throttle_bytes_per_s=rate,
                sets_limits=limits.as_data(),
                copies_bytes=repair.copied_bytes,
                leadership=of_reassignment(repair.assignments, snapshot),
            ),
            preconditions=(
                *_in_time(source, needs, moved),
                *copy_rates.sustained(plan.rate, usual, policy.limits.network_bandwidth_bytes_per_s, seen),
                nothing_runs(snapshot),
                no_retention_cut(),
                throttle_free(_keys_of(wanted), snapshot),
                *_of_destinations(repair, snapshot),
            ),
            vetoes=vetoes_of(too_slow),
            **_assigned(source.place, repair, limits, rate, snapshot, policy),
        )
    ]


def _why_offload(
    source: LogDir, plan: Offload, needed: int, rate: int, needs_ms: int, snapshot: ClusterSnapshot, policy: Policy
) -> str:
    """Say what moves, whether it is enough, and how fast it is copied."""
    repair = plan.repair
    assert repair is not None
    left_ms = time_to_full_ms(source)
    late_for_ms = left_ms if left_ms is not None and needs_ms >= left_ms else None
    waits = any(is_behind(snapshot.partitions[one.key], source.broker) for one in repair.assignments)
    is_enough = plan.freed_bytes >= needed and late_for_ms is None and not waits
    enough = "enough" if is_enough else f"{human_bytes(needed)} are needed"
    enough = on_disk(plan.moved_bytes, plan.freed_bytes) + enough
    usual, settles = policy.limits.replication_throttle_bytes_per_s, settles_ms(source, snapshot, policy)
    paced = copy_rates.paced(rate, usual, repair.busiest_bytes, late_for_ms, settles)
    return (
        f"move {human_bytes(plan.moved_bytes)} in {counted(len(repair.assignments), 'replica')} from {source.path} of "
        f"broker {source.broker} to other brokers ({enough}) {paced}; no data is lost, and racks, replication "
        "factor and order of preference stay"
    )


def _in_time(source: LogDir, needs_ms: int, moved: Sequence[Partition]) -> tuple[Precondition, ...]:
    """Return whether a move is in time; unknown for one that waits for out-of-sync replicas."""
    found = in_time(source, needs_ms)
    behind = [partition.label for partition in moved if is_behind(partition, source.broker)]
    if not behind:
        return (found,)
    text = f"all other replicas of {some_of(behind)} are in sync: Kafka frees the old one only then"
    return structs.replace(found, holds=None), Precondition("others_in_sync", text, False)


ACTION_TYPE = ActionType(
    kind=ActionKind.REASSIGN,
    relief=Relief(if_in_time=3, if_not=1),
    fix_role=FixRole.MAKES_ROOM,
    progress=copying_progress,
    covers=names_all_partitions,
    reasons_against=reasons_against_reassignment,
    follow_up=CLEARS_THROTTLES,
    changes_declared=False,
    executes=only(OperationKind.REASSIGN),
    cluster_acls=("Alter", "AlterConfigs"),
)
