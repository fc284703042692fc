"""Changes to a large table of the present state: each file with changed rows is replaced by one of its own.

The rows that stay are never made into Python objects.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from logdirwatch.model.scalars import LARGEST
from logdirwatch.store.direct.arrow import Row, arrow_rows, encoded, encoded_schema, keys
from logdirwatch.store.direct.merge import Changes, Key, Stored
from logdirwatch.store.direct.newest import DataFile, NotDirectError
from logdirwatch.store.direct.table import DirectTable


class StoredColumns(NamedTuple):
    """All rows of a table as columns, those of each of its files in turn."""

    files: list[DataFile]
    rows: pa.Table
    ends: list[int]
    """Where the rows of each file end."""


def read_columns(target: DirectTable, names: Sequence[str] | None = None) -> StoredColumns:
    """Return all rows of a table, or some of their columns. Raises NotDirectError if its files are large."""
    files, names = target.all_files(), names or target.table.names
    tables = [target.columns(file, names) for file in files]
    empty = encoded_schema(target.table).empty_table().select(names)
    return StoredColumns(
        files, pa.concat_tables([empty, *tables]), np.cumsum([rows.num_rows for rows in tables]).tolist()
    )


def places_of(rows: pa.Table, columns: Sequence[str], keys: Set[Key]) -> list[int]:
    """Return the numbers of the rows whose ``columns`` are one of ``keys``: texts, and numbers that are not negative.

    Raises NotDirectError if the numbers are too large.
    """
    wanted = [list(each) for each in zip(*keys, strict=True)] or [[] for _ in columns]
    size, found, sought = 1, np.zeros(rows.num_rows, np.int64), np.zeros(len(keys), np.int64)
    for name, values in zip(columns, wanted, strict=True):
        numbers, others = _numbers(rows.column(name), values)
        width = 1 + max(int(numbers.max(initial=0)), int(others.max(initial=0)))
        size *= width
        found, sought = found * width + numbers, sought * width + others
    if size > LARGEST:
        raise NotDirectError("its keys are large")
    places: list[int] = np.flatnonzero(np.isin(found, sought)).tolist()
    return places


def _numbers(column: pa.ChunkedArray, values: Sequence[Any]) -> tuple[Any, Any]:
    """Return a number for each value of a column, and the numbers of other values."""
    if not pa.types.is_dictionary(column.type):
        return column.to_numpy().astype(np.int64), np.array(values, dtype=np.int64)
    whole = encoded(column)
    names: dict[str, int] = {name: number for number, name in enumerate(whole.dictionary.to_pylist())}
    others = [names.setdefault(value, len(names)) for value in values]
    return whole.indices.to_numpy().astype(np.int64), np.array(others, dtype=np.int64)


def decide_and_rewrite(
    target: DirectTable, stored: StoredColumns, places: Sequence[int], decide: Callable[[Stored], Changes]
) -> Changes:
    """Change rows as ``decide`` says about those with the numbers ``places``.

    Raises ConflictError if another writer was first.
    """
    rows = stored.rows.take(pa.array(places, pa.int64()))
    names = keys(rows, target.table.key)
    changes = decide(dict(zip(names, rows.to_pylist(), strict=True)))
    if changes.keys:
        _rewrite(target, stored, changes, dict(zip(names, places, strict=True)))
    return changes


def _rewrite(target: DirectTable, stored: StoredColumns, changes: Changes, places: Mapping[Key, int]) -> None:
    changed = np.array(sorted(places[key] for key in changes.keys if key in places), dtype=np.int64)
    written: dict[int, list[Row]] = {}
    for key, row in changes.written.items():
        written.setdefault(_file_of(stored, places[key]) if key in places else len(stored.files), []).append(row)
    touched = sorted({_file_of(stored, place) for place in changed.tolist()})
    tables = [_replaced(target, stored, file, changed, written.pop(file, [])) for file in touched]
    new = [arrow_rows(target.table, rows) for rows in written.values()]
    target.commit([*tables, *new], [stored.files[file] for file in touched])


def _file_of(stored: StoredColumns, place: int) -> int:
    return int(np.searchsorted(stored.ends, place, side="right"))


def _replaced(target: DirectTable, stored: StoredColumns, file: int, changed: Any, rows: list[Row]) -> pa.Table:
    begin = stored.ends[file - 1] if file else 0
    stays = np.ones(stored.ends[file] - begin, dtype=bool)
    of_file = changed[(changed >= begin) & (changed < stored.ends[file])]
    stays[of_file - begin] = False
    kept = stored.rows.slice(begin, len(stays)).filter(pa.array(stays))
    new = arrow_rows(target.table, rows).cast(stored.rows.schema)
    return pa.concat_tables([kept, new]).unify_dictionaries()
