"""``move_log_dir``: move replicas to other directories of the same broker."""

from collections.abc import Iterator, Mapping
from typing import Any

from logdirwatch.collect.kafka.answers import Quorum
from logdirwatch.model.actions.operations import Operation
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, ActionKind, OperationKind
from logdirwatch.plan.actions.action_type import ActionType, FixRole, Relief, frees_as_much, only
from logdirwatch.plan.actions.parts import frees
from logdirwatch.plan.actions.progress import directory_of
from logdirwatch.plan.actions.replicas.reassign import (
    CLEARS_THROTTLES,
    copying_progress,
    reasons_against_reassignment,
)
from logdirwatch.plan.capacity.copy_rates import (
    Pace,
    Waves,
    as_seen,
    in_waves,
    paced,
    seen_rate,
    sustained,
    throttle_free,
)
from logdirwatch.plan.capacity.projected_use import on_disk
from logdirwatch.plan.capacity.timing import copies_at_once, delete_delay_ms, in_time, place_target, time_to_full_ms
from logdirwatch.plan.cluster.assignment import to_json
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.operations import reassign, rendered, replicas_of
from logdirwatch.plan.commands.throttles import within_brokers
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, effect
from logdirwatch.plan.reassignment.running_copies import running_copies
from logdirwatch.plan.reassignment.throttles import unset
from logdirwatch.plan.reassignment.tool_run import (
    file_name,
    no_retention_cut,
    nothing_runs,
    refused_by_tool,
    undo_of_reassignment,
)
from logdirwatch.plan.reassignment.within_broker import Moves
from logdirwatch.text.units import human_bytes, human_in, human_ms
from logdirwatch.text.words import counted


