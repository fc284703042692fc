"""Changes to a table of the present state: the files with changed rows are replaced by one."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from logdirwatch.store.direct.arrow import Row, arrow_rows, keys
from logdirwatch.store.direct.newest import DataFile
from logdirwatch.store.direct.table import DirectTable

Key: TypeAlias = tuple[Any, ...]
Stored: TypeAlias = Mapping[Key, Row]
"""Rows as they are in the table, by key: the columns that were asked for."""


@dataclass(frozen=True)
class Changes:
    """The changes to rows, by key: rows to write (also over stored ones), rows to delete."""

    written: Mapping[Key, Row] = field(default_factory=dict)
    deleted: Set[Key] = frozenset()

    @property
    def keys(self) -> Set[Key]:
        """All keys with a change."""
        return self.written.keys() | self.deleted


class Rewrite(NamedTuple):
    """The changes to rows: new ones as columns, keys of stored rows that go, columns to replace in others by key.

    A stored row that a new one replaces goes.
    """

    new: pa.Table
    gone: Set[Key]
    patched: Mapping[Key, Row] = MappingProxyType({})


Decide: TypeAlias = Callable[[pa.Table], Rewrite]
"""From the stored rows, with their key and some columns."""


def rewrite(target: DirectTable, decide: Decide, columns: Sequence[str]) -> None:
    """Change the rows of a table as ``decide`` says, which sees their key and ``columns``."""
    key = target.table.key
    wanted = (*key, *(name for name in columns if name not in key))
    read = [(file, target.read([file], wanted)) for file in target.all_files()]
    stored = pa.concat_tables([target.read([], wanted), *(rows for _, rows in read)])
    changes = decide(stored)
    touched = changes.gone | changes.patched.keys()
    if not touched and not changes.new.num_rows:
        return
    found = [(file, set(keys(rows, key))) for file, rows in read]
    removed = [(file, there) for file, there in found if not touched.isdisjoint(there)]
    stay = [_staying(target, file, changes) for file, there in removed if not _goes_whole(file, there, changes.gone)]
    target.commit([pa.concat_tables([*stay, changes.new])], [file for file, _ in removed])


def _goes_whole(file: DataFile, there: Set[Key], gone: Set[Key]) -> bool:
    """Tell whether no row of a file stays, in which case it need not be read; ``there`` are keys that it has."""
    return len(there) == file.rows and there <= gone


def _staying(target: DirectTable, file: DataFile, changes: Rewrite) -> pa.Table:
    """Return the rows of a file that stay, with their new values."""
    rows = target.read([file])
    found = keys(rows, target.table.key)
    same = rows.filter(pa.array([not (key in changes.gone or key in changes.patched) for key in found], pa.bool_()))
    others = rows.filter(pa.array([key in changes.patched for key in found], pa.bool_())).to_pylist()
    patches = [changes.patched[key] for key in found if key in changes.patched]
    patched = [{**row, **patch} for row, patch in zip(others, patches, strict=True)]
    return pa.concat_tables([same, arrow_rows(target.table, patched)])
