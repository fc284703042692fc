"""Limits on what may start within an hour, and on the partitions that one action may move."""

from logdirwatch.autopilot.facts import MARK, Facts
from logdirwatch.autopilot.settings import AutopilotClusterSettings
from logdirwatch.config.section import HOUR_MS
from logdirwatch.execute.begin import bytes_of
from logdirwatch.model.records import ActionRecord
from logdirwatch.text.units import human_bytes


def reason(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Return the budget that it exceeds."""
    allowed = facts.cluster(action.cluster)
    if allowed is None:
        return None
    partitions = sum(_partitions(one) for one in action.operations or ())
    if partitions > allowed.max_partitions:
        return f"moves {partitions} partitions, more than max_partitions ({allowed.max_partitions})"
    recent = [
        one
        for one in facts.executions
        if one.cluster == action.cluster and one.by.startswith(MARK) and one.started_at_ms > now_ms - HOUR_MS
    ]
    if len(recent) >= allowed.max_actions_per_hour:
        return f"waits: {len(recent)} actions started within the last hour (max_actions_per_hour)"
    return _of_bytes(action, allowed, sum(one.bytes or 0 for one in recent))


def _of_bytes(action: ActionRecord, allowed: AutopilotClusterSettings, spent: int) -> str | None:
    limit, wanted = allowed.max_bytes_per_hour, bytes_of(action)
    if limit is None:
        return None
    if wanted is None:
        return "copies an unknown number of bytes, and max_bytes_per_hour is set"
    if wanted > limit:
        return f"copies {human_bytes(wanted)}, more than max_bytes_per_hour ({human_bytes(limit)})"
    if spent + wanted > limit:
        return f"waits: {human_bytes(spent)} were begun within the last hour (max_bytes_per_hour)"
    return None


def _partitions(operation: dict[str, object]) -> int:
    args = operation.get("args")
    plan = args.get("reassignment") if isinstance(args, dict) else None
    return len(plan["partitions"]) if isinstance(plan, dict) else 0
