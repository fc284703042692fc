"""Delta tables below a folder or an object store's URL, read by deltalake."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError, TableNotFoundError

from logdirwatch.cli.reading.tables.reader import AT_ONCE, Row, TableReader, query_of
from logdirwatch.errors import UserError
from logdirwatch.report.status.absent_tables import Place

_DATA_FILE = re.compile(r"[^\s:]+\.parquet")
_REMEDY = "the other tables and the alerts are not affected; restore or rebuild it: docs/troubleshooting.md"


class DeltaFiles(TableReader):
    """Reads the tables below ``root``."""

    def __init__(self, root: str) -> None:
        super().__init__(Place(f"at {root}", f"the folder {root}", "tables.path"))
        self._root = root

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
            return _found(delta, query_of(columns, (field.name for field in delta.schema().fields), where))

    def names(self) -> list[str] | None:
        """Return the tables of a local folder; None if it does not exist, empty for an object store."""
        path = self._root.removeprefix("file://").removeprefix("file:")
        if "://" in path:
            return []
        folder = Path(path)
        return sorted(log.parent.name for log in folder.glob("*/_delta_log")) if folder.is_dir() else None

    def _opened(self, table: str) -> DeltaTable | None:
        try:
            return DeltaTable(f"{self._root}/{table}")
        except TableNotFoundError:
            return None

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
            raise UserError(_unreadable(self._root, table, error)) from None


def _unreadable(root: str, table: str, error: BaseException) -> str:
    reason = next(iter(str(error).splitlines()), type(error).__name__)
    named = _DATA_FILE.search(reason)
    where = f"table {table} at {root}"
    if named is None and (broken := _broken_file(f"{root}/{table}")) is None:
        what = "its log" if isinstance(error, DeltaError) else "it"
        return f"{where} cannot be read: {what} is damaged or not accessible ({reason}); {_REMEDY}"
    name = broken if named is None else named.group().rpartition("/")[2]
    return f"{where} cannot be read: its file {name} is damaged or gone ({reason.rpartition(': ')[2]}); {_REMEDY}"


def _broken_file(path: str) -> str | None:
    """Return the first data file that cannot be read, if the files can be listed."""
    try:
        names = DeltaTable(path).file_uris()
    except Exception:
        return None
    return next((name.rpartition("/")[2] for name in names if not _can_be_read(name)), None)


def _can_be_read(name: str) -> bool:
    try:
        pq.read_table(name)
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
