"""The only parser of the topics' records: bytes to one record, or the reason for rejecting it. Pure.

Unknown fields are ignored. Nothing here raises, whatever the bytes are.

Fields of an action that its struct calls a mapping have types too, which what shows them relies on: a part may lack
fields, but those that it has must fit.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import UnionType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin

import msgspec
from msgspec import UNSET, Struct, UnsetType

from logdirwatch.model import topics
from logdirwatch.model.actions import ACTION_PARTS, EXPECTED
from logdirwatch.model.record_part import RecordPart
from logdirwatch.model.records import (
    ActionRecord,
    AlertPattern,
    AlertRecord,
    DecisionRecord,
    EventRecord,
    ExecutionRecord,
    HeartbeatRecord,
    HostRecord,
    InventoryRecord,
    MetricsRecord,
    NotificationRecord,
    PipelineRecord,
    ReplicasRecord,
    ScanRecord,
    StateRecord,
    TopicRecord,
)
from logdirwatch.model.vocabulary import Decision, EventName
from logdirwatch.parse.decoding import FAILURES, LONGEST_REASON, one_line, why
from logdirwatch.parse.log_dirs_tool import Arrival, Listing, is_listing, read_listing


def refuse_misfits(value: bytes, record: ActionRecord) -> ActionRecord:
    """Return an action, or raise msgspec.ValidationError, which names the field, if a part of it does not fit."""
    _DECODERS[record.kind].decode(value)
    return record


def _optional(kind: Any) -> Any:
    """Return the type of a part, of a list of parts, or of a part or null, without required fields; others as is."""
    if get_origin(kind) is list:
        return list[_optional(*get_args(kind))]  # type: ignore[misc]
    if isinstance(kind, UnionType):
        return _optional(get_args(kind)[0]) | None
    if not (isinstance(kind, type) and issubclass(kind, RecordPart)):
        return kind
    fields = msgspec.structs.fields(kind)
    return msgspec.defstruct(
        kind.__name__, [(one.name, one.type, msgspec.field(name=one.encode_name, default=None)) for one in fields]
    )


def _decoder(types: Mapping[str, Any]) -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(
        msgspec.defstruct("ActionParts", [(name, _optional(kind), None) for name, kind in types.items()])
    )


_DECODERS = {kind: _decoder({**ACTION_PARTS, "expected": expected}) for kind, expected in EXPECTED.items()}


__all__ = ("LAST_MS", "LONGEST_REASON", "RECORDS", "Accepted", "Deleted", "Record", "Rejected", "parse")

VERSION = 1
LAST_MS = 2**53
DEEPEST = 64
"""How deeply the parts of a record that have no type may be nested: what reads them later needs a stack, too."""

RECORDS: Mapping[str, tuple[type[Struct], ...]] = {
    topics.METRICS: (MetricsRecord, HeartbeatRecord, HostRecord, PipelineRecord),
    topics.EVENTS: (EventRecord,),
    topics.INVENTORY: (ReplicasRecord, TopicRecord, ScanRecord),
    topics.STATE: (StateRecord,),
    topics.ALERTS: (AlertRecord,),
    topics.ACTIONS: (ActionRecord,),
    topics.DECISIONS: (DecisionRecord,),
    topics.NOTIFICATIONS: (NotificationRecord,),
    topics.EXECUTIONS: (ExecutionRecord,),
}
"""The types of the records of every topic."""

Record = (
    MetricsRecord
    | HeartbeatRecord
    | HostRecord
    | PipelineRecord
    | EventRecord
    | InventoryRecord
    | Listing
    | StateRecord
    | AlertRecord
    | ActionRecord
    | DecisionRecord
    | NotificationRecord
    | ExecutionRecord
)


class Accepted(NamedTuple):
    """An accepted record."""

    record: Record


class Rejected(NamedTuple):
    """A rejected record: the reason in one line, the cluster that it names, and its version if it is well-formed."""

    reason: str
    cluster: str | None = None
    version: int | None = None


class Deleted(NamedTuple):
    """A tombstone of a compacted topic: the subject of its key was removed."""

    key: str


def parse(
    topic: str, key: bytes | None, value: bytes | None, kafka_timestamp_ms: int, default_cluster: str
) -> Accepted | Rejected | Deleted:
    """Return the content of one Kafka record of ``topic``, a name of ``model.topics``.

    An event's missing cluster becomes ``default_cluster``, its missing time ``kafka_timestamp_ms``. The JSON that
    ``kafka-log-dirs.sh --describe`` prints becomes a ``Listing`` on the inventory topic.
    """
    if value is None:
        return _tombstone(topic, key)
    try:
        if topic != topics.INVENTORY:
            value.decode()  # msgspec does not check the fields it skips
        return Accepted(_READERS[topic](value, Arrival(key, kafka_timestamp_ms, default_cluster)))
    except FAILURES as error:
        return _rejected(value, error)


class _Envelope(Struct):
    """What even a rejected record may contain."""

    version: Any = UNSET
    type: Any = UNSET
    cluster: Any = UNSET


_ENVELOPE = msgspec.json.Decoder(_Envelope)
_METRICS = msgspec.json.Decoder(MetricsRecord)
_HEARTBEAT = msgspec.json.Decoder(HeartbeatRecord)
_HOST = msgspec.json.Decoder(HostRecord)
_PIPELINE = msgspec.json.Decoder(PipelineRecord)
_EVENT = msgspec.json.Decoder(EventRecord)
_INVENTORY: msgspec.json.Decoder[InventoryRecord] = msgspec.json.Decoder(InventoryRecord)
_STATE = msgspec.json.Decoder(StateRecord)
_ALERT = msgspec.json.Decoder(AlertRecord)
_ACTION = msgspec.json.Decoder(ActionRecord)
_DECISION = msgspec.json.Decoder(DecisionRecord)
_EXECUTION = msgspec.json.Decoder(ExecutionRecord)
_NOTIFICATION = msgspec.json.Decoder(NotificationRecord)

_COMPACTED = {topic.name for topic in topics.TOPICS if "compact" in topic.configs["cleanup.policy"]}
_EVENT_NAMES = {name.value: name.value for name in EventName}
# KIP-112 and KIP-928 write the event as the integer 1; older tools wrote every value as text.
_EVENT_NUMBERS = {1: EventName.LOG_DIR_FAILURE.value, "1": EventName.LOG_DIR_FAILURE.value}


def _metrics(value: bytes, _: Arrival) -> MetricsRecord | HeartbeatRecord | HostRecord | PipelineRecord:
    record: MetricsRecord | HostRecord
    try:
        record = _METRICS.decode(value)
    except msgspec.ValidationError:
        kind = _ENVELOPE.decode(value).type
        if kind == "heartbeat":
            return _HEARTBEAT.decode(value)
        if kind == "pipeline":
            return _PIPELINE.decode(value)
        if kind != "host":
            raise
        record = _HOST.decode(value)
    _refuse_repeats([log_dir.path for log_dir in record.log_dirs])
    return record


def _event(value: bytes, arrival: Arrival) -> EventRecord:
    record = _EVENT.decode(value)
    name = _EVENT_NAMES.get(record.event) if isinstance(record.event, str) else None
    name = name or _EVENT_NUMBERS.get(record.event)
    if name is None:
        raise ValueError(f"event {record.event!r} is unknown, expected 1 or {', '.join(_EVENT_NAMES)} - at `$.event`")
    if record.timestamp_ms is None:
        _refuse_no_time(arrival)
    return msgspec.structs.replace(
        record,
        event=name,
        cluster=record.cluster or arrival.default_cluster,
        timestamp_ms=arrival.kafka_timestamp_ms if record.timestamp_ms is None else record.timestamp_ms,
    )


def _inventory(value: bytes, arrival: Arrival) -> InventoryRecord | Listing:
    try:
        value.decode()  # of the tool's output only the JSON must be UTF-8
        return _INVENTORY.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if not is_listing(value):
            if isinstance(error, msgspec.DecodeError) and value.lstrip()[:1] not in {b"{", b"["} and value.strip():
                raise ValueError(f"no JSON of an inventory or of kafka-log-dirs --describe in it: {error}") from None
            raise
        _refuse_no_time(arrival)
        return read_listing(value, arrival)


def _state(value: bytes, _: Arrival) -> StateRecord:
    record = _STATE.decode(value)
    _refuse_repeats([log_dir.path for log_dir in record.log_dirs])
    return record


def _decision(value: bytes, _: Arrival) -> DecisionRecord:
    record = _DECISION.decode(value)
    if record.decision in {Decision.MAINTENANCE, Decision.HEALTHY}:
        missing = [name for name in ("cluster", "broker") if getattr(record, name) is None]
        if missing:
            what = "a maintenance" if record.decision is Decision.MAINTENANCE else "the decision that a disk is healthy"
            raise ValueError(f"{what} must name its {' and '.join(missing)} - at `$.{missing[0]}`")
    if record.matching == AlertPattern():
        raise ValueError("a pattern that names nothing would match every alert - at `$.matching`")
    if record.decision is Decision.PAUSE and record.cluster is None:
        raise ValueError("a pause of the autopilot must name its cluster - at `$.cluster`")
    return record


def _refuse_no_time(arrival: Arrival) -> None:
    """Reject a record that relies on Kafka's time if Kafka has none (-1)."""
    if not 0 <= arrival.kafka_timestamp_ms <= LAST_MS:
        raise ValueError(f"neither the record nor Kafka ({arrival.kafka_timestamp_ms}) has a timestamp")


