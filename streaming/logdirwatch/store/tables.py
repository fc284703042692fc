"""Delta tables: their location and creation, and idempotent merges."""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa
import structlog
from delta.exceptions import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    DeltaConcurrentModificationException,
    MetadataChangedException,
    ProtocolChangedException,
)
from delta.tables import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from logdirwatch.clock import wall_ms
from logdirwatch.errors import UserError
from logdirwatch.store import first_version, log_store
from logdirwatch.store.delta_log.inspection import DamagedLogError, damaged, read_log
from logdirwatch.store.direct.newest import Newest, NotDirectError
from logdirwatch.store.direct.table import ConflictError, DirectTable
from logdirwatch.store.schema.columns import Column, Table
from logdirwatch.store.settings import MaintainSettings, StoreSettings
from logdirwatch.store.storage.folder import Folder, folder_at
from logdirwatch.store.storage.options import Get, UnknownOptionsError

log = structlog.get_logger(__name__)

ATTEMPTS = 6
FIRST_PAUSE_S = 0.5
LONGEST_ERROR = 300
INTERRUPTED = "java.lang.InterruptedException"
CREATED_AT_ONCE = 4

# PySpark makes each of them a class of its own, without their common parent.
CONFLICTS = (
    ConflictError,
    DeltaConcurrentModificationException,
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    MetadataChangedException,
    ProtocolChangedException,
)

DUPLICATE_COLUMNS = "DELTA_DUPLICATE_COLUMNS_FOUND"

# The command line reads the tables with a reader that knows no deletion vectors.
PROPERTIES = {"delta.enableDeletionVectors": "false"}

CONF = {
    # Delta reads a table's log in 50 tasks, which for logs of this size is nearly all of a batch's time.
    "spark.databricks.delta.snapshotPartitions": "2",
    # Tables of what is now are written again with every batch, state records in JSON and all.
    "spark.sql.parquet.compression.codec": "zstd",
}

Span = tuple[int, int]
Result = TypeVar("Result")


@dataclass
class _Known:
    """What is known of the tables from batch to batch."""

    newest: dict[str, Newest] = field(default_factory=dict)
    are_direct: bool = True
    """False if this process cannot commit where a table turned out to be."""


