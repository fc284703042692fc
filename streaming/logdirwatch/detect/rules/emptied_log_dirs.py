"""Directories that came back empty, as when another disk is mounted at their path: ``log_dir_changed``.

Kafka makes their replicas again, empty, and copies them from other brokers (Kafka 4.3.1 ``LogManager.getOrCreateLog``):
as many replicas, half of their bytes or less, and many of them out of sync. What retention, compaction or a deleted
topic takes away leaves replicas in sync, or takes them along.
"""

from msgspec.structs import replace

from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.rules import broker_offline, lagging_replicas, log_dir_changed
from logdirwatch.detect.state.broker_state import BrokerMemory, Change, Left, LogDirMemory
from logdirwatch.model.records import LogDirSample
from logdirwatch.model.vocabulary import Cause, LogDirStatus

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
_LESSER = frozenset({log_dir_changed.CAPACITY, log_dir_changed.VOLUME, log_dir_changed.RESERVE})


def lose_sight(memory: BrokerMemory) -> None:
    """Remember what the directories held when their broker stopped answering."""
    for log_dir in memory.log_dirs.values():
        if log_dir.held is None and log_dir.replica_bytes:
            log_dir.held = replace(_before(log_dir), at_ms=memory.newest_ms)


def note(context: BrokerContext, sample: LogDirSample, log_dir: LogDirMemory, moment: EvidenceTime) -> None:
    """Compare a sample with what the directory held before; call it before the sample is remembered."""
    memory, change = context.memory, log_dir.change
    if change is not None and change.why == log_dir_changed.EMPTIED:
        _follow(context, sample, change)
    elif (change is None or change.why in _LESSER) and _has_lost_bytes(sample, log_dir):
        _judge(context, sample, log_dir, moment)
    if log_dir.held is not None and _is_settled(memory, log_dir.held, moment.at_ms):
        log_dir.held = None


def _judge(context: BrokerContext, sample: LogDirSample, log_dir: LogDirMemory, moment: EvidenceTime) -> None:
    """Note that a directory came back empty, or what it held before: its replicas leave the in-sync set later."""
    if _is_expected(log_dir, moment.at_ms):
        log_dir.held = None
    elif _came_back_empty(context, sample, log_dir):
        log_dir.change = Change(
            why=log_dir_changed.EMPTIED,
            at_ms=moment.at_ms,
            total_bytes=log_dir.total_bytes or 0,
            volume=log_dir.volume,
            replica_bytes=_before(log_dir).replica_bytes,
            is_behind=_is_behind(context, sample) is True,
        )
        # They are behind because they are copied again, not because the disk is slow.
        log_dir.held, log_dir.kept_up, log_dir.lagging_scans = None, False, 0
    else:
        log_dir.held = log_dir.held or replace(_before(log_dir), at_ms=moment.at_ms)


def _has_lost_bytes(sample: LogDirSample, log_dir: LogDirMemory) -> bool:
    """Tell whether as many replicas as before have half of their bytes or less."""
    before, count, size_bytes = _before(log_dir), sample.replica_count, sample.replica_bytes
    if sample.error_code or not before.replica_count or not before.replica_bytes or count is None or size_bytes is None:
        return False
    return count >= SAME_COUNT_RATIO * before.replica_count and size_bytes <= LOST_RATIO * before.replica_bytes


def _is_expected(log_dir: LogDirMemory, at_ms: int) -> bool:
    was_offline = LogDirStatus.OFFLINE in {log_dir.status, log_dir.last_status}
    is_long_ago = log_dir.held is not None and at_ms - log_dir.held.at_ms > AWAY_MOST_MS
    is_other = log_dir.change is not None and log_dir.change.why == log_dir_changed.VOLUME
    return (is_long_ago and not is_other) or (was_offline and log_dir.cause in _EMPTIED_BY_HAND)


def _came_back_empty(context: BrokerContext, sample: LogDirSample, log_dir: LogDirMemory) -> bool:
    before, memory = _before(log_dir), context.memory
    was_away = log_dir.held is not None and (memory.status in broker_offline.AWAY or memory.since_ms > before.at_ms)
    is_gone = was_away and (sample.replica_bytes or 0) <= (1 - NEARLY_ALL_RATIO) * (before.replica_bytes or 0)
    return _is_behind(context, sample) is True or is_gone


def _before(log_dir: LogDirMemory) -> Left:
    return log_dir.held or Left(at_ms=0, replica_count=log_dir.replica_count, replica_bytes=log_dir.replica_bytes)


def _follow(context: BrokerContext, sample: LogDirSample, change: Change) -> None:
    is_behind = _is_behind(context, sample)
    change.is_behind = change.is_behind if is_behind is None else is_behind


def _is_behind(context: BrokerContext, sample: LogDirSample) -> bool | None:
    if sample.replica_count is None or sample.out_of_sync_count is None:
        return None
    count = lagging_replicas.Sync(sample.replica_count, sample.out_of_sync_count)
    return lagging_replicas.is_behind(count, context.settings)


def _is_settled(memory: BrokerMemory, held: Left, at_ms: int) -> bool:
    """Tell whether the broker has answered for long enough since it was away."""
    is_back = memory.away_since_ms is None and memory.status not in broker_offline.AWAY
    return is_back and at_ms - max(memory.since_ms, held.at_ms) >= SETTLED_MS
