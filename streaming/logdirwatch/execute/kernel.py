"""The safety kernel: it alone decides what may be called next, and how an execution may end. Pure.

1. No call without an intent that names what was seen. It is decided again after the intent is written and before the
   call: if that differs, nothing is called.
2. Never fewer in-sync replicas than without us. A copy is cancelled only while an old replica is in sync.
3. At every end no copy of ours runs, or it keeps its throttle, and the journal names it.
4. What we did not set we do not change or remove; what we set is removed when nothing needs it, entity by entity.
5. What somebody cancelled, created again or changed is theirs: it is never begun again or overwritten.
6. Every wait has an end.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from logdirwatch.execute import changes
from logdirwatch.execute.calls import Call, Do, Next, PlaceReplicas, Reached, Reassign, Stuck, Wait
from logdirwatch.execute.changes import Change
from logdirwatch.execute.decide import decide
from logdirwatch.execute.seen import Copy, Entity, Held, PartitionSeen, Seen
from logdirwatch.execute.step_kinds import rolling
from logdirwatch.execute.step_kinds.move import Move, progress
from logdirwatch.execute.step_kinds.throttle import Throttle
from logdirwatch.execute.steps import Settle, Step
from logdirwatch.model.records import ExecutionRecord
from logdirwatch.model.records.executions import ExecutionState
from logdirwatch.plan.cluster.assignment import Assignment
from logdirwatch.plan.cluster.layout import TopicPartition
from logdirwatch.plan.commands.operations import ANOTHER_TOPIC, other_topics
from logdirwatch.plan.commands.throttles import Limit
from logdirwatch.plan.reassignment.running_copies import not_cleaned

Begun = TopicPartition | Held
"""A reassignment, or a copy between the directories of a broker."""
NONE = frozenset[Begun]()


def next_of(step: Step, seen: Seen, record: ExecutionRecord) -> Next:
    """Return what may be done about the present step of an execution."""
    if (theirs := next(_theirs(step, seen, record), None)) is not None:
        return Stuck(theirs)
    begun = changes.begun(record)
    now, waits = _present(step, seen, begun) if isinstance(step, Move) else (step, None)
    found = decide(now, seen, changes.limits(record))
    if not isinstance(step, Move):
        return found
    if isinstance(found, Do):
        return _not_again(step, found, seen, begun)
    if isinstance(found, Wait) or (isinstance(found, Reached) and waits is not None):
        return Wait(progress(step, seen), found.why if isinstance(found, Wait) else waits)
    return found


def _theirs(step: Step, seen: Seen, record: ExecutionRecord) -> Iterator[str]:
    """Yield what somebody else did to the partitions of a step."""
    for topic in other_topics(record.topic_ids, seen.topic_ids):
        yield f"{topic} {ANOTHER_TOPIC}"
    ours = changes.changed(record)
    for topic, partition in sorted(one[:2] for one in running(step, seen) if not {one, one[:2]} & ours):
        yield f"somebody else has begun already to move {topic}-{partition}"
    for topic, partition in () if has_turned(record) else sorted(_led_back(step, seen)):
        yield f"somebody else moves {topic}-{partition} back"


def _present(step: Move, seen: Seen, begun: Collection[Change] = ()) -> tuple[Move, str | None]:
    """Return the part of a move that is decided now, and why the rest of it waits; None if nothing does."""
    if step.rolling is None:
        return step, None
    there, here, waits = rolling.present(step.there, step.here, step.rolling, seen, begun)
    return Move(there, here), waits


def begun_by(step: Move, call: Call, seen: Seen) -> frozenset[Begun]:
    """Return what a call begins: not what it only cancels, nor the place of a replica that does not exist yet.

    Where the copies of a partition begin one after the other, each is named by its own replica.
    """
    if isinstance(call, PlaceReplicas):
        return frozenset(held for held in call.paths if held in seen.replicas)
    if not isinstance(call, Reassign):
        return NONE
    begun = [(key, replicas) for key, replicas in call.replicas.items() if replicas is not None]
    if step.rolling is None:
        return frozenset(key for key, _ in begun)
    known = {key: seen.partitions[key].replicas if key in seen.partitions else () for key, _ in begun}
    return frozenset((*key, broker) for key, replicas in begun for broker in replicas if broker not in known[key])


def changed_by(step: Step, call: Call, seen: Seen) -> frozenset[Change]:
    """Return what a call changes: where copies of a partition begin one after the other, replica by replica.

    The place of a replica that does not exist yet changes nothing: somebody else may add that replica.
    """
    if not isinstance(step, Move) or (step.rolling is None and not isinstance(call, PlaceReplicas)):
        return changes.of_call(call)
    begun = begun_by(step, call, seen)
    return frozenset(begun) if step.rolling is not None else frozenset(one[:2] for one in begun)


def running(step: Step, seen: Seen) -> frozenset[Begun]:
    """Return the copies of a step that run: their calls were made, by whatever process."""
    if not isinstance(step, Move):
        return NONE
    if step.rolling is not None:
        return rolling.running(step.rolling, seen)
    between = (
        one.key for one in step.there if _is_between(step, one) and _goes_there(one, seen.partitions.get(one.key))
    )
    within = (held for one in step.there for held, _ in _copies_within(one, step.here[one.key], seen))
    return frozenset((*between, *within))


def has_turned(record: ExecutionRecord) -> bool:
    """Tell whether an execution goes back, or went back for a while: only then copies of it lead to where they were."""
    return record.back or record.state is ExecutionState.CANCELLING


def _led_back(step: Step, seen: Seen) -> Iterable[TopicPartition]:
    """Yield the partitions of a step with a copy to where it was before the step."""
    if not isinstance(step, Move):
        return
    for one in step.there:
        here, partition = step.here[one.key], seen.partitions.get(one.key)
        if partition is not None and _is_between(step, one):
            is_back = _goes_to(partition, [frozenset(here.replicas)])
            if is_back or set(partition.adding) & set(here.replicas) - set(one.replicas):
                yield one.key
        for broker, path in one.chosen:
            copy, future = (found.get((*one.key, broker), _NOWHERE) for found in (seen.replicas, seen.futures))
            old = here.directory_of(broker) if broker in here.replicas else None
            if copy.path == path != future.path == old:
                yield one.key


def _is_between(step: Move, one: Assignment) -> bool:
    """Tell whether a partition moves between brokers: of another one, every reassignment is somebody else's."""
    return set(one.replicas) != set(step.here[one.key].replicas)


