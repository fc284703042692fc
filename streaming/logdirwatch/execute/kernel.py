"""The safety kernel: it alone decides what may be called next, and how an execution may end. Pure.

1. No call without an intent that names what was seen. It is decided again after the intent is written and before the
   call: if that differs, nothing is called.
2. Never fewer in-sync replicas than without us. A copy is cancelled only while an old replica is in sync.
3. At every end no copy of ours runs, or it keeps its throttle, and the journal names it.
4. What we did not set we do not change or remove; what we set is removed when nothing needs it, entity by entity.
5. What somebody cancelled, created again or changed is theirs: it is never begun again or overwritten.
6. Every wait has an end.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from logdirwatch.execute.calls import Call, PlaceReplicas, Reassign
from logdirwatch.execute.decide import decide
from logdirwatch.execute.outcomes import Do, Next, Stuck
from logdirwatch.execute.seen import Entity, Held, PartitionSeen, Seen
from logdirwatch.execute.step_kinds.move import Move
from logdirwatch.execute.step_kinds.settle import Settle
from logdirwatch.execute.step_kinds.throttle import Throttle
from logdirwatch.execute.steps import Step
from logdirwatch.model.records import ExecutionRecord
from logdirwatch.model.records.executions import ExecutionState
from logdirwatch.plan.cluster.assignment import Assignment
from logdirwatch.plan.commands.throttles import Limit

STALLED_MS = 1_800_000
"""How long an execution waits without a byte of progress; longer than a broker needs to start."""


def next_of(step: Step, seen: Seen, record: ExecutionRecord) -> Next:
    """Return what may be done about the present step of an execution."""
    for topic, topic_id in sorted(seen.topic_ids.items()):
        if record.topic_ids.get(topic, topic_id) != topic_id:
            return Stuck(f"topic {topic} was deleted and created again since it began")
    if isinstance(step, Move) and not is_ours(record) and is_running(step, seen):
        return Stuck(f"somebody else has begun already to {step}")
    found = decide(step, seen, limits_of(record))
    if isinstance(step, Move) and isinstance(found, Do) and has_begun(record):
        return _not_again(step, found, seen)
    return found


def begins(found: Do) -> bool:
    """Tell whether calls begin all of a step: one that also cancels what runs the other way does not yet."""
    return not any(isinstance(call, Reassign) and None in call.replicas.values() for call in found.calls)


def has_begun(record: ExecutionRecord) -> bool:
    """Tell whether the calls of the present step were made."""
    return record.begun_step == record.step + 1


def is_running(step: Step, seen: Seen) -> bool:
    """Tell whether a copy of a step runs: its calls were made, by this process or by one before it."""
    return isinstance(step, Move) and any(
        _goes_there(one, seen.partitions.get(one.key)) or any(_copies_within(one, step.here[one.key], seen))
        for one in step.there
    )


def _goes_there(one: Assignment, partition: PartitionSeen | None) -> bool:
    return partition is not None and bool(partition.adding) and set(partition.goal) == set(one.replicas)


def is_ours(record: ExecutionRecord) -> bool:
    """Tell whether copies of the present step may be of this execution: the intent to begin them was written.

    Records from before that field do not say of which step.
    """
    has_called = record.step > 0 or record.state in {ExecutionState.STARTED, ExecutionState.COPYING}
    is_old = record.intended_step is None and has_called
    return record.back or record.is_turned or is_old or record.intended_step == record.step + 1


def may_call(call: Call, again: Next) -> bool:
    """Tell whether a call may be made: what is seen after its intent was written leads to the same call."""
    return isinstance(again, Do) and call in again.calls


def limits_of(record: ExecutionRecord) -> list[Limit]:
    """Return the throttles that an execution recorded as its own."""
    return [Limit(one.entity, one.name, one.key, one.value) for one in record.limits]


def _not_again(step: Move, found: Do, seen: Seen) -> Next:
    """Refuse to begin again what has begun: where all is as before, somebody cancelled it."""
    for call in found.calls:
        if isinstance(call, Reassign):
            for (topic, partition), replicas in call.replicas.items():
                if replicas is not None:
                    return _cancelled(f"{topic}-{partition}")
        elif isinstance(call, PlaceReplicas):
            for held, path in call.paths.items():
                if _is_as_before(step, held, path, seen):
                    return _cancelled(f"{held[0]}-{held[1]} to {path} of broker {held[2]}")
    return found


def _cancelled(what: str) -> Stuck:
    """Say it once two looks in a row show it: brokers learn a little later than the controller what was called."""
    return Stuck(f"somebody cancelled the move of {what}: it is not begun again", is_certain=False)


def _is_as_before(step: Move, held: Held, path: str, seen: Seen) -> bool:
    here, copy = step.here[held[:2]], seen.replicas.get(held)
    before = here.directory_of(held[2]) if held[2] in here.replicas else None
    return before is not None and copy is not None and copy.path == before != path and held not in seen.futures


def throttle_before(steps: Sequence[Step], number: int) -> Throttle | None:
    """Return the throttles under which the copies of a step run."""
    for step in reversed(steps[:number]):
        if isinstance(step, Throttle):
            return step
        if not isinstance(step, Move | Settle):
            return None
    return None


def moves_to_end(record: ExecutionRecord, steps: Sequence[Step]) -> list[Move]:
    """Return the moves of which copies may run: the present one, and on the way back every one that is left."""
    is_turned = record.back or record.is_turned
    left = steps[record.step :] if is_turned else steps[record.step : record.step + is_ours(record)]
    return [step for step in left if isinstance(step, Move)]


@dataclass(frozen=True)
class Ending:
    """How copies end: the calls that cancel them, by copy, those that go on, and what a cancellation leaves behind."""

    cancels: Mapping[str, Call]
    goes_on: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()


def ending(step: Move, seen: Seen, *, must_end: bool) -> Ending:
    """Return how the copies of a step or of its undo end; completed moves stay.

    A reassignment is cancelled while any old replica is in sync: what the new ones have, that one has too. A copy
    between directories is cancelled at any time, but before Kafka 4.2 the broker then neither deletes nor compacts the
    partition until it restarts (KAFKA-19458): it may end by itself, unless it ``must_end``.
    """
    cancels: dict[str, Call] = {}
    goes_on: list[str] = []
    leaves: list[str] = []
    for one in step.there:
        partition, here = seen.partitions.get(one.key), step.here[one.key]
        for held, path in _copies_within(one, here, seen):
            within = f"{one.label} within broker {held[2]}"
            if seen.stops_cleaning and not must_end:
                goes_on.append(f"{within}, since a cancellation would stop its cleaning")
                continue
            cancels[within] = PlaceReplicas({held: path})
            if seen.stops_cleaning:
                leaves.append(_not_cleaned(one.label, held[2]))
        if partition is not None and _goes_there_or_back(one, here, partition):
            if partition.can_be_cancelled:
                cancels[one.label] = Reassign({one.key: None})
            else:
                goes_on.append(f"{one.label}, since none of the replicas that it had is in sync")
    return Ending(cancels, tuple(goes_on), tuple(leaves))


def _not_cleaned(label: str, broker: int) -> str:
    return (
        f"before Kafka 4.2 retention and compaction of {label} on broker {broker} stay off until that broker restarts "
        "(KAFKA-19458)"
    )


def _goes_there_or_back(one: Assignment, here: Assignment, partition: PartitionSeen) -> bool:
    is_running = bool(partition.adding or partition.removing)
    return is_running and set(partition.goal) in (set(one.replicas), set(here.replicas))


def _copies_within(one: Assignment, here: Assignment, seen: Seen) -> Iterable[tuple[Held, str]]:
    """Yield our running copies between directories, each with the directory that it leaves."""
    for broker, path in one.chosen:
        held = (*one.key, broker)
        copy, future = seen.replicas.get(held), seen.futures.get(held)
        ours = {path, here.directory_of(broker)} if broker in here.replicas else {path}
        if copy is not None and future is not None and future.path != copy.path and future.path in ours:
            yield held, copy.path


def by_entity(limits: Iterable[Limit]) -> Mapping[Entity, list[Limit]]:
    """Return throttles by entity: each is cleared for itself, so that one that is gone does not keep the others."""
    found: dict[Entity, list[Limit]] = {}
    for one in limits:
        found.setdefault((one.entity, one.name), []).append(one)
    return found


class Patience:
    """Counts how long an execution waits without progress, in time that is waited, whatever the clocks do."""

    def __init__(self) -> None:
        self._best: dict[object, int] = {}
        self._waited_ms = 0

    def is_lost(self, done: Mapping[object, int], waits_ms: int) -> bool:
        """Tell whether it has waited too long; ``waits_ms`` is how long it waits now.

        ``done`` is how far things have come, none of them if nothing can be seen. Only the best so far is progress: a
        broker that comes and goes, or a copy that begins again, makes none.
        """
        if any(value > self._best.get(key, -1) for key, value in done.items()):
            self._waited_ms = 0
        self._best |= {key: max(value, self._best.get(key, value)) for key, value in done.items()}
        self._waited_ms += waits_ms
        return self._waited_ms > STALLED_MS
