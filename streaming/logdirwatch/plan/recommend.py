"""Plan the actions for one open alert, and write them down as action records.

Every alert gets at least one action without vetoes; if only a person can help, the runbook step.
"""

from dataclasses import replace

from msgspec import structs

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.log_dirs import LogDirSpaceEvidence
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import NO_CLUSTER, Rule
from logdirwatch.plan.action_records import record
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.availability.impact import veto_predicted_harm
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, too_old, unusable
from logdirwatch.plan.operator_decisions import apply_decisions
from logdirwatch.plan.proposal import Policy, ProposedAction
from logdirwatch.plan.responses.response import Response, Situation, directory_of
from logdirwatch.plan.retention.plateau import with_plateau
from logdirwatch.plan.rule_responses import RESPONSES, investigate

WAITS = "moves and cuts wait for a new inventory"


def recommend(alert: AlertRecord, snapshot: ClusterSnapshot | None, policy: Policy, now_ms: int) -> list[ActionRecord]:
    """Return the actions for an open alert in order, each as its first revision.

    ``snapshot`` is that of the alert's cluster, updated with the evidence of its alerts. None gives only the runbook
    step, which says why. An outdated one gives the runbook step and the actions that do not depend on where replicas
    are.
    """
    why = None if alert.cluster == NO_CLUSTER else unusable(snapshot, policy, now_ms)
    snapshot = None if snapshot is None else _seen_ahead(alert, snapshot)
    look = investigate(alert, policy, has_zookeeper=snapshot is not None and snapshot.has_zookeeper)
    if snapshot is None:
        proposals = [look if why is None else look.because(why)]
    elif why is not None:
        proposals = _on_old_inventory(Situation(alert, snapshot, policy, now_ms, look), why)
    else:
        proposals = _on_all(Situation(alert, snapshot, policy, now_ms, look))
    found = [record(proposal, alert, snapshot, policy, now_ms) for proposal in proposals]
    # Actions without vetoes come first, and with them those that end the vetoes of others.
    found.sort(key=lambda action: bool(action.vetoes))
    return [structs.replace(action, position=number) for number, action in enumerate(found)]


def _seen_ahead(alert: AlertRecord, snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Return the snapshot in which the directories in question know what of their growth ends, and what goes on."""
    directory = directory_of(alert, snapshot)
    seen = [] if directory is None else [directory]
    if directory is not None and alert.rule is Rule.LOG_DIR_SPACE:
        keeps_growing = read_as(alert.evidence, LogDirSpaceEvidence).keeps_growing
        seen = [replace(directory, keeps_growing=frozenset(keeps_growing or ()))]
    elif alert.rule is Rule.FLEET_SPACE:
        seen = list(snapshot.directories.values())
    if snapshot.growth:
        seen = [with_plateau(one, snapshot) for one in seen]
    return snapshot.with_directories(seen)


def _on_all(situation: Situation) -> list[ProposedAction]:
    """Return the proposals on a complete snapshot; if all have vetoes, the runbook step too."""
    planned = map(veto_predicted_harm, RESPONSES[situation.alert.rule].proposed(situation))
    proposals = apply_decisions(planned, situation.snapshot.decisions)
    return [*proposals, situation.look] if all(proposal.vetoes for proposal in proposals) else proposals


def _on_old_inventory(situation: Situation, why: str) -> list[ProposedAction]:
    found = _without_inventory(RESPONSES[situation.alert.rule], situation)
    waits = f"{too_old(situation.snapshot, situation.policy, situation.now_ms)}: {WAITS}"
    return [*found, situation.look.because(waits if found else why)]


def _without_inventory(response: Response, situation: Situation) -> list[ProposedAction]:
    """Return the actions that need no inventory; empty if there are none, or if the state is outdated as well.

    The state of directories is seldom outdated when the inventory is: it comes with every poll, and with the alert
    itself.
    """
    snapshot, policy = situation.snapshot, situation.policy
    if snapshot.state_at_ms is None or situation.now_ms - snapshot.state_at_ms > policy.facts_max_age_ms:
        return []
    if response.on_old_inventory is not None:
        return apply_decisions(response.on_old_inventory(situation), snapshot.decisions)
    planned = [d for d in response.proposed(situation) if not d.vetoes and not ACTION_TYPES[d.kind].needs_inventory]
    return apply_decisions(planned, snapshot.decisions)
