"""Judges logdirwatch itself: pipeline_lagging, pipeline_rejects, pipeline_data_loss and data_quality.

Time is that of the records alone. Each alert is about one query; it has neither cluster nor broker.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field

from logdirwatch.detect.alerts.lifecycle import RECOVERED, Alerts, Place, opened
from logdirwatch.detect.alerts.messages import ended
from logdirwatch.detect.settings import DetectSettings, PipelineSettings
from logdirwatch.detect.state.broker_state import OpenAlert, read_evidence, reopened
from logdirwatch.model.evidence.stream import (
    DataQualityEvidence,
    LostRange,
    PipelineDataLossEvidence,
    PipelineEvidence,
    PipelineLaggingEvidence,
    PipelineRejectsEvidence,
)
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import AlertRecord, PipelineRecord
from logdirwatch.model.scalars import total
from logdirwatch.model.times import effective_ms
from logdirwatch.model.vocabulary import NO_CLUSTER, AlertStatus, Rule, Severity
from logdirwatch.state.codec import StateCodec
from logdirwatch.text.units import human_ms
from logdirwatch.text.words import CAN_WAIT, counted, some_of, until_morning

MEMORY_VERSION = 1


class QueryMemory(Struct, kw_only=True, omit_defaults=True):
    """One query: the time of the last record, rejected rows by time, lost records and those that no alert has named."""

    taken_ms: int = 0
    rejected: list[tuple[int, int]] = []
    lost_ms: int | None = None
    lost_rows: int = 0
    unnamed: list[LostRange] = []
    alerts: dict[Rule, OpenAlert] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read what a decoded memory has of its alerts."""
        read_evidence(self.alerts)


class PipelineMemory(Struct, kw_only=True, omit_defaults=True):
    """Every query of the stream, by name."""

    queries: dict[str, QueryMemory] = field(default_factory=dict)


CODEC = StateCodec("detect", MEMORY_VERSION, PipelineMemory)


def restored(alerts: Iterable[AlertRecord]) -> PipelineMemory:
    """Return the memory from the last revisions of alerts, for a ``detect`` that lost its own."""
    memory = PipelineMemory()
    for alert in sorted(alerts, key=lambda alert: alert.at_ms):
        if not isinstance(alert.evidence, PipelineEvidence) or alert.evidence.query is None:
            continue
        query = memory.queries.setdefault(alert.evidence.query, QueryMemory())
        query.taken_ms = alert.at_ms
        if alert.status is AlertStatus.FIRING:
            query.alerts[alert.rule] = reopened(alert)
            _recount(query, alert)
    return memory


def _recount(query: QueryMemory, alert: AlertRecord) -> None:
    if isinstance(alert.evidence, PipelineRejectsEvidence):
        query.rejected = [(alert.at_ms, alert.evidence.rows or 0)]
    elif isinstance(alert.evidence, PipelineDataLossEvidence):
        query.lost_ms, query.lost_rows = alert.at_ms, alert.evidence.rows or 0


NEWS = 2
"""A number makes a revision due when it doubled or halved."""
EXAMPLES = 20
LOSS_TOLD_EVERY_MS = 60_000
"""Between two revisions of one loss: each batch of a query that falls behind retention may lose something."""
_PLACE: Place = (NO_CLUSTER, None, None)
_ALERTS_WAIT_FOR = frozenset({"detect", "fleet", "fast_lane"})


class QueryProgress(NamedTuple):
    """The progress of a query, and the origin of that record."""

    record: PipelineRecord
    origin: Origin


def take(memory: PipelineMemory, seen: QueryProgress, settings: DetectSettings) -> list[AlertRecord]:
    """Judge one record and return the records to write; one that is not newer than the last changes nothing."""
    record = seen.record
    query = memory.queries.setdefault(record.query, QueryMemory())
    at_ms, _ = effective_ms(record.timestamp_ms, seen.origin.kafka_timestamp_ms, settings.clock_skew_ms)
    if at_ms <= query.taken_ms:
        return []
    query.taken_ms = at_ms
    alerts = _QueryAlerts(query, record.query, at_ms, str(seen.origin))
    _judge_lag(alerts, record, settings.pipeline)
    _judge_rejects(alerts, record, settings.pipeline)
    _judge_loss(alerts, record, settings.pipeline)
    _judge_quality(alerts, record)
    alerts.renew(at_ms)
    return alerts.records


