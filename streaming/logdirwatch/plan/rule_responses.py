"""The response of every rule: of its module in ``responses``, or of the table of those without actions."""

from collections.abc import Mapping

from logdirwatch.model.evidence import Evidence, read_as
from logdirwatch.model.evidence.brokers import BrokerAwayEvidence
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import Rule
from logdirwatch.modules_by_name import modules_by_name
from logdirwatch.plan import responses
from logdirwatch.plan.actions.brokers.investigate import PLANNED, Runbook, look_at
from logdirwatch.plan.proposal import Policy, ProposedAction
from logdirwatch.plan.responses import without_actions
from logdirwatch.plan.responses.response import Response

_MODULES = modules_by_name(responses)

RESPONSES: Mapping[Rule, Response] = {
    rule: without_actions.RESPONSES.get(rule) or _MODULES[rule].RESPONSE for rule in Rule
}

RUNBOOKS: Mapping[Rule, Runbook] = {rule: response.runbook for rule, response in RESPONSES.items()}


def investigate(
    alert: AlertRecord, policy: Policy, why: str | None = None, *, has_zookeeper: bool = False
) -> ProposedAction:
    """Return the runbook step of an alert; ``why`` says why there is no better action.

    Without a snapshot of the cluster, the alert itself says whether its broker uses ZooKeeper.
    """
    has_zookeeper = has_zookeeper or read_as(alert.evidence, Evidence).has_zookeeper is True
    look = look_at(alert, _runbook_of(alert), policy, has_zookeeper=has_zookeeper)
    return look if why is None else look.because(why)


def first_look(alert: AlertRecord) -> str:
    """Return what to find out first about an alert, for as long as no action of it is known."""
    runbook = _runbook_of(alert)
    return (runbook.on_zookeeper if read_as(alert.evidence, Evidence).has_zookeeper else runbook).text


def _runbook_of(alert: AlertRecord) -> Runbook:
    special = RESPONSES[alert.rule].runbook_for(alert)
    if special is not None:
        return special
    return RUNBOOKS[alert.rule] if read_as(alert.evidence, BrokerAwayEvidence).maintenance is None else PLANNED
