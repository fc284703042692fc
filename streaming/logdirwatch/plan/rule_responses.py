"""How every rule's alerts are answered; total over the rules, as a test proves."""

from collections.abc import Mapping

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.brokers import BrokerAwayEvidence
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import Rule
from logdirwatch.plan.actions.brokers.investigate import PLANNED, Runbook, look_at
from logdirwatch.plan.proposal import Policy, ProposedAction
from logdirwatch.plan.responses import (
    broker_offline,
    broker_unknown,
    fleet_space,
    log_dir_changed,
    log_dir_imbalance,
    log_dir_offline,
    log_dir_space,
    log_dir_suspect,
    log_dir_unknown,
    move_stalled,
    partition_failed,
    partitions_at_risk,
    pipeline,
    placement_reports_stuck,
    throttle_left,
    unaccounted_bytes,
    uncleanable_partitions,
)
from logdirwatch.plan.responses.response import Response

RESPONSES: Mapping[Rule, Response] = {
    Rule.LOG_DIR_SPACE: log_dir_space.RESPONSE,
    Rule.LOG_DIR_OFFLINE: log_dir_offline.RESPONSE,
    Rule.LOG_DIR_UNKNOWN: log_dir_unknown.RESPONSE,
    Rule.LOG_DIR_SUSPECT: log_dir_suspect.RESPONSE,
    Rule.LOG_DIR_CHANGED: log_dir_changed.RESPONSE,
    Rule.LOG_DIR_IMBALANCE: log_dir_imbalance.RESPONSE,
    Rule.BROKER_OFFLINE: broker_offline.RESPONSE,
    Rule.BROKER_UNKNOWN: broker_unknown.RESPONSE,
    Rule.PARTITION_FAILED: partition_failed.RESPONSE,
    Rule.UNCLEANABLE_PARTITIONS: uncleanable_partitions.RESPONSE,
    Rule.PARTITIONS_AT_RISK: partitions_at_risk.RESPONSE,
    Rule.FLEET_SPACE: fleet_space.RESPONSE,
    Rule.UNACCOUNTED_BYTES: unaccounted_bytes.RESPONSE,
    Rule.MOVE_STALLED: move_stalled.RESPONSE,
    Rule.THROTTLE_LEFT: throttle_left.RESPONSE,
    Rule.PLACEMENT_REPORTS_STUCK: placement_reports_stuck.RESPONSE,
    Rule.PIPELINE_LAGGING: pipeline.PIPELINE_LAGGING,
    Rule.PIPELINE_REJECTS: pipeline.PIPELINE_REJECTS,
    Rule.PIPELINE_DATA_LOSS: pipeline.PIPELINE_DATA_LOSS,
    Rule.DATA_QUALITY: pipeline.DATA_QUALITY,
    Rule.HEARTBEAT: pipeline.HEARTBEAT,
}

RUNBOOKS: Mapping[Rule, Runbook] = {
    rule: response.runbook for rule, response in RESPONSES.items() if response.runbook is not None
}


def investigate(alert: AlertRecord, policy: Policy, why: str | None = None) -> ProposedAction:
    """Return the step of an alert's runbook; ``why`` says what keeps a better action back."""
    look = look_at(alert, _runbook_of(alert), policy)
    return look if why is None else look.because(why)


def _runbook_of(alert: AlertRecord) -> Runbook:
    special = RESPONSES[alert.rule].runbook_for(alert)
    if special is not None:
        return special
    return RUNBOOKS[alert.rule] if read_as(alert.evidence, BrokerAwayEvidence).maintenance is None else PLANNED