class _QueryAlerts(Alerts):
    """The alerts of one query."""

    def __init__(self, memory: QueryMemory, name: str, at_ms: int, origin: str) -> None:
        super().__init__()
        self.memory, self.name, self.at_ms = memory, name, at_ms
        self._origin = origin

    def open_alerts(self) -> Iterable[tuple[Rule, Place, OpenAlert]]:
        """Return those of the query."""
        return ((rule, _PLACE, alert) for rule, alert in self.memory.alerts.items())

    def fire(
        self, rule: Rule, severity: Severity, figure: str | None, evidence: PipelineEvidence, summary: str
    ) -> None:
        """Open or revise the alert of a rule; with a ``figure``, revise it only if that number moved enough."""
        alert = self.memory.alerts.get(rule)
        if alert is None:
            alert = self.memory.alerts[rule] = opened(_PLACE, rule, severity, self.at_ms, self._origin)
        elif figure is not None and not _moved(getattr(alert.evidence, figure, None), getattr(evidence, figure)):
            alert.calm_since_ms = None
            return
        alert.calm_since_ms, alert.evidence, alert.summary = None, evidence, summary
        self._write(rule, _PLACE, alert, AlertStatus.FIRING, self.at_ms)

    def resolve(self, rule: Rule, reason: str) -> None:
        """Close the alert of a rule if it is open."""
        alert = self.memory.alerts.pop(rule, None)
        if alert is not None:
            alert.summary = resolved(self.name, reason)
            self._close(rule, _PLACE, alert, self.at_ms, reason)


def _moved(before: Any, after: Any) -> bool:
    if not isinstance(after, int):
        return bool(before != after)
    return not isinstance(before, int) or max(before, after) >= NEWS * max(1, min(before, after))


def severity_of(query: str) -> Severity:
    """Return the severity of a fault of a query: some queries delay alerts, others only what is shown."""
    return Severity.CRITICAL if query in _ALERTS_WAIT_FOR else Severity.WARNING


def _judge_lag(alerts: _QueryAlerts, record: PipelineRecord, settings: PipelineSettings) -> None:
    """Judge how far a query is behind; one that was down and found unread records was behind, even if it caught up."""
    if record.lag_ms is None:
        return
    lag_ms = max(record.lag_ms - record.trigger_ms, record.away_ms or 0)
    alert = alerts.memory.alerts.get(Rule.PIPELINE_LAGGING)
    if lag_ms >= settings.lag_ms:
        evidence = _of_lag(alerts.name, record, lag_ms)
        summary = lagging(evidence)
        alerts.fire(Rule.PIPELINE_LAGGING, severity_of(alerts.name), "lag_ms", evidence, summary)
    elif alert is not None and lag_ms * 2 > settings.lag_ms:
        alert.calm_since_ms = None
    elif alert is not None:
        alert.calm_since_ms = alerts.at_ms if alert.calm_since_ms is None else alert.calm_since_ms
        if alerts.at_ms - alert.calm_since_ms >= settings.lag_hold_ms:
            alerts.resolve(Rule.PIPELINE_LAGGING, RECOVERED)


def _of_lag(query: str, record: PipelineRecord, lag_ms: int) -> PipelineLaggingEvidence:
    return PipelineLaggingEvidence(
        query=query,
        lag_ms=lag_ms,
        away_ms=record.away_ms,
        behind_rows=None if record.behind is None else total(record.behind.values()),
        behind=record.behind,
        read_rows=record.read_rows,
        trigger_ms=record.trigger_ms,
        is_active=record.is_active,
    )


def _judge_rejects(alerts: _QueryAlerts, record: PipelineRecord, settings: PipelineSettings) -> None:
    """Count the records that could not be read recently."""
    memory = alerts.memory
    if record.rejected:
        memory.rejected.append((alerts.at_ms, total(found.rows for found in record.rejected)))
    oldest_ms = alerts.at_ms - settings.rejects_window_ms
    if memory.rejected and memory.rejected[0][0] <= oldest_ms:
        memory.rejected = [entry for entry in memory.rejected if entry[0] > oldest_ms]
    rows = total(found for _, found in memory.rejected)
    if record.rejected and rows >= settings.rejects_limit:
        reasons = sorted(record.rejected, key=lambda found: (-found.rows, found.topic, found.reason))[:EXAMPLES]
        evidence = PipelineRejectsEvidence(
            query=alerts.name, rows=rows, window_ms=settings.rejects_window_ms, reasons=reasons
        )
        alerts.fire(Rule.PIPELINE_REJECTS, Severity.WARNING, "rows", evidence, rejects(evidence))
    elif rows * 2 < settings.rejects_limit and _has_read(record):
        alerts.resolve(Rule.PIPELINE_REJECTS, RECOVERED)


