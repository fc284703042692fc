"""Judges the broker's own gauges: slow flushes, a dead log cleaner, queued reports to the controller.

The broker's log also reports a dead cleaner, and its restart.
"""

from logdirwatch.detect.alerts import evidence, hints, messages
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.alerts.lifecycle import RECOVERED
from logdirwatch.detect.rules import log_dir_suspect, remote_copies, uncleanable_partitions
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.model.evidence.brokers import PlacementReportsStuckEvidence
from logdirwatch.model.records import EventRecord, MetricsRecord
from logdirwatch.model.vocabulary import CLEANER_DEAD, KAFKA_STORAGE_ERROR, SCRAPE_AGE_MS, EventName, Rule, Severity

FLUSH_MS = "LogFlushTimeMs:p99"
# Not OfflineReplicaCount, which is always 0 from Kafka 3.7 to 4.2: ReplicaManager compares an instance's class with its
# companion object's.
OFFLINE_COUNT = "OfflineLogDirectoryCount"
MISCOUNTS = 3
QUEUED = "QueuedReplicaToDirAssignments"
DEAD_CLEANERS = "DeadThreadCount"


def judge_answer(context: BrokerContext, record: MetricsRecord, moment: EvidenceTime) -> None:
    """Apply the gauges of one poll; missing ones change nothing, and a scrape in several polls counts once."""
    if are_known(record):
        return
    gauges = record.metrics
    age_ms = gauges.get(SCRAPE_AGE_MS)
    flush_ms, queued = gauges.get(FLUSH_MS), gauges.get(QUEUED)
    context.memory.flush_ms = flush_ms
    if flush_ms is not None:
        log_dir_suspect.judge_pace(
            context, None, log_dir_suspect.SLOW_FLUSH, context.memory.flush, flush_ms, "flushing a log (p99)", moment
        )
    if queued is not None:
        _take_queue(context, queued, moment)
    if (counted := gauges.get(OFFLINE_COUNT)) is not None:
        _compare_count(context, record, int(counted), moment)
    if gauges:
        _take_cleaner(context, record, moment)
        # A line logged after the scrape is newer evidence than its gauges.
        uncleanable_partitions.note_gauges(context, record, moment.at_ms - int(age_ms or 0))
        remote_copies.take_gauges(context, record, moment)


def is_quiet(_: BrokerMemory) -> bool:
    """Return True: answers with newly read gauges, or with none where there were some, are not those of the columns."""
    return True


def are_known(record: MetricsRecord) -> bool:
    """Tell whether an answer repeats gauges of a scrape that an earlier one had."""
    age_ms = record.metrics.get(SCRAPE_AGE_MS)
    return age_ms is not None and age_ms >= record.interval_ms


def _take_cleaner(context: BrokerContext, record: MetricsRecord, moment: EvidenceTime) -> None:
    """Record dead threads of the cleaner, which stay dead (Kafka 4.3 ``LogCleaner``).

    Only compaction makes a compacted topic smaller, so its directories grow indefinitely.
    """
    memory = context.memory
    dead = record.metrics.get(DEAD_CLEANERS)
    memory.dead_cleaner_threads = None if dead is None else int(dead)
    if memory.dead_cleaner_threads == 0:
        log_dir_suspect.clear(context, None, CLEANER_DEAD, moment)
    elif memory.dead_cleaner_threads:
        _tell_dead_cleaner(context, hints.dead_cleaner(memory.dead_cleaner_threads), moment)


def take_cleaner_event(context: BrokerContext, record: EventRecord, moment: EvidenceTime) -> None:
    """Apply a log line about the cleaner's threads; if the threads are counted, the count decides.

    An event ends no alert: the broker's next answer does.
    """
    if record.event == EventName.LOG_CLEANER_STARTED:
        # The other suspicions keep the alert open, so that clear only revises it; without them it would end it.
        if set(context.memory.suspicions) - {CLEANER_DEAD}:
            log_dir_suspect.clear(context, None, CLEANER_DEAD, moment)
        else:
            context.memory.suspicions.pop(CLEANER_DEAD, None)
    else:
        why = f" ({record.detail})" if record.detail else ""
        _tell_dead_cleaner(context, f"{hints.dead_cleaner(1)}{why}", moment)


def forget(context: BrokerContext, path: str | None, until_ms: int, moment: EvidenceTime, reason: str) -> None:  # noqa: ARG001 - as its kin
    """Clear a dead cleaner that a person declared healthy, unless its dead threads are counted."""
    if path is None and not context.memory.dead_cleaner_threads:
        log_dir_suspect.clear(context, None, CLEANER_DEAD, moment, reason=reason)


def _tell_dead_cleaner(context: BrokerContext, text: str, moment: EvidenceTime) -> None:
    if not log_dir_suspect.is_told(context, None, CLEANER_DEAD):
        log_dir_suspect.suspect(context, None, CLEANER_DEAD, text, moment)


def _compare_count(context: BrokerContext, record: MetricsRecord, counted: int, moment: EvidenceTime) -> None:
    """Compare the two counts of offline directories, the gauge and DescribeLogDirs, which may differ."""
    memory = context.memory
    told = sum(log_dir.error_code == KAFKA_STORAGE_ERROR for log_dir in record.log_dirs)
    if counted == told:
        memory.miscounts = 0
        log_dir_suspect.clear(context, None, log_dir_suspect.OFFLINE_COUNT, moment)
        return
    # The exporter and DescribeLogDirs answer at different times, so one of them may see a failure first.
    memory.miscounts += 1
    if memory.miscounts >= MISCOUNTS and not log_dir_suspect.is_told(context, None, log_dir_suspect.OFFLINE_COUNT):
        text = f"it counts {counted} offline directories and lists {told}"
        log_dir_suspect.suspect(context, None, log_dir_suspect.OFFLINE_COUNT, text, moment)


def _take_queue(context: BrokerContext, queued: float, moment: EvidenceTime) -> None:
    """Judge waiting placement reports: meanwhile a failing directory may not fail over its replicas (KIP-858)."""
    memory = context.memory
    if queued <= 0:
        memory.queued_since_ms = None
        context.alerts.resolve(Rule.PLACEMENT_REPORTS_STUCK, None, RECOVERED, moment.at_ms, to_status=memory.status)
        return
    memory.queued_since_ms = memory.queued_since_ms or moment.at_ms
    # A queue is normal for a while: AssignmentsManager retries with a backoff of up to ten seconds.
    if moment.at_ms - memory.queued_since_ms < context.settings.placement_queue_ms:
        return
    context.alerts.raise_alert(
        Rule.PLACEMENT_REPORTS_STUCK,
        None,
        severity=Severity.WARNING,
        transition=(memory.status, memory.status),
        evidence=PlacementReportsStuckEvidence(queued=queued, since_ms=memory.queued_since_ms),
        affected=evidence.affected_by_broker(context),
        summary=messages.placement_reports_stuck(memory, int(queued)),
        at_ms=moment.at_ms,
        origin=moment.origin,
    )
