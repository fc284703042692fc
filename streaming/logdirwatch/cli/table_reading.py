"""The Delta tables read without Spark: a command for somebody who was just woken must answer at once."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError, TableNotFoundError

from logdirwatch.errors import UserError
from logdirwatch.report.cluster import BROKER_COLUMNS, RISKS, LogDir
from logdirwatch.settings import Settings
from logdirwatch.store.schemas import BROKER_STATE, LOG_DIR_INVENTORY, LOG_DIR_STATE, REPLICA_STATE, TOPIC_STATE

Row = Mapping[str, Any]
_AT_ONCE = 10_000

_BROKERS = ", ".join(("cluster", *BROKER_COLUMNS))
_LOG_DIRS = ", ".join(("cluster", "broker", *LogDir.__struct_fields__))
_RISKY = " OR ".join(RISKS.values())
QUERIES = {
    BROKER_STATE.name: f"SELECT {_BROKERS} FROM t",  # noqa: S608 - names of ours
    LOG_DIR_STATE.name: f"SELECT {_LOG_DIRS} FROM t",  # noqa: S608
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
    """Return where the tables lie by path; UserError when they lie in a catalog, which only Spark reaches."""
    if settings.tables.catalog is not None:
        raise UserError(
            f"the tables lie in the catalog {settings.tables.catalog}, which only Spark reads; "
            "query broker_state and log_dir_state there, or name their storage in tables.path"
        )
    return settings.tables_path.rstrip("/")


def rows(root: str, table: str) -> list[Row] | None:
    """Return what the status needs of ``table`` below ``root``; None while it was never written.

    Raises UserError when it cannot be read.
    """
    found = select(root, table, QUERIES[table])
    return None if found is None else list(found)


def select(root: str, table: str, query: str) -> Iterator[Row] | None:
    """Return the rows that a query finds in ``table``, which it calls ``t``; None while it was never written.

    Raises UserError when it cannot be read.
    """
    with _readable(root, table):
        delta = _opened(root, table)
        return None if delta is None else _found(delta, query)


def stream(root: str, table: str, query: str) -> Iterator[Row] | None:
    """Return what :func:`select` does, read while it is asked for: a history is larger than memory."""
    with _readable(root, table):
        delta = _opened(root, table)
        return None if delta is None else _streamed(root, delta, table, query)


def _streamed(root: str, delta: DeltaTable, table: str, query: str) -> Iterator[Row]:
    with _readable(root, table):
        for batch in QueryBuilder().register("t", delta).execute(query):
            yield from pa.record_batch(batch).to_pylist()


def select_columns(root: str, table: str, columns: Iterable[str], where: str) -> Iterator[Row]:
    """Yield columns of the rows for which ``where`` holds; one that the table does not have is null.

    Nothing while the table was never written. Raises UserError when it cannot be read.
    """
    with _readable(root, table):
        delta = _opened(root, table)
        if delta is None:
            return iter(())
        there = {field.name for field in delta.schema().fields}
        chosen = ", ".join(name if name in there else f"NULL AS {name}" for name in columns)
        return _found(delta, f"SELECT {chosen} FROM t WHERE {where}")  # noqa: S608 - the callers quote


@contextmanager
def _readable(root: str, table: str) -> Iterator[None]:
    try:
        yield
    except (DeltaError, OSError, ValueError) as error:
        raise UserError(f"table {table} at {root} cannot be read: {str(error).splitlines()[0]}") from None


def _opened(root: str, table: str) -> DeltaTable | None:
    try:
        return DeltaTable(f"{root}/{table}")
    except TableNotFoundError:
        return None


def _found(delta: DeltaTable, query: str) -> Iterator[Row]:
    return _rows(pa.table(QueryBuilder().register("t", delta).execute(query).read_all()))


def _rows(found: pa.Table) -> Iterator[Row]:
    """Yield rows, a part at a time: a cluster has hundreds of thousands of them."""
    for batch in found.to_batches(max_chunksize=_AT_ONCE):
        yield from batch.to_pylist()


def optional(root: str, table: str) -> list[Row]:
    """Return the rows of a table that may not be there yet."""
    return rows(root, table) or []


def required(root: str, table: str) -> list[Row]:
    """Return the rows of a table that there is no status without."""
    found = rows(root, table)
    if found is None:
        raise UserError(
            f"no table {table} at {root} yet: run logdirwatch collect and logdirwatch stream, "
            "or name the right tables.path"
        )
    return found
