"""Delta tables below a folder or an object store's URL, read by deltalake."""

import errno
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import TableNotFoundError

from logdirwatch.cli.reading.tables.reader import AT_ONCE, Row, TableReader, query_of
from logdirwatch.errors import UserError
from logdirwatch.report.status.absent_tables import Place
from logdirwatch.store.delta_log.inspection import (
    DamagedLogError,
    beyond,
    check_definition,
    damaged,
    features_beyond_deltalake,
    foreign,
    opened,
)
from logdirwatch.store.schema.columns import foreign_change
from logdirwatch.store.schema.definitions import TABLES
from logdirwatch.store.storage.folder import Folder, folder_at
from logdirwatch.store.storage.options import Get, UnknownOptionsError, of_extra

_DATA_FILE = re.compile(r"[^\s:]+\.parquet")
_OS_ERROR = re.compile(r"\(os error (\d+)\)")
_UNREACHED = "the other tables and the alerts are not affected; check that the store answers and may be read"
_REMEDY = "the other tables and the alerts are not affected; restore or rebuild it: docs/troubleshooting.md"


class DeltaFiles(TableReader):
    """Reads the tables below ``root``."""

    def __init__(self, root: str, get: Get | None = None) -> None:
        super().__init__(Place(f"at {root}", f"the folder {root}", "tables.path"))
        self._root, self._get = str(root), get or of_extra({})

    def select(self, table: str, query: str) -> Iterator[Row] | None:
        """Return the rows of a query, read at once."""
        with self._readable(table):
            delta = self._opened(table)
            return None if delta is None else _found(delta, query)

    def stream(self, table: str, query: str) -> Iterator[Row] | None:
        """Return the rows of a query, read lazily."""
        with self._readable(table):
            delta = self._opened(table)
            return None if delta is None else self._streamed(delta, table, query)

    def chosen(self, table: str, columns: Iterable[str], where: str) -> Iterator[Row] | None:
        """Return columns of the rows that match; one that the table lacks is null."""
        with self._readable(table):
            delta = self._opened(table)
            if delta is None:
                return None
            columns = list(columns)
            self._check_columns(table, delta, columns)
            return _found(delta, query_of(columns, (field.name for field in delta.schema().fields), where))

    def names(self) -> list[str] | None:
        """Return the tables of a local folder; None if it does not exist, empty for an object store."""
        path = self._root.removeprefix("file://").removeprefix("file:")
        if "://" in path:
            return []
        folder = Path(path)
        return sorted(log.parent.name for log in folder.glob("*/_delta_log")) if folder.is_dir() else None

    def _opened(self, table: str) -> DeltaTable | None:
        folder = self._folder(table)
        try:
            delta = opened(folder)
        except TableNotFoundError:
            return None
        except DamagedLogError as error:
            raise UserError(damaged(self._where(table), error)) from None
        self._check_columns(table, delta)
        return delta

    def _check_columns(self, table: str, delta: DeltaTable, needed: Collection[str] = ()) -> None:
        """Refuse a table whose columns another program changed, or that lacks one of its key that is needed."""
        types = {field.name: str(getattr(field.type, "type", "")) for field in delta.schema().fields}
        change = foreign_change(TABLES[table], types, needed) if table in TABLES else None
        # A feature may be what reads them.
        if change is not None and not self._features(table):
            raise UserError(foreign(self._where(table), change))

    def _folder(self, table: str) -> Folder:
        try:
            return folder_at(f"{self._root}/{table}", self._get)
        except UnknownOptionsError as error:
            raise UserError(f"tables at {self._root} can only be read by Spark: {error}") from None

    def _where(self, table: str) -> str:
        return f"table {table} at {self._root}"

    def _streamed(self, delta: DeltaTable, table: str, query: str) -> Iterator[Row]:
        with self._readable(table):
            for batch in _arrow(QueryBuilder().register("t", delta).execute(query)):
                yield from batch.to_pylist()

    @contextmanager
    def _readable(self, table: str) -> Iterator[None]:
        try:
            yield
        except UserError:
            raise
        except BaseException as error:
            # The engine raises a bare Exception for a damaged file, and a panic in it is not even an Exception.
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            raise UserError(self._unreadable(table, error)) from None

    def _unreadable(self, table: str, error: BaseException) -> str:
        """Return what is wrong with a table that has a complete log."""
        reason, where = _first_line(error), self._where(table)
        named = _DATA_FILE.search(reason)
        name = named.group().rpartition("/")[2] if named else self._broken_file(table)
        if name is not None and _is_of_the_file(_errno_of(reason)):
            return (
                f"{where} cannot be read: its file {name} is damaged or gone ({reason.rpartition(': ')[2]}); {_REMEDY}"
            )
        if features := self._features(table):
            return beyond(where, features)
        try:
            check_definition(self._folder(table))
            self._check_columns(table, opened(self._folder(table)), TABLES[table].key if table in TABLES else ())
        except DamagedLogError as damage:
            return damaged(where, damage)
        except UserError as change:
            return str(change)
        except Exception:
            return f"{where} cannot be read: {reason}; {_UNREACHED}"
        return f"{where} cannot be read: {reason}; {_UNREACHED}"

    def _features(self, table: str) -> list[str]:
        try:
            return features_beyond_deltalake(self._folder(table))
        except Exception:
            return []

    def _broken_file(self, table: str) -> str | None:
        """Return the first data file that cannot be read, if the files can be listed."""
        folder = self._folder(table)
        try:
            names = pa.table(opened(folder).get_add_actions()).column("path").to_pylist()
        except Exception:
            return None
        return next((name for name in names if not _can_be_read(folder, name)), None)


def _is_of_the_file(number: int | None) -> bool:
    """Tell whether an error means a missing or damaged file: the system's others, such as EACCES, leave it whole."""
    return number in {None, errno.ENOENT, errno.EIO}


def _errno_of(reason: str) -> int | None:
    found = _OS_ERROR.search(reason)
    return None if found is None else int(found[1])


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _can_be_read(folder: Folder, name: str) -> bool:
    try:
        pq.read_table(name, filesystem=folder.files)
    except OSError as error:
        return not _is_of_the_file(error.errno)
    except Exception:
        return False
    return True


def _found(delta: DeltaTable, query: str) -> Iterator[Row]:
    return _rows(_arrow(QueryBuilder().register("t", delta).execute(query).read_all()).read_all())


def _arrow(found: Any) -> pa.RecordBatchReader:
    """Return what the engine found as Arrow; ``pa.table`` and ``pa.record_batch`` would import pandas for it."""
    return pa.RecordBatchReader.from_stream(found)


def _rows(found: pa.Table) -> Iterator[Row]:
    for batch in found.to_batches(max_chunksize=AT_ONCE):
        yield from batch.to_pylist()
