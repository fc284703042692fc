"""Appends rows of a history without Spark."""

from collections.abc import Callable, Iterable, Set

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from logdirwatch.store.direct.arrow import keys
from logdirwatch.store.direct.merge import Key
from logdirwatch.store.direct.newest import DataFile
from logdirwatch.store.direct.table import DirectTable
from logdirwatch.store.schema.columns import Table
from logdirwatch.store.tables import Span
from logdirwatch.store.writing.spans import joined

Open = Callable[[Table], DirectTable]


def insert_new(table: Table, rows: pa.Table, opened: Open) -> None:
    """Append the rows whose key is not stored yet; files whose time is outside that of the rows are not read."""
    target, time_column = opened(table), table.time
    assert time_column is not None
    spans = joined((at_ms, at_ms) for at_ms in pc.unique(rows.column(time_column)).to_pylist())
    near = [file for file in target.files() if _may_have(file, spans)]
    new = _without(target.read(near, table.key, _within(time_column, spans)), rows, table)
    if new.num_rows:
        target.commit([new])


def _without(stored: pa.Table, rows: pa.Table, table: Table) -> pa.Table:
    """Return the rows whose key is not stored."""
    if not stored.num_rows:
        return rows
    known = set(keys(stored, table.key))
    if table.time not in table.key:
        return rows.filter(_are_new(rows, known, table))
    # Of the rows of a time that no stored row has, no key has to be compared: that is nearly all of them.
    may_be_known = pc.is_in(rows.column(table.time), stored.column(table.time))
    some = rows.filter(may_be_known)
    return pa.concat_tables([rows.filter(pc.invert(may_be_known)), some.filter(_are_new(some, known, table))])


def _are_new(rows: pa.Table, known: Set[Key], table: Table) -> pa.Array:
    return pa.array([key not in known for key in keys(rows, table.key)], pa.bool_())


def _may_have(file: DataFile, spans: Iterable[Span]) -> bool:
    if file.from_ms is None or file.to_ms is None:
        return True
    return any(file.from_ms <= high and low <= file.to_ms for low, high in spans)


def _within(column: str, spans: Iterable[Span]) -> ds.Expression:
    times = ds.field(column)
    found = ds.scalar(False)
    for low, high in spans:
        found |= (times >= low) & (times <= high)
    return found
