"""Vetoes from an action's own prediction: one check for every kind, whoever planned the action.

``expected.leadership`` lists step by step who leads and who is in sync. A partition that loses its leader in a later
step, or can no longer be written to, is a reason against the action until it is planned otherwise.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from logdirwatch.plan.proposal import ProposedAction, Veto

LEADERLESS, UNDER_MIN_ISR = "leaderless_after", "under_min_isr_after"
_SAID_BY = {
    LEADERLESS: frozenset({LEADERLESS, "last_in_sync_replica"}),
    UNDER_MIN_ISR: frozenset({UNDER_MIN_ISR, "min_isr_lost"}),
}
"""Vetoes of a restart that already say the same."""
_WHEN = {"stopped": "while the broker is away", "cancelled": "once that is cancelled"}
_OTHERWISE = "afterwards"
_NAMED = 3


def veto_predicted_harm(proposal: ProposedAction) -> ProposedAction:
    """Return a proposal with the vetoes that follow from its own prediction."""
    named = {veto.name for veto in proposal.vetoes}
    found = [veto for veto in against(proposal.expected) if not named & _SAID_BY[veto.name]]
    return replace(proposal, vetoes=(*proposal.vetoes, *found)) if found else proposal


def against(expected: Mapping[str, Any]) -> list[Veto]:
    """Return the vetoes that follow from the prediction in an action's ``expected``."""
    leadership = expected.get("leadership") or {}
    harms = (
        (
            LEADERLESS,
            leadership.get("becomes_leaderless"),
            "have no leader",
            "no replica that is alive is in sync then",
        ),
        (
            UNDER_MIN_ISR,
            leadership.get("falls_under_min_isr"),
            "take no writes",
            "too few replicas are in sync then for min.insync.replicas",
        ),
    )
    return [Veto(name, f"{_named(harm)} would {what} {_when(harm)}: {why}") for name, harm, what, why in harms if harm]


def _named(harmed: Mapping[str, Any]) -> str:
    first = harmed["examples"][:_NAMED]
    more = harmed["partitions"] - len(first)
    return f"{', '.join(first)} and {more} more" if more else ", ".join(first)


def _when(harmed: Mapping[str, Any]) -> str:
    return _WHEN.get(str(harmed["step"]), _OTHERWISE)
