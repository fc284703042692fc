"""The Delta tables read without Spark: a command for somebody who was just woken must answer at once."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError, TableNotFoundError

from logdirwatch.errors import UserError
from logdirwatch.report.cluster import RISKS, Broker, LogDir
from logdirwatch.settings import Settings
from logdirwatch.store.schemas import BROKER_STATE, LOG_DIR_INVENTORY, LOG_DIR_STATE, REPLICA_STATE, TOPIC_STATE

Row = Mapping[str, Any]

_BROKERS = ", ".join(("cluster", *(name for name in Broker.__struct_fields__ if name != "log_dirs")))
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
            f"status: the tables lie in the catalog {settings.tables.catalog}, which only Spark reads; "
            "query broker_state and log_dir_state there, or name their storage in tables.path"
        )
    return settings.tables_path.rstrip("/")


def rows(root: str, table: str) -> list[Row] | None:
    """Return what the status needs of ``table`` below ``root``; None while it was never written.

    Raises UserError when it cannot be read.
    """
    try:
        result = QueryBuilder().register("t", DeltaTable(f"{root}/{table}")).execute(QUERIES[table])
        read: list[Row] = pa.table(result.read_all()).to_pylist()
    except TableNotFoundError:
        return None
    except (DeltaError, OSError, ValueError) as error:
        raise UserError(f"status: table {table} at {root} cannot be read: {str(error).splitlines()[0]}") from None
    return read


def optional(root: str, table: str) -> list[Row]:
    """Return the rows of a table that may not be there yet."""
    return rows(root, table) or []


def required(root: str, table: str) -> list[Row]:
    """Return the rows of a table that there is no status without."""
    found = rows(root, table)
    if found is None:
        raise UserError(
            f"status: no table {table} at {root} yet: run logdirwatch collect and logdirwatch stream, "
            "or name the right tables.path"
        )
    return found
