"""A broker that does not report; if it refuses the collector, permissions can be granted."""

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.brokers import BrokerAwayEvidence
from logdirwatch.model.vocabulary import PollStatus
from logdirwatch.plan.actions.brokers.grant_permission import grant_collector
from logdirwatch.plan.actions.brokers.investigate import UNDER_REPLICATED, Runbook, quorum_status
from logdirwatch.plan.actions.brokers.startup_failures import as_its_log_says
from logdirwatch.plan.proposal import ProposedAction
from logdirwatch.plan.responses.response import Response, Situation


def propose(situation: Situation) -> list[ProposedAction]:
    """Return the actions for a broker that does not report: grant a missing permission, or investigate."""
    alert, look = situation.alert, situation.look
    if not _is_unauthorized(read_as(alert.evidence, BrokerAwayEvidence)):
        return [look]
    # An ACL may have been removed on purpose, so the check stays beside it.
    return [grant_collector(alert, situation.policy), look]


def _is_unauthorized(shown: BrokerAwayEvidence) -> bool:
    """Tell whether the broker refused the collector; alerts opened by 0.2.0 say so only in their reason."""
    if shown.poll_status is not None:
        return shown.poll_status == PollStatus.UNAUTHORIZED
    return (shown.reason or "").startswith(PollStatus.UNAUTHORIZED)


RESPONSE = Response(
    runbook=Runbook(
        "find out why the broker does not answer: network, a long pause, the collector's permission (DESCRIBE on the "
        "cluster); if it is the whole cluster, whether the collector runs and reaches the telemetry cluster",
        (quorum_status, UNDER_REPLICATED),
    ),
    propose=propose,
    runbook_for=as_its_log_says,
    ends_when="the broker answers, or the controller says that it is away",
)
