"""``log_dir_changed``: a directory suddenly has another size, is on another volume, or came back empty.

So it is after a lost mount, or on another disk: Kafka makes the replicas again, empty, and copies them from other
brokers (Kafka 4.3.1 ``LogManager.getOrCreateLog``), there or in the broker's other directories: as many replicas, half
of their bytes or less, and many of them out of sync. Where it does not, they are in none of its directories, and the
cluster's metadata counts them here. What retention, compaction or a deleted topic takes away leaves replicas in sync,
or takes them along; what was moved is in another directory with its bytes.

A missing configured reserve file counts too: it could not be released when the disk is full.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect.alerts import evidence, messages
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.alerts.lifecycle import RECOVERED
from logdirwatch.detect.rules import broker_offline, lagging_replicas
from logdirwatch.detect.state import maintenance
from logdirwatch.detect.state.broker_state import BrokerMemory, Change, Left, LogDirMemory, OpenAlert
from logdirwatch.detect.state.forecast import Peaks
from logdirwatch.model.evidence.log_dirs import LogDirChangedEvidence
from logdirwatch.model.records import HostLogDir, LogDirSample, MetricsRecord
from logdirwatch.model.vocabulary import Cause, LogDirStatus, Rule, Severity

CAPACITY = "capacity"
VOLUME = "volume"
ROOT_VOLUME = "root_volume"
RESERVE = "reserve"
EMPTIED = "emptied"
_LESSER = frozenset({CAPACITY, VOLUME, RESERVE})
CHANGE_RATIO = 0.01
COMPLETE_RATIO = 0.95
"""Of a directory's bytes: retention and compaction go on while its replicas are copied again."""
LOST_RATIO = 0.5
NEARLY_ALL_RATIO = 0.95
"""Of the bytes: without another copy a replica is made again empty, and is in sync."""
SAME_COUNT_RATIO = 0.9
SETTLED_MS = 600_000
"""How long after an absence replicas are compared with those before: they are made again one by one."""
AWAY_MOST_MS = 3 * HOUR_MS
"""After a longer absence retention explains it, unless the host sees another volume.

A replica whose leader has deleted what follows it begins again, empty.
"""
_EMPTIED_BY_HAND = frozenset({Cause.FAILED, Cause.FILE_SYSTEM, Cause.FULL, Cause.DAMAGED_FILE})
"""The causes of a failure that people end by a new disk, a new file system, or by removing replicas."""
SAME_USE_RATIO = 0.01
"""Of its size: what a volume's use may change between the last sample and the first look after a boot."""


def note_capacity(log_dir: LogDirMemory, sample: LogDirSample, moment: EvidenceTime) -> None:
    """Compare the size of a sample before it is remembered; use on another volume says nothing about this one.

    A pool (ZFS, a share) is as large as its other users leave it: what they take counts as this directory's growth.
    """
    known, now = log_dir.total_bytes, sample.total_bytes
    if not known or not now:
        return
    is_other_source = sample.capacity_source != log_dir.capacity_source
    if _is_same_size(known, now):
        log_dir.peaks.brought_bytes += 0 if is_other_source else now - known
        return
    log_dir.peaks, log_dir.rise, log_dir.full_at_ms, log_dir.forecast_confidence = Peaks(), None, None, None
    log_dir.lasting_growth_bytes_per_s = None
    if is_other_source:
        return  # the volume may be the same
    # The reserve file is missing because the volume is another one: the cause replaces its consequence.
    if log_dir.change is None or log_dir.change.why == RESERVE:
        log_dir.change = Change(why=CAPACITY, at_ms=moment.at_ms, total_bytes=known, volume=log_dir.volume)


def note_volume(log_dir: LogDirMemory, seen: HostLogDir, moment: EvidenceTime) -> None:
    """Compare the volume reported by the host."""
    is_lost = bool(seen.is_root_volume) and log_dir.is_root_volume is False
    is_other = log_dir.is_volume_told and seen.volume != log_dir.volume and not _is_renumbered(log_dir, seen)
    why = ROOT_VOLUME if is_lost else VOLUME
    # A lost mount is another volume, of another size and empty, so it replaces them all.
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


def lose_sight(memory: BrokerMemory) -> None:
    """Remember what the directories held when their broker stopped answering."""
    for log_dir in memory.log_dirs.values():
        if log_dir.held is None and log_dir.replica_bytes:
            log_dir.held = replace(_before(log_dir), at_ms=memory.newest_ms)


def is_quiet(memory: BrokerMemory) -> bool:
    """Tell whether no change lasts: the columns watch the sizes and the bytes of replicas."""
    return all(log_dir.held is None and log_dir.change is None for log_dir in memory.log_dirs.values())


def note_content(
    context: BrokerContext, record: MetricsRecord, sample: LogDirSample, log_dir: LogDirMemory, moment: EvidenceTime
) -> None:
    """Compare a sample with what the directory held before; call it before any sample of the answer is remembered."""
    memory, change = context.memory, log_dir.change
    # Of a directory without replicas those elsewhere tell whether they are copied again.
    holders = [sample] if sample.replica_count else record.log_dirs
    if change is not None and change.why == EMPTIED:
        _follow(context, holders, change)
    elif (change is None or change.why in _LESSER) and _has_lost_bytes(memory, record, sample, log_dir):
        _note_loss(context, holders, sample, log_dir, moment)
    if log_dir.held is not None and _is_settled(memory, log_dir.held, moment.at_ms):
        log_dir.held = None


