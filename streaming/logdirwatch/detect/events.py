"""Judges events; every alert of the fast lane gets a stateful revision.

A LogDirFailure says that a directory went offline, not why: KIP-928 sends the same event for a saturated one.
"""

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from logdirwatch.detect import causes, unnamed_failures
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.observations import Event
from logdirwatch.detect.rules import (
    broker_gauges,
    broker_offline,
    broker_tasks,
    log_dir_offline,
    log_dir_space,
    partition_failed,
    remote_copies,
    uncleanable_partitions,
)
from logdirwatch.detect.state import clocks, episodes
from logdirwatch.detect.state.broker_state import LogDirMemory, clipped
from logdirwatch.model.identity import alert_id
from logdirwatch.model.records import EventRecord
from logdirwatch.model.vocabulary import SPACE_STATUSES, EventName, LogDirStatus, Rule


def take_event(context: BrokerContext, event: Event, now_ms: int) -> None:
    """Judge an event; ``now_ms`` starts the wait of a failure that names no directory."""
    record = replace(event.record, detail=clipped(event.record.detail), device=clipped(event.record.device))
    moment = EvidenceTime(clocks.event_ms(context.memory, event, now_ms, context.settings), str(event.origin))
    if record.event == EventName.LOG_DIR_FAILURE:
        identity = alert_id(
            context.memory.cluster, context.memory.broker, record.log_dir, Rule.LOG_DIR_OFFLINE, moment.origin
        )
        if record.log_dir is None:
            _take_bare_failure(context, identity, moment, now_ms)
        else:
            _take_failure(context, record, record.log_dir, identity, moment)
    elif record.event == EventName.LOG_DIR_SATURATED and record.log_dir in context.memory.log_dirs:
        _take_saturation(context, record.log_dir, moment)
    elif (take := _OTHERS.get(record.event)) is not None:
        take(context, record, moment)


def _take_failure(context: BrokerContext, record: EventRecord, path: str, identity: str, moment: EvidenceTime) -> None:
    log_dir = context.memory.log_dirs.setdefault(path, LogDirMemory())
    open_alert = log_dir_offline.alert_of(context.memory, path)
    if log_dir.status is LogDirStatus.OFFLINE and open_alert is not None:
        context.alerts.answer_fast(identity, moment.at_ms, moment.at_ms, open_alert.alert_id)
        if log_dir.decided_by is None and causes.is_by_log(record):
            log_dir.event_ms = max(moment.at_ms, log_dir.event_ms or 0)
        if _weigh(context, path, record):
            log_dir_offline.tell(context, path, log_dir.status, moment)
        return
    is_repeat = log_dir.event_ms is not None and moment.at_ms <= log_dir.event_ms
    if is_repeat or _is_outdated(context, log_dir, record, moment.at_ms):
        context.alerts.answer_fast(identity, moment.at_ms, moment.at_ms, None)
        return
    log_dir.event_ms = log_dir.offline_ms = moment.at_ms
    log_dir.verdict = log_dir.cause = log_dir.event_detail = log_dir.contradicted_ms = None
    log_dir_offline.join(context.memory, path)
    open_alert = log_dir_offline.alert_of(context.memory, path)
    _weigh(context, path, record)
    before = context.set_log_dir(path, LogDirStatus.OFFLINE, "event", moment)
    if open_alert is not None:
        context.alerts.answer_fast(identity, moment.at_ms, moment.at_ms, open_alert.alert_id)
    log_dir_offline.tell(context, path, before, moment, identity)
    log_dir_offline.end_lesser(context, path, moment)
    unnamed_failures.settle(context, [path], moment)


def _is_outdated(context: BrokerContext, log_dir: LogDirMemory, record: EventRecord, at_ms: int) -> bool:
    """Tell whether newer evidence contradicts an event: a start, or a good sample where no line of the log says so."""
    if causes.is_by_log(record):
        return episodes.has_started_since(context.memory, at_ms)
    return log_dir.sample_at_ms is not None and at_ms < log_dir.sample_at_ms


def _weigh(context: BrokerContext, path: str, record: EventRecord) -> bool:
    """Apply the cause in an event; return whether the verdict or its details changed.

    What the host and the kernel showed before explains it at once: a broker that halts answers no poll any more. Of an
    event without a cause free space is no evidence before DescribeLogDirs confirms it: it may be older than the sample.
    """
    log_dir = context.memory.log_dirs[path]
    before = log_dir.verdict
    verdict = causes.stronger(before, causes.by_event(record))
    causes.set_verdict(log_dir, verdict or causes.shown(log_dir))
    if verdict is not None:
        log_dir_offline.judge(context, path)
    line, known = causes.log_line(record.detail), causes.log_line(log_dir.event_detail)
    is_told_more = line is not None and (known is None or causes.by_event(record) is not None)
    if is_told_more:
        log_dir.event_detail = line
    return log_dir.verdict != before or is_told_more


def _take_partition_failure(context: BrokerContext, record: EventRecord, moment: EvidenceTime) -> None:
    """Record that one partition failed, not its directory (KIP-18's distinction)."""
    if record.topic is not None and record.partition is not None:
        partition_failed.take(context, f"{record.topic}-{record.partition}", record, moment)


def _take_bare_failure(context: BrokerContext, identity: str, moment: EvidenceTime, now_ms: int) -> None:
    """Judge a failure without a directory (KIP-112): it is about one that went offline around this time, if any."""
    wait_ms = context.settings.event_wait_ms
    recent = [
        alert.alert_id
        for path, log_dir in sorted(context.memory.log_dirs.items())
        if (alert := log_dir_offline.alert_of(context.memory, path)) is not None
        and log_dir.offline_ms is not None
        and abs(moment.at_ms - log_dir.offline_ms) <= wait_ms
    ]
    if recent:
        context.alerts.answer_fast(identity, moment.at_ms, moment.at_ms, recent[0])
    else:
        unnamed_failures.wait(context, identity, moment.at_ms, now_ms + wait_ms)


def _take_saturation(context: BrokerContext, path: str, moment: EvidenceTime) -> None:
    log_dir = context.memory.log_dirs[path]
    is_current = log_dir.sample_at_ms is None or moment.at_ms >= log_dir.sample_at_ms
    if log_dir.status in SPACE_STATUSES and log_dir.status is not LogDirStatus.SATURATED and is_current:
        log_dir.is_level_by_ratio = True
        log_dir_space.set_level(context, path, log_dir, LogDirStatus.SATURATED, moment)


_OTHERS: Mapping[str | int, Callable[[BrokerContext, EventRecord, EvidenceTime], None]] = {
    EventName.BROKER_FAILURE: broker_offline.take_reason,
    EventName.LOGS_LOADED: broker_offline.take_progress,
    EventName.PARTITION_FAILED: _take_partition_failure,
    EventName.PARTITION_UNCLEANABLE: uncleanable_partitions.take_event,
    EventName.REMOTE_COPY_FAILED: remote_copies.take_event,
    EventName.BROKER_TASK_FAILED: broker_tasks.take_event,
    EventName.BROKER_TASK_RESUMED: broker_tasks.take_event,
    EventName.LOG_CLEANER_DIED: broker_gauges.take_cleaner_event,
    EventName.LOG_CLEANER_STARTED: broker_gauges.take_cleaner_event,
}
