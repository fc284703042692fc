"""Thin rows as rows of the tables, as dicts: what ``history`` and ``brokers`` do with DataFrames.

A test compares both. A column that a row lacks is null.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from logdirwatch.model.records import (
    ActionRecord,
    AlertRecord,
    ExecutionRecord,
    Transition,
)
from logdirwatch.parse.decoding import Decoder
from logdirwatch.store.rows.history import EVENT, UNKNOWN_CLUSTER, fields_by_column
from logdirwatch.store.rows.thin import Placed
from logdirwatch.store.schema.columns import Table
from logdirwatch.store.schema.definitions import ACTIONS, ALERTS, EXECUTIONS, TRANSITIONS
from logdirwatch.store.schema.history_tables import OF_EVENT

Record = Mapping[str, Any]
Row = dict[str, Any]
_OBJECT, _CONFIGS = Decoder(dict[str, Any]), Decoder(dict[str, str | None])


def decoded(placed: Placed) -> Record:
    """Return the record of a thin row."""
    found: Record = _OBJECT.decode(placed.thin.body or "")
    return found


def events(placed: Placed) -> Iterator[Row]:
    """Yield the row of ``log_dir_samples`` of an event."""
    record = decoded(placed)
    topic, partition = record.get("topic"), record.get("partition")
    failed = [] if topic is None or partition is None else [f"{topic}-{partition}"]
    collector = "/".join([record.get("collector") or "", record["event"], *failed])
    row = {**_source(placed), **{name: record.get(name) for name in OF_EVENT}}
    yield {**row, "collector": collector, "kind": EVENT, "kafka_timestamp_ms": placed.position.kafka_timestamp_ms}


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


def configs(placed: Placed) -> dict[str, str | None]:
    """Return the configuration of a broker."""
    return _CONFIGS.decode(placed.thin.body or "")


def _source(placed: Placed) -> Row:
    position = placed.position
    return {
        "source_topic": position.topic,
        "source_partition": position.partition,
        "source_offset": position.offset,
    }
