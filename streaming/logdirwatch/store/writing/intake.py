"""Converts Kafka rows to thin rows: the only place where the table queries run Python on records.

A thin row has its kind, its cluster, its subject (``identity``), its ``rank`` (of two rows of one identity the higher
wins, then the earlier in Kafka), its time, and the record as JSON that ``from_json`` can read.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
from msgspec import Struct, inspect
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.model import topics
from logdirwatch.model.identity import identity
from logdirwatch.model.records import (
    ActionRecord,
    AlertRecord,
    DecisionRecord,
    EventRecord,
    ExecutionRecord,
    HostRecord,
    InventoryRecord,
    MetricsRecord,
    ReplicasRecord,
    ScanRecord,
    StateRecord,
    TopicRecord,
)
from logdirwatch.model.times import effective_ms
from logdirwatch.model.vocabulary import EventName, Rule
from logdirwatch.parse.decoding import Decoder
from logdirwatch.parse.log_dirs_tool import Listing
from logdirwatch.parse.records import Accepted, Deleted, Record, Rejected, parse
from logdirwatch.store.direct.arrow import arrow_type
from logdirwatch.store.rows.thin import Placed, Position, Thin


@cache
def text_fields(record: type[Struct]) -> tuple[str, ...]:
    """Return the JSON names of the fields of any type."""
    kind = inspect.type_info(record)
    assert isinstance(kind, inspect.StructType)
    return tuple(field.encode_name for field in kind.fields if _holds_anything(field.type))


def flattened(record: Struct, **as_sent: str) -> bytes:
    """Return a record as JSON in which every field of any type is itself JSON text.

    ``as_sent`` has the text of such fields that are kept as they were sent.

    Raises RecursionError if it is nested too deeply.
    """
    names = text_fields(type(record))
    if not names:
        return msgspec.json.encode(record)
    document: dict[str, Any] = msgspec.to_builtins(record)
    others = [name for name in names if name not in as_sent and document[name] is not None]
    texts = {name: msgspec.json.encode(document[name]).decode() for name in others}
    return msgspec.json.encode({**document, **texts, **as_sent})


def _holds_anything(kind: inspect.Type) -> bool:
    if isinstance(kind, inspect.Metadata):
        return _holds_anything(kind.type)
    if isinstance(kind, inspect.UnionType):
        return any(map(_holds_anything, kind.types))
    if isinstance(kind, inspect.ListType):
        return _holds_anything(kind.item_type)
    if isinstance(kind, inspect.DictType):
        return _holds_anything(kind.value_type)
    return isinstance(kind, inspect.AnyType)


BATCH_BYTES = 16 << 20

SCHEMA = """
    kind string, cluster string, identity string, rank bigint, at_ms bigint, broker int, log_dir string,
    body string, record string, reason string,
    topic string, partition int, offset bigint, kafka_timestamp_ms bigint, key binary, value binary
