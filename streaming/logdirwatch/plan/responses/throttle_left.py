"""Throttles left behind: only those that the alert names are deleted, others are intended."""

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.brokers import ThrottleLeftEvidence
from logdirwatch.plan.actions.brokers.investigate import Runbook, list_reassignments
from logdirwatch.plan.actions.replicas.clear_throttles import propose_clear
from logdirwatch.plan.proposal import ProposedAction
from logdirwatch.plan.reassignment.throttles import limits_on, topics_throttled_on
from logdirwatch.plan.responses.response import Response, Situation


def propose(situation: Situation) -> list[ProposedAction]:
    """Return the deletion of the throttles that the alert names; others are intended."""
    alert, snapshot, policy = situation.alert, situation.snapshot, situation.policy
    if alert.broker is None:
        return []
    shown = read_as(alert.evidence, ThrottleLeftEvidence)
    # kept_throttles names limits that are meant to stay, which the alert leaves out.
    named = set(shown.throttles)
    topics = topics_throttled_on(alert.broker, snapshot) if shown.throttled_replicas else []
    found = limits_on([alert.broker] if named else [], topics, snapshot)
    proposal = propose_clear(found, snapshot, policy, {"broker": alert.broker, "log_dir": None}, named)
    return [] if proposal is None else [proposal]


RESPONSE = Response(
    runbook=Runbook(
        "see whether a move still needs the throttle, and ask its owner; --verify without --preserve-throttles "
        "removes the limits of every broker",
        (list_reassignments,),
    ),
    propose=propose,
    ends_when="the limits are gone, or a move needs them",
)
