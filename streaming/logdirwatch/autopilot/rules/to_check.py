"""An action with conditions that only a person can check needs a person."""

from logdirwatch.autopilot.facts import Facts
from logdirwatch.model.records import ActionRecord

SEEN = frozenset({"no_reassignment_runs", "no_retention_cut", "throttle_free", "in_time"})
"""Preconditions that a person need not check: the live check and the executor do, and late is better than never."""


def reason(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Return what a person must check."""
    if facts.acceptance(action, now_ms) is not None:
        return None
    left = [one["text"] for one in action.preconditions if one.get("holds") is None and one.get("name") not in SEEN]
    return f"needs a person who checks: {left[0]}" if left else None
