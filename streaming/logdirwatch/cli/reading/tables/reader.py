"""The queries of the commands, in SQL that every engine accepts."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from logdirwatch.model.records.executions import ENDED
from logdirwatch.report.status.absent_tables import Place
from logdirwatch.report.status.cluster import BROKER_COLUMNS, RISKS, LogDir
from logdirwatch.store.schema.definitions import (
    BROKER_STATE,
    EXECUTIONS,
    LOG_DIR_INVENTORY,
    LOG_DIR_STATE,
    REPLICA_STATE,
    TOPIC_STATE,
)
from logdirwatch.store.sql import by_age

Row = Mapping[str, Any]

AT_ONCE = 10_000
"""Rows that are converted at once: a cluster has hundreds of thousands of them."""

COLUMNS = {
    BROKER_STATE.name: ("cluster", *BROKER_COLUMNS),
    LOG_DIR_STATE.name: ("cluster", "broker", *LogDir.__struct_fields__),
}
_OVER = ", ".join(f"'{state}'" for state in sorted(ENDED))
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
    # The last record about each action: one that got stuck and was undone since needs no person.
    EXECUTIONS.name: (
        f"SELECT cluster, record FROM ({by_age('action_id', 't', 'source_offset')}) "  # noqa: S608
        f"WHERE age = 1 AND state NOT IN ({_OVER})"
    ),
}


class TableReader(ABC):
    """Runs queries on a table, which they name ``t``, in the SQL of ``store/sql.py``.

    Every method raises UserError when a table cannot be read; None means that it was never written.
    """

    def __init__(self, place: Place) -> None:
        self.place = place

    @abstractmethod
    def select(self, table: str, query: str) -> Iterator[Row] | None:
        """Return the rows of a query."""

    @abstractmethod
    def stream(self, table: str, query: str) -> Iterator[Row] | None:
        """Like :meth:`select`, but read lazily: a history may be larger than memory."""

    @abstractmethod
    def chosen(self, table: str, columns: Iterable[str], where: str) -> Iterator[Row] | None:
        """Return columns of the rows that match ``where``; a column that the table lacks is null."""

    @abstractmethod
    def names(self) -> list[str] | None:
        """Return the tables that exist; None if the place does not, empty if it cannot be listed."""

    def rows(self, table: str) -> list[Row] | None:
        """Return what the status needs of a table; a column that a table of an earlier release lacks is null."""
        query = QUERIES.get(table)
        found = self.chosen(table, COLUMNS[table], "true") if query is None else self.select(table, query)
        return None if found is None else list(found)

    def select_columns(self, table: str, columns: Iterable[str], where: str) -> Iterator[Row]:
        """Yield what :meth:`chosen` returns; nothing if the table was never written."""
        return self.chosen(table, columns, where) or iter(())


def query_of(columns: Iterable[str], there: Iterable[str], where: str) -> str:
    """Return the query for columns of which the table has those ``there``; callers quote ``where``."""
    present = set(there)
    chosen = ", ".join(name if name in present else f"NULL AS {name}" for name in columns)
    return f"SELECT {chosen} FROM t WHERE {where}"  # noqa: S608
