"""How executions end: copies before their throttles, and throttles entity by entity."""

import dataclasses
from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from logdirwatch.execute import changes, kernel
from logdirwatch.execute.calling import Hand
from logdirwatch.execute.calls import Call, Reached
from logdirwatch.execute.patience import Patience
from logdirwatch.execute.ports import POLL_S, Halt, NoAnswerError, Ports, RefusedError, always
from logdirwatch.execute.seen import Entity, Seen
from logdirwatch.execute.step_kinds.move import Move, progress
from logdirwatch.execute.step_kinds.throttle import limits_to_clear
from logdirwatch.execute.steps import Step
from logdirwatch.model.records import ExecutionRecord
from logdirwatch.model.records.executions import ExecutionState
from logdirwatch.plan.commands.throttles import Limit
from logdirwatch.text.words import some_of

_STOPPING = "stopping: "
_TRIES = 5
_NOTHING_CALLED = frozenset({ExecutionState.CLAIMED, ExecutionState.CHECKED})
"""The intent of every call is noted before it, with another state."""


def stopped_for(noted: str) -> str:
    """Return why an execution stops, from the reason that its journal has meanwhile."""
    return noted.removeprefix(_STOPPING)


def finished(record: ExecutionRecord, ports: Ports) -> ExecutionRecord:
    """Clear our throttles once the effect of every step is visible."""
    record = replace(record, cause_is_seen=False)
    was_cancelled = record.state is ExecutionState.CANCELLING
    if not was_cancelled:
        record = ports.noted(record, ExecutionState.VERIFIED)
    record, left = _cleaned(record, ports)
    if left is not None:
        return ports.noted(record, ExecutionState.STUCK, f"done, but throttles are left: {left}")
    if not was_cancelled:
        record = ports.noted(record, ExecutionState.CLEANED)
    return ports.noted(record, ExecutionState.ROLLED_BACK if was_cancelled else ExecutionState.DONE)


def halted(record: ExecutionRecord, steps: Sequence[Step], halt: Halt, ports: Ports) -> ExecutionRecord:
    """End an execution that must not go on.

    If all steps that are left have their effect already, nothing is stopped: the execution is done. If its need is over
    and nothing of it is left, it has ended: what has moved stays, and nobody has to decide about the rest.
    """
    if not record.back and record.step == 0 and record.state in _NOTHING_CALLED:
        ports.say(f"stops: {halt.reason}")
        return ports.noted(record, ExecutionState.ROLLED_BACK, halt.reason)
    return stuck(record, steps, halt, ports, may_be_done=True)


def stuck(
    record: ExecutionRecord, steps: Sequence[Step], halt: Halt, ports: Ports, *, may_be_done: bool = False
) -> ExecutionRecord:
    """End an execution that a person has to decide about: end its copies, then clear its throttles.

    The throttles of a copy that goes on stay, and the reason names it.
    """
    reason = halt.reason
    ports.say(f"stops: {reason}")
    # Whether the execution may begin something is no question any more: its throttles are kept whatever is said.
    end = _Copies(replace(record, begun={}), ports)
    end.end(steps, reason, must_end=halt.must_end)
    if end.goes_on:
        again = f"go on watching with: logdirwatch apply --resume {record.action_id}"
        going = f"under its throttles goes on the copy of {some_of(end.goes_on, 3)}: {again}"
        # Whoever resumes goes on with these copies: one that is as before then was cancelled meanwhile.
        left_alone = replace(end.record, cause_is_seen=False, begun=record.begun)
        return ports.noted(left_alone, ExecutionState.STUCK, "; ".join((reason, *end.told, going)))
    if may_be_done and not end.was_cancelled and _is_there(end.record, steps, ports):
        return finished(end.record, ports)
    record, left = _cleaned(end.record, ports)
    found = (reason, *end.told, *(() if left is None else (f"throttles are left: {left}",)))
    has_ended = halt.need_is_over and len(found) == 1 and not record.back
    return ports.noted(record, ExecutionState.ROLLED_BACK if has_ended else ExecutionState.STUCK, "; ".join(found))


