"""The next revision of an action: its new status, the reason, and what was observed."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionStatus


def next_revision(action: ActionRecord, now_ms: int, status: ActionStatus, why: str, **changes: Any) -> ActionRecord:
    """Return an action's next revision; ``changes`` are its new field values."""
    return replace(action, revision=action.revision + 1, status=status, status_reason=why, at_ms=now_ms, **changes)


def done(action: ActionRecord, observed: Mapping[str, Any], now_ms: int) -> ActionRecord:
    """Return the last revision of an action with what was observed, and its duration if its start was seen."""
    started_at_ms = (action.observed or {}).get("started_at_ms")
    times = {} if started_at_ms is None else {"started_at_ms": started_at_ms, "took_ms": now_ms - started_at_ms}
    return next_revision(action, now_ms, ActionStatus.DONE, "all of its target is seen", observed={**observed, **times})
