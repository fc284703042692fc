"""``log_dir_imbalance``: the use of one broker's directories differs widely.

Offline, cordoned and unknown directories are left out. Brokers are not compared with each other: the planner does that.
"""

from typing import NamedTuple

from logdirwatch.detect.alerts import evidence, messages
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.alerts.lifecycle import RECOVERED
from logdirwatch.detect.rules.log_dir_changed import EMPTIED
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory, OpenAlert
from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.base import UsedLogDir
from logdirwatch.model.evidence.brokers import LogDirImbalanceEvidence
from logdirwatch.model.records import MetricsRecord
from logdirwatch.model.vocabulary import LogDirStatus, Rule, Severity
from logdirwatch.text.units import human_ratio

RULE = Rule.LOG_DIR_IMBALANCE
NEWS = 0.1
"""The alert is revised when the spread has changed by this much."""


class Spread(NamedTuple):
    """The lowest and highest used ratio, and whether all directories are known; a single disk has no spread."""

    lowest: float
    highest: float
    is_whole: bool


def judge_answer(context: BrokerContext, _: MetricsRecord, moment: EvidenceTime) -> None:
    """Open, update or end the broker's alert by the present use of its directories."""
    memory, settings = context.memory, context.settings
    alert, spread = memory.alerts.get(RULE), spread_of(memory)
    was_unequal = alert is not None or memory.unequal_since_ms is not None
    # Hysteresis also holds while the time runs, or a spread around the limit would never last long enough.
    back = settings.imbalance_back_ratio if was_unequal else 0.0
    is_wide = spread.highest - spread.lowest >= settings.imbalance_ratio - back
    if not is_wide or spread.highest < settings.imbalance_from_ratio - back:
        memory.unequal_since_ms = None
        if alert is not None and spread.is_whole:
            context.alerts.resolve(RULE, None, RECOVERED, moment.at_ms)
        return
    if memory.unequal_since_ms is None:
        memory.unequal_since_ms = moment.at_ms
    if alert is not None or moment.at_ms - memory.unequal_since_ms >= settings.imbalance_after_ms:
        _tell(context, alert, spread, moment)


def is_quiet(memory: BrokerMemory) -> bool:
    """Tell whether it does not wait: the columns watch the spread."""
    return memory.unequal_since_ms is None


def lose_sight(memory: BrokerMemory) -> None:
    """Restart the time for which they must be unequal."""
    memory.unequal_since_ms = None


def spread_of(memory: BrokerMemory) -> Spread:
    """Return the spread of the directories that can take replicas; those on one volume count once.

    This runs for every poll of every broker, so it must be fast.
    """
    least_free, most_free, is_whole = 1.0, 0.0, True
    for log_dir in memory.log_dirs.values():
        status, total_bytes, usable_bytes = log_dir.status, log_dir.total_bytes, log_dir.usable_bytes
        # It may be the fullest or the emptiest, so its absence must not end the alert.
        if status is LogDirStatus.UNKNOWN or _is_refilled(log_dir):
            is_whole = False
        elif total_bytes and usable_bytes is not None and status is not LogDirStatus.OFFLINE:
            free = usable_bytes / total_bytes
            # Nothing new is placed in a cordoned directory (KIP-1066): its difference is meant.
            if (free < least_free or free > most_free) and not log_dir.is_cordoned:
                least_free, most_free = min(free, least_free), max(free, most_free)
    return Spread(1.0 - most_free, 1.0 - least_free, is_whole)


def _is_refilled(log_dir: LogDirMemory) -> bool:
    """Tell whether it came back empty, and is as full as before once its replicas are copied again."""
    return log_dir.change is not None and log_dir.change.why == EMPTIED


def _takes_part(log_dir: LogDirMemory) -> bool:
    return (
        log_dir.status is not LogDirStatus.OFFLINE
        and log_dir.status is not LogDirStatus.UNKNOWN
        and not log_dir.is_cordoned
        and not _is_refilled(log_dir)
        and bool(log_dir.total_bytes)
        and log_dir.usable_bytes is not None
    )


def _used_ratio(log_dir: LogDirMemory) -> float:
    return 1.0 - (log_dir.usable_bytes or 0) / (log_dir.total_bytes or 1)


def _tell(context: BrokerContext, alert: OpenAlert | None, spread: Spread, moment: EvidenceTime) -> None:
    width = spread.highest - spread.lowest
    if alert is not None and alert.stale_since_ms is None and abs(width - _told_ratio(alert)) < NEWS:
        alert.calm_since_ms = None
        return
    found = _evidence(context.memory, width)
    context.alerts.raise_alert(
        RULE,
        None,
        severity=Severity.INFO,
        transition=(None, None),
        evidence=found,
        affected=evidence.affected_by_broker(context),
        summary=messages.unequal(context.memory, found),
        at_ms=moment.at_ms,
        origin=moment.origin,
    )


def _told_ratio(alert: OpenAlert) -> float:
    return read_as(alert.evidence, LogDirImbalanceEvidence).spread_ratio or 0.0


def _evidence(memory: BrokerMemory, width: float) -> LogDirImbalanceEvidence:
    """Return how full each disk is, and the bytes that would have to move for all to be equally full."""
    disks: dict[str, tuple[str, LogDirMemory]] = {}
    for path, log_dir in sorted(memory.log_dirs.items()):
        if _takes_part(log_dir):
            disks.setdefault(log_dir.volume or path, (path, log_dir))
    used = {path: (disk.total_bytes or 0) - (disk.usable_bytes or 0) for path, disk in disks.values()}
    mean = sum(used.values()) / sum(disk.total_bytes or 0 for _, disk in disks.values())
    ratios = {path: _used_ratio(disk) for path, disk in disks.values()}
    fullest, emptiest = max(ratios, key=lambda path: ratios[path]), min(ratios, key=lambda path: ratios[path])
    return LogDirImbalanceEvidence(
        fullest=UsedLogDir(log_dir=fullest, used_ratio=ratios[fullest]),
        emptiest=UsedLogDir(log_dir=emptiest, used_ratio=ratios[emptiest]),
        spread_ratio=ratios[fullest] - ratios[emptiest],
        mean_ratio=mean,
        move_bytes=sum(max(0, used[path] - int(mean * (disk.total_bytes or 0))) for path, disk in disks.values()),
        used_ratios=ratios,
        left_out=sorted(path for path, log_dir in memory.log_dirs.items() if not _takes_part(log_dir)),
        why=f"{human_ratio(width, 0)}",
        since_ms=memory.unequal_since_ms,
    )
