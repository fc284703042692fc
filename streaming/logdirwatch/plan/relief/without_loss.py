"""Actions that free space in a filling directory without losing data: moves, and opening closed space.

The broker's own directories come first, then other brokers, then local copies of what remote storage has. Only if these
do not free enough in time, the owner of a throttle is asked to raise it, a cordoned directory is opened, or a broker
that is down is to be brought back.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, LogDirStatus
from logdirwatch.plan.actions.brokers.investigate import ask_to_raise
from logdirwatch.plan.actions.parts import check
from logdirwatch.plan.actions.replicas.move_log_dir import propose_move
from logdirwatch.plan.actions.replicas.reassign import propose_offload
from logdirwatch.plan.actions.replicas.uncordon_log_dir import propose_uncordon_for
from logdirwatch.plan.actions.topics.lower_retention import propose_cut
from logdirwatch.plan.capacity.copy_rates import foreign, throttle
from logdirwatch.plan.capacity.projected_use import CLEARLY_LESS_RATIO, Space, is_same_volume, less_full_than
from logdirwatch.plan.capacity.timing import in_time, place_target, time_to_full_ms
from logdirwatch.plan.cluster.assignment import keys_in
from logdirwatch.plan.cluster.layout import TopicPartition, grown_bytes
from logdirwatch.plan.cluster.snapshot import Broker, ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import LOG_DIRS, QUORUM
from logdirwatch.plan.commands.throttles import from_data
from logdirwatch.plan.operator_decisions import apply_decisions
from logdirwatch.plan.proposal import Policy, ProposedAction, Veto
from logdirwatch.plan.reassignment.between_brokers import Offload, plan_offload
from logdirwatch.plan.reassignment.throttles import SETS_LIMITS, rates_of
from logdirwatch.plan.reassignment.within_broker import Moves, plan_moves
from logdirwatch.plan.relief.freed_bytes import after, freed_by, is_in_time
from logdirwatch.plan.retention.planner import plan_cuts
from logdirwatch.plan.retention.plateau import with_plateau
from logdirwatch.text.units import human_bytes, human_in, human_ms

ROUNDS = 3
"""How often more is moved off a directory that would be full again."""


@dataclass(frozen=True)
class LosslessRelief:
    """The actions, the partitions that they move or cut, and why there are not more."""

    proposals: tuple[ProposedAction, ...] = ()
    taken: frozenset[TopicPartition] = frozenset()
    against: tuple[Veto, ...] = ()
    cut: frozenset[TopicPartition] = frozenset()


def relieve_without_loss(source: LogDir, snapshot: ClusterSnapshot, policy: Policy, needed: int) -> LosslessRelief:
    """Return the moves that free what a directory needs, and the alternatives if they do not."""
    if needed <= 0:
        return LosslessRelief()
    found = _lasting_moves(source, snapshot, policy, needed)
    if not all(map(_is_sure, found.proposals)):
        local = _local_cuts(source, snapshot, policy, needed)
        found = LosslessRelief() if freed_by(local, source) >= needed else found
    proposals = list(found.proposals)
    if freed_by(proposals, source) < needed:
        asked = _ask_to_raise(
            source, snapshot, policy, proposals, lambda free: _moves(source, free, policy, needed).proposals
        )
        proposals += apply_decisions(asked, snapshot.decisions)
    local = _local_cuts(source, snapshot.without(found.taken), policy, needed - freed_by(proposals, source))
    proposals += local
    cut = frozenset(p.key for proposal in local for p in snapshot.topics[str(proposal.target["topic"])].partitions)
    for more in (propose_look_at_unknown, propose_uncordons, propose_return_of_broker):
        missing = needed - freed_by(proposals, source)
        if missing > 0:
            proposals += apply_decisions(more(source, snapshot, policy, missing), snapshot.decisions)
    return LosslessRelief(tuple(proposals), found.taken, found.against, cut)


def _is_sure(move: ProposedAction) -> bool:
    """Tell whether a move is in time, and at a rate that its disks are known to sustain."""
    is_paced = all(one.holds for one in move.preconditions if one.name == "rate_sustained")
    return not move.vetoes and is_paced and is_in_time(move) is not False


def _local_cuts(source: LogDir, snapshot: ClusterSnapshot, policy: Policy, missing: int) -> list[ProposedAction]:
    """Return the cuts of local copies of tiered topics: remote storage keeps what is deleted (KIP-405)."""
    here = {replica.topic for replica in snapshot.replicas_in(source.place)}
    if missing <= 0 or not any(snapshot.topics[name].is_tiered for name in here & snapshot.topics.keys()):
        return []
    cuts = plan_cuts(source, snapshot, policy, missing).cuts
    proposals = (propose_cut(source, cut, snapshot, policy, is_moving=False) for cut in cuts if not cut.way.loses_data)
    return apply_decisions(proposals, snapshot.decisions)


def _lasting_moves(source: LogDir, snapshot: ClusterSnapshot, policy: Policy, needed: int) -> LosslessRelief:
    """Return moves that free what is needed, or more if the directory were full again before room can be added.

    If the largest replicas are not those that grow, these alone may do better. What is moved more may be what does not
    grow, so that still more is needed.
    """
    best = _moves(source, snapshot, policy, needed)
    least = _short_bytes(source, best, snapshot, policy)
    if least <= 0 or not snapshot.growth or freed_by(best.proposals, source) < needed:
        return best
    steady = {one.key for one in snapshot.replicas_in(source.place) if (snapshot.growth_of(one) or 0.0) <= 0}
    for one in (snapshot, snapshot.without(steady)):
        wanted, short = needed, least
        for _ in range(ROUNDS):
            wanted += short
            way = _moves(source, one, policy, wanted)
            short = _short_bytes(source, way, snapshot, policy)
            best, least = (way, short) if short < least else (best, least)
            if least <= 0:
                return best
    return best


def _short_bytes(source: LogDir, moves: LosslessRelief, snapshot: ClusterSnapshot, policy: Policy) -> int:
    """Return what a directory lacks, after moves, to last as long as it takes to add room."""
    return short_bytes(after(with_plateau(source, snapshot, moves.taken), moves.proposals), policy)


def short_bytes(left: LogDir, policy: Policy) -> int:
    """Return what a directory lacks to last as long as it takes to add room; 0 as well where its end is not known."""
    full_ms, lasts_ms = time_to_full_ms(left), policy.limits.fleet_cuts_last_ms
    if full_ms is None or full_ms >= lasts_ms:
        return 0
    grown, by_then = (grown_bytes(left.endless_bytes_per_s, left.ramps, until_ms) for until_ms in (full_ms, lasts_ms))
    return int(by_then - grown) + 1


def _moves(source: LogDir, snapshot: ClusterSnapshot, policy: Policy, needed: int) -> LosslessRelief:
    """Return moves within the broker, and to other brokers for what is left.

    Late moves within the broker only if those to other brokers alone do not free enough in time.
    """
    inside = _inside(source, snapshot, less_full_than(source, snapshot, policy, CLEARLY_LESS_RATIO), needed)
    policy = less_full_than(source, snapshot, policy)
    is_late = any(is_in_time(proposal) is False for proposal in inside.proposals)
    if is_late:
        outside = _outside(source, snapshot, policy, needed)
        if freed_by(outside.proposals, source) >= needed:
            return outside
    moved = sum(proposal.expected["frees_bytes"] or 0 for proposal in inside.proposals)
    if moved >= needed:
        return inside
    rest = snapshot.without(inside.taken)
    outside = _outside(after(source, inside.proposals), rest, policy, needed - moved)
    return LosslessRelief(
        (*inside.proposals, *outside.proposals),
        inside.taken | outside.taken,
        tuple(dict.fromkeys([*inside.against, *outside.against])),
    )


def _inside(source: LogDir, snapshot: ClusterSnapshot, policy: Policy, needed: int) -> LosslessRelief:
    is_open = not snapshot.decisions.is_rejected(ActionKind.MOVE_LOG_DIR, place_target(source))
    moves = plan_moves(source, snapshot, policy, goal_bytes=needed) if is_open else Moves()
    proposals = apply_decisions(propose_move(source, moves, snapshot, policy), snapshot.decisions)
    return LosslessRelief(tuple(proposals), frozenset(assignment.key for assignment in moves.assignments), moves.vetoes)


def _outside(source: LogDir, snapshot: ClusterSnapshot, policy: Policy, missing: int) -> LosslessRelief:
    is_open = not snapshot.decisions.is_rejected(ActionKind.REASSIGN, place_target(source))
    plan = plan_offload(source, snapshot, policy, missing) if is_open else Offload()
    proposals = apply_decisions(propose_offload(source, plan, missing, snapshot, policy), snapshot.decisions)
    # What a veto keeps where it is may be cut: it is perhaps what fills the directory.
    moved = frozenset(key for one in proposals if not one.vetoes for key in keys_in(one.reassignment))
    return LosslessRelief(tuple(proposals), moved, plan.vetoes)


# A throttle that no plan of logdirwatch set belongs to somebody: it may protect clients, or another move. So it is
# neither raised nor cleared here; the action names the broker, the value, and the rate that would be in time.
def _ask_to_raise(
    source: LogDir,
    snapshot: ClusterSnapshot,
    policy: Policy,
    moves: Sequence[ProposedAction],
    plan: Callable[[ClusterSnapshot], Sequence[ProposedAction]],
) -> list[ProposedAction]:
    """Return the request to raise the throttles that make ``moves`` late; empty if none does.

    ``plan`` plans the moves on another snapshot.
    """
    free = replace(snapshot, brokers={number: _without(broker) for number, broker in snapshot.brokers.items()})
    if free.brokers == snapshot.brokers:
        return []
    better = [proposal for proposal in plan(free) if not proposal.vetoes and proposal.reassignment is not None]
    more = freed_by(better, source) - freed_by(moves, source)
    found = {one: wanted for proposal in better for one, wanted in _binding(proposal, source, snapshot)}
    if more <= 0 or not found:
        return []
    needs, left_ms = sum(proposal.expected["needs_ms"] for proposal in better), time_to_full_ms(source)
    full = "" if left_ms is None else f", before {source.path} is full {human_in(left_ms)}"
    then = (
        f"then {human_bytes(more)} more of {source.path} of broker {source.broker} can be moved away in "
        f"{human_ms(needs)}{full}, and no data is lost"
    )
    expected = {"then_needs_ms": needs, "back_bytes": more, "throttle_bytes_per_s": max(found.values())}
    asked = ask_to_raise(place_target(source), found, then, policy, **expected)
    return [replace(asked, preconditions=(in_time(source, needs),))]


def _binding(
    proposal: ProposedAction, source: LogDir, snapshot: ClusterSnapshot
) -> Iterable[tuple[tuple[int, str, int], int]]:
    """Yield the throttles of others that slow down a move, each with the rate that the move needs."""
    wanted = _needed_rate(proposal, source, snapshot)
    for broker, rates in from_data(proposal.expected[SETS_LIMITS]).brokers.items():
        for limit in foreign({broker: rates}, snapshot):
            if limit[2] < wanted:
                yield limit, wanted


def _needed_rate(proposal: ProposedAction, source: LogDir, snapshot: ClusterSnapshot) -> int:
    """Return the lowest rate with which a move takes at most half of the time left, and outpaces what is written to it.

    Never more than the planned rate.
    """
    planned: int = proposal.expected["throttle_bytes_per_s"]
    left_ms = time_to_full_ms(source)
    if left_ms is None:
        return planned
    copied = planned * proposal.expected["needs_ms"] // 1000
    written = sum(snapshot.growth_of_partitions.get(key, 0.0) for key in set(keys_in(proposal.reassignment)))
    return throttle(1, planned, copied, left_ms, 0, written)


def _without(broker: Broker) -> Broker:
    """Return a broker without throttles."""
    limits = rates_of(broker.configs)
    return replace(broker, configs={key: value for key, value in broker.configs.items() if key not in limits})


# Space that exists but is closed: by what is unknown, by cordons, on brokers that are down. It comes before anything is
# deleted. People set a cordon and often forget it; its directory then stays unused.
MOST = 3
"""How many closed directories are considered, the emptiest first."""
BRING_BACK, UNKNOWN_LOG_DIRS = "bring_back", "unknown_log_dirs"


def propose_look_at_unknown(
    source: LogDir, snapshot: ClusterSnapshot, policy: Policy, missing: int
) -> list[ProposedAction]:
    """Return the advice to find out the state of the broker's unknown directories; empty if no move waits for it."""
    unknown, there = snapshot.unknown_in(source.broker), _as_serving(source.broker, snapshot)
    then = _moved(source, source.broker, there, policy, missing) if unknown else None
    if then is None:
        return []
    frees, needs = then.expected["frees_bytes"], then.expected["needs_ms"]
    reason = (
        f"find out the state of {', '.join(unknown)} on broker {source.broker}: Kafka moves nothing inside a broker "
        f"while a directory is offline; if none is, {human_bytes(frees)} of {source.path} can be moved there in "
        f"{human_ms(needs)} without loss"
    )
    commands = [policy.tools.call(LOG_DIRS, "--describe", "--broker-list", str(source.broker))]
    look = check(place_target(source), UNKNOWN_LOG_DIRS, reason, commands, then_needs_ms=needs, back_bytes=frees)
    return [replace(look, preconditions=(in_time(source, needs),))]


