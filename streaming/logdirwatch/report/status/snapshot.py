"""The rows and alerts that a status is built from, and the status of every cluster."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from msgspec.structs import replace

from logdirwatch.collect.settings import CollectSettings
from logdirwatch.config.section import interval_ms
from logdirwatch.config.stream import StreamSettings
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.errors import UserError
from logdirwatch.model.records import AlertRecord, ExecutionRecord
from logdirwatch.model.vocabulary import NO_CLUSTER, AlertStatus, BrokerStatus, LogDirStatus, Rule
from logdirwatch.parse.reading import RecordReader, logged
from logdirwatch.plan.availability import offline_log_dirs
from logdirwatch.report.executions import Execution, unfinished
from logdirwatch.report.handling import Handling, handled
from logdirwatch.report.status import cluster as view
from logdirwatch.report.status.cluster import RISKS, Broker, ClusterStatus, Heartbeat, LogDir, Risk
from logdirwatch.store.schema.definitions import (
    BROKER_STATE,
    EXECUTIONS,
    LOG_DIR_INVENTORY,
    LOG_DIR_STATE,
    REPLICA_STATE,
    TOPIC_STATE,
)
from logdirwatch.text.units import age_ms, human_ago
from logdirwatch.text.words import did_you_mean, short_id

_BROKER_GONE = {Rule.BROKER_OFFLINE: BrokerStatus.OFFLINE, Rule.BROKER_UNKNOWN: BrokerStatus.UNKNOWN}
_LOG_DIR_RULES = {Rule.LOG_DIR_OFFLINE, Rule.LOG_DIR_UNKNOWN, Rule.LOG_DIR_SPACE}
_LOSSES = {*_BROKER_GONE, Rule.LOG_DIR_OFFLINE, Rule.LOG_DIR_UNKNOWN, Rule.PARTITIONS_AT_RISK}
_LOG_DIR_STATUSES = {str(status) for status in LogDirStatus}


def losses(alerts: Iterable[AlertRecord] | None, since_ms: int | None) -> list[AlertRecord]:
    """Return the open alerts about losses or missing data that are newer than ``since_ms``, or all of them."""
    return [
        alert
        for alert in alerts or ()
        if alert.rule in _LOSSES and alert.status is AlertStatus.FIRING and (since_ms is None or alert.at_ms > since_ms)
    ]


def corrected(brokers: Iterable[Broker], alerts: Iterable[AlertRecord] | None) -> list[Broker]:
    """Return brokers and directories, corrected by open alerts that are newer than their rows."""
    firing = [alert for alert in alerts or () if alert.status is AlertStatus.FIRING and alert.stale_since_ms is None]
    return [
        _corrected(broker, [alert for alert in firing if alert.broker == broker.broker and alert.at_ms > broker.at_ms])
        for broker in brokers
    ]


def _corrected(broker: Broker, newer: Sequence[AlertRecord]) -> Broker:
    by_log_dir = _by_log_dir(newer)
    log_dirs = broker.log_dirs and [_by_alert(one, by_log_dir.get(one.log_dir)) for one in broker.log_dirs]
    broker = replace(broker, log_dirs=log_dirs)
    gone = next((alert for alert in newer if alert.rule in _BROKER_GONE), None)
    if gone is not None:
        return _gone(broker, _BROKER_GONE[gone.rule], _by(gone))
    lost = next((alert for alert in newer if alert.rule is Rule.LOG_DIR_OFFLINE), None)
    if lost is None or broker.status != BrokerStatus.ONLINE:
        return broker
    return replace(broker, status=BrokerStatus.DEGRADED, reason=_by(lost), next_log_dirs=None)


def _by_log_dir(alerts: Iterable[AlertRecord]) -> dict[str, AlertRecord]:
    """Return the alert about each directory; one alert may be about several."""
    found: dict[str, AlertRecord] = {}
    of_log_dirs = (alert for alert in alerts if alert.rule in _LOG_DIR_RULES)
    for alert in sorted(of_log_dirs, key=lambda alert: (alert.rule is Rule.LOG_DIR_OFFLINE, alert.at_ms)):
        found |= {path: alert for _, path in offline_log_dirs.places_of(alert)}
    return found


def _by_alert(log_dir: LogDir, alert: AlertRecord | None) -> LogDir:
    if alert is None or alert.to_status not in _LOG_DIR_STATUSES:
        return log_dir
    found = offline_log_dirs.cause_at(alert, log_dir.log_dir)
    cause = None if found is None else str(found)
    was = log_dir.last_status if log_dir.status == LogDirStatus.UNKNOWN else log_dir.status
    return replace(log_dir, status=alert.to_status, cause=cause, reason=_by(alert), last_status=was)


def _by(alert: AlertRecord) -> str:
    return f"open alert {alert.rule} {short_id(alert.alert_id)}, newer than the table"


def past(brokers: Iterable[Broker], now_ms: int) -> list[Broker]:
    """Return brokers that are not monitored now: each status is ``unknown``, with the last known one beside it."""
    return [_gone(broker, BrokerStatus.UNKNOWN, _as_of(broker.reason, broker.at_ms, now_ms)) for broker in brokers]


def _gone(broker: Broker, status: str, reason: str) -> Broker:
    log_dirs = broker.log_dirs and [_unknown(log_dir, reason) for log_dir in broker.log_dirs]
    was = _last(broker.status, broker.last_status)
    return replace(
        broker, status=status, last_status=was, reason=reason, log_dirs=log_dirs or broker.log_dirs, next_log_dirs=None
    )


def _unknown(log_dir: LogDir, reason: str) -> LogDir:
    was = _last(log_dir.status, log_dir.last_status)
    return replace(log_dir, status=LogDirStatus.UNKNOWN, last_status=was, reason=reason)


def _last(status: str, last_status: str | None) -> str | None:
    return last_status if status == LogDirStatus.UNKNOWN else status


def _as_of(reason: str | None, at_ms: int, now_ms: int) -> str:
    return f"as of {human_ago(at_ms, now_ms)}: {reason}" if reason else f"as of {human_ago(at_ms, now_ms)}"


def risks_by(alerts: Iterable[AlertRecord], known: dict[str, Risk] | None) -> dict[str, Risk] | None:
    """Return lower bounds of the partitions at risk from alerts; None if no alert counts any.

    ``known`` are the counts of an older inventory: higher ones may still hold.
    """
    counting = [alert.affected for alert in alerts if any(_count(alert.affected, name) for name in RISKS)]
    if not counting:
        return None
    before = known or {}
    return {name: _risk(name, counting, before.get(name, Risk())) for name in RISKS}


def _risk(name: str, counting: list[dict[str, Any]], before: Risk) -> Risk:
    most = max(counting, key=lambda affected: _count(affected, name))
    count = _count(most, name)
    if count <= before.count:
        return before
    # Examples cover all risks together, the worst first: they belong to the worst risk present.
    worst = next(danger for danger in RISKS if _count(most, danger))
    return Risk(count=count, examples=list(most.get("examples") or ()) if name == worst else [])


def _count(affected: dict[str, Any], name: str) -> int:
    count = affected.get(name)
    return count if isinstance(count, int) else 0


Row = Mapping[str, Any]
Known = TypeVar("Known")
ROUNDS_MISSED = 3


@dataclass(frozen=True)
class Snapshot:
    """The data read; rows are None for a table that is missing or cannot be read.

    ``scans`` are the newest inventories, one row per cluster for its topics and one for its directories. ``alerts`` is
    None when they could not be read, ``is_heard`` says whether heartbeats would be among them. ``handling`` are the
    decisions about alerts and brokers, None when they could not be read. ``executions`` are those that are not over.
    """

    brokers: list[Row] | None
    log_dirs: list[Row] | None
    scans: list[Row] | None
    replicas: list[Row] | None
    partitions: list[Row] | None
    alerts: list[AlertRecord] | None
    handling: Handling | None = None
    is_heard: bool = True
    executions: list[Row] | None = None


_TABLES = (BROKER_STATE, LOG_DIR_STATE, LOG_DIR_INVENTORY, REPLICA_STATE, TOPIC_STATE, EXECUTIONS)
STATUS_TABLES = tuple(table.name for table in _TABLES)
"""The tables of a snapshot."""


@dataclass(frozen=True)
class TableRows:
    """The rows of each table; ``unreadable`` says why one could not be read, ``absent`` are those never written."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)

    def of(self, table: str) -> list[Row] | None:
        """Return the rows of a table, None if unknown."""
        return self.rows.get(table)


