"""The steps of an action's operations, in the order in which they are carried out or undone."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from logdirwatch.execute.packing import unpacked
from logdirwatch.execute.step_kinds.cancel import Cancel
from logdirwatch.execute.step_kinds.elect import Elect
from logdirwatch.execute.step_kinds.move import Move
from logdirwatch.execute.step_kinds.order import Order
from logdirwatch.execute.step_kinds.rolling import Part, Rolling
from logdirwatch.execute.step_kinds.set_config import SetConfig
from logdirwatch.execute.step_kinds.throttle import Throttle
from logdirwatch.model.actions.operations import Operation, OperationArgs
from logdirwatch.model.actions.parts import Reassignment
from logdirwatch.model.vocabulary import OperationKind
from logdirwatch.plan.cluster.assignment import ANY, Assignment, from_json
from logdirwatch.plan.cluster.layout import TopicPartition
from logdirwatch.plan.commands.operations import limits_of, plan_of
from logdirwatch.text.units import human_ms


@dataclass(frozen=True)
class Settle:
    """A pause without calls (``file.delete.delay.ms``), during which old and new copies both use space."""

    delay_ms: int

    def __str__(self) -> str:
        return f"wait {human_ms(self.delay_ms)} until the old copies are deleted"


Step = SetConfig | Throttle | Move | Order | Elect | Cancel | Settle


def steps_of(operations: Sequence[Mapping[str, Any]] | None, *, back: bool) -> list[Step]:
    """Return the steps of a record's operations, if it has any; ``back``: those that undo them, the last one first.

    Raises msgspec.ValidationError for an operation of a later release.
    """
    found = unpacked(operations or ())
    steps = [step for one in (reversed(found) if back else found) for step in _STEPS[one.op](one, back)]
    return steps[:-1] if steps and isinstance(steps[-1], Settle) else steps


def _topic_config(operation: Operation, back: bool) -> Iterator[Step]:
    args, inverse = operation.args, operation.inverse.args
    seen = operation.expect_before.value
    value, old = _text(args.value), _text(inverse.value)
    before = (value,) if back else tuple(dict.fromkeys((old, _text(seen))))
    yield SetConfig("topics", str(args.topic), str(args.key), old if back else value, before)


def _broker_list(operation: Operation, back: bool) -> Iterator[Step]:
    args, inverse = operation.args, operation.inverse.args
    there, here = _listed(args.entries), _listed(inverse.entries)
    value, before = (here, there) if back else (there, here)
    yield SetConfig("brokers", str(args.broker), str(args.key), value, (before,))


def _moves(operation: Operation, back: bool) -> Iterator[Step]:
    args = operation.inverse.args if back else operation.args
    other = operation.args if back else operation.inverse.args
    limits = limits_of(args)
    if limits:
        yield Throttle(limits)
    here = {one.key: one for one in from_json(plan_of(other))}
    for wave in range(len(args.waves or [[]])):
        there = from_json(plan_of(args, wave))
        moves = tuple(_back(one, here[one.key]) for one in there) if back else there
        yield Move(moves, here, _rolling(args, there, here))
        if args.settle_ms:
            yield Settle(args.settle_ms)


def _back(one: Assignment, made: Assignment) -> Assignment:
    """Return the way back of what was made: a replica for which no directory was named is left where it is."""
    kept = [broker in made.replicas and made.directory_of(broker) == ANY for broker in one.replicas]
    paths = (ANY if is_kept else path for is_kept, path in zip(kept, one.log_dirs, strict=True))
    return replace(one, log_dirs=tuple(paths))


def _rolling(
    args: OperationArgs, there: Sequence[Assignment], here: Mapping[TopicPartition, Assignment]
) -> Rolling | None:
    """Return the order of an operation's copies, if it has one."""
    if args.rolling is None:
        return None
    parts = []
    for copy in args.rolling.copies:
        one, at = there[copy.partition], copy.replica
        source, target = ((side.replicas[at], side.log_dirs[at]) for side in (here[one.key], one))
        parts.append(Part(one.key, at, copy.bytes, source, target))
    return Rolling(
        tuple(parts),
        {(one.broker, one.log_dir): one.bytes for one in args.rolling.room},
        args.rolling.log_dir_bytes_per_s,
        args.rolling.replication_bytes_per_s,
        args.settle_ms or 0,
    )


def _preferred(operation: Operation, back: bool) -> Iterator[Step]:
    """Yield the order and then the election, for the undo too: before the order, an election would elect as before."""
    args, inverse = operation.args, operation.inverse.args
    there, here = (
        _replicas(inverse.reassignment if back else args.reassignment),
        _replicas(args.reassignment if back else inverse.reassignment),
    )
    yield Order(there, here)
    yield Elect({key: replicas[0] for key, replicas in there.items()})


def _election(operation: Operation, back: bool) -> Iterator[Step]:
    """Yield the election; it has no undo, leaders move with the next election."""
    named = None if back else operation.args.election
    if named is not None:
        yield Elect(dict.fromkeys((one.topic, one.partition) for one in named.partitions))


def _cancelling(operation: Operation, back: bool) -> Iterator[Step]:
    args, inverse = operation.args, operation.inverse.args
    goals, before = plan_of(inverse), operation.expect_after.reassignment
    if not back:
        yield Cancel(from_json(plan_of(args)), _replicas(inverse.reassignment), _replicas(before))
        return
    if limits := limits_of(inverse):
        yield Throttle(limits)
    here = {key: Assignment(*key, found, (ANY,) * len(found)) for key, found in _replicas(before).items()}
    yield Move(from_json(goals), here)


def _limits(operation: Operation, back: bool) -> Iterator[Step]:
    if operation.op is OperationKind.SET_THROTTLES:
        back = not back
    for one in limits_of(operation.args):
        value, before = (one.value, None) if back else (None, one.value)
        yield SetConfig(one.entity, one.name, one.key, value, (before,))


_STEPS: Mapping[OperationKind, Callable[[Operation, bool], Iterator[Step]]] = {
    OperationKind.SET_TOPIC_CONFIG: _topic_config,
    OperationKind.SET_BROKER_LIST: _broker_list,
    OperationKind.REASSIGN: _moves,
    OperationKind.PREFER_LEADERS: _preferred,
    OperationKind.ELECT_LEADERS: _election,
    OperationKind.CANCEL_MOVES: _cancelling,
    OperationKind.CLEAR_THROTTLES: _limits,
    OperationKind.SET_THROTTLES: _limits,
}


def _replicas(plan: Reassignment | None) -> dict[TopicPartition, tuple[int, ...]]:
    partitions = () if plan is None else plan.partitions
    return {(one.topic, one.partition): tuple(one.replicas) for one in partitions}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _listed(entries: list[str] | None) -> str | None:
    """Return a list as Kafka shows it; an empty one means no value."""
    return ",".join(entries) if entries else None
