"""The operations of actions, and the commands rendered from them: both do the same."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from logdirwatch.model.actions import parts
from logdirwatch.model.actions.expected import Election
from logdirwatch.model.actions.operations import Expectation, Inverse, Operation, OperationArgs, Rolling
from logdirwatch.model.vocabulary import OperationKind
from logdirwatch.plan.commands.kafka_tools import Tools, reassignment_lines, set_broker_list, write_file
from logdirwatch.plan.commands.throttles import ANY, Limits, from_data

_NOTHING = Expectation()


def _operation(
    op: OperationKind,
    args: OperationArgs,
    back: OperationArgs,
    *,
    before: Expectation = _NOTHING,
    after: Expectation = _NOTHING,
    undone_by: OperationKind | None = None,
) -> Operation:
    """Return an operation, which another one undoes with the arguments ``back``, by default one of its kind."""
    inverse = Inverse(op=undone_by or op, args=back)
    return Operation(op=op, args=args, expect_before=before, expect_after=after, inverse=inverse)


def _plan(plan: Mapping[str, Any]) -> parts.Reassignment:
    return msgspec.convert(plan, parts.Reassignment)


def topic_config(topic: str, key: str, value: str | None, *, now: str | None, old: str | None) -> Operation:
    """Return the operation that sets a topic's value, None to delete its override.

    ``now`` is the effective value, ``old`` the one that undoing sets: None if the topic has no override.
    """
    args, back = (OperationArgs(topic=topic, key=key, value=to) for to in (value, old))
    before, after = Expectation(value=now), Expectation(value=value)
    return _operation(OperationKind.SET_TOPIC_CONFIG, args, back, before=before, after=after)


def broker_list(broker: int, key: str, values: Sequence[str], *, old: Sequence[str]) -> Operation:
    """Return the operation that sets a broker's whole list; an empty one deletes the broker's own value."""
    args, back = (OperationArgs(broker=broker, key=key, entries=list(to)) for to in (values, old))
    before, after = Expectation(entries=list(old)), Expectation(entries=list(values))
    return _operation(OperationKind.SET_BROKER_LIST, args, back, before=before, after=after)


def reassign(
    plan: Mapping[str, Any],
    before: Mapping[str, Any],
    name: str,
    *,
    limits: Limits,
    back: Limits,
    waves: Iterable[Iterable[int]] = (),
    settle_ms: int | None = None,
    rolling: tuple[Rolling, Rolling] | None = None,
    beside: bool = False,
) -> Operation:
    """Return the operation that gives partitions other replicas or directories; both plans in Kafka's format.

    ``name`` is the file of its commands; ``waves`` are indexes into the plan's partitions, by default all at once;
    ``limits`` and ``back`` are the throttles of the move and of its undo; ``settle_ms`` is how long the old copies are
    kept; ``rolling`` is of the move and of its undo; ``beside`` says that other reassignments run.
    """
    every = [list(range(len(plan["partitions"])))]
    there, here = _plan(plan), _plan(before)

    def args(
        of: parts.Reassignment, file: str, throttles: Limits, groups: list[list[int]], way: Rolling | None
    ) -> OperationArgs:
        return OperationArgs(
            file=file,
            reassignment=of,
            waves=groups if way is None else None,
            settle_ms=settle_ms,
            rolling=way,
            limits=msgspec.convert(throttles.as_data(), parts.Limits),
            additional=beside,
        )

    way, way_back = rolling or (None, None)
    return _operation(
        OperationKind.REASSIGN,
        args(there, name, limits, [list(wave) for wave in waves] or every, way),
        args(here, f"undo-{name}", back, every, way_back),
        before=Expectation(reassignment=here),
        after=Expectation(reassignment=there),
    )


def prefer_leaders(
    order: Mapping[str, Any], before: Mapping[str, Any], name: str, *, beside: bool = False
) -> Operation:
    """Return the operation that reorders the replicas of partitions and elects the first; in Kafka's format."""
    there, here = _plan(order), _plan(before)
    return _operation(
        OperationKind.PREFER_LEADERS,
        OperationArgs(file=name, reassignment=there, additional=beside),
        OperationArgs(file=f"undo-{name}", reassignment=here, additional=beside),
        before=Expectation(reassignment=here),
        after=Expectation(reassignment=there),
    )


def elect_leaders(election: Mapping[str, Any], name: str) -> Operation:
    """Return the operation that elects the preferred leaders of partitions; its inverse does nothing."""
    args = OperationArgs(file=name, election=msgspec.convert(election, Election))
    return _operation(OperationKind.ELECT_LEADERS, args, OperationArgs(file=name, election=Election(partitions=[])))