class Tables:
    """The tables of one configuration, seen through one Spark session."""

    def __init__(self, spark: SparkSession, settings: StoreSettings) -> None:
        self._see_through(spark)
        self._upkeep = settings.maintain
        self._path = settings.tables_path.rstrip("/")
        self._schema = (
            f"`{settings.tables.catalog}`.`{settings.tables.table_schema}`" if settings.tables.catalog else None
        )
        self._known = _Known()
        if self._schema is None:
            log_store.require(spark, self._path)

    def _see_through(self, spark: SparkSession) -> None:
        self._spark = spark
        for key, value in CONF.items():
            spark.conf.set(key, value)

    def in_session(self, spark: SparkSession) -> "Tables":
        """Return the same tables seen through another session, with what is known of them."""
        tables = copy(self)
        tables._see_through(spark)  # noqa: SLF001 - a copy of this one
        return tables

    def name(self, table: Table) -> str:
        """Return the name of a table in SQL."""
        return f"{self._schema}.`{table.name}`" if self._schema else f"delta.`{self._path}/{table.name}`"

    def are_direct(self) -> bool:
        """Whether this process may commit to the tables without Spark; of a catalog their first use tells."""
        url = self._path if self._schema is None else None
        return self._known.are_direct and log_store.shares_with_this_process(self._spark, url)

    def direct(self, table: Table, most_bytes: int | None = None) -> DirectTable:
        """Return a table for writing without Spark. Raises NotDirectError if only Spark can write it."""
        newest = self._known.newest
        if not self.are_direct():
            raise NotDirectError(f"{table.name}: only Spark commits to it")
        if table.name not in newest:
            newest[table.name] = Newest(self._folder(table), table)
        return DirectTable(newest[table.name], most_bytes)

    def _folder(self, table: Table) -> Folder:
        """Return the folder of a table. Raises NotDirectError if Spark alone may commit to it."""
        url = self._location(table)
        reason = f"only Spark commits at {url}"
        if log_store.shares_with_this_process(self._spark, url):
            try:
                return folder_at(url, _hadoop(self._spark))
            except UnknownOptionsError as error:
                reason = str(error)
        self._known.are_direct = False
        raise NotDirectError(f"{table.name}: {reason}")

    def _location(self, table: Table) -> str:
        if self._schema is None:
            return f"{self._path}/{table.name}"
        detail = self._spark.sql(f"DESCRIBE DETAIL {self.name(table)}").first()
        assert detail is not None
        return str(detail["location"])

    def frame(self, rows: pa.Table) -> DataFrame:
        """Return rows as a frame of this session."""
        # Of columns whose first piece is empty PySpark takes no row.
        return self._spark.createDataFrame(rows.combine_chunks())

    def delta(self, table: Table) -> Any:
        """Return a table for merging."""
        return DeltaTable.forName(self._spark, self.name(table))

    def read(self, table: Table) -> DataFrame:
        """Return a table's rows."""
        return self._spark.read.table(self.name(table))

    def read_as_of_now(self, table: Table) -> DataFrame:
        """Return a table's rows as of now: repeated reads are the same, whoever writes meanwhile."""
        version = self.delta(table).history(1).select("version").collect()[0]["version"]
        return self._spark.read.option("versionAsOf", version).table(self.name(table))

    def create_missing(self, tables: Iterable[Table]) -> None:
        """Create missing tables, and add the columns that an earlier release did not have."""
        with ThreadPoolExecutor(CREATED_AT_ONCE) as pool:
            list(pool.map(self._create_or_extend, tables))

    def _create_or_extend(self, table: Table) -> None:
        retried(f"create {table.name}", partial(self._created_or_extended, table))

    def _created_or_extended(self, table: Table) -> None:
        if not self.exists(table):
            self._create(table)
            return
        there = set(self.read(table).columns)
        missing = [column for column in table.columns if column.name not in there]
        if missing:
            self._extend(table, missing)

    def _extend(self, table: Table, missing: Iterable[Column]) -> None:
        definitions = ", ".join(map(_definition, missing))
        try:
            self._spark.sql(f"ALTER TABLE {self.name(table)} ADD COLUMNS ({definitions})")
        except AnalysisException as error:
            # Two queries start at once, and the other one was quicker.
            if not (error.getCondition() or "").startswith(DUPLICATE_COLUMNS):
                raise

    def exists(self, table: Table) -> bool:
        """Return whether a table exists. Raises UserError if its log is damaged, which Spark may not notice."""
        if self._schema:
            return self._spark.catalog.tableExists(self.name(table))
        try:
            return read_log(self._folder(table)) is not None
        except NotDirectError:
            pass
        except DamagedLogError as error:
            raise UserError(damaged(f"table {table.name} at {self._path}", error)) from None
        return bool(DeltaTable.isDeltaTable(self._spark, f"{self._path}/{table.name}"))

    def _create(self, table: Table) -> None:
        columns = ", ".join(map(_definition, table.columns))
        properties = {**PROPERTIES, **kept_properties(table, self._upkeep)}
        if self._schema is None and self.are_direct() and first_version.can_write(self._spark):
            schema, now_ms = StructType.fromDDL(columns).json(), wall_ms()
            entry = first_version.actions(table, schema, properties, str(uuid.uuid4()), now_ms)
            first_version.write(self._spark, self._folder(table), entry)
            return
        clustered_by = ", ".join(table.clustered_by)
        self._spark.sql(
            f"CREATE TABLE IF NOT EXISTS {self.name(table)} ({columns}) USING delta CLUSTER BY ({clustered_by}) "
            f"COMMENT {_quoted(table.comment)} TBLPROPERTIES ({as_sql(properties)})"
        )

    def insert_new(self, table: Table, rows: DataFrame, spans: Sequence[Span]) -> None:
        """Append the rows whose key is not stored yet; ``spans`` bound ``table.time`` of the rows.

        Files outside the spans are not read, so the cost does not grow with the history.
        """
        condition = f"{same_key(table)} AND ({within(f't.{table.time}', spans)})"
        self.merge(table, rows, condition, lambda merge: merge.whenNotMatchedInsertAll())

    def merge(self, table: Table, rows: DataFrame, condition: str, clauses: Callable[[Any], Any]) -> None:
        """Merge ``rows`` as ``s`` into ``table`` as ``t``; retried if another writer commits in between."""

        def once() -> None:
            clauses(self.delta(table).alias("t").merge(rows.alias("s"), condition)).execute()

        retried(f"merge into {table.name}", once)


