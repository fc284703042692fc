"""Which actions answer an alert about something that failed, is gone, in doubt or in danger."""

from collections.abc import Callable, Mapping

from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import LogDirStatus, Rule
from logdirwatch.plan.actions.brokers.recreate_reserve import recreate_draft
from logdirwatch.plan.actions.replicas.demote_leaders import demote, led_from
from logdirwatch.plan.cluster.snapshot import Directory, Facts, TopicPartition
from logdirwatch.plan.proposal import Draft, Policy
from logdirwatch.plan.responses.broker_offline import broker_offline, broker_unknown
from logdirwatch.plan.responses.log_dir_offline import offline_drafts
from logdirwatch.plan.responses.log_dir_suspect import suspect, unreported
from logdirwatch.plan.responses.partitions_at_risk import move_stalled, partition_failed, partitions_at_risk

RESERVE_GONE = "reserve"
"""What the evidence of log_dir_changed says when the reserve file is not there."""


def failure_drafts(
    alert: AlertRecord, directory: Directory | None, facts: Facts, policy: Policy, now_ms: int
) -> list[Draft]:
    """Return the actions for an alert about a failure; empty where another part of the planner answers, or nobody."""
    if alert.rule in _ANSWERS:
        return _ANSWERS[alert.rule](alert, facts, policy, now_ms)
    if alert.rule is Rule.BROKER_UNKNOWN:
        return broker_unknown(alert, policy)
    if alert.rule is Rule.MOVE_STALLED:
        return move_stalled(alert, facts, policy)
    return [] if directory is None else _of_directory(alert, directory, facts, policy, now_ms)


def leaders_off(directory: Directory, facts: Facts, policy: Policy, drafts: list[Draft]) -> list[Draft]:
    """Return who should lead instead of a saturated directory, besides what ``drafts`` move away from it anyway.

    The next write may take it offline, and a tiered partition archives from its leader, which needs space (KIP-928).
    """
    if directory.status is not LogDirStatus.SATURATED:
        return []
    why = f"{directory.path} is saturated, and the next write may take it offline with all its leaders"
    moved = {key for draft in drafts for key in _named(draft)}
    led = led_from(directory, facts)
    return demote(directory.broker, directory.path, led, facts, policy, why, besides=moved)


def _of_directory(alert: AlertRecord, directory: Directory, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    if alert.rule is Rule.LOG_DIR_SUSPECT:
        return suspect(alert, directory, facts, policy, now_ms)
    if alert.rule is Rule.LOG_DIR_UNKNOWN:
        return unreported(alert, directory, facts, policy)
    if alert.rule is Rule.LOG_DIR_CHANGED and alert.evidence.get("why") == RESERVE_GONE:
        made_anew = recreate_draft(directory, policy)
        return [] if made_anew is None else [made_anew]
    return []


def _named(draft: Draft) -> list[TopicPartition]:
    plan = draft.reassignment or {"partitions": []}
    return [(entry["topic"], entry["partition"]) for entry in plan["partitions"]]


_ANSWERS: Mapping[Rule, Callable[[AlertRecord, Facts, Policy, int], list[Draft]]] = {
    Rule.BROKER_OFFLINE: broker_offline,
    Rule.LOG_DIR_OFFLINE: offline_drafts,
    Rule.PARTITION_FAILED: partition_failed,
    Rule.PARTITIONS_AT_RISK: partitions_at_risk,
}
