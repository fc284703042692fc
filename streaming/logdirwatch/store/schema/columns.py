"""Parts of a table definition."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from types import MappingProxyType

from msgspec import Struct
from msgspec.inspect import (
    BoolType,
    DictType,
    EnumType,
    FloatType,
    IntType,
    ListType,
    NoneType,
    StrType,
    StructType,
    Type,
    UnionType,
    type_info,
)
from msgspec.structs import FieldInfo, fields

from logdirwatch.model.record_part import meaning


@dataclass(frozen=True)
class Column:
    """One column; ``kind`` is its type in Spark SQL."""

    name: str
    kind: str
    comment: str


@dataclass(frozen=True)
class Table:
    """One table; no two rows share ``key``, and ``time`` is what merges into a history are pruned by."""

    name: str
    comment: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    clustered_by: tuple[str, ...]
    time: str | None = None

    @property
    def names(self) -> list[str]:
        """The column names, in order."""
        return [column.name for column in self.columns]

    @property
    def sought_by(self) -> list[str]:
        """The columns used for file skipping: key, clustering and time. Delta keeps no statistics of booleans."""
        sought = {*self.key, *self.clustered_by, self.time}
        return [column.name for column in self.columns if column.name in sought and column.kind != "boolean"]


def columns(text: str, of_record: Mapping[str, Column] = MappingProxyType({})) -> tuple[Column, ...]:
    """Read column definitions, one per line: name, type, and the comment, which is the rest."""
    return tuple(chain.from_iterable(_of_line(line.split(maxsplit=2), of_record) for line in text.strip().splitlines()))


def of(record: type[Struct]) -> Callable[[str], tuple[Column, ...]]:
    """Return :func:`columns` for the table of a record; a line ``= NAME NAME`` stands for fields of it."""
    info = type_info(record)
    assert isinstance(info, StructType)
    types = {field.name: field.type for field in info.fields}
    return partial(columns, of_record={field.name: _column(field, types[field.name]) for field in fields(record)})


def _of_line(words: Sequence[str], of_record: Mapping[str, Column]) -> Iterator[Column]:
    if words[0] == "=":
        yield from (of_record[name] for name in " ".join(words[1:]).split())
    else:
        yield Column(*words)


_LISTED = 9
"""The most values of a field that its description lists."""


def _column(field: FieldInfo, kind: Type) -> Column:
    if isinstance(kind, UnionType):
        kind, *_ = (one for one in kind.types if not isinstance(one, NoneType))
    sql, remark = "string", ""
    match kind:
        case BoolType():
            sql = "boolean"
        case IntType(le=largest):
            sql = "int" if largest is not None and largest < 2**31 else "bigint"
        case FloatType():
            sql = "double"
        case ListType(item_type=StrType()):
            sql = "array<string>"
        case DictType(value_type=IntType()):
            sql = "map<string,bigint>"
        case EnumType(cls=values):
            remark = f" ({', '.join(values)})" if len(values) <= _LISTED else ""
        case DictType() | ListType() | StructType():
            remark = " (JSON)"
    what, null, otherwise = meaning(field.type).removesuffix(".").partition("; null")
    return Column(field.name, sql, f"{what}{remark}{null}{otherwise}")


SOURCE = columns("""
    source_topic      string  Kafka topic of the record that this row was made from
    source_partition  int     Partition of that record
    source_offset     bigint  Offset of that record
""")


_DELTA_NAMES = {"int": {"integer", "long"}, "bigint": {"long"}, "double": {"double"}, "boolean": {"boolean"}}
_TEXTS = {"string", "varchar", "char"}


def foreign_change(table: Table, types: Mapping[str, str], needed: Collection[str] = ()) -> str | None:
    """Return the first column that is not as this program wrote it, given the types of the table in Delta's names.

    A column that is missing counts if it is ``needed``, and rows are identified by it: the others may be younger than
    the table. Only types without parts are compared.
    """
    for column in table.columns:
        found = types.get(column.name)
        if found is None and column.name in table.key and column.name in needed:
            return f"it has no column {column.name}"
        allowed = _TEXTS if column.kind == "string" else _DELTA_NAMES.get(column.kind)
        if found is not None and allowed is not None and found not in allowed:
            return f"its column {column.name} is {found}, not {column.kind}"
    return None
