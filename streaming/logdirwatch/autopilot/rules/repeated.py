"""An acceptance starts one execution; after it a new acceptance is needed.

An unattended kind may also start again if its action is newer than the last execution by ``settle_ms``, unless that is
stuck.
"""

from logdirwatch.autopilot.facts import Facts
from logdirwatch.executions import is_unfinished
from logdirwatch.model.records import ActionRecord, ExecutionRecord
from logdirwatch.model.vocabulary import ExecutionState


def reason(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Return how the execution ended that the present acceptance started."""
    last = facts.last_of(action.action_id)
    if last is None or is_renewed(action, last, facts, now_ms):
        return None
    if last.state is ExecutionState.STUCK:
        return f"is stuck ({last.reason}): logdirwatch apply --resume or --undo {action.action_id}"
    return "is being carried out" if is_unfinished(last) else f"was carried out ({last.state}): accept it again"


def is_renewed(action: ActionRecord, last: ExecutionRecord, facts: Facts, now_ms: int) -> bool:
    """Tell whether an action may be carried out again after its last execution."""
    accepted = facts.acceptance(action, now_ms)
    if accepted is not None and accepted.at_ms > last.started_at_ms:
        return True
    is_new = action.at_ms > last.at_ms + facts.settings.settle_ms
    return facts.is_unattended(action) and last.state is not ExecutionState.STUCK and is_new
