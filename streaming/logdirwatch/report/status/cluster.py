"""The state of one cluster as ``logdirwatch status`` shows it: these structs are its JSON."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from logdirwatch.detect.state.placement import next_log_dirs
from logdirwatch.model.capabilities import mode_of_cluster
from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.stream import HeartbeatEvidence, PipelineEvidence, PipelineLaggingEvidence
from logdirwatch.model.record_part import in_common
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import PIPELINE_RULES, AlertStatus, Lane, NotReported, ReplicaCause, Severity
from logdirwatch.report.executions import Execution
from logdirwatch.report.folding import is_heartbeat
from logdirwatch.report.handling import Handled, Planned
from logdirwatch.report.not_reported import Notice, notice
from logdirwatch.text.units import age_ms

HEARTBEATS_MISSED = 3
EXAMPLES = 10
Rows = Iterable[Mapping[str, Any]]


class LogDir(Struct, kw_only=True):
    """A row of log_dir_state."""

    log_dir: str
    status: str
    cause: str | None = None
    reason: str | None = None
    since_ms: int
    last_status: str | None = None
    last_seen_ms: int | None = None
    used_ratio: float | None = None
    total_bytes: int | None = None
    usable_bytes: int | None = None
    unaccounted_bytes: int | None = None
    growth_bytes_per_s: float | None = None
    replica_count: int | None = None
    future_bytes: int | None = None
    is_cordoned: bool | None = None
    is_metadata_dir: bool | None = None
    capacity_source: str | None = None


class Broker(Struct, kw_only=True):
    """A row of broker_state with its directories; ``next_log_dirs`` are those that may get the next new replica.

    ``last_status`` is the last known status; ``log_dirs`` is None if no table has them.
    """

    broker: int
    status: str
    last_status: str | None = None
    reason: str | None = None
    since_ms: int
    at_ms: int
    last_seen_ms: int | None = None
    host: str | None = None
    rack: str | None = None
    is_fenced: bool | None = None
    kafka_version: str | None = None
    metadata_mode: str | None = None
    not_reported: list[str] | None = None
    log_dirs: list[LogDir] | None = []
    next_log_dirs: list[str] | None = None


_NO_COLUMNS = {"last_status", "log_dirs", "next_log_dirs"}
BROKER_COLUMNS = tuple(name for name in Broker.__struct_fields__ if name not in _NO_COLUMNS)
"""The columns of broker_state that a broker is built from."""


class OfflineReplicas(Struct, kw_only=True):
    """Offline replicas of one topic by cause: a directory, a broker, or unknown."""

    topic: str
    directory: int = 0
    broker: int = 0
    unknown: int = 0


class Risk(Struct, kw_only=True):
    """Partitions with one kind of risk; internal topics come first among the examples."""

    count: int = 0
    examples: list[str] = []


class Heartbeat(Struct, kw_only=True):
    """The last heartbeat of one collector that passed the whole pipeline, by that collector's clock.

    Its age is unknown if that clock is too far ahead.
    """

    collector: str
    at_ms: int
    age_ms: int | None
    is_stale: bool


class PipelineAlert(Struct, kw_only=True):
    """An open alert about logdirwatch itself, which concerns every cluster."""

    rule: str
    severity: str
    query: str
    opened_at_ms: int
    at_ms: int
    lag_ms: int | None = None
    summary: str


class OpenAlert(Struct, kw_only=True):
    """A firing alert of the cluster."""

    alert_id: str
    rule: str
    severity: str
    broker: int | None
    log_dir: str | None
    opened_at_ms: int
    summary: str


class ClusterStatus(Struct, kw_only=True):
    """One cluster; fields are None if the tables or the telemetry cluster could not be read.

    ``is_past`` means that the cluster is not monitored now: data or heartbeats are too old, and statuses are
    ``unknown`` with the last known status beside them. ``offline_replicas`` and ``partitions_at_risk`` are also None
    when the inventory is too old or older than an open alert about a loss; ``last_*`` are its counts.
    ``is_risk_by_alerts``: the counts are lower bounds from open alerts. ``notice`` is what its release of Kafka cannot
    report, None when that is nothing. ``executions`` are those that run or are stuck.
    """

    cluster: str
    data_at_ms: int | None
    data_age_ms: int | None
    is_stale: bool
    inventory_at_ms: int | None
    inventory_age_ms: int | None
    is_inventory_stale: bool
    heartbeats: list[Heartbeat] | None
    fast_lane_proof_ms: int | None
    is_fast_lane_stale: bool
    open_alerts: dict[str, int] | None
    firing: list[OpenAlert] | None = None
    pipeline_alerts: list[PipelineAlert] | None = None
    handled_alerts: list[Handled] | None = None
    maintenance: list[Planned] | None = None
    is_past: bool = False
    metadata_mode: str | None = None
    notice: Notice | None = None
    brokers: list[Broker] | None
    offline_replicas: list[OfflineReplicas] | None
    partitions_at_risk: dict[str, Risk] | None
    last_offline_replicas: list[OfflineReplicas] | None = None
    last_partitions_at_risk: dict[str, Risk] | None = None
    is_risk_by_alerts: bool = False
    executions: list[Execution] | None = None


RISKS = {
    "leaderless": "is_leaderless",
    "under_min_isr": "is_under_min_isr",
    "at_min_isr": "is_at_min_isr",
    "sole_replica": "is_sole_replica",
}
"""Each kind of risk and its column of topic_state."""

_TAKERS = {ReplicaCause.DIRECTORY, ReplicaCause.BROKER}


def brokers(broker_rows: Rows, log_dir_rows: Rows | None) -> list[Broker]:
    """Return one cluster's brokers with their directories, ordered by id and path."""
    by_broker: dict[int, list[LogDir]] = defaultdict(list)
    for row in sorted(log_dir_rows or (), key=lambda row: row["log_dir"]):
        by_broker[row["broker"]].append(LogDir(**{name: row[name] for name in LogDir.__struct_fields__}))
    return [
        Broker(
            **{name: row[name] for name in BROKER_COLUMNS},
            log_dirs=None if log_dir_rows is None else by_broker[row["broker"]],
            next_log_dirs=next_log_dirs({log_dir.log_dir: log_dir for log_dir in by_broker[row["broker"]]}),
        )
        for row in sorted(broker_rows, key=lambda row: row["broker"])
    ]


