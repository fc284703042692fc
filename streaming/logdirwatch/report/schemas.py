"""The JSON Schema of every record, written from the records themselves."""

from types import UnionType
from typing import Any

import msgspec

from logdirwatch.model import records, topics

DIALECT = "https://json-schema.org/draft/2020-12/schema"

RECORDS: dict[str, tuple[str, type | UnionType]] = {
    "metrics": (topics.METRICS, records.MetricsRecord),
    "heartbeat": (topics.METRICS, records.HeartbeatRecord),
    "host": (topics.METRICS, records.HostRecord),
    "pipeline": (topics.METRICS, records.PipelineRecord),
    "events": (topics.EVENTS, records.EventRecord),
    "inventory": (topics.INVENTORY, records.InventoryRecord),
    "state": (topics.STATE, records.StateRecord),
    "alerts": (topics.ALERTS, records.AlertRecord),
    "actions": (topics.ACTIONS, records.ActionRecord),
    "decisions": (topics.DECISIONS, records.DecisionRecord),
    "notifications": (topics.NOTIFICATIONS, records.NotificationRecord),
}
"""Each record's name with its topic and its type."""

# A record without a type is a metrics record (its first form had none); every other form must say what it is.
_UNTYPED = "MetricsRecord"


def json_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of the record ``name``, a key of ``RECORDS``."""
    topic, record = RECORDS[name]
    schema = msgspec.json.schema(record)
    if untyped := schema["$defs"].get(_UNTYPED):
        untyped["required"].remove("type")
    return {"$schema": DIALECT, "title": f"logdirwatch {name} record, version 1, topic {topic}", **schema}
