"""The Delta tables read without Spark, so that commands answer at once."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError, TableNotFoundError

from logdirwatch.errors import UserError
from logdirwatch.report.status.cluster import BROKER_COLUMNS, RISKS, LogDir
from logdirwatch.settings import Settings
from logdirwatch.store.schema.definitions import (
    BROKER_STATE,
    LOG_DIR_INVENTORY,
    LOG_DIR_STATE,
    REPLICA_STATE,
    TOPIC_STATE,
)

Row = Mapping[str, Any]
_AT_ONCE = 10_000
_DATA_FILE = re.compile(r"[^\s:]+\.parquet")
_REMEDY = "the other tables and the alerts are not affected; restore or rebuild it: docs/troubleshooting.md"

COLUMNS = {
    BROKER_STATE.name: ("cluster", *BROKER_COLUMNS),
    LOG_DIR_STATE.name: ("cluster", "broker", *LogDir.__struct_fields__),
}
_RISKY = " OR ".join(RISKS.values())
QUERIES = {
    LOG_DIR_INVENTORY.name: (
        "SELECT cluster, broker IS NULL AS is_of_topics, max(inventory_at_ms) AS at_ms FROM t "
        "GROUP BY cluster, broker IS NULL"
    ),
    REPLICA_STATE.name: (
        "SELECT cluster, topic, cause, count(*) AS replicas FROM t "
        "WHERE status = 'offline' AND NOT is_future GROUP BY cluster, topic, cause"
    ),
    TOPIC_STATE.name: (
        f"SELECT cluster, topic, partition, is_internal, {', '.join(RISKS.values())} FROM t WHERE {_RISKY}"  # noqa: S608
    ),
}


def tables_root(settings: Settings) -> str:
    """Return the path of the tables; raises UserError when they are in a catalog, which only Spark can read."""
    if settings.tables.catalog is not None:
        raise UserError(
            f"the tables are in the catalog {settings.tables.catalog}, which only Spark reads; "
            "query broker_state and log_dir_state there, or name their storage in tables.path"
        )
    return settings.tables_path.rstrip("/")


def rows(root: str, table: str) -> list[Row] | None:
    """Return the columns of ``table`` below ``root`` that the status needs; None if it was never written.

    A column that a table of an earlier release lacks is null. Raises UserError when it cannot be read.
    """
    query = QUERIES.get(table)
    found = _chosen(root, table, COLUMNS[table], "true") if query is None else select(root, table, query)
    return None if found is None else list(found)


def select(root: str, table: str, query: str) -> Iterator[Row] | None:
    """Return the rows of a query on ``table``, which it names ``t``; None if the table was never written.

    Raises UserError when it cannot be read.
    """
    with _readable(root, table):
        delta = _opened(root, table)
        return None if delta is None else _found(delta, query)


def stream(root: str, table: str, query: str) -> Iterator[Row] | None:
    """Like :func:`select`, but read lazily: a history may be larger than memory."""
    with _readable(root, table):
        delta = _opened(root, table)
        return None if delta is None else _streamed(root, delta, table, query)


def _streamed(root: str, delta: DeltaTable, table: str, query: str) -> Iterator[Row]:
    with _readable(root, table):
        for batch in QueryBuilder().register("t", delta).execute(query):
            yield from pa.record_batch(batch).to_pylist()


def select_columns(root: str, table: str, columns: Iterable[str], where: str) -> Iterator[Row]:
    """Yield columns of the rows that match ``where``; a column that the table lacks is null.

    Yields nothing if the table was never written. Raises UserError when it cannot be read.
    """
    return _chosen(root, table, columns, where) or iter(())


def _chosen(root: str, table: str, columns: Iterable[str], where: str) -> Iterator[Row] | None:
    with _readable(root, table):
        delta = _opened(root, table)
        if delta is None:
            return None
        there = {field.name for field in delta.schema().fields}
        chosen = ", ".join(name if name in there else f"NULL AS {name}" for name in columns)
        return _found(delta, f"SELECT {chosen} FROM t WHERE {where}")  # noqa: S608 - the callers quote


@contextmanager
def _readable(root: str, table: str) -> Iterator[None]:
    try:
        yield
    except UserError:
        raise
    except BaseException as error:
        # The engine raises a bare Exception for a damaged file, and a panic in it is not even an Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise UserError(_unreadable(root, table, error)) from None


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


def _opened(root: str, table: str) -> DeltaTable | None:
    try:
        return DeltaTable(f"{root}/{table}")
    except TableNotFoundError:
        return None


def _found(delta: DeltaTable, query: str) -> Iterator[Row]:
    return _rows(pa.table(QueryBuilder().register("t", delta).execute(query).read_all()))


def _rows(found: pa.Table) -> Iterator[Row]:
    """Yield rows in batches: a cluster has hundreds of thousands of them."""
    for batch in found.to_batches(max_chunksize=_AT_ONCE):
        yield from batch.to_pylist()


def tables_at(root: str) -> list[str] | None:
    """Return the tables below a local folder; None if it does not exist, empty for an object store."""
    path = root.removeprefix("file://").removeprefix("file:")
    if "://" in path:
        return []
    folder = Path(path)
    return sorted(log.parent.name for log in folder.glob("*/_delta_log")) if folder.is_dir() else None
