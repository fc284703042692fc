"""The only parser of telemetry records: bytes to one record, or the reason for rejecting it. Pure.

Unknown fields are ignored. Nothing here raises, whatever the bytes are.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Struct, UnsetType

from logdirwatch.model import topics
from logdirwatch.model.records import (
    ActionRecord,
    AlertRecord,
    DecisionRecord,
    EventRecord,
    ExecutionRecord,
    HeartbeatRecord,
    HostRecord,
    InventoryRecord,
    MetricsRecord,
    PipelineRecord,
    StateRecord,
)
from logdirwatch.model.vocabulary import Decision, EventName
from logdirwatch.parse.log_dirs_tool import Arrival, Listing, is_listing, read_listing
from logdirwatch.text.printable import printable

VERSION = 1
LONGEST_REASON = 300
LAST_MS = 2**53

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
    | ExecutionRecord
)


class Accepted(NamedTuple):
    """An accepted record."""

    record: Record


class Rejected(NamedTuple):
    """A rejected record: the reason in one line, and the cluster that it names, if any."""

    reason: str
    cluster: str | None = None


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
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
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

_COMPACTED = {topic.name for topic in topics.TOPICS if "compact" in topic.configs["cleanup.policy"]}
_EVENT_NAMES = {name.value: name.value for name in EventName}
# KIP-112 and KIP-928 write the event as the integer 1; older tools wrote every value as text.
_EVENT_NUMBERS = {1: EventName.LOG_DIR_FAILURE.value, "1": EventName.LOG_DIR_FAILURE.value}
_LONE_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])")


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


_READERS: dict[str, Callable[[bytes, Arrival], Record]] = {
    topics.METRICS: _metrics,
    topics.EVENTS: _event,
    topics.INVENTORY: _inventory,
    topics.STATE: _state,
    topics.ALERTS: lambda value, _: _ALERT.decode(value),
    topics.ACTIONS: lambda value, _: _ACTION.decode(value),
    topics.DECISIONS: _decision,
    topics.EXECUTIONS: lambda value, _: _EXECUTION.decode(value),
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
    reason = _unknown_version(envelope) or _why(value, error)
    return Rejected(_one_line(reason), named if isinstance(named, str) and named else None)


def _envelope(value: bytes) -> _Envelope | None:
    try:
        return _ENVELOPE.decode(value)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _unknown_version(envelope: _Envelope | None) -> str | None:
    if envelope is None or isinstance(envelope.version, UnsetType):
        return None
    if type(envelope.version) is int and envelope.version == VERSION:
        return None
    return f"version {msgspec.json.encode(envelope.version).decode()} is unknown, expected {VERSION}"


def _why(value: bytes, error: Exception) -> str:
    if not value.strip():
        return "empty value: expected a JSON object"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8: {error.reason} at byte {error.start}"
    # msgspec calls a lone surrogate truncated input.
    surrogate = None if isinstance(error, msgspec.ValidationError) else _LONE_SURROGATE.search(value)
    return f"half of a surrogate pair at byte {surrogate.start()}" if surrogate else str(error)


def _one_line(text: str) -> str:
    line = printable(" ".join(text[: 2 * LONGEST_REASON].split()))
    return line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 3]}..."
