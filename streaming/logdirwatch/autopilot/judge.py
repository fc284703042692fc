"""Whether an action may start now, and why not."""

from typing import NamedTuple

from logdirwatch.autopilot.facts import Facts
from logdirwatch.autopilot.rules import RULES
from logdirwatch.model.records import ActionRecord


class Refusal(NamedTuple):
    """The rule that an action is refused by, and its reason as the end of a sentence that begins with the action."""

    rule: str
    reason: str


def refusal(action: ActionRecord, facts: Facts, now_ms: int) -> Refusal | None:
    """Return why an action may not start now; None when it may, as far as records tell."""
    for name, rule in RULES.items():
        reason = rule(action, facts, now_ms)
        if reason is not None:
            return Refusal(name, reason)
    return None
