"""What actions of several kinds are made of: manual steps, checks, operations with their commands, freed bytes."""

from collections.abc import Iterable, Mapping
from typing import Any

from logdirwatch.model.actions.operations import Operation
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.capacity.timing import time_to_full_ms
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import LogDir
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.commands.operations import rendered
from logdirwatch.plan.proposal import Policy, ProposedAction, effect


def host_notes(broker: int | None, *steps: str) -> tuple[str, ...]:
    """Return manual steps on a broker's host."""
    return tuple(note(f"On broker {broker}'s host: {step}") for step in steps)


def check(
    target: Mapping[str, Any], step: str, reason: str, commands: Iterable[str] = (), **expected: Any
) -> ProposedAction:
    """Return what a person looks at, or does on a host: Kafka itself carries out none of it."""
    return ProposedAction(
        kind=ActionKind.INVESTIGATE,
        target={**target, "step": step},
        reason=reason,
        expected=effect(**expected),
        commands=tuple(commands),
    )


def carried_out_by(
    policy: Policy, *operations: Operation, before: Mapping[str, Any] | None = None, **undo: Any
) -> dict[str, Any]:
    """Return the fields that follow from an action's operations: their commands, and the way back.

    In a record ``before`` stands in front of the commands of the way back.
    """
    back = [operation.inverse for operation in operations]
    return {
        "operations": operations,
        "commands": rendered(operations, policy.tools),
        "undo": {**(before or {}), "commands": list(rendered(back, policy.tools)), **undo},
    }


def bytes_at(sizes: Mapping[LogDirId, int]) -> list[dict[str, Any]]:
    """Return what directories gain, or lose as negative bytes, in the format of records."""
    return [{"broker": broker, "log_dir": path, "bytes": size} for (broker, path), size in sorted(sizes.items())]


def frees(
    source: LogDir,
    size_bytes: int,
    *,
    needs_ms: int | None = None,
    taken: Mapping[LogDirId, int] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return ``expected`` of an action that frees bytes in a directory; ``taken`` is what others get instead."""
    return effect(
        frees_bytes=size_bytes,
        needs_ms=needs_ms,
        **{
            "on": [*bytes_at({source.place: size_bytes}), *bytes_at({at: -size for at, size in (taken or {}).items()})],
            "time_to_full_after_ms": time_to_full_ms(source, size_bytes),
            **more,
        },
    )
