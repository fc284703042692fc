"""A log directory that has changed: its volume, or its reserve file."""

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.log_dirs import LogDirChangedEvidence
from logdirwatch.plan.actions.brokers.investigate import UNAVAILABLE, Runbook
from logdirwatch.plan.actions.brokers.recreate_reserve import propose_recreation
from logdirwatch.plan.proposal import ProposedAction
from logdirwatch.plan.responses.response import Response, Situation

RESERVE_GONE = "reserve"
"""The evidence's value for a missing reserve file."""


def propose(situation: Situation) -> list[ProposedAction]:
    """Return the recreation of the reserve file, if that is what is missing."""
    shown = read_as(situation.alert.evidence, LogDirChangedEvidence)
    if situation.directory is None or shown.why != RESERVE_GONE:
        return []
    recreated = propose_recreation(situation.directory, situation.policy)
    return [] if recreated is None else [recreated]


RESPONSE = Response(
    runbook=Runbook(
        "find out why the directory's volume changed: is the disk mounted, or does Kafka write to the root disk",
        (UNAVAILABLE,),
    ),
    propose=propose,
    ends_when="size, volume and reserve file are as before, or a new size or volume stayed for a day",
)
