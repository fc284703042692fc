"""Actions start only within their configured windows."""

from logdirwatch.autopilot.facts import Facts
from logdirwatch.autopilot.windows import described, is_open
from logdirwatch.model.records import ActionRecord


def reason(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Return when it may start."""
    allowed = facts.cluster(action.cluster)
    if allowed is None or is_open(allowed.windows, allowed.time_zone, now_ms):
        return None
    return f"waits for a window: {described(allowed.windows, allowed.time_zone)}"