"""


class Belief(NamedTuple):
    """Defaults for a record without a value, or with an impossible one."""

    default_cluster: str
    clock_skew_ms: int


def take_in(records: DataFrame, believed: Belief) -> DataFrame:
    """Return the thin rows of Kafka rows (key, value, topic, partition, offset, timestamp)."""
    rows = records.select(
        "topic", "partition", "offset", F.unix_millis("timestamp").alias("kafka_timestamp_ms"), "key", "value"
    )
    return rows.mapInArrow(partial(_thin_batches, believed=believed), SCHEMA)


def thin_rows(position: Position, believed: Belief) -> list[Thin]:
    """Return the thin rows of one Kafka record; a rejected one yields a row too."""
    result = parse(position.topic, position.key, position.value, position.kafka_timestamp_ms, believed.default_cluster)
    if isinstance(result, Accepted):
        result = _dated(result.record, position, believed.clock_skew_ms)
    if isinstance(result, Accepted):
        try:
            return list(_accepted(result.record, position))
        except RecursionError:
            result = Rejected("nested too deeply", getattr(result.record, "cluster", None))
    if isinstance(result, Deleted):
        return list(_deleted(result, position))
    return [_rejected(result, position)]


def _dated(record: Record, position: Position, skew_ms: int) -> Accepted | Rejected:
    """Use Kafka's time for a sample or event from a clock too far ahead, and reject a part of a scan from such a clock.

    The parts of a scan are matched by their time, so it cannot be replaced.
    """
    if not isinstance(record, MetricsRecord | HostRecord | EventRecord | InventoryRecord):
        return Accepted(record)
    if record.timestamp_ms is None:
        return Accepted(record)
    at_ms, is_ahead = effective_ms(record.timestamp_ms, position.kafka_timestamp_ms, skew_ms)
    if not is_ahead:
        return Accepted(record)
    if isinstance(record, InventoryRecord):
        reason = f"more than {skew_ms} ms ahead of Kafka's time of the record - at `$.timestamp_ms`"
        return Rejected(reason, record.cluster)
    return Accepted(msgspec.structs.replace(record, timestamp_ms=at_ms))


def _accepted(record: Record, position: Position) -> Iterator[Thin]:
    if isinstance(record, Listing):
        for replicas in record.replicas:
            yield from _replicas(replicas, position)
    elif (reader := _READERS.get(type(record))) is not None:
        yield from reader(record, position)


def _metrics(record: MetricsRecord, _: Position) -> Iterator[Thin]:
    at_ms = record.timestamp_ms
    spoken_of = identity(record.cluster, str(record.broker), record.collector, str(at_ms))
    yield Thin("metrics", record.cluster, spoken_of, 0, at_ms, record.broker, content=record)
    if record.configs is not None:
        configs = msgspec.json.encode(record.configs).decode()
        yield Thin("configs", record.cluster, state_key(record), at_ms, at_ms, record.broker, content=configs)


def _host(record: HostRecord, _: Position) -> Iterator[Thin]:
    at_ms = record.timestamp_ms
    spoken_of = identity(record.cluster, str(record.broker), record.collector, "host", str(at_ms))
    yield Thin("host", record.cluster, spoken_of, 0, at_ms, record.broker, content=record)


def _event(record: EventRecord, _: Position) -> Iterator[Thin]:
    if record.event == EventName.CANARY:
        return
    assert record.cluster is not None
    assert record.timestamp_ms is not None
    spoken_of = identity(
        record.cluster,
        str(record.broker),
        record.log_dir or "",
        record.collector or "",
        str(record.event),
        record.topic or "",
        "" if record.partition is None else str(record.partition),
        str(record.timestamp_ms),
    )
    yield Thin("event", record.cluster, spoken_of, 0, record.timestamp_ms, record.broker, content=_body(record))


def _state(record: StateRecord, position: Position) -> Iterator[Thin]:
    yield Thin(
        "state",
        record.cluster,
        state_key(record),
        record.sequence,
        record.at_ms,
        record.broker,
        content=record,
        record=_text(position),
    )
    for transition in record.transitions:
        identified = identity(transition.transition_id)
        yield Thin("transition", transition.cluster, identified, 0, transition.at_ms, content=_body(transition))


def _alert(record: AlertRecord, position: Position) -> Iterator[Thin]:
    if record.rule is not Rule.HEARTBEAT:
        spoken_of = identity(record.alert_id, str(record.revision))
        # Every revision of an alert has its opening time, so repeats are found by it.
        sent = _SENT.decode(position.value or b"")
        body = flattened(record, evidence=bytes(sent.evidence).decode()).decode()
        yield Thin("alert", record.cluster, spoken_of, 0, record.opened_at_ms, content=body, record=_text(position))


class _Sent(msgspec.Struct):
    """The fields of an alert kept as sent: a later version's evidence has fields that this one does not know."""

    evidence: msgspec.Raw


_SENT = Decoder(_Sent)


def _action(record: ActionRecord, position: Position) -> Iterator[Thin]:
    spoken_of = identity(record.action_id, str(record.revision))
    yield Thin("action", record.cluster, spoken_of, 0, record.at_ms, content=_body(record), record=_text(position))


def _execution(record: ExecutionRecord, position: Position) -> Iterator[Thin]:
    spoken_of = identity(record.execution_id, str(record.at_ms), str(record.state), str(record.step))
    body, text = _body(record), _text(position)
    yield Thin("execution", record.cluster, spoken_of, 0, record.at_ms, content=body, record=text)


def _decision(record: DecisionRecord, _: Position) -> Iterator[Thin]:
    spoken_of = identity(record.id, str(record.at_ms))
    yield Thin("decision", record.cluster, spoken_of, 0, record.at_ms, content=_body(record))