def _note_loss(
    context: BrokerContext,
    holders: Sequence[LogDirSample],
    sample: LogDirSample,
    log_dir: LogDirMemory,
    moment: EvidenceTime,
) -> None:
    """Note that a directory came back empty, or what it held before: its replicas leave the in-sync set later."""
    is_behind = _is_behind(context, holders) is True
    if _is_expected(log_dir, moment.at_ms):
        log_dir.held = None
    elif is_behind or _is_gone(context.memory, sample, log_dir):
        log_dir.change = Change(
            why=EMPTIED,
            at_ms=moment.at_ms,
            total_bytes=log_dir.total_bytes or 0,
            volume=log_dir.volume,
            replica_bytes=_before(log_dir).replica_bytes,
            is_behind=is_behind,
        )
        # They are behind because they are copied again, not because the disk is slow.
        log_dir.held, log_dir.kept_up, log_dir.lagging_scans = None, False, 0
    else:
        log_dir.held = log_dir.held or replace(_before(log_dir), at_ms=moment.at_ms)


def _has_lost_bytes(memory: BrokerMemory, record: MetricsRecord, sample: LogDirSample, log_dir: LogDirMemory) -> bool:
    """Tell whether as many replicas as before, here or in the whole broker, have half of their bytes or less."""
    before, count, size_bytes = _before(log_dir), sample.replica_count, sample.replica_bytes
    if sample.error_code or not before.replica_count or not before.replica_bytes or count is None or size_bytes is None:
        return False
    if size_bytes > LOST_RATIO * before.replica_bytes:
        return False
    lost_bytes = before.replica_bytes - size_bytes
    return (
        count >= SAME_COUNT_RATIO * before.replica_count
        or _are_made_again(memory, record, lost_bytes)
        or _nowhere(record) >= SAME_COUNT_RATIO * (before.replica_count - count)
    )


def _are_made_again(memory: BrokerMemory, record: MetricsRecord, lost_bytes: int) -> bool:
    """Tell whether the broker holds as many replicas as before, without most of the bytes that were lost."""
    before = [_before(log_dir) for log_dir in memory.log_dirs.values()]
    had, had_bytes = sum(one.replica_count or 0 for one in before), sum(one.replica_bytes or 0 for one in before)
    has, has_bytes = (
        sum(one.replica_count or 0 for one in record.log_dirs),
        sum(one.replica_bytes or 0 for one in record.log_dirs),
    )
    return has >= SAME_COUNT_RATIO * had and had_bytes - has_bytes > LOST_RATIO * lost_bytes


def _nowhere(record: MetricsRecord) -> int:
    """Return how many replicas the broker should hold, by the cluster's metadata, that are in none of its directories.

    They are out of sync. What was moved to other brokers, or deleted, is not in the metadata any more.
    """
    behind = [one.out_of_sync_count for one in record.log_dirs]
    out_of_sync = None if record.partitions is None else record.partitions.out_of_sync
    return 0 if out_of_sync is None or None in behind else out_of_sync - sum(count or 0 for count in behind)


def _is_expected(log_dir: LogDirMemory, at_ms: int) -> bool:
    was_offline = LogDirStatus.OFFLINE in {log_dir.status, log_dir.last_status}
    is_long_ago = log_dir.held is not None and at_ms - log_dir.held.at_ms > AWAY_MOST_MS
    is_other = log_dir.change is not None and log_dir.change.why == VOLUME
    return (is_long_ago and not is_other) or (was_offline and log_dir.cause in _EMPTIED_BY_HAND)


def _is_gone(memory: BrokerMemory, sample: LogDirSample, log_dir: LogDirMemory) -> bool:
    """Tell whether nearly all bytes left a directory while its broker was away."""
    before = _before(log_dir)
    was_away = log_dir.held is not None and (memory.status in broker_offline.AWAY or memory.since_ms > before.at_ms)
    return was_away and (sample.replica_bytes or 0) <= (1 - NEARLY_ALL_RATIO) * (before.replica_bytes or 0)


def _before(log_dir: LogDirMemory) -> Left:
    return log_dir.held or Left(at_ms=0, replica_count=log_dir.replica_count, replica_bytes=log_dir.replica_bytes)


def _follow(context: BrokerContext, holders: Sequence[LogDirSample], change: Change) -> None:
    is_behind = _is_behind(context, holders)
    change.is_behind = change.is_behind if is_behind is None else is_behind


def _is_behind(context: BrokerContext, holders: Sequence[LogDirSample]) -> bool | None:
    counts, behind = [one.replica_count for one in holders], [one.out_of_sync_count for one in holders]
    if None in counts or None in behind:
        return None
    count = lagging_replicas.Sync(sum(one or 0 for one in counts), sum(one or 0 for one in behind))
    return lagging_replicas.is_behind(count, context.settings)


def _is_settled(memory: BrokerMemory, held: Left, at_ms: int) -> bool:
    """Tell whether the broker has answered for long enough since it was away."""
    is_back = memory.away_since_ms is None and memory.status not in broker_offline.AWAY
    return is_back and at_ms - max(memory.since_ms, held.at_ms) >= SETTLED_MS


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
    # To copy terabytes again may take longer than changed_hold_ms, and the data has a copy less until then.
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
    # A disk that is replaced during maintenance is empty on purpose.
    if change.why == EMPTIED and maintenance.running(context.memory) is not None:
        return Severity.INFO
    if change.why in {ROOT_VOLUME, EMPTIED}:
        return Severity.CRITICAL
    if change.why in {VOLUME, RESERVE}:
        return Severity.WARNING
    # Volumes are grown on purpose; one that is smaller than before is usually another one.
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
