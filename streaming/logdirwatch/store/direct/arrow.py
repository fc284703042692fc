"""Rows as Arrow tables, and what Delta's log says about their values."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from logdirwatch.store.schema.columns import Table

Row: TypeAlias = Mapping[str, Any]
Columns: TypeAlias = Mapping[str, Sequence[Any] | pa.Array]
"""The values of columns by name, all equally many."""

_SIMPLE = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
}
# Delta shortens what is longer than 32 characters; without a bound readers do not skip the file.
_LONGEST_BOUND = 1_024


def arrow_type(kind: str) -> pa.DataType:
    """Return the type of a column of this type in Spark SQL.

    >>> str(arrow_type("map<string,bigint>"))
    'map<string, int64>'
    """
    if kind.startswith("array<"):
        return pa.list_(pa.field("element", arrow_type(kind[len("array<") : -1])))
    if kind.startswith("map<"):
        key, value = kind[len("map<") : -1].split(",", 1)
        return pa.map_(arrow_type(key), arrow_type(value))
    return _SIMPLE[kind]


def arrow_schema(table: Table) -> pa.Schema:
    """Return the columns of a table."""
    return pa.schema([(column.name, arrow_type(column.kind)) for column in table.columns])


def encoded_schema(table: Table) -> pa.Schema:
    """Return the columns of a table with texts as dictionaries, in which texts that repeat need little memory."""
    fields = arrow_schema(table)
    kinds = [pa.dictionary(pa.int32(), each.type) if pa.types.is_string(each.type) else each.type for each in fields]
    return pa.schema(list(zip(fields.names, kinds, strict=True)))


def arrow_rows(table: Table, rows: Sequence[Row]) -> pa.Table:
    """Return rows as a table; a column that a row lacks is null. Raises pa.ArrowInvalid for what does not fit."""
    return arrow_columns(table, {name: [row.get(name) for row in rows] for name in table.names})


def arrow_columns(table: Table, columns: Columns) -> pa.Table:
    """Return columns as a table; those that are missing are null, those of no column are left out.

    Raises pa.ArrowInvalid for what does not fit.
    """
    schema, length = arrow_schema(table), len(next(iter(columns.values())))
    arrays = [
        arrow_array(columns[field.name], field.type) if field.name in columns else pa.nulls(length, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def repeated(table: Table, columns: Columns, places: Sequence[int]) -> dict[str, pa.Array]:
    """Return, of every column of a table, the values at some places."""
    taken = pa.array(places, pa.int32())
    types = {field.name: field.type for field in arrow_schema(table)}
    return {name: arrow_array(values, types[name]).take(taken) for name, values in columns.items()}


def arrow_array(values: Sequence[Any] | pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the values of a column; pyarrow takes a map as a list of pairs."""
    if isinstance(values, pa.Array):
        return values
    if pa.types.is_map(kind):
        values = [list(value.items()) if isinstance(value, dict) else value for value in values]
    return pa.array(values, kind)


def encoded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return a column of texts as one array of the numbers of its texts, and these."""
    column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return column.unify_dictionaries().combine_chunks()


def keys(rows: pa.Table, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the values of some columns, one tuple per row."""
    return list(zip(*(rows.column(name).to_pylist() for name in columns), strict=True))


def statistics(rows: pa.Table, columns: Iterable[str]) -> str:
    """Return the statistics of a data file, as JSON for the log: number of rows, and bounds of some columns."""
    lowest, highest, nulls = {}, {}, {}
    for name in columns:
        column = rows.column(name)
        column = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        nulls[name] = column.null_count
        bounds = pc.min_max(column).as_py()
        if all(_is_bound(bound) for bound in bounds.values()):
            lowest[name], highest[name] = bounds["min"], bounds["max"]
    found = {"numRecords": rows.num_rows, "minValues": lowest, "maxValues": highest, "nullCount": nulls}
    return msgspec.json.encode(found).decode()


def _is_bound(value: object) -> bool:
    return value is not None and (not isinstance(value, str) or len(value) <= _LONGEST_BOUND)