def cancel_moves(
    moves: Mapping[str, Any], goals: Mapping[str, Any], before: Mapping[str, Any], name: str, *, again: Limits
) -> Operation:
    """Return the operation that cancels moves; all arguments in Kafka's format.

    ``moves`` are passed to the tool, ``goals`` are their destinations, ``before`` is what the partitions keep, and
    ``again`` are the throttles for moves that the undo starts again.
    """
    started = reassign(goals, before, name, limits=again, back=Limits())
    return _operation(
        OperationKind.CANCEL_MOVES,
        OperationArgs(file=name, reassignment=_plan(moves)),
        started.args,
        before=started.expect_after,
        after=started.expect_before,
        undone_by=OperationKind.REASSIGN,
    )


def clear_throttles(limits: Limits) -> Operation:
    """Return the operation that deletes throttles if they still have these values; its inverse sets them again."""
    args = OperationArgs(limits=msgspec.convert(limits.as_data(), parts.Limits))
    return _operation(OperationKind.CLEAR_THROTTLES, args, args, undone_by=OperationKind.SET_THROTTLES)


def sets_declared(operation: Operation | Inverse) -> bool:
    """Tell whether an operation sets a configuration, which a repository or an operator may declare."""
    match operation.op:
        case OperationKind.SET_TOPIC_CONFIG | OperationKind.SET_BROKER_LIST:
            return True
        case (
            OperationKind.REASSIGN
            | OperationKind.PREFER_LEADERS
            | OperationKind.ELECT_LEADERS
            | OperationKind.CANCEL_MOVES
            | OperationKind.CLEAR_THROTTLES
            | OperationKind.SET_THROTTLES
        ):
            return False


def rendered(operations: Iterable[Operation | Inverse], tools: Tools) -> tuple[str, ...]:
    """Return the commands that carry out operations."""
    return tuple(command for operation in operations for command in _commands(operation.op, operation.args, tools))


def as_data(operations: Iterable[Operation]) -> list[dict[str, Any]]:
    """Return operations in the format of action records."""
    return [msgspec.to_builtins(operation) for operation in operations]


UNKNOWN = "has operations that this release does not know, or that contradict themselves"
NOT_KNOWN = (msgspec.MsgspecError, LookupError, TypeError, ValueError)
"""What reading operations raises if they are of a later release, or forged."""


def from_record(found: Iterable[Mapping[str, Any]] | None) -> list[Operation]:
    """Read what :func:`as_data` wrote; None: nothing.

    Raises msgspec.ValidationError for an operation of a later release, and ValueError for one that contradicts itself.
    """
    return _coherent(msgspec.convert(list(found or ()), list[Operation]))


_OF_PARTITIONS = frozenset({OperationKind.REASSIGN, OperationKind.PREFER_LEADERS, OperationKind.CANCEL_MOVES})


def _coherent(found: list[Operation]) -> list[Operation]:
    """Return operations that name the same partitions wherever they name them, and lower no replication factor.

    An order of replicas has the same ones on both sides.
    """
    for one in (one for one in found if one.op in _OF_PARTITIONS):
        there, here = replicas_of(one.args.reassignment), replicas_of(one.inverse.args.reassignment)
        sides = [there, here] + [replicas_of(one.expect_after.reassignment)] * (one.op is OperationKind.CANCEL_MOVES)
        if not there or any(side.keys() != there.keys() for side in sides):
            msg = f"{one.op} names other partitions than its undo or what it expects"
            raise ValueError(msg)
        if one.op is OperationKind.REASSIGN and any(len(set(there[key])) < len(here[key]) for key in there):
            msg = f"{one.op} lowers the replication factor of a partition"
            raise ValueError(msg)
        if not all(_is_rolling(args) for args in (one.args, one.inverse.args)):
            msg = f"{one.op} has an order of other copies than it makes"
            raise ValueError(msg)
        if one.op is OperationKind.PREFER_LEADERS and any(set(there[key]) != set(here[key]) for key in there):
            msg = f"{one.op} changes the replicas of a partition"
            raise ValueError(msg)
    return found


def _is_rolling(args: OperationArgs) -> bool:
    """Tell whether an operation's order is one of the copies that it makes: of every replica with a named directory."""
    if args.rolling is None:
        return True
    partitions = [] if args.reassignment is None else args.reassignment.partitions
    named = {
        (number, at)
        for number, one in enumerate(partitions)
        for at, path in enumerate(one.log_dirs or ())
        if path != ANY
    }
    ordered = [(one.partition, one.replica) for one in args.rolling.copies]
    return set(ordered) == named and len(ordered) == len(named) and args.waves is None


ANOTHER_TOPIC = "is another topic than the one it was planned for: deleted and created again, or of another cluster"
"""The end of a sentence about a topic whose id is not the one that an action names."""


