"""The topics and their records as one AsyncAPI document, from which other programs generate clients and pages."""

from typing import Any

from logdirwatch import __version__
from logdirwatch.model.topics import TOPICS, Topic
from logdirwatch.reference.schemas import RECORDS, json_schema

_DEFINITIONS, _SCHEMAS = "#/$defs/", "#/components/schemas/"


def document() -> dict[str, Any]:
    """Return the AsyncAPI 3.0 document: a channel for each topic, a message for each record, a schema for each part."""
    found = {name: json_schema(name) for name in RECORDS}
    parts = {part: schema for one in found.values() for part, schema in one["$defs"].items()}
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "logdirwatch",
            "version": __version__,
            "description": "State, alerts and actions about the log directories of Kafka brokers.",
        },
        "defaultContentType": "application/json",
        "channels": {topic.name: _channel(topic) for topic in TOPICS},
        "operations": {f"send-{topic.name}": _sends(topic) for topic in TOPICS},
        "components": {
            "messages": {name: _message(name, schema) for name, schema in found.items()},
            "schemas": _referred(parts),
        },
    }


def _channel(topic: Topic) -> dict[str, Any]:
    bindings = {"topic": topic.name, "partitions": topic.partitions, "bindingVersion": "0.5.0"}
    return {
        "address": topic.name,
        "description": topic.carries,
        "messages": {
            name: {"$ref": f"#/components/messages/{name}"} for name, (on, _) in RECORDS.items() if on == topic.name
        },
        "bindings": {"kafka": bindings},
    }


def _sends(topic: Topic) -> dict[str, Any]:
    return {"action": "send", "channel": {"$ref": f"#/channels/{topic.name}"}}


def _message(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    payload = {key: schema[key] for key in ("$ref", "anyOf") if key in schema}
    return {"name": name, "title": schema["title"], "payload": _referred(payload)}


def _referred(schema: Any) -> Any:
    """Return a schema whose references lead to the components of the document."""
    if isinstance(schema, dict):
        return {key: _referred(value) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_referred(one) for one in schema]
    if isinstance(schema, str) and schema.startswith(_DEFINITIONS):
        return _SCHEMAS + schema.removeprefix(_DEFINITIONS)
    return schema
