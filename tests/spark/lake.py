"""Kafka as a list, the tables for real: what the tests of ``store`` and ``store_inventory`` stand on."""

import datetime as dt
import json
from pathlib import Path

import msgspec
import pyarrow as pa
from deltalake import DeltaTable

from logdirwatch.model import topics
from logdirwatch.model.records import (
    AlertRecord,
    EventRecord,
    LogDirSample,
    LogDirView,
    MetricsRecord,
    PartitionInfo,
    Placement,
    ReplicasRecord,
    ScanRecord,
    StateRecord,
    TopicRecord,
    Transition,
)
from logdirwatch.settings import Settings
from logdirwatch.store.schema.definitions import TABLES
from logdirwatch.store.settings import TableSettings
from logdirwatch.store.tables import Tables
from logdirwatch.store.writing.intake import Belief
from logdirwatch.store.writing.inventory import InventoryWriter
from logdirwatch.store.writing.store import write_records

SCHEMA = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"
T0 = 1_700_000_000_000
GIB = 1 << 30
# Kafka has every record after the last time that any test speaks of.
KAFKA_MS = T0 + 1_000 * 86_400_000
BELIEVED = Belief("home", 60_000)


class Lake:
    """The tables in a folder, and records on their way into them."""

    def __init__(self, spark, folder):
        self.spark, self.folder = spark, Path(folder)
        self.settings = Settings(default_cluster="home", tables=TableSettings(path=str(folder)))
        self.tables = Tables(spark, self.settings)
        self.offsets = {}
        self.restart()

    def restart(self, tally=None):
        self.inventory = InventoryWriter(BELIEVED, tally=tally)

    def kafka(self, *records):
        """Give (topic, key, value, perhaps Kafka's time) their offsets; records of the model find topic and key."""
        return [self._row(*(record if isinstance(record, tuple) else addressed(record))) for record in records]

    def _row(self, topic, key, value, at_ms=KAFKA_MS):
        offset = self.offsets[topic] = self.offsets.get(topic, -1) + 1
        time = dt.datetime.fromtimestamp(at_ms / 1000, dt.timezone.utc)
        as_bytes = [part.encode() if isinstance(part, str) else part for part in (key, value)]
        return (*as_bytes, topic, 0, offset, time)

    def frame(self, rows):
        return self.spark.createDataFrame(rows, SCHEMA)

    def store(self, *records):
        """Run a batch of ``store``; returns its rows, so that it can be run again."""
        rows = self.kafka(*records)
        self.store_rows(rows)
        return rows

    def store_rows(self, rows):
        return write_records(self.frame(rows), BELIEVED, self.tables)

    def scan(self, *records):
        """Run a batch of ``store_inventory``; returns its rows."""
        rows = self.kafka(*records)
        self.scan_rows(rows)
        return rows

    def scan_rows(self, rows):
        self.inventory.write(self.frame(rows), self.tables)

    def rows(self, table, *columns, **where):
        """Return a table's rows as tuples of ``columns``, sorted; as dicts without columns."""
        found = [row for row in self._all(table) if all(row[name] == value for name, value in where.items())]
        if not columns:
            return found
        values = [tuple(row[name] for name in columns) for row in found]
        return sorted(values, key=lambda row: tuple((value is not None, value) for value in row))

    def _all(self, table):
        """Read as the command line does, without Spark."""
        read = DeltaTable(f"{self.settings.tables_path}/{table}").to_pyarrow_table()
        maps = [field.name for field in read.schema if pa.types.is_map(field.type)]
        rows = read.to_pylist()
        return [row | {name: dict(row[name]) for name in maps if row[name] is not None} for row in rows]

    def versions(self):
        """Return every table's version: what writes nothing leaves it as it is."""
        return {name: DeltaTable(f"{self.settings.tables_path}/{name}").version() for name in TABLES}

    def content(self):
        """Return every table's rows, whatever their order."""
        return {name: sorted(map(repr, self._all(name))) for name in TABLES}


def addressed(record):
    kind, key = type(record), getattr(record, "cluster", None)
    topic = next(topic for types, topic in TOPICS_OF.items() if kind in types)
    names = [getattr(record, name, None) for name in ("broker", "log_dir" if kind is ReplicasRecord else "", "topic")]
    key = record.alert_id if kind is AlertRecord else "/".join(str(part) for part in (key, *names) if part is not None)
    return topic, key, msgspec.json.encode(record)


TOPICS_OF = {
    (MetricsRecord,): topics.METRICS,
    (EventRecord,): topics.EVENTS,
    (StateRecord,): topics.STATE,
    (AlertRecord,): topics.ALERTS,
    (ReplicasRecord, TopicRecord, ScanRecord): topics.INVENTORY,
}


def metrics(broker=7, at_ms=T0, *, log_dirs=("/d1", "/d2"), **fields):
    samples = [sample(path) if isinstance(path, str) else path for path in log_dirs]
    required = {"version": 1, "cluster": "prod", "broker": broker, "timestamp_ms": at_ms, "status": "ok"}
    return MetricsRecord(**required | {"collector": "c1", "log_dirs": samples} | fields)


