"""The autopilot can be paused by a person or by the configuration."""

from logdirwatch.autopilot.facts import Facts
from logdirwatch.model.records import ActionRecord


def reason(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Return who paused it."""
    del now_ms
    paused = pause_of(action.cluster, facts)
    return None if paused is None else f"waits: {paused}"


def pause_of(cluster: str, facts: Facts) -> str | None:
    """Return why nothing may run on a cluster; None if it is not paused."""
    if facts.settings.paused:
        return "autopilot.paused is set"
    allowed = facts.cluster(cluster)
    if allowed is not None and allowed.paused:
        return f"autopilot.clusters.{cluster}.paused is set"
    return None if facts.pause is None else f"{facts.pause.by} paused it: {facts.pause.reason}"
