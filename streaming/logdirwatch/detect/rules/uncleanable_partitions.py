"""Partitions that the log cleaner marked as uncleanable (KIP-346): it does not compact them until the broker restarts.

There are two sources: the line in the broker's log, which names the partition, and the gauges of each directory, which
count. Only a gauge of 0 that is newer than the line, or a person's declaration, is evidence that it is over. A restart
is not: it clears the mark, and the cleaner meets the same log again. A missing gauge proves nothing.
"""

from logdirwatch.detect.alerts import evidence, messages
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.alerts.lifecycle import RECOVERED, Holder
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory, newest
from logdirwatch.model.evidence.brokers import BrokerUncleanableEvidence
from logdirwatch.model.evidence.log_dirs import LogDirUncleanableEvidence
from logdirwatch.model.records import EventRecord, MetricsRecord
from logdirwatch.model.vocabulary import SPACE_STATUSES, LogDirStatus, Rule, Severity

COUNT = "UncleanablePartitionsCount:"
BYTES = "UncleanableBytes:"
NAMED = 20


def take_event(context: BrokerContext, record: EventRecord, moment: EvidenceTime) -> None:
    """Record a partition named by the log; without its directory it goes into the broker's alert."""
    if record.topic is None or record.partition is None:
        return
    path = record.log_dir if record.log_dir in context.memory.log_dirs else None
    holder = context.alerts.holder(path)
    holder.uncleanable = newest({**holder.uncleanable, f"{record.topic}-{record.partition}": moment.at_ms})
    holder.uncleanable_detail = record.detail
    _judge_place(context, path, moment)


def note_gauges(context: BrokerContext, record: MetricsRecord, scraped_ms: int) -> None:
    """Apply the gauges; 0 removes the partitions that the log named before."""
    for path, log_dir in context.memory.log_dirs.items():
        log_dir.uncleanable_bytes = _whole(record.metrics.get(BYTES + path))
        log_dir.uncleanable_count = _whole(record.metrics.get(COUNT + path))
        if log_dir.uncleanable_count == 0:
            _release(log_dir, scraped_ms)
    counts = [log_dir.uncleanable_count for log_dir in context.memory.log_dirs.values()]
    if counts and all(count == 0 for count in counts):
        _release(context.memory, scraped_ms)


def forget(context: BrokerContext, path: str | None, until_ms: int, moment: EvidenceTime, reason: str) -> None:
    """Clear partitions that the log named up to a time; those that a gauge counts stay."""
    holder = context.alerts.holder(path)
    if not holder.uncleanable and Rule.UNCLEANABLE_PARTITIONS not in holder.alerts:
        return
    # _release keeps what is as new as its time, a declaration includes its own moment.
    _release(holder, until_ms + 1)
    if holder.uncleanable or (isinstance(holder, LogDirMemory) and _is_counted(holder)):
        _judge_place(context, path, moment)
    else:
        status = str(holder.status)
        context.alerts.resolve(Rule.UNCLEANABLE_PARTITIONS, path, reason, moment.at_ms, to_status=status)


def judge_answer(context: BrokerContext, _: MetricsRecord, moment: EvidenceTime) -> None:
    """Alert about every place with uncleanable partitions, and end alerts that are over."""
    for path, log_dir in context.memory.log_dirs.items():
        if log_dir.status in SPACE_STATUSES and _concerns(log_dir):
            _judge_place(context, path, moment)
    if _concerns(context.memory):
        _judge_place(context, None, moment)


def is_quiet(memory: BrokerMemory) -> bool:
    """Tell whether no place has uncleanable partitions."""
    return not _concerns(memory) and not any(map(_concerns, memory.log_dirs.values()))


def _concerns(holder: Holder) -> bool:
    is_gauged = isinstance(holder, LogDirMemory) and bool(holder.uncleanable_count or holder.uncleanable_bytes)
    return bool(holder.uncleanable) or is_gauged or Rule.UNCLEANABLE_PARTITIONS in holder.alerts


def _judge_place(context: BrokerContext, path: str | None, moment: EvidenceTime) -> None:
    holder = context.alerts.holder(path)
    # The alert about its failure covers it, and nothing in it is cleaned until it is back.
    if holder.status is LogDirStatus.OFFLINE:
        return
    if holder.uncleanable or (isinstance(holder, LogDirMemory) and _is_counted(holder)):
        _tell(context, path, holder, moment)
    elif _is_over(context, holder):
        status = str(holder.status)
        context.alerts.resolve(Rule.UNCLEANABLE_PARTITIONS, path, RECOVERED, moment.at_ms, to_status=status)


def _is_counted(log_dir: LogDirMemory) -> bool:
    if log_dir.uncleanable_count is None:
        return bool(log_dir.uncleanable_bytes)
    return log_dir.uncleanable_count > 0


def _is_over(context: BrokerContext, holder: Holder) -> bool:
    """Tell whether a gauge shows that nothing is uncleanable; for the broker's alert those of all directories must."""
    if isinstance(holder, LogDirMemory):
        return holder.uncleanable_count == 0 or (holder.uncleanable_count is None and holder.uncleanable_bytes == 0)
    # The broker's alert holds partitions whose directory the line did not name: it may be any of them.
    return all(log_dir.uncleanable_count == 0 for log_dir in context.memory.log_dirs.values())


def _tell(context: BrokerContext, path: str | None, holder: Holder, moment: EvidenceTime) -> None:
    log_dir = holder if isinstance(holder, LogDirMemory) else None
    named = sorted(holder.uncleanable)
    fills = log_dir is not None and log_dir.status in SPACE_STATUSES and log_dir.status is not LogDirStatus.ONLINE
    status = str(holder.status)
    context.alerts.raise_alert(
        Rule.UNCLEANABLE_PARTITIONS,
        path,
        severity=Severity.CRITICAL if fills else Severity.WARNING,
        transition=(status, status),
        evidence=_evidence(named, log_dir, holder.uncleanable_detail),
        affected=evidence.affected(context, log_dir) if log_dir else evidence.affected_by_broker(context),
        summary=messages.uncleanable(context.memory, path, log_dir, named, fills=fills),
        at_ms=moment.at_ms,
        origin=moment.origin,
    )


def _evidence(named: list[str], log_dir: LogDirMemory | None, detail: str | None) -> BrokerUncleanableEvidence:
    if log_dir is None:
        return BrokerUncleanableEvidence(why=named[:NAMED], uncleanable_partitions=len(named), detail=detail)
    counted = log_dir.uncleanable_count
    return LogDirUncleanableEvidence(
        why=named[:NAMED],
        uncleanable_partitions=max(counted, len(named)) if counted is not None else len(named) or None,
        uncleanable_bytes=log_dir.uncleanable_bytes,
        detail=detail,
        **evidence.last_sample(log_dir),
    )


def _release(holder: Holder, scraped_ms: int) -> None:
    holder.uncleanable = {label: at_ms for label, at_ms in holder.uncleanable.items() if at_ms >= scraped_ms}
    if not holder.uncleanable:
        holder.uncleanable_detail = None


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
