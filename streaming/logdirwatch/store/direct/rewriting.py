"""Changes to a large table of the present state: each file with changed rows is replaced by one of its own.

The rows that stay are never made into Python objects.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from logdirwatch.store.direct.arrow import Row, arrow_rows, encoded, encoded_schema, keys
from logdirwatch.store.direct.merge import Changes, Key, Stored
from logdirwatch.store.direct.newest import DataFile
from logdirwatch.store.direct.table import DirectTable
from logdirwatch.store.schema.columns import Table

_SMALL = 1 << 20


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
    """Return the numbers of the rows whose ``columns`` are one of ``keys``: texts, and numbers."""
    wanted = [list(each) for each in zip(*keys, strict=True)] or [[] for _ in columns]
    found, sought = np.zeros(rows.num_rows, np.int64), np.zeros(len(keys), np.int64)
    for name, values in zip(columns, wanted, strict=True):
        numbers, others = _numbers(rows.column(name), values)
        width = 1 + max(int(numbers.max(initial=0)), int(others.max(initial=0)))
        found, sought = small(found * width + numbers, sought * width + others)
    places: list[int] = np.flatnonzero(np.isin(found, sought)).tolist()
    return places


def _numbers(column: pa.ChunkedArray, values: Sequence[Any]) -> Sequence[Any]:
    """Return a number for each value of a column, and the numbers of other values."""
    if not pa.types.is_dictionary(column.type):
        return small(column.to_numpy().astype(np.int64), np.array(values, dtype=np.int64))
    whole = encoded(column)
    names: dict[str, int] = {name: number for number, name in enumerate(whole.dictionary.to_pylist())}
    others = [names.setdefault(value, len(names)) for value in values]
    return whole.indices.to_numpy().astype(np.int64), np.array(others, dtype=np.int64)


def small(*numbers: Any) -> list[Any]:
    """Return numbers as they are or, if one is large, their places among all of them."""
    if max(int(each.max(initial=0)) for each in numbers) < _SMALL:
        return list(numbers)
    places = np.unique(np.concatenate(numbers), return_inverse=True)[1]
    return list(np.split(places, np.cumsum([len(each) for each in numbers])[:-1]))


Parts: TypeAlias = Iterable[tuple[Sequence[int], Callable[[Stored], Changes]]]
"""The numbers of some rows, and what decides about them: those of a part are Python objects at one time."""


class Replacement(NamedTuple):
    """The numbers of the rows that go, and new rows by the number of the file that the rows before them are in."""

    gone: list[int]
    new: Mapping[int, list[pa.Table]]


def replacement(table: Table, stored: StoredColumns, parts: Parts) -> Replacement:
    """Return what is decided about the parts of a table."""
    gone: list[int] = []
    new: defaultdict[int, list[pa.Table]] = defaultdict(list)
    for places, decide in parts:
        rows = stored.rows.take(pa.array(places, pa.int64()))
        names = keys(rows, table.key)
        changes = decide(dict(zip(names, rows.to_pylist(), strict=True)))
        place_of = dict(zip(names, places, strict=True))
        gone += [place_of[key] for key in changes.keys if key in place_of]
        by_file: defaultdict[int, list[Row]] = defaultdict(list)
        for key, row in changes.written.items():
            by_file[_file_of(stored, place_of[key]) if key in place_of else len(stored.files)].append(row)
        for file, written in by_file.items():
            new[file].append(arrow_rows(table, written))
    return Replacement(gone, new)


def replace(target: DirectTable, stored: StoredColumns, found: Replacement) -> None:
    """Change a table. Raises ConflictError if another writer was first."""
    if not found.gone and not found.new:
        return
    gone = np.array(sorted(found.gone), dtype=np.int64)
    touched = sorted({_file_of(stored, place) for place in found.gone})
    tables = [_replaced(stored, file, gone, found.new.get(file, [])) for file in touched]
    added = found.new.get(len(stored.files), [])
    target.commit([*tables, *([pa.concat_tables(added)] if added else [])], [stored.files[file] for file in touched])


def _file_of(stored: StoredColumns, place: int) -> int:
    return int(np.searchsorted(stored.ends, place, side="right"))


def _replaced(stored: StoredColumns, file: int, gone: Any, new: list[pa.Table]) -> pa.Table:
    begin = stored.ends[file - 1] if file else 0
    stays = np.ones(stored.ends[file] - begin, dtype=bool)
    of_file = gone[(gone >= begin) & (gone < stored.ends[file])]
    stays[of_file - begin] = False
    kept = stored.rows.slice(begin, len(stays)).filter(pa.array(stays))
    added = [rows.cast(stored.rows.schema) for rows in new]
    return pa.concat_tables([kept, *added]).unify_dictionaries()