def other_topics(meant: Mapping[str, str], now: Mapping[str, str | None]) -> list[str]:
    """Return the topics whose id is known now and is not the one that is meant; both are ids by name."""
    return sorted(name for name, known in meant.items() if now.get(name) not in {None, known})


def topics_of(args: OperationArgs) -> set[str]:
    """Return the topics that an operation changes."""
    moved = args.reassignment.partitions if args.reassignment else ()
    elected = args.election.partitions if args.election else ()
    return {one.topic for one in (*moved, *elected)} | ({args.topic} if args.topic else set())


def replicas_of(plan: parts.Reassignment | None) -> dict[tuple[str, int], list[int]]:
    """Return the replicas by partition; none of a plan that names a partition or a replica twice."""
    partitions = () if plan is None else plan.partitions
    found = {(one.topic, one.partition): one.replicas for one in partitions}
    is_clear = len(found) == len(partitions) and all(len(set(replicas)) == len(replicas) for replicas in found.values())
    return found if is_clear else {}


def undone_to(found: Iterable[Mapping[str, Any]], old: Mapping[str, Mapping[str, str | None]]) -> list[dict[str, Any]]:
    """Return operations of an action whose undo sets the values ``old``, by topic and key."""
    return as_data(_undone_to(one, old.get(str(one.args.topic), {})) for one in from_record(found))


def _undone_to(one: Operation, values: Mapping[str, str | None]) -> Operation:
    key = str(one.args.key)
    if one.op is not OperationKind.SET_TOPIC_CONFIG or key not in values:
        return one
    back = OperationArgs(topic=one.args.topic, key=key, value=values[key])
    return msgspec.structs.replace(one, inverse=Inverse(op=one.op, args=back))


def plan_of(args: OperationArgs, wave: int | None = None) -> dict[str, Any]:
    """Return the reassignment of an operation, or of one of its waves, in the format of Kafka's tool."""
    plan: dict[str, Any] = msgspec.to_builtins(args.reassignment)
    if wave is None or args.waves is None:
        return plan
    return {**plan, "partitions": [plan["partitions"][index] for index in args.waves[wave]]}


def limits_of(args: OperationArgs) -> Limits:
    """Return the throttles of an operation."""
    return Limits() if args.limits is None else from_data(msgspec.to_builtins(args.limits))


def _reassign(args: OperationArgs, tools: Tools) -> Iterator[str]:
    """Yield the commands; each wave ends before the next begins, and the whole plan is available for cancelling."""
    name, limits, beside = str(args.file), limits_of(args), bool(args.additional)
    count = len(args.waves or ())
    if count <= 1:
        yield from tools.reassign(plan_of(args), name, limits=limits, beside=beside)
        return
    yield write_file(name, reassignment_lines(plan_of(args)))
    yield from tools.set_limits(limits, name)
    for wave in range(count):
        yield from tools.reassign(plan_of(args, wave), f"wave-{wave + 1}-{name}", limits=Limits(), beside=beside)
    yield from tools.clear_limits(limits, name)


def _commands(op: OperationKind, args: OperationArgs, tools: Tools) -> Iterator[str]:
    name = str(args.file)
    match op:
        case OperationKind.SET_TOPIC_CONFIG:
            value = args.value if isinstance(args.value, str) else None
            yield tools.set_topic_config(str(args.topic), str(args.key), value)
        case OperationKind.SET_BROKER_LIST:
            if args.broker is not None:
                yield set_broker_list(tools, args.broker, str(args.key), args.entries or ())
        case OperationKind.REASSIGN:
            yield from _reassign(args, tools)
        case OperationKind.PREFER_LEADERS:
            plan = plan_of(args)
            yield from tools.reassign(plan, name, limits=Limits(), beside=bool(args.additional))
            yield from tools.elect([(one["topic"], one["partition"]) for one in plan["partitions"]], f"elect-{name}")
        case OperationKind.ELECT_LEADERS:
            if args.election is not None and args.election.partitions:
                yield from tools.elect([(one.topic, one.partition) for one in args.election.partitions], name)
        case OperationKind.CANCEL_MOVES:
            # All throttles stay, since their owner is unknown. Without --preserve-throttles the tool clears those of
            # every broker, and fails on one that is down (Kafka 4.3.1 ReassignPartitionsCommand, KAFKA-13392).
            yield write_file(name, reassignment_lines(plan_of(args)))
            yield tools.cancel(name)
        case OperationKind.CLEAR_THROTTLES | OperationKind.SET_THROTTLES:
            change = tools.set_limits if op is OperationKind.SET_THROTTLES else tools.clear_limits
            yield from change(limits_of(args))
