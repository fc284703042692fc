"""The topics and their records as one AsyncAPI document, from which other programs generate clients and pages."""

from typing import Any

from logdirwatch import __version__
from logdirwatch.model.topics import TOPICS, Topic
from logdirwatch.reference.schemas import RECORDS, json_schema


def document() -> dict[str, Any]:
    """Return the AsyncAPI 3.0 document: a channel for each topic, a message for each record, a schema for each part."""
    found = {name: json_schema(name, "#/components/schemas/") for name in RECORDS}
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
            "schemas": parts,
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
    return {"name": name, "title": schema["title"], "payload": payload}
