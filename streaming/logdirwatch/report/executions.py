"""Executions of actions, from their journal: progress, what a person does next, and result. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from logdirwatch.execute.steps import steps_of
from logdirwatch.executions import ways_on
from logdirwatch.model.record_part import in_common
from logdirwatch.model.records import ActionRecord, ExecutionRecord
from logdirwatch.model.records.executions import ENDED
from logdirwatch.model.vocabulary import MOVES, ExecutionState
from logdirwatch.text.units import human_bytes, human_ms


class Execution(Struct, kw_only=True):
    """An execution as of its last record.

    ``steps`` are all of its steps as text, ``steps_done`` is the number of completed ones; ``steps`` is None if a later
    release wrote its operations. ``next_step`` is what a person does now, with ``commands``; None if there is nothing
    to do.
    """

    execution_id: str
    action_id: str
    kind: str
    cluster: str
    state: str
    is_undo: bool
    steps_done: int
    steps: list[str] | None
    planned_bytes: int | None
    reason: str | None
    by: str
    started_at_ms: int
    at_ms: int
    next_step: str | None
    commands: list[str]

    @property
    def is_running(self) -> bool:
        """Whether it is in progress, or would be if its process was started again."""
        return self.state not in {*ENDED, ExecutionState.STUCK}

    @property
    def is_stuck(self) -> bool:
        """Whether it needs a person."""
        return self.state == ExecutionState.STUCK

    @property
    def what(self) -> str:
        """The kind of the action, and whether it is being undone."""
        return f"undo of {self.kind}" if self.is_undo else self.kind

    @property
    def progress(self) -> str:
        """The progress as text."""
        if self.steps is None:
            return f"{self.steps_done} steps done"
        step = min(self.steps_done + 1, len(self.steps))
        size = f", {human_bytes(self.planned_bytes)} to copy" if self.planned_bytes and self.kind in MOVES else ""
        return f"step {step} of {len(self.steps)}{size}"


class Compared(NamedTuple):
    """The expected and the observed effect of an execution; "unknown" if it could not be observed."""

    what: str
    expected: str
    observed: str


_of_record = in_common(ExecutionRecord, Execution)


def execution(record: ExecutionRecord) -> Execution:
    """Return an execution as of its last record."""
    advice, commands = _next_step(record)
    return Execution(
        **_of_record(record),
        is_undo=record.back,
        steps_done=record.step,
        steps=planned_steps(record.operations, back=record.back),
        planned_bytes=record.bytes,
        next_step=advice,
        commands=commands,
    )


def planned_steps(operations: Sequence[Mapping[str, Any]], *, back: bool = False) -> list[str] | None:
    """Return the steps of a record's operations in words, or of their undo; None if a later release wrote them."""
    try:
        return [str(step) for step in steps_of(operations, back=back)]
    except (msgspec.ValidationError, KeyError, TypeError, ValueError):
        return None


def _next_step(record: ExecutionRecord) -> tuple[str | None, list[str]]:
    if record.state is ExecutionState.STUCK:
        advice = "remove the reason, then go on" if record.back else "remove the reason, then go on or go back"
        return advice, ways_on(record)
    if record.state is ExecutionState.DONE and not record.back:
        return "it can be undone", [f"logdirwatch apply --undo {record.action_id}"]
    return (None, []) if record.state in ENDED else ("go on if its process has ended", ways_on(record)[:1])


def unfinished(records: Iterable[ExecutionRecord]) -> list[Execution]:
    """Return the running and stuck executions: stuck ones first, then in the order in which they began."""
    found = [execution(record) for record in records]
    return sorted(
        (one for one in found if one.is_running or one.is_stuck), key=lambda one: (not one.is_stuck, one.started_at_ms)
    )


def current(newest_first: Iterable[Execution]) -> tuple[list[Execution], list[Execution]]:
    """Return the running and stuck executions, stuck ones first, and the others.

    A stuck execution followed by another one of its action, such as its undo, no longer needs a person.
    """
    seen: set[str] = set()
    unfinished: list[Execution] = []
    others: list[Execution] = []
    for one in newest_first:
        is_last = one.action_id not in seen
        seen.add(one.action_id)
        (unfinished if is_last and (one.is_running or one.is_stuck) else others).append(one)
    return sorted(unfinished, key=lambda one: not one.is_stuck), others


def counts(executions: Sequence[Execution]) -> str:
    """Return how many are running and stuck, such as ``1 stuck, 2 running``; empty for none."""
    stuck = sum(one.is_stuck for one in executions)
    found = ((stuck, "stuck"), (len(executions) - stuck, "running"))
    return ", ".join(f"{count} {word}" for count, word in found if count)


def compared(one: Execution, action: ActionRecord | None) -> list[Compared]:
    """Return expected against observed: the time by the journal, the bytes by the inventories."""
    if action is None or one.is_undo:
        return []
    return list(_compared(one, action))


def _compared(one: Execution, action: ActionRecord) -> Iterator[Compared]:
    expected, observed = action.expected, action.observed or {}
    took = one.at_ms - one.started_at_ms if one.state == ExecutionState.DONE else None
    if expected.get("needs_ms") or took is not None:
        yield Compared("time", _ms(expected.get("needs_ms")), _ms(took))
    for name, what in (("frees_bytes", "freed"), ("copies_bytes", "copied")):
        if expected.get(name) or observed.get(name):
            yield Compared(what, _bytes(expected.get(name)), _bytes(observed.get(name)))
    if isinstance(observed.get("of"), int):
        yield Compared("steps of its target seen", str(observed["of"]), str(observed.get("reached", "unknown")))


def _ms(value: object) -> str:
    return human_ms(value) if isinstance(value, int) else "unknown"


def _bytes(value: object) -> str:
    return human_bytes(value) if isinstance(value, int) else "unknown"
