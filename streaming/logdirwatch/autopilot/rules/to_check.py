"""An action with conditions that only a person can check needs a person."""

from logdirwatch.autopilot.facts import Facts
from logdirwatch.autopilot.rules.data_loss import RETENTION
from logdirwatch.model.records import ActionRecord

SEEN = frozenset({"no_reassignment_runs", "no_retention_cut", "throttle_free", "in_time", "born_elsewhere"})
"""Preconditions that a person need not check.

The live check and the executor do, which places new replicas before it assigns them.
"""

LATE = "in_time"
"""Of a late action a person decides whether it is better than never: until it ends, nothing else starts."""

OF_RETENTION = frozenset({"owner_agrees", "timestamps", "limit_known"})
"""Those of a cut and of its way back that need nobody.

The floor is the owner's word, a time in the future only keeps data longer, and the executor restores a limit only where
the value is still that of the cut.
"""


def reason(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Return what a person must check."""
    if facts.acceptance(action, now_ms) is not None:
        return None
    known = SEEN | OF_RETENTION if action.kind in RETENTION else SEEN
    left = [one["text"] for one in action.preconditions if one.get("holds") is None and one.get("name") not in known]
    if left:
        return f"needs a person who checks: {left[0]}"
    late = [one["text"] for one in action.preconditions if one.get("holds") is False and one.get("name") == LATE]
    return f"comes late and needs an acceptance: {late[0]}" if late else None
