"""The next unattended action of an alert waits until the effect of the last one is visible."""

from logdirwatch.autopilot.facts import Facts
from logdirwatch.model.records import ActionRecord
from logdirwatch.text.units import human_ms


def reason(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Return how long it waits."""
    if facts.acceptance(action, now_ms) is not None:
        return None
    ended = [one.at_ms for one in facts.executions if facts.alerts.get(one.action_id) == action.alert_id]
    if not ended:
        return None
    left_ms = max(ended) + facts.settings.settle_ms - now_ms
    if left_ms > 0:
        return f"waits {human_ms(left_ms)}: another action of its alert was carried out, and its effect is awaited"
    if action.at_ms <= max(ended):
        return "waits until it is planned again: it does not know of the last action of its alert"
    return None