def _judge_loss(alerts: _QueryAlerts, record: PipelineRecord, settings: PipelineSettings) -> None:
    """Alert about records deleted unread, once a minute if more are lost; it ends when none are for a while."""
    memory = alerts.memory
    if record.lost:
        memory.lost_ms = alerts.at_ms
        memory.lost_rows = total([memory.lost_rows, *(lost.to_offset - lost.from_offset for lost in record.lost)])
        memory.unnamed = [*memory.unnamed, *record.lost][:EXAMPLES]
    alert = memory.alerts.get(Rule.PIPELINE_DATA_LOSS)
    if memory.unnamed:
        if alert is None or alerts.at_ms - alert.said_ms >= LOSS_TOLD_EVERY_MS:
            evidence = PipelineDataLossEvidence(query=alerts.name, rows=memory.lost_rows, ranges=memory.unnamed)
            memory.unnamed, summary = [], data_loss(evidence)
            alerts.fire(Rule.PIPELINE_DATA_LOSS, severity_of(alerts.name), None, evidence, summary)
    elif memory.lost_ms is not None and alerts.at_ms - memory.lost_ms >= settings.loss_hold_ms and _has_read(record):
        memory.lost_ms, memory.lost_rows = None, 0
        alerts.resolve(Rule.PIPELINE_DATA_LOSS, "nothing more was lost")


def _has_read(record: PipelineRecord) -> bool:
    """Tell whether a query is running: one that reads nothing can neither reject nor lose anything."""
    return record.is_active and record.read_rows != 0


def _judge_quality(alerts: _QueryAlerts, record: PipelineRecord) -> None:
    """Alert about the unmet expectations of ``validate``, until all are met."""
    failed = {table: expectations for table, expectations in (record.quality or {}).items() if expectations}
    if failed:
        summary = data_quality(failed)
        alerts.fire(
            Rule.DATA_QUALITY,
            Severity.WARNING,
            "failed",
            DataQualityEvidence(query=alerts.name, failed=failed),
            summary,
        )
    elif record.quality is not None:
        alerts.resolve(Rule.DATA_QUALITY, RECOVERED)


_NAMED = 3
_LATE = {
    "detect": "alerts and states come late, and silence is not judged meanwhile",
    "fleet": "alerts about clusters and silence come late",
    "fast_lane": "the first alert about a failure comes late",
    "store": "the tables are out of date",
    "store_inventory": "replicas and partitions in the tables are out of date",
    "recommend": "actions come late",
}


def lagging(evidence: PipelineLaggingEvidence) -> str:
    """Say how far a query is behind, and what is late because of it."""
    query, rows, lag_ms = str(evidence.query), evidence.behind_rows, evidence.lag_ms or 0
    unread = "" if rows is None else f": {counted(rows, 'record waits', 'records wait')}"
    if not evidence.is_active:
        text = f"does not run, and has not for {human_ms(lag_ms)}{unread}"
    elif evidence.away_ms:
        left = "" if rows is None else f": {counted(rows, 'record is', 'records are')} left to read"
        text = f"was down, like the whole stream, for {human_ms(evidence.away_ms)}{left}"
    else:
        text = f"is {human_ms(lag_ms)} behind{unread}"
    return f"logdirwatch's query {query} {text}; {_LATE.get(query, 'what it writes comes late')}; {_late(query)}"


def rejects(evidence: PipelineRejectsEvidence) -> str:
    """Say how many records were rejected, and the most frequent reason."""
    first = evidence.reasons[0]
    return (
        f"logdirwatch's query {evidence.query} could not read {evidence.rows} records within "
        f"{human_ms(evidence.window_ms or 0)}, most of {first.topic}: {first.reason} (such as {first.example}); "
        f"{CAN_WAIT}: yes, because a broker without readable records has its own alert; but the content of "
        "these records is not monitored"
    )


def data_loss(evidence: PipelineDataLossEvidence) -> str:
    """Say how many records were deleted before they were read."""
    query, topics = str(evidence.query), sorted({lost.topic for lost in evidence.ranges})
    more = f" and {len(topics) - _NAMED} more topics" if len(topics) > _NAMED else ""
    is_judged = query in _ALERTS_WAIT_FOR
    waits = (False, "they were never judged") if is_judged else (True, "alerts do not depend on this query")
    return (
        f"logdirwatch's query {query} lost up to {evidence.rows} records of {', '.join(topics[:_NAMED])}{more}: "
        f"they were deleted before it had read them; {until_morning(waits)}"
    )


def data_quality(failed: Mapping[str, Sequence[str]]) -> str:
    """Say which tables do not meet their expectations."""
    table, expectations = next(iter(sorted(failed.items())))
    count = sum(map(len, failed.values()))
    return (
        f"logdirwatch's tables fail their quality checks: {count} expectations are not met in "
        f"{some_of(sorted(failed), _NAMED)}, such as of {table}: {expectations[0]}; {CAN_WAIT}: yes, because alerts "
        "do not depend on tables, though actions and panels do"
    )


def resolved(query: str, reason: str) -> str:
    """Say that an alert ended and why."""
    return f"logdirwatch's query {query}: {ended(reason)}"


def _late(query: str) -> str:
    if query in _ALERTS_WAIT_FOR:
        return until_morning((False, "alerts about new failures come late"))
    return until_morning((True, "alerts do not wait for it"))
