"""What deletes history starts only while the alert that it serves fires, by samples that pass the stream now."""

from logdirwatch.autopilot.facts import Facts
from logdirwatch.execute.need import is_cut
from logdirwatch.execute.steps import steps_of
from logdirwatch.model.records import ActionRecord


def reason(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Return why its need is not shown."""
    if not any(map(is_cut, steps_of(action.operations or (), back=False))):
        return None
    against = facts.shown.reason_against(action.alert_id, action.cluster, now_ms)
    return None if against is None else f"waits: {against}"
