"""The one way from a decision to a call: write the intent, look again, and call only if that decides the same."""

from msgspec.structs import replace

from logdirwatch.execute import kernel
from logdirwatch.execute.outcomes import Do, Stuck
from logdirwatch.execute.ports import Ports
from logdirwatch.execute.seen import Seen
from logdirwatch.execute.step_kinds.throttle import Throttle
from logdirwatch.execute.steps import Step
from logdirwatch.model.records import ExecutionRecord
from logdirwatch.model.records.executions import ExecutionState, OwnLimit


def called(
    record: ExecutionRecord, step: Step, found: Do, seen: Seen, ports: Ports
) -> tuple[ExecutionRecord, Stuck | None]:
    """Make the calls of a decision; return the execution's state, and what the second look is stuck on."""
    record = _intended(record, step, found, seen, ports)
    again = kernel.next_of(step, ports.cluster.look(step, ()), record)
    if not kernel.may_call(found, again):
        ports.say("nothing is called: what was seen has changed since")
        return record, again if isinstance(again, Stuck) else None
    for call in found.calls:
        ports.cluster.call(call)
    is_begun = not isinstance(step, Throttle) and kernel.begins(found)
    return replace(record, begun_step=record.step + 1) if is_begun else record, None


def with_throttles(record: ExecutionRecord, throttle: Throttle | None, ports: Ports) -> ExecutionRecord:
    """Set the throttles of running copies that are absent: a copy never runs without them."""
    if throttle is None:
        return record
    seen = ports.cluster.look(throttle, ())
    found = kernel.next_of(throttle, seen, record)
    if not isinstance(found, Do):
        return record
    for one in found.limits:
        if OwnLimit(*one) in record.limits:
            ports.say(f"{one.text} was deleted by somebody, and is set again")
    return called(record, throttle, found, seen, ports)[0]


def _intended(record: ExecutionRecord, step: Step, found: Do, seen: Seen, ports: Ports) -> ExecutionRecord:
    """Record what is about to be done: after a kill this is the only evidence of whose a throttle is."""
    limits = [*record.limits, *(OwnLimit(*one) for one in found.limits if OwnLimit(*one) not in record.limits)]
    state = ExecutionState.THROTTLED if isinstance(step, Throttle) else ExecutionState.STARTED
    if record.state in {ExecutionState.CANCELLING, ExecutionState.COPYING}:
        state = record.state
    ports.say(f"now: {step}")
    record = replace(record, limits=limits, topic_ids={**seen.topic_ids, **record.topic_ids})
    return ports.noted(record, state)
