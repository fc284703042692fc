"""Whether an action may start now, and if not, why."""

from typing import NamedTuple

from logdirwatch.autopilot.facts import Facts
from logdirwatch.autopilot.rules import RULES
from logdirwatch.model.records import ActionRecord


class Refusal(NamedTuple):
    """The rule that refuses an action, and the reason, which completes a sentence that begins with the action."""

    rule: str
    reason: str


def refusal(action: ActionRecord, facts: Facts, now_ms: int) -> Refusal | None:
    """Return why an action may not start now; None if it may, according to the records."""
    for name, rule in RULES.items():
        reason = rule(action, facts, now_ms)
        if reason is not None:
            return Refusal(name, reason)
    return None
