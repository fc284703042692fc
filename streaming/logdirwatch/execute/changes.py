"""What an execution has changed, partition by partition and value by value: only that is undone or cancelled. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from typing import Any

from msgspec import structs

from logdirwatch.execute.calls import Call, ChangeConfig, PlaceReplicas, Reassign
from logdirwatch.execute.packing import long_plan
from logdirwatch.execute.seen import Held
from logdirwatch.execute.step_kinds.cancel import Cancel
from logdirwatch.execute.step_kinds.elect import Elect
from logdirwatch.execute.step_kinds.move import Move
from logdirwatch.execute.step_kinds.order import Order
from logdirwatch.execute.step_kinds.set_config import SetConfig
from logdirwatch.execute.step_kinds.throttle import Throttle
from logdirwatch.execute.steps import Settle, Step, steps_of
from logdirwatch.model.identity import identity
from logdirwatch.model.records import ExecutionRecord, OwnLimit
from logdirwatch.plan.cluster.layout import TopicPartition
from logdirwatch.plan.commands.throttles import Limit

Change = TopicPartition | Held | tuple[str, str, str]
"""A partition, one of its replicas that is moved within its broker, or an entity, its name and a configuration key."""


def of_call(call: Call) -> frozenset[Change]:
    """Return what a call changes; an election is nothing that could be undone."""
    if isinstance(call, Reassign):
        return frozenset(call.replicas)
    if isinstance(call, PlaceReplicas):
        return frozenset(held[:2] for held in call.paths)
    return frozenset({(call.entity, call.name, call.key)} if isinstance(call, ChangeConfig) else ())


def steps(record: ExecutionRecord) -> list[Step]:
    """Return the steps of an execution: on the way back, only of what it has changed."""
    found = steps_of(record.operations, back=record.back)
    if not record.back:
        return found
    ours = changed(record)
    kept = [part for step in found if (part := part_of(step, ours)) is not None]
    last = max((number for number, step in enumerate(kept) if isinstance(step, Move)), default=-1)
    return [step for number, step in enumerate(kept) if number < last or not isinstance(step, Throttle | Settle)]


def part_of(step: Step, changes: Collection[Change]) -> Step | None:
    """Return the part of a step that makes some of the changes; None if it makes none of them."""
    if isinstance(step, Move):
        keys = {change[:2] for change in changes}
        moved = tuple(one for one in step.there if one.key in keys)
        rolling = None if step.rolling is None else step.rolling.only(changes)
        return replace(step, there=moved, rolling=rolling) if moved else None
    if isinstance(step, Cancel):
        moves = tuple(one for one in step.moves if one.key in changes)
        return replace(step, moves=moves) if moves else None
    if isinstance(step, Order):
        there = {key: replicas for key, replicas in step.there.items() if key in changes}
        return replace(step, there=there) if there else None
    if isinstance(step, Elect):
        leaders = {key: leader for key, leader in step.leaders.items() if key in changes}
        return replace(step, leaders=leaders) if leaders else None
    is_other = isinstance(step, SetConfig) and (step.entity, step.name, step.key) not in changes
    return None if is_other else step


def moves_of(found: Sequence[Step], record: ExecutionRecord) -> list[Move]:
    """Return the moves of which copies of this execution may run."""
    ours = changed(record)
    parts = (part_of(step, ours) for step in found[record.step :] if isinstance(step, Move))
    return [part for part in parts if isinstance(part, Move)]


def changed(record: ExecutionRecord) -> frozenset[Change]:
    """Return what an execution has changed, or was about to."""
    return read(record.changed, record.operations)


def begun(record: ExecutionRecord) -> frozenset[Change]:
    """Return what of an execution has begun in its present step."""
    return read(record.begun, record.operations)


Operations = Sequence[Mapping[str, Any]]
_PLANNED = "#"
"""In place of a topic's name: the numbers are those of a long plan's own places. As a throttle's value: its own."""


def written(changes: Iterable[Change], operations: Operations = ()) -> dict[str, str]:
    """Return changes as the journal has them: partitions as ranges by topic, or by topic and broker, values by name.

    What a long plan names itself is told by its number there.
    """
    found, numbers = dict[str, list[int]](), long_plan(operations).numbers
    for change in changes:
        if (number := numbers.get(change)) is not None:
            found.setdefault(_PLANNED, []).append(number)
        elif isinstance(change[1], int):
            found.setdefault(" ".join((change[0], *map(str, change[2:]))), []).append(change[1])
        else:
            found[" ".join(map(str, change))] = []
    return {name: _ranges(sorted(numbers)) for name, numbers in sorted(found.items())}


def read(found: Mapping[str, str], operations: Operations = ()) -> frozenset[Change]:
    """Return what :func:`written` wrote."""
    planned = (long_plan(operations).places[number] for number in _numbers(found.get(_PLANNED, "")))
    others = ((name.split(" "), ranges) for name, ranges in found.items() if name != _PLANNED)
    return frozenset(chain(planned, *(_read(name, ranges) for name, ranges in others)))


def limits(record: ExecutionRecord) -> list[Limit]:
    """Return the throttles that an execution recorded as its own."""
    planned = long_plan(record.operations).limits
    found = (Limit(one.entity, one.name, one.key, one.value) for one in record.limits)
    return [one._replace(value=planned[one[:3]]) if one.value == _PLANNED else one for one in found]


def with_limits(record: ExecutionRecord, limits: Iterable[Limit]) -> ExecutionRecord:
    """Return an execution with throttles as its own; those of a long plan are told without their value."""
    planned = long_plan(record.operations).limits
    own = [one._replace(value=_PLANNED) if planned.get(one[:3]) == one.value else one for one in limits]
    return structs.replace(record, limits=[OwnLimit(*one) for one in own])


def longest(record: ExecutionRecord) -> ExecutionRecord:
    """Return the longest record of a long plan: all of it has begun under all of its throttles."""
    plan = long_plan(record.operations)
    changed = written(plan.places, record.operations)
    ids = {topic: identity(topic) for topic, _, _ in plan.places}
    record = with_limits(record, (Limit(*one, value) for one, value in plan.limits.items()))
    return structs.replace(record, changed=changed, begun=changed, topic_ids=ids)


def _read(name: list[str], ranges: str) -> Iterator[Change]:
    if not ranges:
        entity, entity_name, key = name
        yield entity, entity_name, key
    for number in _numbers(ranges):
        yield (name[0], number) if len(name) == 1 else (name[0], number, int(name[1]))


def _ranges(numbers: Sequence[int]) -> str:
    """Return rising numbers as text: 0-2,5."""
    runs = groupby(enumerate(numbers), key=lambda placed: placed[1] - placed[0])
    found = [[number for _, number in run] for _, run in runs]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in found)


def _numbers(ranges: str) -> Iterator[int]:
    for part in filter(None, ranges.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
