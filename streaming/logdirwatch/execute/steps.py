"""The steps of an action's operations, in the order in which they are carried out, there or back."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from logdirwatch.model.actions.operations import Operation
from logdirwatch.model.vocabulary import OperationKind
from logdirwatch.plan.cluster.assignment import Assignment, from_json
from logdirwatch.plan.cluster.layout import TopicPartition
from logdirwatch.plan.commands.operations import from_record, limits_of, plan_of
from logdirwatch.plan.commands.throttles import Limits


@dataclass(frozen=True)
class SetConfig:
    """One configuration value; ``before`` are the values that it may replace. None: no value of the entity's own."""

    entity: str
    name: str
    key: str
    value: str | None
    before: tuple[str | None, ...]

    def __str__(self) -> str:
        what = f"{self.key} of {self.entity.removesuffix('s')} {self.name}"
        return f"delete {what}" if self.value is None else f"set {what} to {self.value}"


@dataclass(frozen=True)
class Throttle:
    """Limits for the time of the moves, each set only where none is set."""

    limits: Limits

    def __str__(self) -> str:
        listed = "; ".join(f"{one.key}={one.value} of {one.entity.removesuffix('s')} {one.name}" for one in self.limits)
        return f"set throttles where none is set: {listed}"


@dataclass(frozen=True)
class Move:
    """Partitions from where they are to where they are to be."""

    there: tuple[Assignment, ...]
    here: Mapping[TopicPartition, Assignment]

    def __str__(self) -> str:
        lines = (f"{one.label} to {_places(one)}" for one in self.there)
        return f"move {', '.join(lines)}"

    @property
    def brokers(self) -> frozenset[int]:
        """Every broker that has, gives or gets a replica."""
        found = {broker for one in (*self.there, *self.here.values()) for broker in one.replicas}
        return frozenset(found)


Step = SetConfig | Throttle | Move


def steps_of(operations: Iterable[Mapping[str, Any]], *, back: bool) -> list[Step]:
    """Return the steps of a record's operations; ``back`` those that undo them, the last operation first.

    Raises msgspec.ValidationError for an operation of a later release.
    """
    found = from_record(operations)
    return [step for one in (reversed(found) if back else found) for step in _steps(one, back=back)]


def _steps(operation: Operation, *, back: bool) -> Iterator[Step]:
    if operation.op is OperationKind.REASSIGN:
        yield from _moves(operation, back=back)
    elif operation.op is OperationKind.SET_TOPIC_CONFIG:
        args, inverse = operation.args, operation.inverse.args
        seen = operation.expect_before.value
        value, old = _text(args.value), _text(inverse.value)
        before = (value,) if back else tuple(dict.fromkeys((old, _text(seen))))
        yield SetConfig("topics", str(args.topic), str(args.key), old if back else value, before)
    else:
        args, inverse = operation.args, operation.inverse.args
        there, here = _listed(args.entries), _listed(inverse.entries)
        yield SetConfig(
            "brokers", str(args.broker), str(args.key), here if back else there, (there,) if back else (here,)
        )


def _moves(operation: Operation, *, back: bool) -> Iterator[Step]:
    args = operation.inverse.args if back else operation.args
    other = operation.args if back else operation.inverse.args
    limits = limits_of(args)
    if limits:
        yield Throttle(limits)
    here = {one.key: one for one in from_json(plan_of(other))}
    for wave in range(len(args.waves or [[]])):
        yield Move(from_json(plan_of(args, wave)), here)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _listed(entries: list[str] | None) -> str | None:
    """Return a list as Kafka shows it; an empty one is no value."""
    return ",".join(entries) if entries else None


def _places(one: Assignment) -> str:
    return " ".join(
        f"{broker}:{path}" if path != "any" else str(broker)
        for broker, path in zip(one.replicas, one.log_dirs, strict=True)
    )
