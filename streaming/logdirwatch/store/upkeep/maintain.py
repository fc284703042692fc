"""Table maintenance: deletes old rows, compacts small files, removes unused files.

Every step may conflict with writes of the stream; both are retried then.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pyspark.sql import Row, SparkSession

from logdirwatch.model.records.executions import ENDED
from logdirwatch.model.vocabulary import OPEN, AlertStatus, ExecutionState
from logdirwatch.store.schema.columns import Table
from logdirwatch.store.schema.definitions import ACTIONS, ALERTS, EXECUTIONS
from logdirwatch.store.settings import MaintainSettings
from logdirwatch.store.tables import Tables, as_sql, kept_properties, retried, short
from logdirwatch.store.upkeep.results import Upkept

# Readers skip whole files and row groups; files of Delta's default 1 GiB would contain days of all clusters.
FILE_BYTES = 128 << 20
# OPTIMIZE sorts the newest cube again every night until it is this large. Delta's default of 100 GiB would mean the
# whole history of nearly every fleet, every night; data that fills a file gains little from being sorted with more.
CUBE_BYTES = FILE_BYTES
DELTA_CONF = {
    "spark.databricks.delta.vacuum.parallelDelete.enabled": "true",
    "spark.databricks.delta.optimize.clustering.mergeStrategy.minCubeSize.threshold": str(CUBE_BYTES),
    "spark.databricks.delta.optimize.maxFileSize": str(FILE_BYTES),
    # Each column is divided into this many ranges for the Hilbert curve. With Delta's default of 1000 a column with few
    # values, such as cluster, has an effect only within minutes, and a page has rows of many brokers.
    "spark.databricks.io.skipping.mdc.rangeId.max": "64",
    # Delta assigns rows to files by their position on the curve, but does not sort them within a file.
    "spark.databricks.io.skipping.mdc.sortWithinFiles": "true",
    # VACUUM lists a table's folders in 10,000 tasks by default; each table has one folder.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
}


@dataclass(frozen=True)
class _Life:
    """A kind of record with revisions: its id column, its open statuses, and the columns of status and order."""

    identity: str
    open_statuses: frozenset[str]
    status: str = "status"
    order: str = "revision"


_LIVES = {
    ALERTS.name: _Life("alert_id", frozenset({AlertStatus.FIRING.value})),
    ACTIONS.name: _Life("action_id", frozenset(status.value for status in OPEN)),
    EXECUTIONS.name: _Life(
        "execution_id",
        frozenset(state.value for state in set(ExecutionState) - ENDED),
        status="state",
        order="source_offset",
    ),
}


class Upkeep:
    """The maintenance of one configuration's tables; retention counts from ``now_ms``."""

    def __init__(self, spark: SparkSession, tables: Tables, settings: MaintainSettings, now_ms: int) -> None:
        self._spark = spark
        self._tables = tables
        self._settings = settings
        self._now_ms = now_ms
        for key, value in DELTA_CONF.items():
            spark.conf.set(key, value)

    def keep_up(self, table: Table) -> Upkept:
        """Run all maintenance of a table."""
        before = self._detail(table)
        self._set_properties(table, before)
        self._set_clustering(table, before)
        expired = self._delete_expired(table)
        name = self._tables.name(table)
        # The stream rewrites small tables of the present in each batch, which OPTIMIZE would lose against for nothing.
        if before["numFiles"] > 1:
            retried(f"optimize {table.name}", lambda: self._spark.sql(f"OPTIMIZE {name}").collect())
        # The table's own property has the minimum age of a file; a RETAIN below a week would have to be forced.
        self._spark.sql(f"VACUUM {name}").collect()
        after = self._detail(table)
        return Upkept(
            table=table.name,
            expired_rows=expired,
            files_before=before["numFiles"],
            files_after=after["numFiles"],
            bytes_before=before["sizeInBytes"],
            bytes_after=after["sizeInBytes"],
        )

    def look(self, table: Table) -> Upkept:
        """Return the size of a table, and the number of its expired rows."""
        detail = self._detail(table)
        expired = self._spark.sql(f"SELECT count(*) AS n FROM {self._expired(table)}").first()  # noqa: S608
        assert expired is not None
        return Upkept(
            table=table.name,
            expired_rows=expired["n"],
            files_before=detail["numFiles"],
            bytes_before=detail["sizeInBytes"],
        )

    def _detail(self, table: Table) -> Row:
        detail = self._spark.sql(f"DESCRIBE DETAIL {self._tables.name(table)}").first()
        assert detail is not None
        return detail

    def _set_properties(self, table: Table, detail: Row) -> None:
        wanted = kept_properties(table, self._settings)
        if wanted.items() <= detail["properties"].items():
            return
        statement = f"ALTER TABLE {self._tables.name(table)} SET TBLPROPERTIES ({as_sql(wanted)})"
        retried(f"set properties of {table.name}", lambda: self._spark.sql(statement))

    def _set_clustering(self, table: Table, detail: Row) -> None:
        """Set the clustering columns of a table from an earlier release; sorted data stays as it is."""
        if detail["clusteringColumns"] == list(table.clustered_by):
            return
        statement = f"ALTER TABLE {self._tables.name(table)} CLUSTER BY ({', '.join(table.clustered_by)})"
        retried(f"cluster {table.name}", lambda: self._spark.sql(statement))

    def _delete_expired(self, table: Table) -> int:
        if self._cutoff_ms(table) is None:
            return 0
        life, name = _LIVES.get(table.name), self._tables.name(table)
        if life is None:
            statement = f"DELETE FROM {name} WHERE {self._is_old(table)}"  # noqa: S608 - names and numbers of ours
        else:
            statement = (
                f"MERGE INTO {name} AS t USING ({self._over(table, life)}) AS s "
                f"ON t.{life.identity} = s.{life.identity} WHEN MATCHED THEN DELETE"
            )
        done = retried(f"delete old rows of {table.name}", lambda: self._spark.sql(statement).first())
        assert done is not None
        return int(done["num_affected_rows"])

    def _expired(self, table: Table) -> str:
        """Return the expired rows as an SQL relation."""
        life, name = _LIVES.get(table.name), self._tables.name(table)
        if self._cutoff_ms(table) is None:
            return f"(SELECT 1 FROM {name} WHERE false)"  # noqa: S608
        if life is None:
            return f"(SELECT 1 FROM {name} WHERE {self._is_old(table)})"  # noqa: S608
        return f"{name} LEFT SEMI JOIN ({self._over(table, life)}) USING ({life.identity})"

    def _over(self, table: Table, life: _Life) -> str:
        """Return the ids that ended long ago.

        All their revisions are deleted together, so that the first is never missing.
        """
        is_open = ", ".join(f"'{status}'" for status in sorted(life.open_statuses))
        return (
            f"SELECT {life.identity} FROM {self._tables.name(table)} GROUP BY {life.identity} "  # noqa: S608
            f"HAVING max(at_ms) < {self._cutoff_ms(table)} AND max_by({life.status}, {life.order}) NOT IN ({is_open})"
        )

    def _is_old(self, table: Table) -> str:
        return f"{table.time} < {self._cutoff_ms(table)}"

    def _cutoff_ms(self, table: Table) -> int | None:
        """Return the time before which rows expire; None for tables without retention, such as those of the present."""
        kept_ms: int = getattr(self._settings.retention, f"{table.name}_ms", 0)
        return self._now_ms - kept_ms if kept_ms else None


def upkeep(of_tables: Upkeep, tables: Tables, chosen: Iterable[Table], *, is_dry_run: bool) -> Iterator[Upkept]:
    """Yield the result for each table, one after the other; an error in one does not affect the others."""
    for table in chosen:
        try:
            # The log of a broken table cannot be read, which Delta reports here already.
            if not tables.exists(table):
                upkept = Upkept(table=table.name, is_there=False)
            else:
                upkept = of_tables.look(table) if is_dry_run else of_tables.keep_up(table)
        except Exception as error:
            upkept = Upkept(table=table.name, error=short(error))
        yield upkept
