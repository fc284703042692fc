"""A proposal that was not renewed has expired: the stream that would renew it may be down."""

from logdirwatch.autopilot.facts import Facts
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionStatus
from logdirwatch.text.units import human_ms


def reason(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Return when it expired."""
    del facts
    if action.status is ActionStatus.PROPOSED and action.expires_at_ms < now_ms:
        return f"expired {human_ms(now_ms - action.expires_at_ms)} ago and was not renewed"
    return None
