"""What the decision ``healthy`` does to an alert: it ends alerts that only log lines hold open.

For every other alert it says what ends it, so that nobody waits in vain.
"""

from typing import NamedTuple

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.log_dirs import LogDirOfflineEvidence, LogDirUnknownEvidence
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import REMOTE_COPY_FAILS, KernelTrouble, Rule
from logdirwatch.plan.rule_responses import RESPONSES

BY_WORD = frozenset({Rule.LOG_DIR_SUSPECT, Rule.UNCLEANABLE_PARTITIONS, Rule.PARTITION_FAILED})
_SUSPICIONS_BY_WORD = frozenset({*map(str, KernelTrouble), REMOTE_COPY_FAILS})


class Effect(NamedTuple):
    """Whether the decision ends something about an alert, and what else is needed; None: nothing."""

    is_heard: bool
    note: str | None


def effect(alert: AlertRecord) -> Effect:
    """Return what the decision does to an alert."""
    ends = f"it ends when {RESPONSES[alert.rule].ends_when}"
    if alert.rule is Rule.LOG_DIR_OFFLINE and read_as(alert.evidence, LogDirOfflineEvidence).is_ignored:
        return Effect(True, None)
    if alert.rule is Rule.LOG_DIR_OFFLINE:
        return Effect(True, f"{alert.rule} keeps firing: {ends}; earlier kernel errors no longer explain it")
    if alert.rule is Rule.LOG_DIR_UNKNOWN and read_as(alert.evidence, LogDirUnknownEvidence).has_left:
        return Effect(True, None)
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