def snapshot_of(
    tables: TableRows, alerts: list[AlertRecord] | None, handling: Handling | None = None, *, is_heard: bool = True
) -> Snapshot:
    """Return the data read as a snapshot."""
    return Snapshot(
        brokers=tables.of(BROKER_STATE.name),
        log_dirs=tables.of(LOG_DIR_STATE.name),
        scans=tables.of(LOG_DIR_INVENTORY.name),
        replicas=tables.of(REPLICA_STATE.name),
        partitions=tables.of(TOPIC_STATE.name),
        alerts=alerts,
        handling=handling,
        is_heard=is_heard,
        executions=tables.of(EXECUTIONS.name),
    )


def read_tables(rows: Callable[[str], list[Row] | None], tables: Iterable[str] = STATUS_TABLES) -> TableRows:
    """Read each table on its own, so that one that cannot be read hides no other."""
    found = TableRows()
    for table in tables:
        try:
            read = rows(table)
        except UserError as error:
            found.unreadable[table] = str(error)
            continue
        if read is None:
            found.absent.append(table)
        else:
            found.rows[table] = read
    return found


@dataclass(frozen=True)
class Patience:
    """The ages from which state, inventory and the fast lane's last canary are stale, after some missed rounds.

    ``skew_ms`` is how far a collector's clock may be ahead.
    """

    state_ms: int
    inventory_ms: int
    proof_ms: int
    skew_ms: int

    @classmethod
    def of(cls, detect: DetectSettings, collect: CollectSettings, stream: StreamSettings) -> "Patience":
        """Return the limits from the configured intervals."""
        state_ms = detect.state_refresh_ms + interval_ms(stream.store_trigger)
        inventory_ms = collect.inventory_interval_ms + interval_ms(stream.store_inventory_trigger)
        return cls(
            state_ms=ROUNDS_MISSED * state_ms,
            inventory_ms=ROUNDS_MISSED * inventory_ms,
            proof_ms=ROUNDS_MISSED * collect.canary_interval_ms,
            skew_ms=detect.clock_skew_ms,
        )