class _Copies(Hand):
    """The running copies of an execution until they have ended, or are lost sight of."""

    def __init__(self, record: ExecutionRecord, ports: Ports) -> None:
        super().__init__(record, dataclasses.replace(ports, permit=always))
        self._permit = ports.permit
        self.told: dict[str, None] = {}
        self.goes_on: tuple[str, ...] = ()
        self.was_cancelled = False
        self._tries = Counter[str]()

    def end(self, steps: Sequence[Step], reason: str, *, must_end: bool) -> None:
        """Cancel what may be cancelled, and watch over what goes on until it ends or makes no progress."""
        moves, ports = changes.moves_of(steps, self.record), self.ports
        patience = Patience(self.record.needs_ms, ports.monotonic_ms())
        throttle, refused = kernel.throttle_before(steps, self.record.step + 1), 0
        while moves:
            try:
                must_end = must_end or self._must_end()
                looks = [(step, ports.cluster.look(step, ())) for step in moves]
                ends = [kernel.ending(step, seen, self.record, must_end=must_end) for step, seen in looks]
                self.goes_on = tuple(name for one in ends for name in (*one.cancels, *one.goes_on))
                if not self.goes_on:
                    self._forget(looks)
                    return
                if patience.lost(_done(looks), ports.monotonic_ms()):
                    return
                self._act(moves, ends, reason, must_end=must_end)
                if self._tries or any(one.goes_on for one in ends):
                    self.keep_throttles(throttle)
            except NoAnswerError as error:
                ports.say_no_answer(error)
                self.goes_on = (f"what cannot be seen ({error})",)
                if patience.lost({}, ports.monotonic_ms()):
                    return
            except RefusedError as error:
                self.goes_on = (f"what cannot be seen ({error})",)
                refused += 1
                # What was deleted after a look is refused, too: another look shows that nothing of it goes on.
                if refused == _TRIES:
                    return
            ports.wait(self.record)

    def _forget(self, looks: Sequence[tuple[Move, Seen]]) -> None:
        """Record that some of what was begun has changed nothing: if somebody else does it later, that stays."""
        if kernel.has_turned(self.record):
            return
        ours = changes.changed(self.record).difference(*(kernel.as_before(*look) for look in looks))
        self.record = replace(self.record, changed=changes.written(ours, self.record.operations))

    def _act(self, moves: Sequence[Move], ends: Sequence[kernel.Ending], reason: str, *, must_end: bool) -> None:
        """Note the intent and cancel each copy for itself: one that is refused keeps no other from its end."""
        found = [
            (step, name, call) for step, one in zip(moves, ends, strict=True) for name, call in one.cancels.items()
        ]
        cancels = [one for one in found if self._tries[one[1]] < _TRIES]
        if cancels or self.record.reason is None:
            self.record = self.ports.noted(self.record, self.record.state, f"{_STOPPING}{reason}")
        self.told |= dict.fromkeys(text for one in ends for text in one.leaves)
        for step, name, call in cancels:
            if self._is_still(step, name, call, must_end=must_end) and (refusal := _refusal(call, self.ports)):
                self._tries[name] += 1
                self.told[f"the copy of {name} could not be cancelled: {refusal}"] = None
        self.was_cancelled = self.was_cancelled or bool(cancels)

    def _is_still(self, step: Move, name: str, call: Call, *, must_end: bool) -> bool:
        """Tell whether a second look, at this copy alone, leads to the same cancellation."""
        part = changes.part_of(step, changes.of_call(call))
        seen = self.ports.cluster.look(part, ())
        return (
            isinstance(part, Move)
            and kernel.ending(part, seen, self.record, must_end=must_end).cancels.get(name) == call
        )

    def _must_end(self) -> bool:
        """Tell whether something began that no copy may go on beside, such as a destination that fills."""
        against = self._permit(self.record)
        return isinstance(against, Halt) and against.must_end


def _done(looks: Sequence[tuple[Move, Seen]]) -> dict[object, int]:
    return {(number, key): value for number, look in enumerate(looks) for key, value in progress(*look).done.items()}


def _is_there(record: ExecutionRecord, steps: Sequence[Step], ports: Ports) -> bool:
    """Tell whether all that is left is seen to have its effect."""
    try:
        left = steps[record.step :]
        return all(isinstance(kernel.next_of(step, ports.cluster.look(step, ()), record), Reached) for step in left)
    except (NoAnswerError, RefusedError):
        return False


def _refusal(call: Call, ports: Ports) -> RefusedError | None:
    try:
        ports.cluster.call(call)
    except RefusedError as error:
        return error
    except NoAnswerError as error:
        # It is decided again with the next look.
        ports.say_no_answer(error)
    return None


def _cleaned(record: ExecutionRecord, ports: Ports) -> tuple[ExecutionRecord, str | None]:
    """Delete our throttles that still have our value; return what may be left and why, None if nothing is.

    Each entity for itself: one that is gone has no throttle, and one that does not answer keeps no other.
    """
    ours, left = kernel.by_entity(changes.limits(record)), dict[Entity, str]()
    for attempt in range(_TRIES if ours else 0):
        if attempt:
            ports.pause(POLL_S / 4)
        asked = {entity: _why_left(ours[entity], ports) for entity in (left or ours)}
        left = {entity: why for entity, why in asked.items() if why is not None}
        if not left:
            ports.say("the throttles that it set are gone")
            break
    named = "; ".join(f"{kind.removesuffix('s')} {name} ({why})" for (kind, name), why in left.items())
    record = changes.with_limits(record, (one for entity in left for one in ours[entity]))
    return replace(record, cause_is_seen=record.cause_is_seen and not left), named or None


def _why_left(ours: Sequence[Limit], ports: Ports) -> str | None:
    """Delete the throttles of one entity, each after a look; return why they may still be there, None if none is."""
    try:
        for _ in range(len(ours) + 1):
            calls = limits_to_clear(ours, ports.cluster.look(None, ours))
            if not calls:
                return None
            ports.cluster.call(calls[0])
    except (NoAnswerError, RefusedError) as error:
        return str(error)
    return "it is still shown"
