"""Only kinds that the configuration names for the cluster are carried out."""

from logdirwatch.autopilot.facts import Facts
from logdirwatch.model.records import ActionRecord


def reason(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Return the configuration key that would allow it."""
    del now_ms
    if facts.kind(action.cluster, action.kind) is not None:
        return None
    return f"is not allowed: autopilot.clusters.{action.cluster}.kinds does not name {action.kind}"
