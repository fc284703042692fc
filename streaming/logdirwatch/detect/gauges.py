"""What the broker's own gauges add: slow flushes, and reports to the controller that do not get through."""

from logdirwatch.detect import evidence, suspicions, wording
from logdirwatch.detect.alerts import RECOVERED
from logdirwatch.detect.desk import Desk, Moment
from logdirwatch.model.records import MetricsRecord
from logdirwatch.model.vocabulary import KAFKA_STORAGE_ERROR, SCRAPE_AGE_MS, Rule, Severity

FLUSH_MS = "LogFlushTimeMs:p99"
OFFLINE_COUNT = "OfflineLogDirectoryCount"
MISCOUNTS = 3
QUEUED = "QueuedReplicaToDirAssignments"


def take_gauges(desk: Desk, record: MetricsRecord, moment: Moment) -> None:
    """Take the gauges of one poll; what they leave out changes nothing, a scrape that several polls carry is one."""
    gauges = record.metrics
    age_ms = gauges.get(SCRAPE_AGE_MS)
    if age_ms is not None and age_ms >= record.interval_ms:
        return
    flush_ms, queued = gauges.get(FLUSH_MS), gauges.get(QUEUED)
    desk.memory.flush_ms = flush_ms
    if flush_ms is not None:
        suspicions.judge_pace(
            desk, None, suspicions.SLOW_FLUSH, desk.memory.flush, flush_ms, "flushing a log (p99)", moment
        )
    if queued is not None:
        _take_queue(desk, queued, moment)
    if (counted := gauges.get(OFFLINE_COUNT)) is not None:
        _compare_count(desk, record, int(counted), moment)


def _compare_count(desk: Desk, record: MetricsRecord, counted: int, moment: Moment) -> None:
    """Kafka counts its offline directories twice, as a gauge and in DescribeLogDirs; one of them may be wrong."""
    memory = desk.memory
    told = sum(log_dir.error_code == KAFKA_STORAGE_ERROR for log_dir in record.log_dirs)
    if counted == told:
        memory.miscounts = 0
        suspicions.clear(desk, None, suspicions.OFFLINE_COUNT, moment)
        return
    memory.miscounts += 1
    if memory.miscounts >= MISCOUNTS and suspicions.OFFLINE_COUNT not in memory.suspicions:
        text = f"it counts {counted} offline directories and lists {told}"
        suspicions.suspect(desk, None, suspicions.OFFLINE_COUNT, text, moment)


def _take_queue(desk: Desk, queued: float, moment: Moment) -> None:
    """While placement reports wait, a failing directory may not fail over these replicas (KIP-858)."""
    memory = desk.memory
    if queued <= 0:
        memory.queued_since_ms = None
        desk.book.resolve(Rule.PLACEMENT_REPORTS_STUCK, None, RECOVERED, moment.at_ms, to_status=memory.status)
        return
    memory.queued_since_ms = memory.queued_since_ms or moment.at_ms
    if moment.at_ms - memory.queued_since_ms < desk.settings.placement_queue_ms:
        return
    desk.book.raise_alert(
        Rule.PLACEMENT_REPORTS_STUCK,
        None,
        severity=Severity.WARNING,
        transition=(memory.status, memory.status),
        evidence={"queued": queued, "since_ms": memory.queued_since_ms},
        affected=evidence.affected_by_broker(desk),
        summary=wording.placement_reports_stuck(memory, int(queued)),
        at_ms=moment.at_ms,
        origin=moment.origin,
    )
