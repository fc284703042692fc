"""The record itself must allow it: no veto, operations, a matching hash, a status that can start."""

from msgspec.structs import replace

from logdirwatch.autopilot.facts import MARK, Facts
from logdirwatch.execute.eligible import reason_against_applying
from logdirwatch.model.records import ActionRecord


def reason(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Return the reason that ``apply`` would give as well."""
    del now_ms
    by = str((action.decision or {}).get("by") or "")
    if facts.is_unattended(action) and by.startswith(MARK):
        # The planner was quicker than its own acceptance: it accepts what the action says by now.
        action = replace(action, decision=None)
    return reason_against_applying(action)