def metadata_mode(brokers: Iterable[Broker]) -> str | None:
    """Return where a cluster keeps its metadata; None while no broker's mode is known."""
    return mode_of_cluster(broker.metadata_mode for broker in brokers)


def what_is_not_reported(cluster: str, brokers: list[Broker]) -> Notice | None:
    """Return the notice about what the release of a cluster's brokers cannot report."""
    missing = [what for broker in brokers for what in broker.not_reported or ()]
    unmeasured = [
        log_dir
        for broker in brokers
        if NotReported.CAPACITY in (broker.not_reported or ())
        for log_dir in broker.log_dirs or ()
        if log_dir.total_bytes is None
    ]
    releases = [broker.kafka_version for broker in brokers if broker.not_reported]
    return notice(cluster, metadata_mode(brokers), releases, missing, is_size_known=not unmeasured)


def offline_replicas(rows: Rows) -> list[OfflineReplicas]:
    """Return the topics with offline replicas, most first, from rows of topic, cause and number of replicas."""
    topics: dict[str, OfflineReplicas] = {}
    for row in rows:
        topic = topics.setdefault(row["topic"], OfflineReplicas(topic=row["topic"]))
        cause = row["cause"] if row["cause"] in _TAKERS else ReplicaCause.UNKNOWN
        setattr(topic, cause, getattr(topic, cause) + row["replicas"])
    return sorted(topics.values(), key=lambda t: (-(t.directory + t.broker + t.unknown), t.topic))


def partitions_at_risk(rows: Rows) -> dict[str, Risk]:
    """Return every kind of risk with its partitions, from rows of topic_state."""
    ordered = sorted(rows, key=lambda row: (not row["is_internal"], row["topic"], row["partition"]))
    return {name: _risk([row for row in ordered if row[column]]) for name, column in RISKS.items()}


def _risk(rows: list[Mapping[str, Any]]) -> Risk:
    return Risk(count=len(rows), examples=[f"{row['topic']}-{row['partition']}" for row in rows[:EXAMPLES]])


def open_alerts(alerts: Iterable[AlertRecord]) -> dict[str, int]:
    """Return the number of firing alerts by severity, the highest first."""
    counts = Counter(alert.severity for alert in _open(alerts))
    return {str(severity): counts[severity] for severity in reversed(Severity) if counts[severity]}


_of_alert = in_common(AlertRecord, OpenAlert)
_of_pipeline_alert = in_common(AlertRecord, PipelineAlert)


def firing(alerts: Iterable[AlertRecord]) -> list[OpenAlert]:
    """Return the firing alerts, the most severe first, then the oldest."""
    return [OpenAlert(**_of_alert(alert)) for alert in sorted(_open(alerts), key=lambda alert: alert.order)]


def _open(alerts: Iterable[AlertRecord]) -> Iterator[AlertRecord]:
    return (alert for alert in alerts if alert.status is AlertStatus.FIRING and not is_heartbeat(alert))


def pipeline_alerts(alerts: Iterable[AlertRecord]) -> list[PipelineAlert]:
    """Return the firing alerts about logdirwatch itself, the most severe first."""
    found = [a for a in alerts if a.rule in PIPELINE_RULES and a.status is AlertStatus.FIRING]
    return [
        PipelineAlert(
            **_of_pipeline_alert(alert),
            query=read_as(alert.evidence, PipelineEvidence).query or "",
            lag_ms=read_as(alert.evidence, PipelineLaggingEvidence).lag_ms,
        )
        for alert in sorted(found, key=lambda alert: alert.order)
    ]


def heartbeats(alerts: Iterable[AlertRecord], now_ms: int, skew_ms: int) -> list[Heartbeat]:
    """Return the last heartbeat of each collector, the newest first, those from clocks too far ahead last."""
    beats = [_heartbeat(a, now_ms, skew_ms) for a in alerts if is_heartbeat(a) and a.lane is Lane.STATEFUL]
    return sorted(beats, key=lambda beat: (beat.age_ms is None, -beat.at_ms))


def fast_lane_proof_ms(alerts: Iterable[AlertRecord], until_ms: int) -> int | None:
    """Return when a canary last passed the fast lane; one later than ``until_ms`` proves nothing."""
    canaries = (alert.at_ms for alert in alerts if is_heartbeat(alert) and alert.lane is not Lane.STATEFUL)
    return max((at_ms for at_ms in canaries if at_ms <= until_ms), default=None)


def _heartbeat(beat: AlertRecord, now_ms: int, skew_ms: int) -> Heartbeat:
    shown = read_as(beat.evidence, HeartbeatEvidence)
    # The record's own time never decreases, even if the collector's clock was set back.
    at_ms = beat.opened_at_ms
    age = age_ms(at_ms, now_ms, skew_ms)
    return Heartbeat(
        collector=shown.collector or "",
        at_ms=at_ms,
        age_ms=age,
        is_stale=age is None or age > HEARTBEATS_MISSED * (shown.interval_ms or 0),
    )
