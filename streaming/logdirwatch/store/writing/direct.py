"""Appends rows of a history without Spark; only files of about the same times are read for them."""

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

HOUR_MS = 3_600_000
MOST_SPANS = 12


def joined(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, merging those less than an hour apart, and then the nearest until few are left.

    >>> joined([(10, 20), (0, 5), (10 * 3_600_000, 10 * 3_600_000)])
    [(0, 20), (36000000, 36000000)]
    """
    whole: list[Span] = []
    for low, high in sorted(spans):
        if whole and low - whole[-1][1] < HOUR_MS:
            whole[-1] = (whole[-1][0], max(whole[-1][1], high))
        else:
            whole.append((low, high))
    while len(whole) > MOST_SPANS:
        at = min(range(1, len(whole)), key=lambda place: whole[place][0] - whole[place - 1][1])
        whole[at - 1 : at + 1] = [(whole[at - 1][0], whole[at][1])]
    return whole


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
