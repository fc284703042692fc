"""partitions_at_risk: how many partitions of a cluster are without a leader, or close to it."""

from typing import Any

from logdirwatch.detect.alerts.context import EvidenceTime
from logdirwatch.fleet import rules, wording
from logdirwatch.fleet.alerts import Claim, Details
from logdirwatch.fleet.context import ClusterContext
from logdirwatch.model.evidence.clusters import PartitionsAtRiskEvidence
from logdirwatch.model.vocabulary import Rule


def judge(context: ClusterContext, moment: EvidenceTime) -> None:
    """Update the alert from the sums over all brokers; a broker that is not seen counts as it was last seen."""
    danger, settings = rules.danger(context.tally.sums), context.settings
    verdict = context.alerts.lasting(
        Rule.PARTITIONS_AT_RISK,
        moment.at_ms,
        is_wrong=danger is not None,
        after_ms=settings.risk_after_ms,
        hold_ms=settings.risk_hold_ms,
    )
    if verdict is False:
        context.alerts.resolve(Rule.PARTITIONS_AT_RISK, None, "recovered", moment.at_ms)
    elif verdict and danger is not None:
        kind, severity = danger
        sums = context.tally.sums
        figures = (sums.leaderless, sums.under_min_isr, sums.sole_replica, sums.internal_leaderless)
        claim = Claim(severity, kind, figures)
        context.alerts.fire(Rule.PARTITIONS_AT_RISK, None, claim, lambda: _details(context, kind), *moment)


def affected(context: ClusterContext) -> dict[str, Any]:
    """Return the counts of partitions in danger, and examples.

    Partitions under or at their minimum of in-sync replicas get a lower bound and, as ``_at_most``, an upper bound that
    counts every replica.
    """
    sums, healths = context.tally.sums, context.healths
    under, at = rules.at_least(sums, healths)
    return {
        "leaderless": sums.leaderless,
        "under_min_isr": under,
        "under_min_isr_at_most": sums.under_min_isr,
        "at_min_isr": at,
        "at_min_isr_at_most": sums.at_min_isr,
        "sole_replica": sums.sole_replica,
        "internal_leaderless": sums.internal_leaderless,
        "examples": rules.examples(healths),
        "hurt_topics": rules.hurt(health.hurt_topics for health in healths),
        "hurt_groups": rules.hurt(health.hurt_groups for health in healths),
    }


def _details(context: ClusterContext, kind: str) -> Details:
    hurt = affected(context)
    evidence = PartitionsAtRiskEvidence(
        decided_by=kind,
        brokers=context.tally.sums.brokers,
        unknown_brokers=context.tally.sums.brokers - len(context.healths),
        silent_brokers=context.tally.sums.silent_brokers,
    )
    return Details(evidence, hurt, wording.partitions_at_risk(context.memory.cluster, kind, hurt))
