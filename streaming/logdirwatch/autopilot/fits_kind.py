"""The operations must match the kind: permission to write actions must not allow more than the kind does."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from logdirwatch.autopilot.facts import Facts
from logdirwatch.model.actions.operations import Operation, OperationArgs
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import (
    LOG_DIR_THROTTLE,
    REPLICATION_THROTTLES,
    THROTTLED_REPLICAS,
    ActionKind,
    OperationKind,
)
from logdirwatch.plan.cluster.cordons import KEY as CORDONED
from logdirwatch.plan.commands.operations import from_record, replicas_of

RETENTION_KEYS = frozenset({"retention.ms", "retention.bytes", "local.retention.ms", "local.retention.bytes"})
_RATES = frozenset({*REPLICATION_THROTTLES, LOG_DIR_THROTTLE})
_LISTS = frozenset(THROTTLED_REPLICAS)


def reason(action: ActionRecord, _facts: Facts, _now_ms: int) -> str | None:
    """Return the operation that does something else than the action's kind."""
    fits = _FITS.get(action.kind)
    for operation in from_record(action.operations or ()):
        if fits is None or not fits(operation, action.target):
            return f"has an operation that {action.kind} must not have: {operation.op}"
        if not all(_limits_only(args) for args in (operation.args, operation.inverse.args)):
            return "has throttles that are something else"
    return None


def _is_retention(operation: Operation, target: Mapping[str, Any]) -> bool:
    args, back = operation.args, operation.inverse.args
    named = target.get("topic")
    return (
        _is(operation, OperationKind.SET_TOPIC_CONFIG)
        and args.key in RETENTION_KEYS
        and (args.topic, args.key) == (back.topic, back.key)
        and named in {None, args.topic}
    )


def _is_cordon(operation: Operation, target: Mapping[str, Any]) -> bool:
    args, back = operation.args, operation.inverse.args
    if not _is(operation, OperationKind.SET_BROKER_LIST) or {args.key, back.key} != {CORDONED}:
        return False
    changed = set(args.entries or ()) ^ set(back.entries or ())
    return args.broker == back.broker == target.get("broker") and changed == {target.get("log_dir")}


def _is_move_within(operation: Operation, target: Mapping[str, Any]) -> bool:
    return _is_move_between(operation, target) and all(there == here for there, here in _replicas(operation))


def _is_move_between(operation: Operation, _target: Mapping[str, Any]) -> bool:
    return _is(operation, OperationKind.REASSIGN)


def _is_order(operation: Operation, _target: Mapping[str, Any]) -> bool:
    return _is(operation, OperationKind.PREFER_LEADERS)


def _is_election(operation: Operation, _target: Mapping[str, Any]) -> bool:
    return _is(operation, OperationKind.ELECT_LEADERS)


def _is_cancel(operation: Operation, _target: Mapping[str, Any]) -> bool:
    return _is(operation, OperationKind.CANCEL_MOVES, OperationKind.REASSIGN)


def _is_clear(operation: Operation, _target: Mapping[str, Any]) -> bool:
    return _is(operation, OperationKind.CLEAR_THROTTLES, OperationKind.SET_THROTTLES)


def _is(operation: Operation, kind: OperationKind, inverse: OperationKind | None = None) -> bool:
    return operation.op is kind and operation.inverse.op is (inverse or kind)


def _replicas(operation: Operation) -> Iterator[tuple[list[int], list[int]]]:
    """Return the new and the old replicas of each partition: both sides name the same ones."""
    there, here = (replicas_of(args.reassignment) for args in (operation.args, operation.inverse.args))
    return ((there[key], here[key]) for key in there)


def _limits_only(args: OperationArgs) -> bool:
    """Tell whether all keys of the throttles are keys of throttles: any other would be set just the same.

    Those of a move must be on topics that it moves.
    """
    if args.limits is None:
        return True
    moved = {topic for topic, _ in replicas_of(args.reassignment)}
    return (
        all(set(rates) <= _RATES for rates in args.limits.brokers.values())
        and all(set(lists) <= _LISTS for lists in args.limits.topics.values())
        and (args.reassignment is None or set(args.limits.topics) <= moved)
    )


_FITS: Mapping[ActionKind, Callable[[Operation, Mapping[str, Any]], bool]] = {
    ActionKind.LOWER_RETENTION: _is_retention,
    ActionKind.RESTORE_RETENTION: _is_retention,
    ActionKind.CORDON_LOG_DIR: _is_cordon,
    ActionKind.UNCORDON_LOG_DIR: _is_cordon,
    ActionKind.MOVE_LOG_DIR: _is_move_within,
    ActionKind.REASSIGN: _is_move_between,
    ActionKind.DEMOTE_LEADERS: _is_order,
    ActionKind.ELECT_LEADERS: _is_election,
    ActionKind.CANCEL_MOVES: _is_cancel,
    ActionKind.CLEAR_THROTTLES: _is_clear,
}
