"""The one way from a decision to a call: write the intent, look again, and call if that decides the same."""

from collections.abc import Sequence

from msgspec.structs import replace

from logdirwatch.execute import changes, kernel
from logdirwatch.execute.calls import Call, Do, Stuck
from logdirwatch.execute.changes import Change
from logdirwatch.execute.ports import Halt, NoAnswerError, Ports, RefusedError
from logdirwatch.execute.seen import Seen
from logdirwatch.execute.step_kinds.move import Move
from logdirwatch.execute.step_kinds.throttle import Throttle
from logdirwatch.execute.steps import Step
from logdirwatch.model.records import ExecutionRecord
from logdirwatch.model.records.executions import ExecutionState
from logdirwatch.plan.commands.operations import other_topics


class Hand:
    """Makes the calls of an execution; ``record`` has every intent that was written, also after a call has failed."""

    def __init__(self, record: ExecutionRecord, ports: Ports) -> None:
        self.record, self.ports = record, ports

    def do(self, step: Step, found: Do, seen: Seen) -> Stuck | Halt | None:
        """Make the calls of a decision; return what the second look or the permission says against them."""
        before = changes.changed(self.record)
        effects = [kernel.changed_by(step, call, seen) for call in found.calls]
        self._intend(step, found, seen, before.union(*effects))
        for number, call in enumerate(found.calls):
            permit = self.ports.permit(self.record)
            if permit is not None:
                self._take_back(before, effects[:number])
                return permit if isinstance(permit, Halt) else None
            try:
                again = kernel.next_of(step, self.ports.cluster.look(step, ()), self.record)
            except (NoAnswerError, RefusedError):
                self._take_back(before, effects[:number])
                raise
            if not kernel.may_call(call, again):
                self._take_back(before, effects[:number])
                self.ports.say("nothing is called: what was seen has changed since")
                return again if isinstance(again, Stuck) else None
            self._call(call, before, effects[: number + 1])
            if isinstance(step, Move):
                self.note_begun(kernel.begun_by(step, call, seen))
        return None

    def _call(self, call: Call, before: frozenset[Change], made: Sequence[frozenset[Change]]) -> None:
        """Make a call; the last of the effects that are ``made`` is its own."""
        try:
            self.ports.cluster.call(call)
        except RefusedError:
            # Of several changes some may have been made.
            self._take_back(before, made[:-1] if len(changes.of_call(call)) == 1 else made)
            raise
        except NoAnswerError:
            # It may have been made, those after it were not.
            self._take_back(before, made)
            raise

    def note_begun(self, moves: frozenset[kernel.Begun]) -> None:
        """Note that copies have begun: where one neither runs nor has its effect, somebody cancelled it."""
        known = changes.begun(self.record)
        if moves <= known:
            return
        state = self.record.state
        state = state if state is ExecutionState.CANCELLING else ExecutionState.COPYING
        self.record = replace(self.record, begun=changes.written(known | moves, self.record.operations))
        self.record = self.ports.noted(self.record, state)

    def _take_back(self, before: frozenset[Change], made: Sequence[frozenset[Change]]) -> None:
        """Record that only some of the intended calls were made, so that nothing else is undone or cancelled."""
        ours = before.union(*made)
        self.record = replace(self.record, changed=changes.written(ours, self.record.operations))

    def keep_throttles(self, throttle: Throttle | None) -> Stuck | Halt | None:
        """Set the throttles of copies that are absent: a copy never runs without them."""
        if throttle is None:
            return None
        seen = self.ports.cluster.look(throttle, ())
        if others := other_topics(self.record.topic_ids, seen.topic_ids):
            # They have no copies of ours: those of the other topics keep their throttles.
            throttle = throttle.without(others)
            seen = self.ports.cluster.look(throttle, ())
        found = kernel.next_of(throttle, seen, self.record)
        if not isinstance(found, Do):
            return None
        ours = changes.limits(self.record)
        for one in found.limits:
            if one in ours:
                self.ports.say(f"{one.text} was deleted by somebody, and is set again")
        return self.do(throttle, found, seen)

    def _intend(self, step: Step, found: Do, seen: Seen, ours: frozenset[Change]) -> None:
        """Record what is about to be done: after a kill this is the only evidence of whose a throttle is."""
        limits = dict.fromkeys((*changes.limits(self.record), *found.limits))
        record = changes.with_limits(self.record, limits)
        record = replace(record, topic_ids={**seen.topic_ids, **record.topic_ids})
        state = ExecutionState.THROTTLED
        if not isinstance(step, Throttle):
            record, state = replace(record, changed=changes.written(ours, record.operations)), ExecutionState.STARTED
        if record.state in {ExecutionState.CANCELLING, ExecutionState.COPYING}:
            state = record.state
        self.ports.say(f"now: {_called(step, found)}")
        self.record = self.ports.noted(record, state, record.reason)


def _called(step: Step, found: Do) -> Step:
    """Return the part of a step that calls are about, for people."""
    called = frozenset[Change]().union(*map(changes.of_call, found.calls))
    part = changes.part_of(step, called)
    return Move(part.there, part.here) if isinstance(part, Move) else step