def _goes_there(one: Assignment, partition: PartitionSeen | None) -> bool:
    return partition is not None and bool(partition.adding) and set(partition.goal) == set(one.replicas)


def may_call(call: Call, again: Next) -> bool:
    """Tell whether a call may be made: what is seen after its intent was written leads to the same call.

    What else may begin meanwhile, because other copies have ended, makes no difference.
    """
    return isinstance(again, Do) and any(_contains(other, call) for other in again.calls)


def _contains(other: Call, call: Call) -> bool:
    if isinstance(other, Reassign) and isinstance(call, Reassign):
        return other.changes_factor == call.changes_factor and call.replicas.items() <= other.replicas.items()
    if isinstance(other, PlaceReplicas) and isinstance(call, PlaceReplicas):
        return call.paths.items() <= other.paths.items()
    return other == call


def _not_again(step: Move, found: Do, seen: Seen, begun: Collection[Change]) -> Next:
    """Refuse to begin again what has begun: where it neither runs nor has its effect, somebody cancelled it."""
    for call in found.calls:
        for one in sorted(begun_by(step, call, seen)):
            if one in begun and one not in seen.futures:
                broker = (
                    f" {'within' if isinstance(call, PlaceReplicas) else 'to'} broker {one[2]}" if len(one) == 3 else ""
                )
                # Two looks in a row show it: brokers learn a little later than the controller what was called.
                why = f"somebody cancelled the move of {one[0]}-{one[1]}{broker}: it is not begun again"
                return Stuck(why, is_certain=False)
    return found


def throttle_before(steps: Sequence[Step], number: int) -> Throttle | None:
    """Return the throttles under which the copies of a step run."""
    for step in reversed(steps[:number]):
        if isinstance(step, Throttle):
            return step
        if not isinstance(step, Move | Settle):
            return None
    return None


@dataclass(frozen=True)
class Ending:
    """How copies end: the calls that cancel them, by copy, those that go on, and what a cancellation leaves behind."""

    cancels: Mapping[str, Call]
    goes_on: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()


