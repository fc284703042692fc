"""Decisions on the actions of one alert, and their effect on its next plan.

A rejected action is not planned again until the alert's severity rises, so another one must be. Only one of a move and
a cut of the same topic may be under way: retention does not run on moving replicas.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import MOVES, STOPPING_STEPS, STOPS, TAKEN_UP, ActionKind, ActionStatus, Severity
from logdirwatch.plan.proposal import ProposedAction, Veto, with_vetoes


@dataclass(frozen=True)
class OperatorDecisions:
    """The rejected actions by kind and target, and the topics of accepted and running ones."""

    rejected: tuple[tuple[ActionKind, Mapping[str, Any]], ...] = ()
    cutting: frozenset[str] = frozenset()
    moving: frozenset[str] = frozenset()

    def is_rejected(self, kind: ActionKind, target: Mapping[str, Any]) -> bool:
        """Whether an action was rejected."""
        return (kind, dict(target)) in self.rejected


def decisions_on(actions: Iterable[ActionRecord], severity: Severity) -> OperatorDecisions:
    """Return the decisions on an alert's actions; of a move and a cut of one topic, the first one accepted stays."""
    known = list(actions)
    cutting: set[str] = set()
    moving: set[str] = set()
    for action in sorted((action for action in known if action.status in TAKEN_UP), key=taken_up):
        if action.kind is ActionKind.LOWER_RETENTION:
            cutting |= {str(action.target["topic"])} - moving
        elif cutting.isdisjoint(topics := moved_topics(action)):
            moving |= topics
    rejected = tuple((action.kind, action.target) for action in known if is_rejected(action, severity))
    return OperatorDecisions(rejected, frozenset(cutting), frozenset(moving))


def is_rejected(action: ActionRecord, severity: Severity) -> bool:
    """Tell whether a person rejected an action and the severity did not rise since."""
    return action.status is ActionStatus.REJECTED and severity.rank <= Severity(action.alert["severity"]).rank


def moved_topics(action: ActionRecord) -> set[str]:
    """Return the topics whose replicas an action moves."""
    if action.kind not in MOVES or action.reassignment is None:
        return set()
    return {str(entry["topic"]) for entry in action.reassignment["partitions"]}


def stops_broker(action: ActionRecord) -> bool:
    """Tell whether an action was taken up that stops its broker for a while."""
    return action.status in TAKEN_UP and would_stop_broker(action)


def would_stop_broker(action: ActionRecord) -> bool:
    """Tell whether carrying out an action stops its broker for a while."""
    return action.kind in STOPS or action.target.get("step") in STOPPING_STEPS


def apply_decisions(proposals: Iterable[ProposedAction], decisions: OperatorDecisions) -> list[ProposedAction]:
    """Return proposals without the rejected ones, with a veto on cuts of topics that are being moved."""
    wanted = [proposal for proposal in proposals if not decisions.is_rejected(proposal.kind, proposal.target)]
    return [with_vetoes(proposal, *_against(proposal, decisions)) for proposal in wanted]


def _against(proposal: ProposedAction, decisions: OperatorDecisions) -> list[Veto]:
    topic = proposal.target.get("topic")
    if proposal.kind is not ActionKind.LOWER_RETENTION or topic not in decisions.moving:
        return []
    return [Veto("move_waits", f"a move of {topic} was taken up: retention stands still for moving replicas")]


def taken_up(action: ActionRecord) -> tuple[bool, int, str]:
    """Sort key: running actions first, then the earliest acceptance."""
    at_ms = action.at_ms if action.decision is None else action.decision["at_ms"]
    return action.status is not ActionStatus.RUNNING, at_ms, action.action_id