def _replicas(record: ReplicasRecord, _: Position) -> Iterator[Thin]:
    at_ms = record.timestamp_ms
    names = record.cluster, str(record.broker), record.log_dir
    spoken_of = listing_identity(names, record.collector, at_ms, record.part)
    yield Thin("replicas", record.cluster, spoken_of, 0, at_ms, record.broker, record.log_dir, _body(record))


def listing_identity(subject: Iterable[str], collector: str, at_ms: int, part: int) -> str:
    """Return the identity of a part of what a scan lists; ``subject`` names the directory or topic."""
    return identity(*subject, collector, str(at_ms), str(part))


def _topic(record: TopicRecord, _: Position) -> Iterator[Thin]:
    spoken_of = listing_identity((record.cluster, record.topic), record.collector, record.timestamp_ms, record.part)
    yield Thin("topic", record.cluster, spoken_of, 0, record.timestamp_ms, content=_body(record))


def _scan(record: ScanRecord, _: Position) -> Iterator[Thin]:
    spoken_of = identity(record.cluster, record.collector, str(record.timestamp_ms))
    yield Thin("scan", record.cluster, spoken_of, 0, record.timestamp_ms, content=_body(record))


# Heartbeats and canaries only prove that the pipeline works; no table keeps them.
_READERS: dict[type, Callable[..., Iterable[Thin]]] = {
    MetricsRecord: _metrics,
    HostRecord: _host,
    EventRecord: _event,
    StateRecord: _state,
    AlertRecord: _alert,
    ActionRecord: _action,
    DecisionRecord: _decision,
    ExecutionRecord: _execution,
    ReplicasRecord: _replicas,
    TopicRecord: _topic,
    ScanRecord: _scan,
}


def state_key(record: MetricsRecord | StateRecord) -> str:
    """Return the Kafka key of a broker's state record."""
    return f"{record.cluster}/{record.broker}"


def _deleted(deleted: Deleted, position: Position) -> Iterator[Thin]:
    """Yield what a tombstone removes: brokers. Decisions about alerts and actions stay."""
    cluster, _, broker = deleted.key.rpartition("/")
    if position.topic == topics.STATE and re.fullmatch("[0-9]{1,10}", broker) and int(broker) < 2**31:
        yield Thin("deleted", cluster, deleted.key, position.offset, position.kafka_timestamp_ms, int(broker))


def _rejected(rejected: Rejected, position: Position) -> Thin:
    spoken_of = identity(position.topic, str(position.partition), str(position.offset))
    return Thin("rejected", rejected.cluster, spoken_of, 0, position.kafka_timestamp_ms, reason=rejected.reason)


def _body(record: msgspec.Struct) -> str:
    return flattened(record).decode()


def _text(position: Position) -> str:
    return (position.value or b"").decode()


def _thin_batches(batches: Iterator[pa.RecordBatch], believed: Belief) -> Iterator[pa.RecordBatch]:
    rows: list[tuple[Any, ...]] = []
    size = 0
    for batch in batches:
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            position = Position(*values)
            for thin in thin_rows(position, believed):
                row = _columns(thin, position)
                rows.append(row)
                size += sum(len(row[place] or "") for place in _LONG)
            if size > BATCH_BYTES:
                yield _batch(rows)
                rows, size = [], 0
    if rows:
        yield _batch(rows)


def as_table(rows: Iterable[Placed]) -> pa.Table:
    """Return thin rows as ``take_in`` does."""
    columns = [_columns(*placed) for placed in rows]
    return pa.Table.from_batches([_batch(columns)] if columns else [], _ARROW)


def as_placed(rows: pa.Table) -> list[Placed]:
    """Return what ``take_in`` returns as thin rows."""
    values = list(zip(*(rows.column(name).to_pylist() for name in _ARROW.names), strict=True))
    width = len(Thin._fields)
    return [Placed(Thin._make(row[:width]), Position._make(row[width:])) for row in values]


def _columns(thin: Thin, position: Position) -> tuple[Any, ...]:
    is_rejected = thin.kind == "rejected"
    kept = position[4:] if is_rejected else (None, None)
    return (*thin._replace(content=thin.body), *position[:4], *kept)


_ARROW = pa.schema([(name, arrow_type(kind)) for name, kind in map(str.split, SCHEMA.split(","))])
_LONG = tuple(_ARROW.names.index(name) for name in ("body", "record", "value"))


def _batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = [pa.array(values, field.type) for values, field in zip(zip(*rows, strict=True), _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=_ARROW)