def statuses(snapshot: Snapshot, now_ms: int, patience: Patience, only: str | None = None) -> list[ClusterStatus]:
    """Return the status of every cluster, or of the one named ``only``.

    Raises UserError when no cluster is known by that name.
    """
    names = _names(snapshot)
    if only is not None:
        if only not in names:
            near = did_you_mean(only, names) or f"; the clusters: {', '.join(names) or 'none yet'}"
            raise UserError(f"no cluster {only} in the tables{near}", exit_code=2)
        names = [only]
    return [_status(snapshot, name, now_ms, patience) for name in names]


def _names(snapshot: Snapshot) -> list[str]:
    """Return the clusters of the tables; if they cannot be read, those that alerts and heartbeats name."""
    if snapshot.brokers is not None:
        return sorted({row["cluster"] for row in snapshot.brokers})
    return sorted({alert.cluster for alert in snapshot.alerts or ()} - {NO_CLUSTER})


def _status(snapshot: Snapshot, name: str, now_ms: int, patience: Patience) -> ClusterStatus:
    rows, log_dirs = _of(snapshot.brokers, name), _of(snapshot.log_dirs, name)
    known = [] if rows is None else view.brokers(rows, log_dirs)
    alerts = None if snapshot.alerts is None else [a for a in snapshot.alerts if a.cluster == name]
    heard = alerts if snapshot.is_heard else None
    handling = snapshot.handling
    scans = {row["is_of_topics"]: row["at_ms"] for row in _of(snapshot.scans, name) or ()}
    proof_ms = None if heard is None else view.fast_lane_proof_ms(heard, now_ms + patience.skew_ms)
    data_at_ms = max((broker.at_ms for broker in known), default=None)
    inventory_at_ms = max(scans.values(), default=None)
    beats = None if heard is None else view.heartbeats(heard, now_ms, patience.skew_ms)
    data_age_ms, inventory_age_ms = (age_ms(at, now_ms, patience.skew_ms) for at in (data_at_ms, inventory_at_ms))
    is_old, is_silent = is_stale(data_age_ms, patience.state_ms), has_stopped(beats)
    is_old_inventory = is_stale(inventory_age_ms, patience.inventory_ms)
    brokers = _now(known, alerts, now_ms, is_old=is_old, is_silent=is_silent)
    is_past = is_old or is_silent
    lost = losses(alerts, inventory_at_ms)
    replicas = _known_by(scans.get(False), _of(snapshot.replicas, name), view.offline_replicas)
    risks = _known_by(scans.get(True), _of(snapshot.partitions, name), view.partitions_at_risk)
    by_alerts = risks_by(lost, risks)
    is_then = is_past or is_old_inventory or bool(lost)
    return ClusterStatus(
        cluster=name,
        data_at_ms=data_at_ms,
        data_age_ms=data_age_ms,
        is_stale=is_old,
        inventory_at_ms=inventory_at_ms,
        inventory_age_ms=inventory_age_ms,
        is_inventory_stale=is_old_inventory,
        heartbeats=beats,
        fast_lane_proof_ms=proof_ms,
        is_fast_lane_stale=heard is not None
        and is_stale(age_ms(proof_ms, now_ms, patience.skew_ms), patience.proof_ms),
        open_alerts=None if alerts is None else view.open_alerts(alerts),
        firing=None if alerts is None else view.firing(alerts),
        pipeline_alerts=None if snapshot.alerts is None else view.pipeline_alerts(snapshot.alerts),
        handled_alerts=None if alerts is None or handling is None else handled(alerts, handling, now_ms),
        maintenance=None if handling is None else handling.planned(now_ms, name),
        is_past=is_past,
        metadata_mode=view.metadata_mode(known),
        notice=view.what_is_not_reported(name, known),
        brokers=None if rows is None else brokers,
        offline_replicas=None if is_then else replicas,
        partitions_at_risk=by_alerts or (None if is_then else risks),
        last_offline_replicas=replicas if is_then else None,
        last_partitions_at_risk=risks if is_then and by_alerts is None else None,
        is_risk_by_alerts=by_alerts is not None,
        executions=_known_executions(_of(snapshot.executions, name)),
    )


