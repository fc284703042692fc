"""``log_dir_changed``: a directory suddenly has another size, or is on another volume, as after a lost mount.

A missing configured reserve file counts too: it could not be released when the disk is full.
"""

from logdirwatch.detect.alerts import evidence, messages
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.alerts.lifecycle import RECOVERED
from logdirwatch.detect.state import maintenance
from logdirwatch.detect.state.broker_state import Change, LogDirMemory, OpenAlert
from logdirwatch.detect.state.forecast import Peaks
from logdirwatch.model.evidence.log_dirs import LogDirChangedEvidence
from logdirwatch.model.records import HostLogDir, LogDirSample
from logdirwatch.model.vocabulary import LogDirStatus, Rule, Severity

CAPACITY = "capacity"
VOLUME = "volume"
ROOT_VOLUME = "root_volume"
RESERVE = "reserve"
EMPTIED = "emptied"
"""Its replicas are there again without their bytes, see :mod:`emptied_log_dirs`."""
CHANGE_RATIO = 0.01
COMPLETE_RATIO = 0.95
"""Of a directory's bytes: retention and compaction go on while its replicas are copied again."""
SAME_USE_RATIO = 0.01
"""Of its size: what a volume's use may change between the last sample and the first look after a boot."""


def note_capacity(log_dir: LogDirMemory, sample: LogDirSample, moment: EvidenceTime) -> None:
    """Compare the size of a sample before it is remembered; use on another volume says nothing about this one."""
    known, now = log_dir.total_bytes, sample.total_bytes
    if not known or not now or _is_same_size(known, now):
        return
    log_dir.peaks, log_dir.rise, log_dir.full_at_ms, log_dir.forecast_confidence = Peaks(), None, None, None
    log_dir.lasting_growth_bytes_per_s = None
    if sample.capacity_source != log_dir.capacity_source:
        return  # another source tells it: the volume may be the same
    if log_dir.change is None or log_dir.change.why == RESERVE:
        log_dir.change = Change(why=CAPACITY, at_ms=moment.at_ms, total_bytes=known, volume=log_dir.volume)


def note_volume(log_dir: LogDirMemory, seen: HostLogDir, moment: EvidenceTime) -> None:
    """Compare the volume reported by the host."""
    is_lost = bool(seen.is_root_volume) and log_dir.is_root_volume is False
    is_other = log_dir.is_volume_told and seen.volume != log_dir.volume and not _is_renumbered(log_dir, seen)
    why = ROOT_VOLUME if is_lost else VOLUME
    lesser = {CAPACITY, RESERVE, VOLUME, EMPTIED} if is_lost else {CAPACITY, RESERVE}
    if (is_lost or is_other) and (log_dir.change is None or log_dir.change.why in lesser):
        log_dir.change = Change(
            why=why, at_ms=moment.at_ms, total_bytes=log_dir.total_bytes or 0, volume=log_dir.volume
        )
    log_dir.volume, log_dir.is_volume_told = seen.volume, True
    log_dir.is_root_volume = seen.is_root_volume


def _is_renumbered(log_dir: LogDirMemory, seen: HostLogDir) -> bool:
    """Tell whether only the device number changed, as after a boot: the size is the same, the use nearly."""
    if not seen.total_bytes or seen.usable_bytes is None or log_dir.usable_bytes is None:
        return False
    is_same_use = abs(seen.usable_bytes - log_dir.usable_bytes) <= SAME_USE_RATIO * seen.total_bytes
    return seen.total_bytes == log_dir.total_bytes and is_same_use


def note_reserve(log_dir: LogDirMemory, seen: HostLogDir, moment: EvidenceTime) -> None:
    """Check whether the reserve file exists; in a filling directory it is released intentionally (KIP-928)."""
    log_dir.is_reserve_there = seen.is_reserve_there
    if seen.is_reserve_there is False and log_dir.status is LogDirStatus.ONLINE and log_dir.change is None:
        log_dir.change = Change(
            why=RESERVE, at_ms=moment.at_ms, total_bytes=log_dir.total_bytes or 0, volume=log_dir.volume
        )


