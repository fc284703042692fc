"""The records of the host source. Pure."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from logdirwatch.collect.host.logs import LogRead
from logdirwatch.collect.host.news import News
from logdirwatch.collect.rounds.records import Origin
from logdirwatch.model.broker_tasks import CLEANER
from logdirwatch.model.records import EventRecord, HostLogDir, HostRecord
from logdirwatch.model.vocabulary import EventName, KernelTrouble
from logdirwatch.parse.broker_log.failures import BrokerFailed
from logdirwatch.parse.broker_log.findings import (
    DirFailed,
    LogsLoaded,
    PartitionBad,
    PartitionUncleanable,
    RemoteCopyFailed,
    TaskState,
)
from logdirwatch.parse.kernel_log.lines import KernelError


def event_record(origin: Origin, broker: int, news: News, at_ms: int) -> EventRecord:
    """Return the event of one finding; one about a directory names no partition, because it affects all."""
    event = EventRecord(
        version=1,
        broker=broker,
        event=_name_of(news) if isinstance(news, TaskState) else _NAMES[type(news)],
        cluster=origin.cluster,
        timestamp_ms=at_ms,
        detail=news.detail,
        collector=origin.collector,
    )
    match news:
        case DirFailed():
            return replace(event, log_dir=news.log_dir, cause=news.cause, full_by=news.full_by)
        case LogsLoaded():
            return replace(event, log_dir=news.log_dir or None, logs_loaded=news.loaded, logs_total=news.total)
        case BrokerFailed():
            return replace(event, log_dir=news.log_dir, reason=news.reason)
        case PartitionBad() | PartitionUncleanable():
            place = replace(event, log_dir=news.log_dir, topic=news.topic, partition=news.partition)
            return replace(place, reason=news.reason) if isinstance(news, PartitionBad) else place
        case RemoteCopyFailed():
            return replace(event, topic=news.topic, partition=news.partition)
        case TaskState():
            return event if news.task == CLEANER else replace(event, reason=news.task)


_NAMES: Mapping[type, EventName] = {
    DirFailed: EventName.LOG_DIR_FAILURE,
    LogsLoaded: EventName.LOGS_LOADED,
    BrokerFailed: EventName.BROKER_FAILURE,
    PartitionBad: EventName.PARTITION_FAILED,
    PartitionUncleanable: EventName.PARTITION_UNCLEANABLE,
    RemoteCopyFailed: EventName.REMOTE_COPY_FAILED,
}


def _name_of(news: TaskState) -> EventName:
    if news.task == CLEANER:
        return EventName.LOG_CLEANER_DIED if news.is_failed else EventName.LOG_CLEANER_STARTED
    return EventName.BROKER_TASK_FAILED if news.is_failed else EventName.BROKER_TASK_RESUMED


def host_record(
    origin: Origin,
    broker: int,
    host: str,
    log_dirs: Sequence[HostLogDir],
    unplaced: Sequence[KernelError],
    at_ms: int,
    read: LogRead | None = None,
    started_ms: int | None = None,
) -> HostRecord:
    """Return the record of one observation of a host's directories; ``unplaced`` are troubles of other devices.

    ``started_ms`` is when the broker's last start was read in its log.
    """
    return HostRecord(
        version=1,
        cluster=origin.cluster,
        broker=broker,
        timestamp_ms=at_ms,
        collector=origin.collector,
        interval_ms=origin.interval_ms,
        host=host,
        log_dirs=list(log_dirs),
        errors=[error.text for error in unplaced],
        kernel=[error.news for error in unplaced if error.device is None and error.trouble is KernelTrouble.HUNG],
        log_entries=None if read is None else read.entries,
        log_lines_not_understood=None if read is None else read.lines_not_understood,
        broker_started_ms=started_ms,
    )
