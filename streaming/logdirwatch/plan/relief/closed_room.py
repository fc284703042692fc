"""Space that exists but is closed: cordoned directories, and brokers that are down.

Both come before anything is deleted. People set a cordon and often forget it; its directory then stays unused.
"""

from collections.abc import Iterator
from dataclasses import replace

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, LogDirStatus
from logdirwatch.plan.actions.replicas.move_log_dir import propose_move
from logdirwatch.plan.actions.replicas.reassign import propose_offload
from logdirwatch.plan.actions.replicas.uncordon_log_dir import propose_uncordon_for
from logdirwatch.plan.capacity.projected_use import Space, is_same_volume
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.snapshot import Broker, ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import QUORUM
from logdirwatch.plan.proposal import Policy, ProposedAction, effect
from logdirwatch.plan.reassignment.between_brokers import Offload, plan_offload
from logdirwatch.plan.reassignment.within_broker import plan_moves
from logdirwatch.text.units import human_bytes, human_ms

MOST = 3
"""How many closed directories are considered, the emptiest first."""
BRING_BACK = "bring_back"


def propose_uncordons(
    source: LogDir, snapshot: ClusterSnapshot, policy: Policy, missing: int, now_ms: int
) -> list[ProposedAction]:
    """Return the uncordoning that gives most room, the own broker's first; empty if none gives any."""
    for directory in _cordoned(source, snapshot, policy):
        then = _move_without_cordon(source, directory, snapshot, policy, missing, now_ms)
        if then is not None:
            return [propose_uncordon_for(source, directory, then, snapshot, policy)]
    return []


def propose_return_of_broker(
    source: LogDir, snapshot: ClusterSnapshot, policy: Policy, missing: int, now_ms: int
) -> list[ProposedAction]:
    """Return the advice to bring back a fenced or stopped broker whose directories have the room."""
    for broker in _brokers_down(source, snapshot):
        back = replace(broker, status=BrokerStatus.ONLINE, is_fenced=False)
        there = replace(snapshot, brokers={**snapshot.brokers, broker.id: back})
        proposals = _offloaded(source, _as_serving(broker.id, there), policy, missing, now_ms)
        then = next((proposal for proposal in proposals if not proposal.vetoes), None)
        if then is not None:
            return [_bring_back(source, broker, then, snapshot, policy)]
    return []


def _cordoned(source: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> list[LogDir]:
    """Return the cordoned directories with room for others, the own broker's first, then the emptiest."""
    space = Space(snapshot)
    found = [d for d in snapshot.directories.values() if _may_open(source, d, snapshot)]
    filled = [(d.broker != source.broker, ratio, d) for d in found if (ratio := space.ratio(d.place)) is not None]
    fitting = [one for one in filled if one[1] < policy.limits.destination_max_ratio]
    return [directory for _, _, directory in sorted(fitting, key=lambda one: (one[0], one[1], one[2].place))][:MOST]


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


def _move_without_cordon(
    source: LogDir, directory: LogDir, snapshot: ClusterSnapshot, policy: Policy, missing: int, now_ms: int
) -> ProposedAction | None:
    """Return the move into a directory that would be possible without its cordon."""
    opened = replace(
        snapshot, directories={**snapshot.directories, directory.place: replace(directory, is_cordoned=False)}
    )
    if directory.broker == source.broker:
        moves = plan_moves(source, opened, policy, goal_bytes=missing)
        proposals = propose_move(source, moves, opened, policy, now_ms) if moves.assignments else []
    else:
        proposals = _offloaded(source, opened, policy, missing, now_ms)
    return next((proposal for proposal in proposals if not proposal.vetoes), None)


def _offloaded(
    source: LogDir, snapshot: ClusterSnapshot, policy: Policy, missing: int, now_ms: int
) -> list[ProposedAction]:
    plan: Offload = plan_offload(source, snapshot, policy, missing, frozenset())
    return propose_offload(source, plan, missing, snapshot, policy, now_ms)


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
    back = {
        d.place: replace(d, status=LogDirStatus.ONLINE)
        for d in snapshot.directories_of.get(broker, ())
        if d.status is LogDirStatus.UNKNOWN and not d.is_suspect
    }
    return replace(snapshot, directories={**snapshot.directories, **back})


def _bring_back(
    source: LogDir, broker: Broker, then: ProposedAction, snapshot: ClusterSnapshot, policy: Policy
) -> ProposedAction:
    free = sum(d.usable_bytes or 0 for d in snapshot.directories_of[broker.id])
    state = "fenced" if broker.is_fenced and not broker.is_zookeeper else str(broker.status)
    frees, needs = then.expected["frees_bytes"], then.expected["needs_ms"]
    return ProposedAction(
        kind=ActionKind.INVESTIGATE,
        target={**place_target(source), "step": f"{BRING_BACK} {broker.id}"},
        reason=f"bring broker {broker.id} back, it is {state}: its directories had {human_bytes(free)} free when last "
        f"seen, and {human_bytes(frees)} of {source.path} can then be moved there in {human_ms(needs)} without loss",
        expected=effect(then_needs_ms=needs, back_bytes=frees),
        commands=() if broker.is_zookeeper else (policy.tools.call(QUORUM, "describe", "--replication"),),
    )