def tell(context: BrokerContext, path: str, log_dir: LogDirMemory, moment: EvidenceTime) -> None:
    """Open or end the alert about a change; it ends when the old state is back, or when the new one has lasted."""
    change = log_dir.change
    if change is None:
        return
    ended = _ended(context, log_dir, change, moment)
    if ended is not None:
        context.alerts.resolve(Rule.LOG_DIR_CHANGED, path, ended, moment.at_ms, to_status=log_dir.status)
        if Rule.LOG_DIR_CHANGED not in log_dir.alerts:
            log_dir.change = None
        return
    severity = _severity(context, log_dir, change)
    context.alerts.raise_alert(
        Rule.LOG_DIR_CHANGED,
        path,
        severity=severity,
        transition=(log_dir.status, log_dir.status),
        evidence=_evidence(log_dir, change),
        affected=evidence.affected(context, log_dir),
        summary=messages.changed(context.memory, path, change, log_dir, severity),
        at_ms=moment.at_ms,
        origin=moment.origin,
    )


def told_elsewhere(context: BrokerContext, path: str, log_dir: LogDirMemory, moment: EvidenceTime) -> OpenAlert | None:
    """Return the alert about another volume at a directory's path: room on it is none on the one that was full.

    None if there is none, or if the new volume is larger, as one is that somebody moved the replicas to.
    """
    change = log_dir.change
    if change is None or change.why == RESERVE:
        return None
    if change.why != ROOT_VOLUME and (log_dir.total_bytes or 0) > change.total_bytes:
        return None
    tell(context, path, log_dir, moment)
    return log_dir.alerts.get(Rule.LOG_DIR_CHANGED)


def _ended(context: BrokerContext, log_dir: LogDirMemory, change: Change, moment: EvidenceTime) -> str | None:
    has_stayed = moment.at_ms - change.at_ms >= context.settings.changed_hold_ms
    if change.why == RESERVE:
        if log_dir.is_reserve_there is None:
            return "nobody looks for it any more" if has_stayed else None
        return RECOVERED if log_dir.is_reserve_there else None
    if change.why == ROOT_VOLUME:
        # The mount may come back under another name: a new disk, or new device numbers after a reboot.
        return RECOVERED if log_dir.is_root_volume is False else None
    if change.why == EMPTIED and change.is_behind:
        return None
    is_back = (
        _is_same_size(change.total_bytes, log_dir.total_bytes or 0)
        if change.why == CAPACITY
        else holds_again(log_dir, change)
        if change.why == EMPTIED
        else log_dir.volume == change.volume
    )
    if is_back:
        return RECOVERED
    return "it stayed so" if has_stayed else None


def _severity(context: BrokerContext, log_dir: LogDirMemory, change: Change) -> Severity:
    if change.why == EMPTIED and maintenance.running(context.memory) is not None:
        return Severity.INFO
    if change.why in {ROOT_VOLUME, EMPTIED}:
        return Severity.CRITICAL
    if change.why in {VOLUME, RESERVE}:
        return Severity.WARNING
    return Severity.CRITICAL if (log_dir.total_bytes or 0) < change.total_bytes else Severity.INFO


def _evidence(log_dir: LogDirMemory, change: Change) -> LogDirChangedEvidence:
    return LogDirChangedEvidence(
        why=change.why,
        total_bytes_before=change.total_bytes,
        volume_before=change.volume,
        volume=log_dir.volume,
        replica_bytes_before=change.replica_bytes,
        replica_bytes=log_dir.replica_bytes if change.why == EMPTIED else None,
        **evidence.last_sample(log_dir),
    )


def holds_again(log_dir: LogDirMemory, change: Change) -> bool:
    """Tell whether a directory that came back empty holds what it held before, by its bytes."""
    return (log_dir.replica_bytes or 0) >= COMPLETE_RATIO * (change.replica_bytes or 0)


def _is_same_size(known: int, now: int) -> bool:
    return abs(now - known) <= CHANGE_RATIO * known
