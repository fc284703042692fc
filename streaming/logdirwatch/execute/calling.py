"""The one way from a decision to a call: write the intent, look again, and call if that decides the same."""

from msgspec.structs import replace

from logdirwatch.execute import kernel
from logdirwatch.execute.outcomes import Do, Stuck
from logdirwatch.execute.ports import Halt, Ports
from logdirwatch.execute.seen import Seen
from logdirwatch.execute.step_kinds.move import Move
from logdirwatch.execute.step_kinds.throttle import Throttle
from logdirwatch.execute.steps import Step
from logdirwatch.model.records import ExecutionRecord
from logdirwatch.model.records.executions import ExecutionState, OwnLimit


class Hand:
    """Makes the calls of an execution; ``record`` has every intent that was written, also after a call has failed."""

    def __init__(self, record: ExecutionRecord, ports: Ports) -> None:
        self.record, self.ports = record, ports

    def do(self, step: Step, found: Do, seen: Seen) -> Stuck | Halt | None:
        """Make the calls of a decision; return what the second look or the permission says against them."""
        before = self.record.intended_step
        self._intend(step, found, seen)
        for number, call in enumerate(found.calls):
            permit = self.ports.permit(self.record)
            if permit is not None:
                return permit if isinstance(permit, Halt) else None
            again = kernel.next_of(step, self.ports.cluster.look(step, ()), self.record)
            if not kernel.may_call(call, again):
                if number == 0 and before is not None:
                    self.record = replace(self.record, intended_step=before)
                self.ports.say("nothing is called: what was seen has changed since")
                return again if isinstance(again, Stuck) else None
            self.ports.cluster.call(call)
        if isinstance(step, Move) and kernel.begins(found):
            self.note_begun()
        return None

    def note_begun(self) -> None:
        """Note that the calls of the present step were made: where all is as before, somebody cancelled it."""
        state = self.record.state
        state = state if state is ExecutionState.CANCELLING else ExecutionState.COPYING
        self.record = replace(self.record, begun_step=self.record.step + 1)
        self.record = self.ports.noted(self.record, state)

    def keep_throttles(self, throttle: Throttle | None) -> Stuck | Halt | None:
        """Set the throttles of copies that are absent: a copy never runs without them."""
        if throttle is None:
            return None
        seen = self.ports.cluster.look(throttle, ())
        found = kernel.next_of(throttle, seen, self.record)
        if not isinstance(found, Do):
            return None
        for one in found.limits:
            if OwnLimit(*one) in self.record.limits:
                self.ports.say(f"{one.text} was deleted by somebody, and is set again")
        return self.do(throttle, found, seen)

    def _intend(self, step: Step, found: Do, seen: Seen) -> None:
        """Record what is about to be done: after a kill this is the only evidence of whose a throttle is."""
        record = self.record
        limits = [*record.limits, *(OwnLimit(*one) for one in found.limits if OwnLimit(*one) not in record.limits)]
        record = replace(record, limits=limits, topic_ids={**seen.topic_ids, **record.topic_ids})
        state = ExecutionState.THROTTLED
        if not isinstance(step, Throttle):
            record, state = replace(record, intended_step=record.step + 1), ExecutionState.STARTED
        if record.state in {ExecutionState.CANCELLING, ExecutionState.COPYING}:
            state = record.state
        self.ports.say(f"now: {step}")
        self.record = self.ports.noted(record, state, record.reason)