def sample(path="/d1", **fields):
    return LogDirSample(**{"path": path, "error_code": 0, "total_bytes": GIB, "usable_bytes": GIB // 2} | fields)


def event(broker=7, at_ms=T0, **fields):
    required = {"version": 1, "broker": broker, "event": "LogDirFailure", "cluster": "prod", "timestamp_ms": at_ms}
    return EventRecord(**required | {"collector": "c1", "log_dir": "/d1"} | fields)


def state(broker=7, sequence=1, *, log_dirs=None, **fields):
    """A state record; ``log_dirs`` maps paths to statuses."""
    views = [
        LogDirView(path=path, status=status, since_ms=T0 + sequence, cause="failed" if status == "offline" else None)
        for path, status in ({"/d1": "online", "/d2": "online"} if log_dirs is None else log_dirs).items()
    ]
    required = {"version": 1, "cluster": "prod", "broker": broker, "sequence": sequence, "at_ms": T0 + sequence}
    rest = {"status": "online", "since_ms": T0, "log_dirs": views, "machine": "{}"}
    return StateRecord(**required | rest | fields)


def transition(number, **fields):
    required = {"transition_id": f"t{number}", "cluster": "prod", "broker": 7, "log_dir": "/d1", "at_ms": T0 + number}
    return Transition(
        **required | {"from_status": "online", "to_status": "offline", "reason": "56", "origin": "o"} | fields
    )


def alert(alert_id="a1", revision=1, **fields):
    required = {"version": 1, "alert_id": alert_id, "revision": revision, "status": "firing", "rule": "log_dir_offline"}
    place = {"cluster": "prod", "broker": 7, "log_dir": "/d1", "from_status": "online", "to_status": "offline"}
    rest = {"severity": "critical", "cause": "failed", "opened_at_ms": T0, "at_ms": T0 + revision, "lane": "stateful"}
    said = {"evidence": {"error_code": 56}, "affected": {}, "summary": "a directory failed"}
    return AlertRecord(**required | place | rest | said | fields)


def action(action_id="x1", revision=1, **fields):
    """An action as JSON: what only a table looks at needs no type."""
    required = {"version": 1, "action_id": action_id, "revision": revision, "status": "proposed", "kind": "investigate"}
    about = {"alert_id": "a1", "alert": {"rule": "log_dir_offline"}, "cluster": "prod", "target": {"broker": 7}}
    effect = {"reason": "r", "expected": {}, "preconditions": [{"name": "p"}], "vetoes": [], "data_loss": False}
    rest = {"requires_approval": True, "expires_at_ms": T0, "commands": ["echo 'a b'"], "reassignment": None}
    end = {"configs": None, "undo": {}, "based_on": {}, "at_ms": T0 + revision}
    return topics.ACTIONS, action_id, json.dumps(required | about | effect | rest | end | fields)


def decision(spoken_of="a1", at_ms=T0, **fields):
    required = {
        "version": 1,
        "id": spoken_of,
        "decision": "acknowledge",
        "by": "anna",
        "reason": "seen",
        "at_ms": at_ms,
    }
    return topics.DECISIONS, spoken_of, json.dumps(required | fields)


def execution(execution_id="e1", number=0, **fields):
    """The record ``number`` of an execution, as JSON."""
    required = {"version": 1, "execution_id": execution_id, "action_id": "x1", "revision": 1, "content_hash": "h"}
    about = {"kind": "reassign", "cluster": "prod", "state": "copying", "back": False, "by": "anna"}
    operation = {"op": "set_topic_config", "args": {"topic": "t", "key": "k", "value": "1"}}
    rest = {"operations": [operation], "step": number, "bytes": GIB, "started_at_ms": T0, "at_ms": T0 + number}
    return topics.EXECUTIONS, execution_id, json.dumps(required | about | rest | fields)


def replicas(*names, broker=7, log_dir="/d1", scan=0, future=False, size=10, lag=0, **fields):
    """A directory's listing at scan ``scan``; names are TOPIC-PARTITION."""
    placed = [
        Placement(topic=topic, partition=int(partition), size_bytes=size, offset_lag=lag, is_future=future)
        for topic, partition in (name.rsplit("-", 1) for name in names)
    ]
    required = {"version": 1, "cluster": "prod", "broker": broker, "log_dir": log_dir, "timestamp_ms": scan_ms(scan)}
    return ReplicasRecord(**required | {"replicas": placed, "collector": "c1"} | fields)


def topic(name, *assignments, scan=0, isr=None, **fields):
    """A topic at a scan; each assignment is one partition's brokers, all in sync unless ``isr`` says otherwise."""
    partitions = [
        PartitionInfo(partition=n, leader=brokers[0], replicas=list(brokers), isr=list(isr or brokers))
        for n, brokers in enumerate(assignments)
    ]
    required = {"version": 1, "cluster": "prod", "topic": name, "partitions": partitions, "collector": "c1"}
    return TopicRecord(**required | {"timestamp_ms": scan_ms(scan), "configs": {"min.insync.replicas": "2"}} | fields)


def scan_end(topics_seen, scan=0, *, is_complete=True):
    return ScanRecord(
        version=1,
        cluster="prod",
        timestamp_ms=scan_ms(scan),
        topics=topics_seen,
        is_complete=is_complete,
        collector="c1",
    )


def scan_ms(scan):
    return T0 + scan * 60_000
