"""Whether a running execution may continue: checked before every call."""

from logdirwatch.autopilot.facts import Facts
from logdirwatch.autopilot.judge import pause_of
from logdirwatch.execute.ports import Halt
from logdirwatch.model.records import ActionRecord, DecisionRecord, ExecutionRecord
from logdirwatch.model.vocabulary import OPEN, ActionStatus, Decision
from logdirwatch.plan.content_hash import content_hash

NOT_NEEDED = frozenset({ActionStatus.EXPIRED, ActionStatus.SUPERSEDED, ActionStatus.WITHDRAWN})
"""The planner proposes something else instead, if anything is needed."""
GOES_ON = OPEN | {ActionStatus.DONE}
"""Of an action that is seen to be done, the copies and throttles may have to be waited for and deleted."""


def reason_to_stop(record: ExecutionRecord, action: ActionRecord | None, facts: Facts, now_ms: int) -> Halt | None:
    """Return why an execution must make no further call; None if it may continue."""
    if action is None:
        return Halt("its action is not on the topic any more")
    if facts.kind(record.cluster, record.kind) is None:
        return Halt(f"the configuration does not allow {record.kind} on {record.cluster} any more")
    reason = pause_of(record.cluster, facts) or revoked(facts.said.get(record.action_id), record, now_ms)
    if reason is not None:
        return Halt(reason)
    over = _ended(action) or _changed(action, record)
    return None if over is None else Halt(over, need_is_over=action.status in OPEN | NOT_NEEDED)


def revoked(said: DecisionRecord | None, record: ExecutionRecord, now_ms: int) -> str | None:
    """Return who took back the word that an execution began with; ``said`` is the last one on the topic."""
    if said is None:
        return None
    if said.decision is Decision.REJECT:
        return f"{said.by} rejected it: {said.reason}"
    if said.content_hash != record.content_hash:
        return f"{said.by} accepted something else meanwhile"
    if said.until_ms is not None and said.until_ms <= now_ms:
        return f"the acceptance by {said.by} ended: {said.reason}"
    return None


def _ended(action: ActionRecord) -> str | None:
    return None if action.status in GOES_ON else f"the action is {action.status}: {action.status_reason or 'no reason'}"


def _changed(action: ActionRecord, record: ExecutionRecord) -> str | None:
    if action.status in OPEN and content_hash(action) != record.content_hash:
        return "the action says something else by now"
    return None
