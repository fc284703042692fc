"""Spark's types of our records, derived from the records, so that the two cannot differ.

Fields of any type are JSON text in a string, as written by ``flattened``.
"""

from functools import cache
from typing import Any

import msgspec
from msgspec import Struct, inspect
from pyspark.sql import types as T  # noqa: N812 - the field's name for it

_SIMPLE: dict[type[inspect.Type], T.DataType] = {
    inspect.IntType: T.LongType(),
    inspect.FloatType: T.DoubleType(),
    inspect.BoolType: T.BooleanType(),
    inspect.StrType: T.StringType(),
    inspect.EnumType: T.StringType(),
}


@cache
def spark_type(record: type[Struct]) -> T.StructType:
    """Return the type with which ``from_json`` reads the output of ``flattened`` for a record of this type."""
    kind = inspect.type_info(record)
    assert isinstance(kind, inspect.StructType)
    return _struct(kind)


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


def _struct(kind: inspect.StructType) -> T.StructType:
    return T.StructType(
        [
            T.StructField(field.encode_name, T.StringType() if _holds_anything(field.type) else _type(field.type))
            for field in kind.fields
        ]
    )


def _type(kind: inspect.Type) -> T.DataType:
    kind = _without_none(kind)
    if isinstance(kind, inspect.StructType):
        return _struct(kind)
    if isinstance(kind, inspect.ListType):
        return T.ArrayType(_type(kind.item_type))
    if isinstance(kind, inspect.DictType):
        return T.MapType(T.StringType(), _type(kind.value_type))
    if isinstance(kind, inspect.LiteralType):
        return T.LongType() if isinstance(kind.values[0], int) else T.StringType()
    return _SIMPLE[type(kind)]


def _without_none(kind: inspect.Type) -> inspect.Type:
    """Return the type of a field's values, without its description and without null."""
    if isinstance(kind, inspect.Metadata):
        return _without_none(kind.type)
    if not isinstance(kind, inspect.UnionType):
        return kind
    kinds = [member for member in kind.types if not isinstance(member, inspect.NoneType)]
    # An event may be a name or a number; the parser turned it into a name.
    return next((member for member in kinds if isinstance(member, inspect.StrType)), kinds[0])


def _holds_anything(kind: inspect.Type) -> bool:
    kind = _without_none(kind)
    if isinstance(kind, inspect.ListType):
        return _holds_anything(kind.item_type)
    if isinstance(kind, inspect.DictType):
        return _holds_anything(kind.value_type)
    return isinstance(kind, inspect.AnyType)
