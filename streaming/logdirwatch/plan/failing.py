"""Which actions answer an alert about something that failed, is gone, in doubt or in danger."""

from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import Cause, LogDirStatus, Rule
from logdirwatch.plan.demoting import demote, led_from
from logdirwatch.plan.doubtful import suspect, unreported
from logdirwatch.plan.draft import Draft, Policy
from logdirwatch.plan.endangered import move_stalled, partition_failed, partitions_at_risk
from logdirwatch.plan.facts import Directory, Facts, TopicPartition
from logdirwatch.plan.gone import broker_offline, broker_unknown
from logdirwatch.plan.losing import failed_drafts, full_drafts, limit_drafts
from logdirwatch.plan.reserve import recreate_draft
from logdirwatch.plan.restarting import restart_broker
from logdirwatch.plan.runbook import investigate

RESERVE_GONE = "reserve"
"""What the evidence of log_dir_changed says when the reserve file is not there."""


def failure_drafts(
    alert: AlertRecord, directory: Directory | None, facts: Facts, policy: Policy, now_ms: int
) -> list[Draft]:
    """Return the actions for an alert about a failure; empty where another part of the planner answers, or nobody."""
    if alert.rule is Rule.BROKER_OFFLINE:
        return broker_offline(alert, facts, policy, now_ms)
    if alert.rule is Rule.BROKER_UNKNOWN:
        return broker_unknown(alert, policy)
    if alert.rule is Rule.PARTITIONS_AT_RISK:
        return partitions_at_risk(alert, facts, policy, now_ms)
    if alert.rule is Rule.PARTITION_FAILED:
        return partition_failed(alert, facts, policy, now_ms)
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
    if alert.rule is Rule.LOG_DIR_OFFLINE:
        return _offline(alert, directory, facts, policy, now_ms)
    if alert.rule is Rule.LOG_DIR_SUSPECT:
        return suspect(alert, directory, facts, policy, now_ms)
    if alert.rule is Rule.LOG_DIR_UNKNOWN:
        return unreported(alert, directory, facts, policy)
    if alert.rule is Rule.LOG_DIR_CHANGED and alert.evidence.get("why") == RESERVE_GONE:
        made_anew = recreate_draft(directory, policy)
        return [] if made_anew is None else [made_anew]
    return []


def _offline(alert: AlertRecord, directory: Directory, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    if directory.cause is Cause.FAILED:
        return failed_drafts(directory, facts, policy, now_ms)
    if directory.cause is Cause.FULL:
        return full_drafts(directory, facts, policy)
    if directory.cause is Cause.LIMIT:
        return limit_drafts(directory, facts, policy)
    if directory.cause in {Cause.READ_ONLY, Cause.PERMISSION}:
        return [investigate(alert, policy), restart_broker(directory, facts, policy)]
    return [investigate(alert, policy, "whether it is full or failed is not known yet")]


def _named(draft: Draft) -> list[TopicPartition]:
    plan = draft.reassignment or {"partitions": []}
    return [(entry["topic"], entry["partition"]) for entry in plan["partitions"]]
