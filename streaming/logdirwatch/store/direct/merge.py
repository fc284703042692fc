"""Changes to a table of the present state: the files with changed rows are replaced by one."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.dataset as ds

from logdirwatch.store.direct.arrow import Row, arrow_rows, keys
from logdirwatch.store.direct.table import DirectTable
from logdirwatch.store.schema.columns import Table

Key: TypeAlias = tuple[Any, ...]
Stored: TypeAlias = Mapping[Key, Row]
"""Rows as they are in the table, by key: the columns that were asked for."""


@dataclass(frozen=True)
class Changes:
    """The changes to rows, by key: rows to write (also over stored ones), columns to replace, rows to delete."""

    written: Mapping[Key, Row] = field(default_factory=dict)
    patched: Mapping[Key, Row] = field(default_factory=dict)
    deleted: Set[Key] = frozenset()

    @property
    def keys(self) -> Set[Key]:
        """All keys with a change."""
        return self.written.keys() | self.patched.keys() | self.deleted


Decide: TypeAlias = Callable[[Stored], Changes]


def merge(
    target: DirectTable, decide: Decide, columns: Sequence[str], where: ds.Expression | None = None
) -> tuple[Stored, Changes]:
    """Change the rows of a table as ``decide`` says; return the rows that it saw and their changes.

    It sees the rows that match ``where``, with their key and ``columns``.
    """
    table = target.table
    wanted = (*table.key, *(name for name in columns if name not in table.key))
    read = [(file, target.read([file], wanted, where)) for file in target.all_files()]
    stored = {key: row for _, rows in read for key, row in _by_key(table, rows)}
    changes = decide(stored)
    if not changes.keys:
        return stored, changes
    removed = [file for file, rows in read if not changes.keys.isdisjoint(keys(rows, table.key))]
    kept, replaced = _divided(table, target.read(removed), changes.keys)
    patched = [{**row, **changes.patched[key]} for key, row in replaced if key in changes.patched]
    new = arrow_rows(table, [*changes.written.values(), *patched])
    target.commit(pa.concat_tables([kept, new]), removed)
    return stored, changes


def _divided(table: Table, rows: pa.Table, changed: Set[Key]) -> tuple[pa.Table, list[tuple[Key, Row]]]:
    """Return the rows that stay as they are, and the others by key."""
    is_changed = [key in changed for key in keys(rows, table.key)]
    kept = rows.filter(pa.array([not each for each in is_changed], pa.bool_()))
    return kept, _by_key(table, rows.filter(pa.array(is_changed, pa.bool_())))


def _by_key(table: Table, rows: pa.Table) -> list[tuple[Key, Row]]:
    return list(zip(keys(rows, table.key), rows.to_pylist(), strict=True))
