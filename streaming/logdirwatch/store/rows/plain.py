"""Thin rows as rows of the tables, as dicts: what ``history`` and ``brokers`` do with DataFrames.

A test compares both. A column that a row lacks is null.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from pyspark.sql.types import StructType

from logdirwatch.model.records import (
    ActionRecord,
    AlertRecord,
    ExecutionRecord,
    HostLogDir,
    LogDirSample,
    MetricsRecord,
    Transition,
)
from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.store.rows.brokers import OF_BROKER, OF_LOG_DIR, OF_PARTITIONS
from logdirwatch.store.rows.history import EVENT, HOST, LOG_DIR, POLL, UNKNOWN_CLUSTER, fields_by_column
from logdirwatch.store.rows.thin import Placed
from logdirwatch.store.schema.columns import Table
from logdirwatch.store.schema.definitions import ACTIONS, ALERTS, EXECUTIONS, TRANSITIONS
from logdirwatch.store.schema.history_tables import OF_EVENT, OF_HOST, OF_POLL, OF_POLL_AND_LOG_DIR
from logdirwatch.store.schema.json_types import spark_type

Record = Mapping[str, Any]
Row = dict[str, Any]

_OF_SAMPLED = tuple(name for name in spark_type(LogDirSample).names if name != "path")
_OF_SEEN = tuple(name for name in spark_type(HostLogDir).names if name != "path")


def decoded(placed: Placed) -> Record:
    """Return the record of a thin row."""
    found: Record = msgspec.json.decode(placed.thin.body or "")
    return found


def polls(placed: Placed) -> Iterator[Row]:
    """Yield the rows of ``log_dir_samples`` of a poll: its own, and each directory's."""
    record = decoded(placed)
    common = {**_source(placed), **_picked(record, OF_POLL_AND_LOG_DIR), **_kafka_time(placed)}
    texts = {name: _as_json(record.get(name), MetricsRecord, name) for name in ("partitions", "moves")}
    yield {**common, **_picked(record, OF_POLL), **texts, "kind": POLL}
    for sample in record["log_dirs"]:
        yield {**common, **_picked(sample, _OF_SAMPLED), "log_dir": sample["path"], "kind": LOG_DIR}


def events(placed: Placed) -> Iterator[Row]:
    """Yield the row of ``log_dir_samples`` of an event."""
    record = decoded(placed)
    topic, partition = record.get("topic"), record.get("partition")
    failed = [] if topic is None or partition is None else [f"{topic}-{partition}"]
    collector = "/".join([record.get("collector") or "", record["event"], *failed])
    row = {**_source(placed), **_picked(record, OF_EVENT), **_kafka_time(placed)}
    yield {**row, "collector": collector, "kind": EVENT}


def hosts(placed: Placed) -> Iterator[Row]:
    """Yield the rows of ``log_dir_samples`` of a host record: its own, and each directory's."""
    record = decoded(placed)
    common = {**_source(placed), **_picked(record, OF_HOST), **_kafka_time(placed), "kind": HOST}
    yield {**common, "error": "; ".join(record["errors"]) or None}
    for seen in record["log_dirs"]:
        yield {**common, **_picked(seen, _OF_SEEN), "log_dir": seen["path"], "error": None}


def _like(table: Table, record: type[Struct]) -> Callable[[Placed], Iterator[Row]]:
    """Return the reader of a history whose rows have the columns of their records, and the records themselves."""
    named = fields_by_column(table, record)

    def rows(placed: Placed) -> Iterator[Row]:
        found = decoded(placed)
        columns = {column: found.get(field) for column, field in named.items()}
        yield {**_source(placed), **columns, "record": placed.thin.record}

    return rows


transitions = _like(TRANSITIONS, Transition)
alerts = _like(ALERTS, AlertRecord)
actions = _like(ACTIONS, ActionRecord)
executions = _like(EXECUTIONS, ExecutionRecord)


def rejected(placed: Placed) -> Iterator[Row]:
    """Yield the row of ``rejected_records``."""
    thin, position = placed
    cluster = UNKNOWN_CLUSTER if thin.cluster is None else thin.cluster
    yield {**_source(placed), **position._asdict(), "cluster": cluster, "reason": thin.reason}


def broker(placed: Placed) -> Row:
    """Return the row of ``broker_state`` of a state record, without the broker's configuration."""
    record = decoded(placed)
    health, log_dirs = record.get("partitions") or {}, record["log_dirs"]
    return {
        **_source(placed),
        **_picked(record, OF_BROKER),
        **_picked(health, OF_PARTITIONS),
        "partition_examples": health.get("examples"),
        "log_dir_count": len(log_dirs),
        "offline_log_dirs": sum(view["status"] == LogDirStatus.OFFLINE.value for view in log_dirs),
        "record": placed.thin.record,
        "configs": None,
        "configs_at_ms": None,
    }


def log_dirs(placed: Placed) -> Iterator[Row]:
    """Yield the rows of ``log_dir_state`` of a state record."""
    record = decoded(placed)
    common = {**_source(placed), **_picked(record, ("cluster", "broker", "sequence", "at_ms"))}
    for view in record["log_dirs"]:
        yield {**_picked(view, OF_LOG_DIR), **common, "log_dir": view["path"]}


def configs(placed: Placed) -> dict[str, str]:
    """Return the configuration of a broker."""
    found: dict[str, str] = msgspec.json.decode(placed.thin.body or "")
    return found


def _picked(record: Record, names: Iterable[str]) -> Row:
    return {name: record.get(name) for name in names}


def _source(placed: Placed) -> Row:
    position = placed.position
    return {
        "source_topic": position.topic,
        "source_partition": position.partition,
        "source_offset": position.offset,
    }


def _kafka_time(placed: Placed) -> Row:
    return {"kafka_timestamp_ms": placed.position.kafka_timestamp_ms}


def _as_json(value: Record | None, record: type[Struct], name: str) -> str | None:
    """Return a struct as Spark's to_json does: the fields in the order of its type, without nulls."""
    if value is None:
        return None
    kind = spark_type(record)[name].dataType
    assert isinstance(kind, StructType)
    there = {field: value[field] for field in kind.names if value.get(field) is not None}
    return msgspec.json.encode(there).decode()