def propose_uncordons(source: LogDir, snapshot: ClusterSnapshot, policy: Policy, missing: int) -> list[ProposedAction]:
    """Return the uncordoning that gives most room, the own broker's first; empty if none gives any."""
    for directory in _cordoned(source, snapshot, policy):
        opened = snapshot.with_directories([replace(directory, is_cordoned=False)])
        if (then := _moved(source, directory.broker, opened, policy, missing)) is not None:
            return [propose_uncordon_for(source, directory, then, snapshot, policy)]
    return []


def propose_return_of_broker(
    source: LogDir, snapshot: ClusterSnapshot, policy: Policy, missing: int
) -> list[ProposedAction]:
    """Return the advice to bring back a fenced or stopped broker whose directories have the room."""
    for broker in _brokers_down(source, snapshot):
        back = replace(broker, status=BrokerStatus.ONLINE, is_fenced=False)
        there = _as_serving(broker.id, replace(snapshot, brokers={**snapshot.brokers, broker.id: back}))
        if (then := _moved(source, broker.id, there, policy, missing)) is not None:
            return [_bring_back(source, broker, then, snapshot, policy)]
    return []


def _cordoned(source: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> list[LogDir]:
    """Return the cordoned directories with room for others: the own broker's first, those that stay, the emptiest."""
    space = Space(snapshot)
    found = [d for d in snapshot.directories.values() if _may_open(source, d, snapshot)]
    filled = [(ratio, d) for d in found if (ratio := space.ratio(d.place)) is not None]
    fitting = [(ratio, d) for ratio, d in filled if ratio < policy.limits.destination_max_ratio]
    fitting.sort(
        key=lambda one: (one[1].broker != source.broker, snapshot.is_leaving(one[1].broker), one[0], one[1].place)
    )
    return [directory for _, directory in fitting][:MOST]


def _may_open(source: LogDir, directory: LogDir, snapshot: ClusterSnapshot) -> bool:
    return (
        directory.is_cordoned is True
        and directory.place != source.place
        and (
            directory.status is LogDirStatus.ONLINE or (source.is_urgent and keeps_room_for_others(directory, snapshot))
        )
        and not directory.is_suspect
        and not directory.is_marked
        and snapshot.cordoning.get(directory.place) is not True
        and snapshot.is_alive(directory.broker)
        and not snapshot.brokers[directory.broker].is_suspect
        and not is_same_volume(source, directory)
    )


def keeps_room_for_others(directory: LogDir, snapshot: ClusterSnapshot) -> bool:
    """Tell whether an urgent directory may need the room of one that is filling and less full than most.

    Where the whole cluster runs short, every directory with room is filling. A cordon there would close the last room.
    """
    if directory.status is not LogDirStatus.FILLING or directory.used_bytes is None:
        return False
    measured = [d for d in snapshot.directories.values() if d.is_serving and d.used_bytes is not None]
    used, total = sum(d.used_bytes or 0 for d in measured), sum(d.total_bytes or 0 for d in measured)
    is_less_full = directory.used_bytes * total < used * (directory.total_bytes or 0)
    return is_less_full and any(d.is_urgent for d in measured)


def _moved(source: LogDir, broker: int, opened: ClusterSnapshot, policy: Policy, missing: int) -> ProposedAction | None:
    """Return the move, inside the broker or to others, that is possible on a snapshot with more room; None: none is."""
    if broker == source.broker:
        found = _inside(source, opened, policy, missing)
    else:
        found = _outside(source, opened, policy, missing)
    return next((proposal for proposal in found.proposals if not proposal.vetoes), None)


def _brokers_down(source: LogDir, snapshot: ClusterSnapshot) -> Iterator[Broker]:
    """Yield the brokers that are not alive, those with most free bytes first."""
    free = {
        number: sum(d.usable_bytes or 0 for d in snapshot.directories_of.get(number, ()))
        for number, broker in snapshot.brokers.items()
        if not broker.is_alive and number != source.broker
    }
    for number in sorted((n for n in free if free[n] > 0), key=lambda n: (-free[n], n))[:MOST]:
        yield snapshot.brokers[number]


def _as_serving(broker: int, snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Return the snapshot as if a broker's directories served: those of a broker that is down are unknown."""
    unknown = (d for d in snapshot.directories_of.get(broker, ()) if d.status is LogDirStatus.UNKNOWN)
    return snapshot.with_directories(replace(d, status=LogDirStatus.ONLINE) for d in unknown if not d.is_suspect)


def _bring_back(
    source: LogDir, broker: Broker, then: ProposedAction, snapshot: ClusterSnapshot, policy: Policy
) -> ProposedAction:
    free = sum(d.usable_bytes or 0 for d in snapshot.directories_of[broker.id])
    state = "fenced" if broker.is_fenced and not broker.is_zookeeper else str(broker.status)
    frees, needs = then.expected["frees_bytes"], then.expected["needs_ms"]
    reason = (
        f"bring broker {broker.id} back, it is {state}: its directories had {human_bytes(free)} free when last seen, "
        f"and {human_bytes(frees)} of {source.path} can then be moved there in {human_ms(needs)} without loss"
    )
    commands = [] if broker.is_zookeeper else [policy.tools.call(QUORUM, "describe", "--replication")]
    step = f"{BRING_BACK} {broker.id}"
    return check(place_target(source), step, reason, commands, then_needs_ms=needs, back_bytes=frees)
