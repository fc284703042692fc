"""The JSON Schema of every record, generated from its class."""

from collections.abc import Iterable, Iterator, Mapping
from types import UnionType
from typing import Any

import msgspec
from msgspec import Struct

from logdirwatch.model import records, topics
from logdirwatch.model.actions import ACTION_PARTS, EXPECTED
from logdirwatch.model.actions.operations import Operation
from logdirwatch.model.evidence import EVIDENCE
from logdirwatch.model.record_part import RecordPart, meaning
from logdirwatch.model.records.alerts import Affected

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
    "executions": (topics.EXECUTIONS, records.ExecutionRecord),
}
"""Each record's name with its topic and its type."""

# A record without a type is a metrics record, whose first version had none; every other record has one.
_UNTYPED = "MetricsRecord"

_PARTS: Mapping[str, Mapping[str, Any]] = {
    "AlertRecord": {"affected": Affected},
    "ActionRecord": ACTION_PARTS,
    "ExecutionRecord": {"operations": list[Operation]},
}
"""The types of a record's fields that its struct calls a mapping."""

_TAGGED: Mapping[str, tuple[str, str, Mapping[Any, tuple[type[RecordPart], ...]]]] = {
    "AlertRecord": ("rule", "evidence", {rule: kinds.all for rule, kinds in EVIDENCE.items()}),
    "ActionRecord": ("kind", "expected", {kind: (expected,) for kind, expected in EXPECTED.items()}),
}
"""By record: the field whose value says which structs another field may have, that field, and the structs by value."""


def json_schema(name: str, definitions_at: str = "#/$defs/") -> dict[str, Any]:
    """Return the JSON Schema of the record ``name``, a key of ``RECORDS``.

    Its references lead to ``definitions_at``, from where its definitions are to be found.
    """
    topic, record = RECORDS[name]
    extra = list(_extra_types(record))
    (schema, *extra_schemas), definitions = msgspec.json.schema_components(
        [record, *extra], ref_template=f"{definitions_at}{{name}}"
    )
    if untyped := definitions.get(_UNTYPED):
        untyped["required"].remove("type")
    _describe_tags(definitions)
    for struct in _structs_in([record, *extra]):
        _describe_fields(definitions[struct.__name__], struct)
        if issubclass(struct, RecordPart):
            _leave_out_null(definitions[struct.__name__], struct)
    _put_parts(definitions, dict(zip(map(id, extra), extra_schemas, strict=True)))
    title = f"logdirwatch {name} record, version 1, topic {topic}"
    return {
        "$schema": DIALECT,
        "$id": f"urn:logdirwatch:record:{name}:1",
        "title": title,
        **schema,
        "$defs": definitions,
    }


def _describe_tags(definitions: Mapping[str, Any]) -> None:
    """Describe the field that distinguishes the records of one topic, which is no field of their structs."""
    for definition in definitions.values():
        if "enum" in definition.get("properties", {}).get("type", {}):
            definition["properties"]["type"]["description"] = "Type of the record."


def _describe_fields(definition: Mapping[str, Any], struct: type[Struct]) -> None:
    """Describe the fields of a struct: a text in the annotation of a field is what it means."""
    found = definition["properties"]
    for field in msgspec.structs.fields(struct):
        if text := meaning(field.type):
            found[field.encode_name] = {"description": text, **found[field.encode_name]}


def _extra_types(record: type | UnionType) -> Iterator[Any]:
    """Yield the types of the parts of a record that its own type does not name."""
    name = getattr(record, "__name__", "")
    yield from _PARTS.get(name, {}).values()
    if name in _TAGGED:
        yield from (kind for kinds in _TAGGED[name][2].values() for kind in kinds)


def _put_parts(definitions: dict[str, Any], schemas: Mapping[int, dict[str, Any]]) -> None:
    """Set the type of each part of the records."""
    for record, types in _PARTS.items():
        if record in definitions:
            found = definitions[record]["properties"]
            found.update({field: _with_description(found[field], schemas[id(kind)]) for field, kind in types.items()})
    for record, (tag, field, kinds) in _TAGGED.items():
        if record in definitions:
            _put_tagged(
                definitions[record], tag, field, {v: [schemas[id(k)] for k in found] for v, found in kinds.items()}
            )


def _put_tagged(definition: dict[str, Any], tag: str, field: str, by_value: Mapping[str, list[dict[str, Any]]]) -> None:
    """Set the type of a field by the value of another one."""
    found = definition["properties"]
    every = {schema["$ref"]: schema for schemas in by_value.values() for schema in schemas}
    found[field] = _with_description(found[field], {"anyOf": list(every.values())})
    definition["allOf"] = [
        {
            "if": {"properties": {tag: {"const": str(value)}}},
            "then": {"properties": {field: schemas[0] if len(schemas) == 1 else {"anyOf": schemas}}},
        }
        for value, schemas in by_value.items()
    ]


def _with_description(found: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    return {**({"description": found["description"]} if "description" in found else {}), **schema}


def _structs_in(types: Iterable[Any]) -> set[type[Struct]]:
    """Return every struct that types are made of."""
    found: set[type[Struct]] = set()
    left = [msgspec.inspect.type_info(kind) for kind in types]
    while left:
        kind = left.pop()
        if isinstance(kind, msgspec.inspect.StructType):
            if kind.cls in found:
                continue
            found.add(kind.cls)
            left += [field.type for field in kind.fields]
        left += _below(kind)
    return found


def _below(kind: msgspec.inspect.Type) -> list[msgspec.inspect.Type]:
    if isinstance(kind, msgspec.inspect.UnionType):
        return list(kind.types)
    if isinstance(kind, msgspec.inspect.ListType):
        return [kind.item_type]
    if isinstance(kind, msgspec.inspect.DictType):
        return [kind.value_type]
    return [kind.type] if isinstance(kind, msgspec.inspect.Metadata) else []


def _leave_out_null(definition: dict[str, Any], part: type[Struct]) -> None:
    """Do not allow null where a field is left out instead of being null."""
    for field in msgspec.structs.fields(part):
        if field.default is None:
            found = definition["properties"][field.encode_name]
            del found["default"]
            kinds = [kind for kind in found.pop("anyOf") if kind != {"type": "null"}]
            found.update(kinds[0] if len(kinds) == 1 else {"anyOf": kinds})
