"""Records as JSON in which fields of any type are text."""

from functools import cache
from typing import Any

import msgspec
from msgspec import Struct, inspect


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