def _known_executions(rows: list[Row] | None, reader: RecordReader | None = None) -> list[Execution] | None:
    if rows is None:
        return None
    return unfinished((reader or RecordReader(logged)).stored(ExecutionRecord, (row["record"] for row in rows)))


def _now(
    known: list[Broker], alerts: list[AlertRecord] | None, now_ms: int, *, is_old: bool, is_silent: bool
) -> list[Broker]:
    """Return the brokers as known now; open alerts override rows, but only while the cluster is monitored."""
    if is_silent:
        return past(corrected(known, alerts), now_ms)
    return corrected(past(known, now_ms) if is_old else known, alerts)


def has_stopped(beats: list[Heartbeat] | None) -> bool:
    """Return whether no collector's heartbeat arrives any more; one from a clock too far ahead does not count."""
    return all(beat.is_stale for beat in beats or ()) and any(beat.age_ms is not None for beat in beats or ())


def is_heard(beats: list[Heartbeat]) -> bool:
    """Return whether a heartbeat arrives now."""
    return any(not beat.is_stale for beat in beats)


def _known_by(scan_ms: int | None, rows: list[Row] | None, read: Callable[[list[Row]], Known]) -> Known | None:
    """Return the rows of an inventory; None if there was none or its table cannot be read."""
    return None if scan_ms is None or rows is None else read(rows)


def is_stale(age: int | None, patience_ms: int) -> bool:
    """Return whether something is too old, or of unknown age."""
    return age is None or age > patience_ms


def _of(rows: Iterable[Row] | None, name: str) -> list[Row] | None:
    return None if rows is None else [row for row in rows if row["cluster"] == name]
