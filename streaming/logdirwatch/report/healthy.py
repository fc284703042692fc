"""What a person's word that something is good does to an alert: it ends what only words hold open.

Of everything else it is said what ends it, so that nobody waits for an end that does not come.
"""

from collections.abc import Mapping
from typing import NamedTuple

from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import REMOTE_COPY_FAILS, KernelTrouble, Rule

BY_WORD = frozenset({Rule.LOG_DIR_SUSPECT, Rule.UNCLEANABLE_PARTITIONS, Rule.PARTITION_FAILED})
_SUSPICIONS_BY_WORD = frozenset({*map(str, KernelTrouble), REMOTE_COPY_FAILS})

ENDS_WHEN: Mapping[Rule, str] = {
    Rule.LOG_DIR_SPACE: "two samples in a row show it 5 points below its threshold",
    Rule.LOG_DIR_OFFLINE: "its broker, once restarted, reports the directory online",
    Rule.LOG_DIR_UNKNOWN: "its broker reports the directory with its size",
    Rule.LOG_DIR_SUSPECT: "what is held against it is measured to be well",
    Rule.LOG_DIR_CHANGED: "size, volume and reserve file are as before, or a new size or volume stayed for a day",
    Rule.LOG_DIR_IMBALANCE: "the directories are filled more equally",
    Rule.BROKER_OFFLINE: "the broker answers",
    Rule.BROKER_UNKNOWN: "the broker answers, or the controller says that it is away",
    Rule.PARTITION_FAILED: "no partition of the broker was called bad for a day, and all of its replicas are in sync",
    Rule.UNCLEANABLE_PARTITIONS: "the cleaner's gauge says 0",
    Rule.PARTITIONS_AT_RISK: "no broker reports a partition in danger",
    Rule.FLEET_SPACE: "enough fits again for ten minutes",
    Rule.UNACCOUNTED_BYTES: "the share of unexplained bytes is below its threshold",
    Rule.MOVE_STALLED: "the moves go on, or nothing is on its way",
    Rule.THROTTLE_LEFT: "the limits are gone, or a move needs them",
    Rule.PLACEMENT_REPORTS_STUCK: "no report waits in the broker",
    Rule.PIPELINE_LAGGING: "the query has caught up",
    Rule.PIPELINE_REJECTS: "fewer than half as many records were rejected within the window",
    Rule.PIPELINE_DATA_LOSS: "nothing more was lost for an hour",
    Rule.DATA_QUALITY: "a later look finds all of it met",
    Rule.HEARTBEAT: "a heartbeat comes through",
}
"""After "it ends when"."""


class Effect(NamedTuple):
    """Whether the word ends something of an alert, and what else must be known of it; None where it ends."""

    is_heard: bool
    note: str | None


def effect(alert: AlertRecord) -> Effect:
    """Return what the word does to an alert."""
    ends = f"it ends when {ENDS_WHEN[alert.rule]}"
    if alert.rule is Rule.LOG_DIR_OFFLINE:
        return Effect(True, f"{alert.rule} keeps firing: {ends}; earlier kernel errors no longer explain it")
    if alert.rule not in BY_WORD:
        return Effect(False, f"no word ends {alert.rule}: {ends}")
    if alert.rule is Rule.LOG_DIR_SUSPECT:
        return _of_suspicions(alert, ends)
    is_counted = alert.rule is Rule.UNCLEANABLE_PARTITIONS and _counted(alert) > len(alert.evidence.get("why") or ())
    return Effect(True, f"a gauge counts more than the log names, and goes on: {ends}" if is_counted else None)


def _of_suspicions(alert: AlertRecord, ends: str) -> Effect:
    kinds = [str(kind) for kind in alert.evidence.get("why") or ()]
    measured = [kind for kind in kinds if kind not in _SUSPICIONS_BY_WORD]
    if kinds and len(measured) == len(kinds):
        return Effect(False, f"no word ends {alert.rule} for {', '.join(measured)}: {ends}")
    keeps_firing = f"{alert.rule} keeps firing for {', '.join(measured)}: {ends}"
    return Effect(True, keeps_firing if measured else None)


def _counted(alert: AlertRecord) -> int:
    return int(alert.evidence.get("uncleanable_partitions") or 0)
