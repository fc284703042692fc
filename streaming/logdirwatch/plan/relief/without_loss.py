"""Actions that free space in a filling directory without losing data: moves, and opening closed space.

The broker's own directories come first, then other brokers, then local copies of what remote storage has. Only if these
do not free enough in time, the owner of a throttle is asked to raise it, a cordoned directory is opened, or a broker
that is down is to be brought back.
"""

from dataclasses import dataclass, replace

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.replicas.move_log_dir import propose_move
from logdirwatch.plan.actions.replicas.reassign import propose_offload
from logdirwatch.plan.actions.topics.lower_retention import propose_cut
from logdirwatch.plan.capacity.projected_use import CLEARLY_LESS_RATIO, less_full_than
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.layout import TopicPartition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.operator_decisions import apply_decisions
from logdirwatch.plan.proposal import Policy, ProposedAction, Veto
from logdirwatch.plan.reassignment.between_brokers import Offload, plan_offload
from logdirwatch.plan.reassignment.within_broker import Moves, plan_moves
from logdirwatch.plan.relief.closed_room import propose_return_of_broker, propose_uncordons
from logdirwatch.plan.relief.freed_bytes import after, freed_by, is_in_time
from logdirwatch.plan.relief.limits_of_others import ask_to_raise
from logdirwatch.plan.retention.planner import plan_cuts


@dataclass(frozen=True)
class LosslessRelief:
    """The actions, the partitions that they move or cut, and why there are not more."""

    proposals: tuple[ProposedAction, ...] = ()
    taken: frozenset[TopicPartition] = frozenset()
    against: tuple[Veto, ...] = ()
    cut: frozenset[TopicPartition] = frozenset()


def relieve_without_loss(
    source: LogDir, snapshot: ClusterSnapshot, policy: Policy, needed: int, now_ms: int
) -> LosslessRelief:
    """Return the moves that free what a directory needs, and the alternatives if they do not."""
    if needed <= 0:
        return LosslessRelief()
    found = _moves(source, snapshot, policy, needed, now_ms)
    if not all(map(_is_sure, found.proposals)):
        local = _local_cuts(source, snapshot, policy, needed, frozenset(), now_ms)
        found = LosslessRelief() if freed_by(local, source) >= needed else found
    proposals = list(found.proposals)
    if freed_by(proposals, source) < needed:
        asked = ask_to_raise(
            source, snapshot, policy, proposals, lambda free: _moves(source, free, policy, needed, now_ms).proposals
        )
        proposals += apply_decisions(asked, snapshot.decisions)
    local = _local_cuts(source, snapshot, policy, needed - freed_by(proposals, source), found.taken, now_ms)
    proposals += local
    cut = frozenset(p.key for proposal in local for p in snapshot.topics[str(proposal.target["topic"])].partitions)
    for more in (propose_uncordons, propose_return_of_broker):
        missing = needed - freed_by(proposals, source)
        if missing > 0:
            proposals += apply_decisions(more(source, snapshot, policy, missing, now_ms), snapshot.decisions)
    return LosslessRelief(tuple(proposals), found.taken, found.against, cut)


def _is_sure(move: ProposedAction) -> bool:
    """Tell whether a move is in time, and at a rate that its disks are known to sustain."""
    is_paced = all(one.holds for one in move.preconditions if one.name == "rate_sustained")
    return not move.vetoes and is_paced and is_in_time(move) is not False


def _local_cuts(
    source: LogDir,
    snapshot: ClusterSnapshot,
    policy: Policy,
    missing: int,
    taken: frozenset[TopicPartition],
    now_ms: int,
) -> list[ProposedAction]:
    """Return the cuts of local copies of tiered topics: remote storage keeps what is deleted (KIP-405)."""
    here = {replica.topic for replica in snapshot.replicas_in(source.place)}
    if missing <= 0 or not any(snapshot.topics[name].is_tiered for name in here & snapshot.topics.keys()):
        return []
    cuts = plan_cuts(source, replace(snapshot, claimed=snapshot.claimed | taken), policy, missing).cuts
    proposals = (
        propose_cut(source, cut, snapshot, policy, now_ms, is_moving=False) for cut in cuts if not cut.way.loses_data
    )
    return apply_decisions(proposals, snapshot.decisions)


def _moves(source: LogDir, snapshot: ClusterSnapshot, policy: Policy, needed: int, now_ms: int) -> LosslessRelief:
    """Return moves within the broker, and to other brokers for what is left.

    Late moves within the broker only if those to other brokers alone do not free enough in time.
    """
    inside = _inside(source, snapshot, less_full_than(source, snapshot, policy, CLEARLY_LESS_RATIO), needed, now_ms)
    policy = less_full_than(source, snapshot, policy)
    is_late = any(is_in_time(proposal) is False for proposal in inside.proposals)
    if is_late:
        outside = _outside(source, snapshot, policy, needed, frozenset(), now_ms)
        if freed_by(outside.proposals, source) >= needed:
            return outside
    moved = sum(proposal.expected["frees_bytes"] or 0 for proposal in inside.proposals)
    if moved >= needed:
        return inside
    outside = _outside(after(source, inside.proposals), snapshot, policy, needed - moved, inside.taken, now_ms)
    return LosslessRelief(
        (*inside.proposals, *outside.proposals),
        inside.taken | outside.taken,
        tuple(dict.fromkeys([*inside.against, *outside.against])),
    )


def _inside(source: LogDir, snapshot: ClusterSnapshot, policy: Policy, needed: int, now_ms: int) -> LosslessRelief:
    is_open = not snapshot.decisions.is_rejected(ActionKind.MOVE_LOG_DIR, place_target(source))
    moves = plan_moves(source, snapshot, policy, goal_bytes=needed) if is_open else Moves()
    proposals = apply_decisions(propose_move(source, moves, snapshot, policy, now_ms), snapshot.decisions)
    return LosslessRelief(tuple(proposals), frozenset(assignment.key for assignment in moves.assignments), moves.vetoes)


def _outside(
    source: LogDir,
    snapshot: ClusterSnapshot,
    policy: Policy,
    missing: int,
    taken: frozenset[TopicPartition],
    now_ms: int,
) -> LosslessRelief:
    is_open = not snapshot.decisions.is_rejected(ActionKind.REASSIGN, place_target(source))
    plan = plan_offload(source, snapshot, policy, missing, taken) if is_open else Offload()
    proposals = apply_decisions(propose_offload(source, plan, missing, snapshot, policy, now_ms), snapshot.decisions)
    assignments = plan.repair.assignments if plan.repair else ()
    return LosslessRelief(tuple(proposals), frozenset(assignment.key for assignment in assignments), plan.vetoes)
