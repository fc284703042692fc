"""The next revision of an action: its new status, the reason, and what was observed."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionStatus
from logdirwatch.plan.proposal import Policy


def next_revision(action: ActionRecord, now_ms: int, status: ActionStatus, why: str, **changes: Any) -> ActionRecord:
    """Return an action's next revision; ``changes`` are its new field values."""
    return replace(action, revision=action.revision + 1, status=status, status_reason=why, at_ms=now_ms, **changes)


def done(action: ActionRecord, observed: Mapping[str, Any], now_ms: int) -> ActionRecord:
    """Return the last revision of an action with what was observed, and its duration if its start was seen."""
    started_at_ms = (action.observed or {}).get("started_at_ms")
    times = {} if started_at_ms is None else {"started_at_ms": started_at_ms, "took_ms": now_ms - started_at_ms}
    return next_revision(action, now_ms, ActionStatus.DONE, "all of its target is seen", observed={**observed, **times})


def is_in_time(action: ActionRecord, policy: Policy, now_ms: int) -> bool:
    """Return whether an action is being carried out and may still take as long as it said, plus two inventories."""
    if action.status is not ActionStatus.RUNNING:
        return False
    started_at_ms: int = (action.observed or {})["started_at_ms"]
    return now_ms <= started_at_ms + (action.expected.get("needs_ms") or 0) + policy.settling_ms


def failed(action: ActionRecord, observed: Mapping[str, Any], now_ms: int) -> ActionRecord:
    """Return the last revision of an action that took too long, with what was observed."""
    observed = {**(action.observed or {}), **observed}
    return next_revision(
        action, now_ms, ActionStatus.FAILED, "not all of its target is seen in time", observed=observed
    )