def same_key(table: Table) -> str:
    """Return the condition that ``t`` and ``s`` have the same key; nulls are equal."""
    return " AND ".join(f"t.`{column}` <=> s.`{column}`" for column in table.key)


def within(column: str, spans: Sequence[Span]) -> str:
    """Return the condition that ``column`` is in one of the inclusive ``spans``."""
    return " OR ".join(f"{column} BETWEEN {low} AND {high}" for low, high in spans) or "false"


def retried(what: str, action: Callable[[], Result]) -> Result:
    """Return ``action()``, retried with a growing pause while other writers conflict."""
    pause_s = FIRST_PAUSE_S
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return action()
        except CONFLICTS as conflict:
            if attempt == ATTEMPTS:
                break
            log.info("tables.conflict", what=what, retry_in_s=pause_s, conflict=type(conflict).__name__)
        time.sleep(pause_s)
        pause_s *= 2
    raise UserError(f"{what}: {ATTEMPTS} conflicts with other writers of the table: only one stream may write it")


@contextmanager
def short_errors(query: str, batch_id: int) -> Iterator[None]:
    """Log an error in a batch, and raise it as one short line.

    A long message overflows Spark's stack in a regular expression while the query is being stopped.
    """
    try:
        yield
    except Exception as error:
        if INTERRUPTED in str(error):
            log.info(
                "batch.interrupted", query=query, batch_id=batch_id, meaning="the stream stops; the batch runs again"
            )
        else:
            log.exception("batch.failed", query=query, batch_id=batch_id)
        raise RuntimeError(f"{query}, batch {batch_id}: {type(error).__name__}: {short(error)}") from None


def short(error: Exception) -> str:
    """Return an error on one line, truncated before Java's details."""
    return " ".join(str(error).split())[:LONGEST_ERROR]


def kept_properties(table: Table, settings: MaintainSettings) -> dict[str, str]:
    """Return the Delta properties for the retention of unused files and of the log, and for file statistics.

    The defaults, a week and a month, would keep tens of thousands of files in a table written every 30 s; and
    statistics of every column in the log and in each plan, mostly for columns that are never filtered on.
    """
    return {
        "delta.dataSkippingStatsColumns": ",".join(table.sought_by),
        "delta.deletedFileRetentionDuration": f"interval {settings.deleted_files_ms // 1000} seconds",
        "delta.logRetentionDuration": f"interval {settings.table_log_ms // 1000} seconds",
    }


def as_sql(properties: Mapping[str, str]) -> str:
    """Return table properties in SQL syntax."""
    return ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())


def _hadoop(spark: SparkSession) -> Get:
    """Return Hadoop's properties in a session; secrets also from Hadoop's credential providers."""
    conf = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001 - PySpark has no access to Hadoop

    def get(key: str) -> str | None:
        value: str | None = conf.get(key)
        if value is None and conf.get("hadoop.security.credential.provider.path"):
            value = "".join(conf.getPassword(key) or ()) or None
        return value

    return get


def _definition(column: Column) -> str:
    return f"`{column.name}` {column.kind} COMMENT {_quoted(column.comment)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
