"""The types of the fields of an action that its record's struct calls a mapping: what shows them relies on these. Pure.

A part may lack fields, as in records of older releases and of other producers; those that it has must fit.
"""

from collections.abc import Mapping
from types import UnionType
from typing import Any, get_args, get_origin

import msgspec

from logdirwatch.model.actions import ACTION_PARTS, EXPECTED
from logdirwatch.model.record_part import RecordPart
from logdirwatch.model.records import ActionRecord


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
