"""The rules in the order in which they are checked: what a person would have to change first comes first."""

from collections.abc import Callable, Mapping

from logdirwatch.autopilot.facts import Facts
from logdirwatch.autopilot.rules import (
    alone,
    budget,
    data_loss,
    decision,
    expired,
    fits_kind,
    floor,
    kind,
    need,
    paused,
    record,
    repeated,
    settled,
    telemetry,
    to_check,
    window,
)
from logdirwatch.model.records import ActionRecord

Rule = Callable[[ActionRecord, Facts, int], str | None]
"""Returns why an action must not start at a time, as the end of a sentence; None if it may."""

RULES: Mapping[str, Rule] = {
    "telemetry": telemetry.reason,
    "kind": kind.reason,
    "record": record.reason,
    "fits_kind": fits_kind.reason,
    "floor": floor.reason,
    "decision": decision.reason,
    "data_loss": data_loss.reason,
    "to_check": to_check.reason,
    "expired": expired.reason,
    "repeated": repeated.reason,
    "paused": paused.reason,
    "window": window.reason,
    "alone": alone.reason,
    "need": need.reason,
    "settled": settled.reason,
    "budget": budget.reason,
}
