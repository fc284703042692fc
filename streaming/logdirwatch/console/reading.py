"""The data of the pages from the tables: current rows, open alerts and actions, one directory's history."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from msgspec import Struct

from logdirwatch.clock import wall_ms
from logdirwatch.errors import UserError
from logdirwatch.model.records import ActionRecord, AlertRecord, ExecutionRecord
from logdirwatch.model.records.executions import ENDED
from logdirwatch.model.vocabulary import OPEN, AlertStatus, LogDirStatus, ReplicaStatus
from logdirwatch.parse.reading import RecordReader, logged
from logdirwatch.report.folding import is_heartbeat, latest
from logdirwatch.report.handling import Handling
from logdirwatch.report.status.snapshot import STATUS_TABLES, Snapshot, is_stale, read_tables, snapshot_of
from logdirwatch.report.timeline import changed
from logdirwatch.store.schema.definitions import (
    ACTIONS,
    ALERTS,
    BROKER_STATE,
    EXECUTIONS,
    LOG_DIR_SAMPLES,
    LOG_DIR_STATE,
    REPLICA_STATE,
    TOPIC_STATE,
    TRANSITIONS,
)
from logdirwatch.store.sql import by_age, newest, quoted
from logdirwatch.text.units import age_ms

Row = Mapping[str, Any]
R = TypeVar("R", bound=Struct)
Select = Callable[[str, str], Iterator[Row] | None]
"""Runs a query on a table, which it names ``t``; None if the table was never written."""

NEXT_TO_FILL = 10
MOST_REPLICAS = 50
MOST_PARTITIONS = 10_000
MOST_TRANSITIONS = 50
MOST_CHANGES = 200
MOST_EXECUTIONS = 200
MOST_TOPICS = 20
HEAD_TABLES = (BROKER_STATE.name, EXECUTIONS.name)
"""The tables that the head of every page needs."""
POINTS = 300
SILENT_MS = 60_000
"""Age of the newest alert or heartbeat from which the tables may be ahead of the topic: heartbeats are missing."""


def nobody() -> None:
    """Return no heartbeats, for a console that does not follow them."""


@dataclass(frozen=True)
class Reader:
    """Reads with ``select``; ``rows`` are the rows of a table that the status needs, None if it was never written.

    ``live`` are the alerts and heartbeats of the telemetry cluster, newer than the tables; None while it does not
    answer; ``handling`` are the decisions about them. ``records`` counts the records of both that cannot be read.
    Every page shows the newest revision of both.
    """

    select: Select
    rows: Callable[[str], list[Row] | None]
    live: Callable[[], list[AlertRecord] | None] = nobody
    records: RecordReader = field(default_factory=lambda: RecordReader(logged))
    now_ms: Callable[[], int] = wall_ms
    handling: Callable[[], Handling | None] = nobody

    def snapshot(self, tables: Iterable[str] = STATUS_TABLES) -> tuple[Snapshot, list[str]]:
        """Return the data for the status of every cluster, and which tables cannot be read and why."""
        found, heard = read_tables(self.rows, tables), self.live()
        unreadable, alerts = list(found.unreadable.values()), heard
        try:
            alerts = self._alerts(heard)
        except UserError as error:
            unreadable.append(str(error))
        snapshot = snapshot_of(found, alerts, self.handling(), is_heard=heard is not None)
        return snapshot, [*unreadable, *self.records.summaries()]

    def heads(self) -> Snapshot:
        """Return only the ages of the data, and the running executions."""
        return self.snapshot(HEAD_TABLES)[0]

    def open_alerts(self) -> list[AlertRecord] | None:
        """Return the firing alerts; None if no alert was ever stored."""
        rows = self._newest(ALERTS.name, "alert_id", f"status = '{AlertStatus.FIRING}'")
        return None if rows is None else self._records(AlertRecord, rows)

    def open_actions(self) -> list[ActionRecord] | None:
        """Return the open actions; None if no action was ever stored."""
        statuses = ", ".join(f"'{status}'" for status in sorted(OPEN))
        rows = self._newest(ACTIONS.name, "action_id", f"status IN ({statuses})")
        return None if rows is None else self._records(ActionRecord, rows)

    def _alerts(self, heard: list[AlertRecord] | None) -> list[AlertRecord] | None:
        """Return the alerts of the topic; if nothing arrives from it any more, with what was stored since."""
        if heard is None:
            return self.open_alerts()
        heard_ms = max((alert.at_ms for alert in heard), default=None)
        if heard_ms is None or not is_stale(age_ms(heard_ms, self.now_ms()), SILENT_MS):
            return heard
        rows = self.select(ALERTS.name, newest("alert_id", among=f"at_ms > {heard_ms - SILENT_MS}"))
        return latest([*heard, *self._records(AlertRecord, rows or ())])

    def alert(self, alert_id: str) -> list[AlertRecord]:
        """Return every revision of an alert, the newest first: the stored ones, and that of the topic."""
        heard = [alert for alert in self.live() or () if alert.alert_id == alert_id]
        stored = self._records(AlertRecord, self._life(ALERTS.name, "alert_id", alert_id))
        by_revision = {alert.revision: alert for alert in (*stored, *heard)}
        return [by_revision[revision] for revision in sorted(by_revision, reverse=True)]

    def action(self, action_id: str) -> ActionRecord | None:
        """Return the latest revision of an action; None if there is none."""
        return next(iter(self._records(ActionRecord, self._life(ACTIONS.name, "action_id", action_id))), None)

    def actions_of(self, alert_id: str) -> list[ActionRecord]:
        """Return the latest revisions of the actions of an alert."""
        rows = self._newest(ACTIONS.name, "action_id", f"alert_id = {quoted(alert_id)}")
        return self._records(ActionRecord, rows or ())

    def actions_named(self, action_ids: Iterable[str]) -> list[ActionRecord]:
        """Return the latest revisions of some actions."""
        names = ", ".join(map(quoted, sorted(set(action_ids))))
        if not names:
            return []
        rows = self.select(ACTIONS.name, newest("action_id", among=f"action_id IN ({names})"))
        return self._records(ActionRecord, rows or ())

    def executions(self, action_id: str | None = None) -> list[ExecutionRecord] | None:
        """Return the last record of each execution, or of those of one action, the newest first.

        If there are many, all unfinished ones and the newest of the others. None if no execution was ever stored.
        """
        over = ", ".join(f"'{state}'" for state in sorted(ENDED))
        ranked = by_age("execution_id", "t", "source_offset")
        which = "true" if action_id is None else f"action_id = {quoted(action_id)}"
        rows = self.select(
            EXECUTIONS.name,
            f"SELECT record, source_offset FROM ({ranked}) WHERE age = 1 AND {which} "  # noqa: S608 - all is quoted
            f"ORDER BY CASE WHEN state IN ({over}) THEN 1 ELSE 0 END, source_offset DESC LIMIT {MOST_EXECUTIONS}",
        )
        if rows is None:
            return None
        ordered = sorted(rows, key=lambda row: -row["source_offset"])
        return self._records(ExecutionRecord, ordered)

    def execution(self, execution_id: str) -> list[ExecutionRecord]:
        """Return every record of an execution, the newest first."""
        where = f"execution_id = {quoted(execution_id)}"
        rows = self._rows(EXECUTIONS.name, "record", where, "ORDER BY source_offset DESC")
        return self._records(ExecutionRecord, rows)

    def next_to_fill(self) -> list[Row]:
        """Return the directories that are forecast to be full first."""
        columns = "cluster, broker, log_dir, used_ratio, growth_bytes_per_s, full_at_ms"
        where = f"full_at_ms IS NOT NULL AND status <> '{LogDirStatus.OFFLINE}'"
        return self._rows(LOG_DIR_STATE.name, columns, where, f"ORDER BY full_at_ms LIMIT {NEXT_TO_FILL}")

    def places_of_topics(self, text: str) -> list[tuple[str, int, str]]:
        """Return cluster, broker and path of each directory with a replica of a topic that has ``text`` in its name."""
        # Both engines know this spelling, DataFusion's and Databricks'.
        where = f"position({quoted(text)} IN lower(topic)) > 0"
        found = self._rows(REPLICA_STATE.name, "DISTINCT cluster, broker, log_dir", where)
        return [(row["cluster"], row["broker"], row["log_dir"]) for row in found]

    def topics_with(self, texts: Iterable[str]) -> list[Row]:
        """Return cluster and name of the first topics that have all of ``texts`` in their names."""
        where = " AND ".join(f"position({quoted(text)} IN lower(topic)) > 0" for text in texts)
        order = f"ORDER BY topic, cluster LIMIT {MOST_TOPICS}"
        return self._rows(TOPIC_STATE.name, "DISTINCT cluster, topic", where, order)

    def directory(self, cluster: str, broker: int, log_dir: str) -> Row | None:
        """Return a directory's row; None if unknown."""
        return next(iter(self._rows(LOG_DIR_STATE.name, "*", self._place(cluster, broker, log_dir))), None)

    def history(self, cluster: str, broker: int, log_dir: str, from_ms: int, to_ms: int) -> list[tuple[int, float]]:
        """Return the highest use in each interval, as (milliseconds, used ratio); a gap has no point."""
        step_ms = max(1, (to_ms - from_ms) // POINTS)
        bucket = f"CAST(floor(timestamp_ms / {step_ms}.0) AS BIGINT)"
        where = (
            f"{self._place(cluster, broker, log_dir)} AND kind = 'log_dir' AND error_code = 0 AND total_bytes > 0 "
            f"AND timestamp_ms BETWEEN {from_ms} AND {to_ms}"
        )
        columns = f"{bucket} AS at, max(1.0 - CAST(usable_bytes AS DOUBLE) / total_bytes) AS used"
        rows = self._rows(LOG_DIR_SAMPLES.name, columns, where, f"GROUP BY {bucket} ORDER BY at")
        return [(int(row["at"]) * step_ms, float(row["used"])) for row in rows if row["used"] is not None]

    def directories(self, cluster: str) -> list[Row]:
        """Return place and size of every directory of a cluster."""
        columns = "broker, log_dir, total_bytes, usable_bytes"
        return self._rows(LOG_DIR_STATE.name, columns, f"cluster = {quoted(cluster)}")

    def changes(self, from_ms: int, to_ms: int) -> list[Row]:
        """Return the last changes of status of everything in a period, the newest first."""
        order = f"ORDER BY at_ms DESC LIMIT {MOST_CHANGES}"
        return self._rows(TRANSITIONS.name, "*", f"at_ms BETWEEN {from_ms} AND {to_ms}", order)

    def alert_changes(self, from_ms: int, to_ms: int) -> list[AlertRecord]:
        """Return the revisions of a period with which alerts opened, changed severity or ended, the newest first."""
        stored = self._stored_changes(from_ms, to_ms)
        heard = [a for a in self.live() or () if from_ms <= a.at_ms <= to_ms and not is_heartbeat(a)]
        names = ", ".join(quoted(alert.alert_id) for alert in heard)
        rows = self.select(ALERTS.name, newest("alert_id", among=f"alert_id IN ({names})")) if names else None
        found = [*changed(self._records(AlertRecord, rows or ()), heard), *stored]
        return sorted(found, key=lambda alert: -alert.at_ms)[:MOST_CHANGES]

    def _stored_changes(self, from_ms: int, to_ms: int) -> list[AlertRecord]:
        before = "OVER (PARTITION BY alert_id ORDER BY revision)"
        revisions = (
            f"SELECT *, lag(status) {before} AS status_before, lag(severity) {before} AS severity_before "  # noqa: S608
            f"FROM t WHERE at_ms BETWEEN {from_ms} AND {to_ms}"
        )
        # The first revision of the period is an opening only if the alert is not older.
        opened = f"status_before IS NULL AND (opened_at_ms >= {from_ms} OR status <> '{AlertStatus.FIRING}')"
        rows = self.select(
            ALERTS.name,
            f"SELECT record FROM ({revisions}) WHERE record IS NOT NULL AND ({opened} OR status_before <> status "  # noqa: S608
            f"OR severity_before <> severity) ORDER BY at_ms DESC LIMIT {MOST_CHANGES}",
        )
        return self._records(AlertRecord, rows or ())

    def execution_changes(self, from_ms: int, to_ms: int) -> list[ExecutionRecord]:
        """Return the last records of executions in a period, the newest first."""
        order = f"ORDER BY at_ms DESC, source_offset DESC LIMIT {MOST_CHANGES}"
        where = f"record IS NOT NULL AND at_ms BETWEEN {from_ms} AND {to_ms}"
        rows = self._rows(EXECUTIONS.name, "record", where, order)
        return self._records(ExecutionRecord, rows)

    def transitions(self, cluster: str, broker: int, log_dir: str | None = None) -> list[Row]:
        """Return the last changes of status of a broker and of one or all of its directories, the newest first."""
        of_both = "true" if log_dir is None else f"(log_dir = {quoted(log_dir)} OR log_dir IS NULL)"
        where = f"cluster = {quoted(cluster)} AND broker = {broker} AND {of_both}"
        return self._rows(TRANSITIONS.name, "*", where, f"ORDER BY at_ms DESC LIMIT {MOST_TRANSITIONS}")

    def replicas(self, cluster: str, broker: int, log_dir: str) -> list[Row]:
        """Return the largest replicas of a directory, the copies in progress before all others."""
        columns = "topic, partition, size_bytes, offset_lag, status, is_future, is_leader, in_isr"
        order = f"ORDER BY is_future DESC, size_bytes DESC NULLS LAST, topic, partition LIMIT {MOST_REPLICAS}"
        return self._rows(REPLICA_STATE.name, columns, self._place(cluster, broker, log_dir), order)

    def impaired_replicas(self, cluster: str, broker: int) -> list[Row]:
        """Return the largest replicas of a broker that are not online."""
        where = f"cluster = {quoted(cluster)} AND broker = {broker} AND status <> '{ReplicaStatus.ONLINE}'"
        order = f"ORDER BY size_bytes DESC NULLS LAST, topic, partition LIMIT {MOST_REPLICAS}"
        return self._rows(REPLICA_STATE.name, "*", where, order)

    def partitions(self, cluster: str, topic: str) -> list[Row]:
        """Return the partitions of a topic by number."""
        return self._rows(
            TOPIC_STATE.name, "*", _of_topic(cluster, topic), f"ORDER BY partition LIMIT {MOST_PARTITIONS}"
        )

    def partition_bytes(self, cluster: str, topic: str) -> dict[int, int | None]:
        """Return the bytes of all replicas of each partition of a topic, as far as known."""
        columns = "partition, sum(size_bytes) AS size"
        found = self._rows(REPLICA_STATE.name, columns, _of_topic(cluster, topic), "GROUP BY partition")
        return {row["partition"]: row["size"] for row in found}

    def partition(self, cluster: str, topic: str, partition: int) -> Row | None:
        """Return a partition's row; None if unknown."""
        return next(iter(self._rows(TOPIC_STATE.name, "*", self._partition(cluster, topic, partition))), None)

    def replicas_of(self, cluster: str, topic: str, partition: int) -> list[Row]:
        """Return the replicas of a partition by broker, and copies in progress after their original."""
        order = "ORDER BY broker, is_future"
        return self._rows(REPLICA_STATE.name, "*", self._partition(cluster, topic, partition), order)

    def _partition(self, cluster: str, topic: str, partition: int) -> str:
        return f"{_of_topic(cluster, topic)} AND partition = {partition}"

    def _place(self, cluster: str, broker: int, log_dir: str) -> str:
        return f"cluster = {quoted(cluster)} AND broker = {broker} AND log_dir = {quoted(log_dir)}"

    def _rows(self, table: str, columns: str, where: str, rest: str = "") -> list[Row]:
        query = f"SELECT {columns} FROM t WHERE {where} {rest}"  # noqa: S608 - the callers quote
        return list(self.select(table, query) or ())

    def _newest(self, table: str, identity: str, condition: str) -> list[Row] | None:
        rows = self.select(table, newest(identity, which=condition))
        return None if rows is None else list(rows)

    def _life(self, table: str, identity: str, wanted: str) -> list[Row]:
        return self._rows(table, "record", f"{identity} = {quoted(wanted)}", "ORDER BY revision DESC")

    def _records(self, kind: type[R], rows: Iterable[Row]) -> list[R]:
        return self.records.stored(kind, (row["record"] for row in rows))


def _of_topic(cluster: str, topic: str) -> str:
    return f"cluster = {quoted(cluster)} AND topic = {quoted(topic)}"