def _refuse_repeats(paths: Sequence[str]) -> None:
    if len(set(paths)) < len(paths):
        repeated = next(path for path in paths if paths.count(path) > 1)
        raise ValueError(f"log directory {repeated!r} is listed twice - at `$.log_dirs`")


R = TypeVar("R", bound=Struct)


def _bounded(record: R) -> R:
    """Return a record whose parts without a type have ranges too: integers of 64 bits, and a bounded depth."""
    level: list[Any] = [record]
    for _ in range(DEEPEST):
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return record
    raise RecursionError


def _inside(value: Any) -> Iterator[Any]:
    if isinstance(value, Struct):
        yield from (getattr(value, name) for name in value.__struct_fields__)
    elif isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("an integer of more than 64 bits")


_READERS: dict[str, Callable[[bytes, Arrival], Record]] = {
    topics.METRICS: _metrics,
    topics.EVENTS: _event,
    topics.INVENTORY: _inventory,
    topics.STATE: _state,
    topics.ALERTS: lambda value, _: _bounded(_ALERT.decode(value)),
    topics.ACTIONS: lambda value, _: refuse_misfits(value, _bounded(_ACTION.decode(value))),
    topics.DECISIONS: _decision,
    topics.NOTIFICATIONS: lambda value, _: _NOTIFICATION.decode(value),
    topics.EXECUTIONS: lambda value, _: _bounded(_EXECUTION.decode(value)),
}


def _tombstone(topic: str, key: bytes | None) -> Deleted | Rejected:
    if topic not in _COMPACTED:
        return Rejected("no value: expected a JSON object")
    try:
        return Deleted((key or b"").decode())
    except UnicodeDecodeError:
        return Rejected("no value, and a key that is not UTF-8")


def _rejected(value: bytes, error: Exception) -> Rejected:
    envelope = _envelope(value)
    named = envelope.cluster if envelope else None
    version = envelope.version if envelope and not isinstance(error, UnicodeDecodeError) else None
    return Rejected(
        _unknown_version(envelope) or why(value, error),
        named if isinstance(named, str) and named else None,
        version if type(version) is int else None,
    )


def _envelope(value: bytes) -> _Envelope | None:
    try:
        return _ENVELOPE.decode(value)
    except FAILURES:
        return None


def _unknown_version(envelope: _Envelope | None) -> str | None:
    if envelope is None or isinstance(envelope.version, UnsetType):
        return None
    if type(envelope.version) is int and envelope.version == VERSION:
        return None
    return one_line(f"version {msgspec.json.encode(envelope.version).decode()} is unknown, expected {VERSION}")
