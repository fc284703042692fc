"""Thin rows as rows of the tables, one by one: of the records that there are few of. A missing column is null."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from logdirwatch.model.records import ActionRecord, AlertRecord, DecisionRecord, ExecutionRecord, Transition
from logdirwatch.parse.decoding import Decoder
from logdirwatch.store.rows.thin import Placed
from logdirwatch.store.schema.columns import SOURCE, Table
from logdirwatch.store.schema.definitions import ACTIONS, ALERTS, DECISIONS, EXECUTIONS, OF_EVENT, TRANSITIONS

UNKNOWN_CLUSTER = "unknown"
SOURCE_NAMES = tuple(column.name for column in SOURCE)
POLL, LOG_DIR, EVENT, HOST = "poll", "log_dir", "event", "host"

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


def fields_by_column(table: Table, record: type[Struct]) -> dict[str, str]:
    """Return the field of ``record`` for every column of ``table`` that it has one for.

    ``from`` is ``from_status``, and ``bytes`` is ``planned_bytes``.
    """
    spelled = {name: name for name in record.__struct_encode_fields__}
    spelled |= {f"{end}_status": end for end in ("from", "to") if end in spelled}
    spelled |= {"planned_bytes": "bytes"} if "bytes" in spelled else {}
    return {name: spelled[name] for name in table.names if name in spelled}


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


_OF_DECISION = fields_by_column(DECISIONS, DecisionRecord)


def decisions(placed: Placed, clusters: Mapping[str, str]) -> Iterator[Row]:
    """Yield the row of ``decisions``; ``clusters`` has those of alerts and actions, which decisions may leave out."""
    record = decoded(placed)
    columns = {column: record.get(field) for column, field in _OF_DECISION.items()}
    cluster, matching = record.get("cluster"), record.get("matching")
    known = clusters.get(record["id"], UNKNOWN_CLUSTER) if cluster is None else cluster
    yield {**_source(placed), **columns, "cluster": known, "matching": as_json(matching)}


def as_json(fields: Mapping[str, Any] | None) -> str | None:
    """Return a part of a record as a column has it: its fields in their order, without nulls."""
    if fields is None:
        return None
    there = {name: value for name, value in fields.items() if value is not None}
    return msgspec.json.encode(there).decode()


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
    return {"source_topic": position.topic, "source_partition": position.partition, "source_offset": position.offset}