def propose_move(source: LogDir, moves: Moves, snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return the action for planned moves, with a veto if every move has one; empty if none is planned."""
    if moves.assignments:
        return [_move(source, moves, snapshot, policy)]
    if not any(veto.name in HINDERING for veto in moves.vetoes):
        return []
    reason = f"moving replicas off {source.path} would help, but must not be done now"
    return [ProposedAction(ActionKind.MOVE_LOG_DIR, place_target(source), reason, effect(), vetoes=moves.vetoes)]


def _move(source: LogDir, moves: Moves, snapshot: ClusterSnapshot, policy: Policy) -> ProposedAction:
    seen = seen_rate(moves.bytes_in or {}, snapshot)
    rate = as_seen(moves.rate, policy.limits.log_dir_throttle_bytes_per_s, seen)
    broker = source.broker
    pace = Pace(source, rate, delete_delay_ms(broker, snapshot), copies_at_once(broker, snapshot))
    waves = in_waves(moves.sizes, pace)
    # One quota limits all copies inside a broker, so those that run already take their share of it (KIP-113).
    needs = waves.needs_ms + _shared_bytes(broker, snapshot) * 1000 // rate
    name = file_name(ActionKind.MOVE_LOG_DIR, source.place)
    # A limit that somebody set stays: it may protect what nothing here shows.
    limits = unset(within_brokers([broker], moves.rate), snapshot)
    plan, before = to_json(moves.assignments), to_json(moves.before)
    operation = reassign(
        plan,
        before,
        name,
        limits=limits,
        back=limits,
        waves=waves.groups,
        # The next wave needs the room of this one, whose files are deleted a minute after the swap by default
        # (log.segment.delete.delay.ms).
        settle_ms=pace.settles_ms if len(waves.groups) > 1 else None,
        beside=bool(snapshot.layout.reassigned),
    )
    refused = refused_by_tool(moves.assignments, snapshot)
    only_apply = "; only `logdirwatch apply` can do it, see its commands" if refused else ""
    usual, bandwidth = policy.limits.log_dir_throttle_bytes_per_s, policy.limits.disk_bandwidth_bytes_per_s
    return ProposedAction(
        kind=ActionKind.MOVE_LOG_DIR,
        target=place_target(source),
        reason=_why_move(source, moves, waves, pace, usual) + only_apply,
        expected=frees(
            source,
            moves.freed_bytes,
            needs_ms=needs,
            taken=moves.bytes_in,
            throttle_bytes_per_s=moves.rate,
            waves=len(waves.groups),
            # A file system that compresses frees less than the sizes that Kafka reports.
            in_time_bytes=int(waves.in_time_bytes * moves.on_disk_ratio),
            sets_limits=limits.as_data(),
        ),
        preconditions=(
            _in_time(source, waves, needs),
            *sustained(moves.rate, usual, bandwidth, seen),
            nothing_runs(snapshot),
            no_retention_cut(),
            throttle_free({broker: (LOG_DIR_THROTTLE,)}, snapshot),
        ),
        operations=(operation,),
        commands=refused or rendered([operation], policy.tools),
        reassignment=plan,
        undo=undo_of_reassignment(before, name, policy, limits, back=limits, snapshot=snapshot),
    )


def _why_move(source: LogDir, moves: Moves, waves: Waves, pace: Pace, usual: int) -> str:
    """Say what moves, whether it is enough, how fast it is copied, and in how many waves."""
    destinations = ", ".join(path for _, path in sorted(moves.bytes_in or {}))
    is_enough = moves.freed_bytes >= moves.needed_bytes and waves.is_in_time is not False
    enough = "enough" if is_enough else f"{human_bytes(moves.needed_bytes)} are needed"
    enough = on_disk(moves.moved_bytes, moves.freed_bytes) + enough
    left_ms, count = time_to_full_ms(source) if waves.is_in_time is False else None, len(waves.groups)
    in_turn = f"; in {count} waves, so that the first is free sooner (the broker's threads for copies: {pace.at_once})"
    return (
        f"move {human_bytes(moves.moved_bytes)} in {counted(len(moves.assignments), 'replica')} from {source.path} to "
        f"{destinations} of the same broker ({enough}) "
        f"{paced(moves.rate, usual, moves.moved_bytes, left_ms, pace.settles_ms)}; no other "
        f"broker is touched and no data is lost{in_turn if count > 1 else ''}"
    )


def _shared_bytes(broker: int, snapshot: ClusterSnapshot) -> int:
    """Return the bytes that other moves within the broker still have to copy under the same throttle."""
    within = (copy for copy in running_copies(snapshot) if copy.replica.is_future)
    return sum(copy.remaining_bytes for copy in within if copy.replica.broker == broker)


def _in_time(source: LogDir, waves: Waves, needs_ms: int) -> Precondition:
    """Whether the moves save the directory.

    With waves, whether each wave ends before the room that it relies on is full.
    """
    if len(waves.groups) == 1:
        return in_time(source, needs_ms)
    text = (
        f"all of it takes {human_ms(needs_ms)}, and {source.path} is full {human_in(time_to_full_ms(source))}; each "
        f"of {len(waves.groups)} waves ends before the space free at its start is full"
    )
    if waves.is_in_time is None and time_to_full_ms(source) is not None:
        text += ", only if the first begins at once"
    return Precondition("in_time", text, waves.is_in_time)


HINDERING = frozenset({"log_dir_offline", "log_dir_unknown", "slower_than_writes", "retention_waits"})
"""The vetoes of a move that are published, because a move is what people try first."""


def _source_serves(action: ActionRecord, snapshot: ClusterSnapshot, _quorum: Quorum | None) -> Iterator[str]:
    directory = directory_of(action, snapshot)
    # Kafka answers a move out of an offline directory with KafkaStorageException.
    if directory is not None and not directory.is_serving:
        yield f"{directory.path} of broker {directory.broker} is {directory.status}"


def _moves_within(operation: Operation, target: Mapping[str, Any]) -> bool:
    """Tell whether both sides of a reassignment name the same brokers for each partition."""
    there, here = (replicas_of(args.reassignment) for args in (operation.args, operation.inverse.args))
    return _REASSIGNS(operation, target) and all(there[key] == here[key] for key in there)


_REASSIGNS = only(OperationKind.REASSIGN)


ACTION_TYPE = ActionType(
    kind=ActionKind.MOVE_LOG_DIR,
    # Before reassign: it needs neither the network nor another broker's room.
    relief=Relief(if_in_time=2, if_not=0),
    fix_role=FixRole.MAKES_ROOM,
    progress=copying_progress,
    covers=frees_as_much,
    reasons_against=reasons_against_reassignment,
    follow_up=CLEARS_THROTTLES,
    live_check=_source_serves,
    changes_declared=False,
    executes=_moves_within,
    cluster_acls=("Alter", "AlterConfigs"),
)