def ending(step: Move, seen: Seen, record: ExecutionRecord, *, must_end: bool) -> Ending:
    """Return how the copies of a step end, and those of its undo if it has turned; completed moves stay.

    A reassignment is cancelled while any old replica is in sync: what the new ones have, that one has too. A copy
    between directories is cancelled at any time, but before Kafka 4.2 the broker then neither deletes nor compacts the
    partition until it restarts (KAFKA-19458): it may end by itself, unless it ``must_end``.
    """
    step, _ = _present(step, seen)
    turned, others = has_turned(record), other_topics(record.topic_ids, seen.topic_ids)
    cancels: dict[str, Call] = {}
    goes_on: list[str] = []
    leaves: list[str] = []
    for one in (one for one in step.there if one.topic not in others):
        partition, here = seen.partitions.get(one.key), step.here[one.key]
        for held, path in _copies_within(one, here, seen, turned=turned):
            within = f"{one.label} within broker {held[2]}"
            if seen.stops_cleaning and not must_end:
                goes_on.append(f"{within}, since a cancellation would stop its cleaning")
                continue
            cancels[within] = PlaceReplicas({held: path})
            if seen.stops_cleaning:
                leaves.append(not_cleaned([f"{one.label} on broker {held[2]}"]))
        goes_on += [f"{one.label} within broker {broker}, which does not answer" for broker in _unseen(one, here, seen)]
        goals = [frozenset(one.replicas), *([frozenset(here.replicas)] if turned else [])]
        if partition is not None and _is_between(step, one) and _goes_to(partition, goals):
            if partition.can_be_cancelled:
                cancels[one.label] = Reassign({one.key: None})
            else:
                goes_on.append(f"{one.label}, since none of the replicas that it had is in sync")
    return Ending(cancels, tuple(goes_on), tuple(leaves))


def as_before(step: Move, seen: Seen) -> frozenset[Change]:
    """Return what of a step is seen to be as it was: a copy that was cancelled has changed nothing."""
    found = set[Change]()
    for one in step.there:
        partition, here = seen.partitions.get(one.key), step.here[one.key]
        if partition is None or partition.adding or partition.removing:
            continue
        kept = {(*one.key, broker): here.directory_of(broker) for broker, _ in one.chosen if broker in here.replicas}
        stays = {
            held
            for held, path in kept.items()
            if held not in seen.futures and seen.replicas.get(held, _NOWHERE).path == path
        }
        # An order that a cancellation has left is a change.
        is_in_order = partition.replicas == here.replicas
        if step.rolling is not None:
            found |= stays
            found |= {(*one.key, broker) for broker in one.replicas if is_in_order and broker not in here.replicas}
        elif is_in_order and stays == kept.keys():
            found.add(one.key)
    return frozenset(found)


_NOWHERE = Copy("", 0)


def _unseen(one: Assignment, here: Assignment, seen: Seen) -> Iterable[int]:
    """Yield the silent brokers that may go on with a copy between their directories once they are back."""
    for broker, path in one.chosen:
        if broker in seen.silent and broker in here.replicas and here.directory_of(broker) != path:
            yield broker


def _goes_to(partition: PartitionSeen, goals: Collection[frozenset[int]]) -> bool:
    return bool(partition.adding or partition.removing) and frozenset(partition.goal) in goals


def _copies_within(one: Assignment, here: Assignment, seen: Seen, *, turned: bool = True) -> Iterable[tuple[Held, str]]:
    """Yield our running copies between directories, each with the directory that it leaves."""
    for broker, path in one.chosen:
        held = (*one.key, broker)
        copy, future = seen.replicas.get(held), seen.futures.get(held)
        ours = {path, here.directory_of(broker)} if turned and broker in here.replicas else {path}
        if copy is not None and future is not None and future.path in ours:
            yield held, copy.path


def by_entity(limits: Iterable[Limit]) -> Mapping[Entity, list[Limit]]:
    """Return throttles by entity: each is cleared for itself, so that one that is gone does not keep the others."""
    found: dict[Entity, list[Limit]] = {}
    for one in limits:
        found.setdefault((one.entity, one.name), []).append(one)
    return found
