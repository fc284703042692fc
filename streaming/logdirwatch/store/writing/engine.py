"""What changes a table: this process, and Spark where this process cannot. Both get rows, and decide nothing."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import structlog
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.errors import UserError
from logdirwatch.store.direct.arrow import arrow_rows, arrow_schema, keys
from logdirwatch.store.direct.merge import Decide, Key, Rewrite, rewrite
from logdirwatch.store.direct.newest import NotDirectError, RowsChangedError
from logdirwatch.store.direct.rewriting import Replacement, StoredColumns, read_columns, replace
from logdirwatch.store.direct.table import DirectTable
from logdirwatch.store.schema.columns import Table
from logdirwatch.store.tables import CONFLICTS, Tables, retried, same_key, short
from logdirwatch.store.writing.direct import insert_new, joined
from logdirwatch.store.writing.small_batch import compressed

log = structlog.get_logger(__name__)

Result = TypeVar("Result")


class Among(NamedTuple):
    """A filter of rows: their column has one of the values."""

    column: str
    values: Collection[Any]


class Target(Protocol):
    """A table that can be changed."""

    table: Table

    def read(self, columns: Sequence[str], among: Among | None = None) -> pa.Table:
        """Return some columns of the rows."""

    def insert_new(self, rows: pa.Table) -> None:
        """Append the rows whose key is not stored yet."""

    def rewrite(self, decide: Decide, columns: Sequence[str]) -> None:
        """Change the rows as ``decide`` says, which sees their key and ``columns``."""

    def stored(self, columns: Sequence[str] | None = None) -> StoredColumns:
        """Return all rows, or some of their columns."""

    def replace(self, stored: StoredColumns, found: Replacement) -> None:
        """Replace some of the rows."""


class Change(Protocol):
    """Changes a table, however that is possible."""

    def __call__(self, table: Table, use: Callable[[Target], Result]) -> Result:
        """Return what ``use`` returns."""


class ByDriver:
    """A table that this process changes."""

    def __init__(self, opened: DirectTable) -> None:
        self.opened, self.table = opened, opened.table

    def read(self, columns: Sequence[str], among: Among | None = None) -> pa.Table:
        """Return some columns of the rows."""
        where = None if among is None else ds.field(among.column).isin(list(among.values))
        return self.opened.read(self.opened.all_files(), columns, where)

    def insert_new(self, rows: pa.Table) -> None:
        """Append the rows whose key is not stored yet."""
        insert_new(self.table, rows, lambda _: self.opened)

    def rewrite(self, decide: Decide, columns: Sequence[str]) -> None:
        """Change the rows as ``decide`` says, which sees their key and ``columns``."""
        rewrite(self.opened, decide, columns)

    def stored(self, columns: Sequence[str] | None = None) -> StoredColumns:
        """Return all rows, or some of their columns."""
        return read_columns(self.opened, columns)

    def replace(self, stored: StoredColumns, found: Replacement) -> None:
        """Replace some of the rows."""
        replace(self.opened, stored, found)


class BySpark:
    """A table that Spark reads and merges into, because of where it is, what it asks of writers, or its size."""

    def __init__(self, tables: Tables, table: Table) -> None:
        self._tables, self.table = tables, table

    def read(self, columns: Sequence[str], among: Among | None = None) -> pa.Table:
        """Return some columns of the rows."""
        rows = self._tables.read(self.table)
        if among is not None:
            rows = rows.where(F.col(among.column).isin(list(among.values)))
        schema = arrow_schema(self.table)
        with compressed(rows.sparkSession):
            found = rows.select(*columns).toArrow()
        return found.cast(pa.schema([schema.field(name) for name in columns]))

    def insert_new(self, rows: pa.Table) -> None:
        """Append the rows whose key is not stored yet."""
        assert self.table.time is not None
        spans = joined((at_ms, at_ms) for at_ms in pc.unique(rows.column(self.table.time)).to_pylist())
        self._tables.insert_new(self.table, self._tables.frame(rows), spans)

    def rewrite(self, decide: Decide, columns: Sequence[str]) -> None:
        """Change the rows as ``decide`` says, which sees their key and ``columns``.

        A row that another writer has changed since stays as that one left it.
        """
        stored = self.read(tuple(dict.fromkeys((*self.table.key, *columns))))
        self._merge(decide(stored), stored)

    def stored(self, columns: Sequence[str] | None = None) -> StoredColumns:
        """Return all rows, or some of their columns."""
        rows = self.read(columns or self.table.names)
        encoded = [each.dictionary_encode() if pa.types.is_string(each.type) else each for each in rows.columns]
        return StoredColumns([], pa.table(encoded, names=rows.column_names), [])

    def replace(self, stored: StoredColumns, found: Replacement) -> None:
        """Replace some of the rows."""
        gone = stored.rows.take(pa.array(found.gone, pa.int64()))
        new = [rows for written in found.new.values() for rows in written]
        changes = Rewrite(pa.concat_tables([arrow_rows(self.table, []), *new]), set(keys(gone, self.table.key)))
        self._merge(changes, gone)

    def _merge(self, changes: Rewrite, stored: pa.Table) -> None:
        """Merge changes that were decided about stored rows."""
        ages = [name for name in _AGES if name in stored.column_names]
        source = _source(self.table, changes, _seen(self.table, stored, ages), ages)
        if not source.num_rows:
            return
        is_as_seen = " AND ".join(["true", *(f"t.`{name}` <=> s.`seen_{name}`" for name in ages)])
        values = {name: f"s.`{name}`" for name in self.table.names}
        patched = {name: values[name] for patch in changes.patched.values() for name in patch}

        def clauses(merge: Any) -> Any:
            merge = merge.whenMatchedDelete(f"s.change = 'gone' AND {is_as_seen}")
            merge = merge.whenMatchedUpdate(f"s.change = 'new' AND {is_as_seen}", values)
            if patched:
                merge = merge.whenMatchedUpdate(f"s.change = 'patched' AND {is_as_seen}", patched)
            return merge.whenNotMatchedInsert("s.change = 'new'", values)

        self._tables.merge(self.table, self._tables.frame(source), same_key(self.table), clauses)


_AGES = ("sequence", "configs_at_ms", "inventory_at_ms", "source_offset")
"""The columns that change whenever a row does."""


def _seen(table: Table, stored: pa.Table, ages: Sequence[str]) -> dict[Key, Key]:
    return dict(zip(keys(stored, table.key), keys(stored, ages) or [()] * stored.num_rows, strict=True))


def _source(table: Table, changes: Rewrite, seen: Mapping[Key, Key], ages: Sequence[str]) -> pa.Table:
    """Return what is to be merged: each change with its name, and the ages of the row that it is about."""
    new = keys(changes.new, table.key)
    gone = sorted(changes.gone - set(new), key=repr)
    parts = [
        ("new", new, changes.new),
        ("gone", gone, arrow_rows(table, [_named(table, key) for key in gone])),
        (
            "patched",
            [*changes.patched],
            arrow_rows(table, [_named(table, key) | {**patch} for key, patch in changes.patched.items()]),
        ),
    ]
    return pa.concat_tables([_with_ages(change, names, rows, seen, ages) for change, names, rows in parts])


def _with_ages(
    change: str, names: Sequence[Key], rows: pa.Table, seen: Mapping[Key, Key], ages: Sequence[str]
) -> pa.Table:
    columns = {"change": pa.array([change] * len(names), pa.string())}
    for place, age in enumerate(ages):
        columns[f"seen_{age}"] = pa.array([seen[key][place] if key in seen else None for key in names], pa.int64())
    return pa.table({**dict(zip(rows.column_names, rows.columns, strict=True)), **columns})


def _named(table: Table, key: Key) -> dict[str, Any]:
    return dict(zip(table.key, key, strict=True))


class Engine:
    """Changes tables by this process, and one that this process cannot change by Spark."""

    def __init__(self, tables: Tables, most_bytes: int | None = None) -> None:
        self._tables, self._most_bytes = tables, most_bytes

    def __call__(self, table: Table, use: Callable[[Target], Result]) -> Result:
        """Return what ``use`` returns, which is called again if another writer was quicker."""
        return retried(f"write {table.name}", lambda: self._used(table, use))

    def _used(self, table: Table, use: Callable[[Target], Result]) -> Result:
        try:
            return use(ByDriver(self._tables.direct(table, self._most_bytes)))
        except NotDirectError as reason:
            log.debug("store.by_spark", reason=str(reason))
        except (UserError, RowsChangedError, *CONFLICTS):
            raise
        except Exception as error:
            log.warning("store.by_spark", error=f"{type(error).__name__}: {short(error)}", exc_info=True)
        return use(BySpark(self._tables, table))
