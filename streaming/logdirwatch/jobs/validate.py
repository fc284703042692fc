"""The job ``validate``: checks every table against its suite, stores the results, and reports them to the stream."""

import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

import msgspec
from pyspark.sql import DataFrame, SparkSession

from logdirwatch.jobs.session import build_session, end_session
from logdirwatch.kafka.clients import write
from logdirwatch.model import topics
from logdirwatch.model.records import PipelineRecord
from logdirwatch.quality.examine import Examiner
from logdirwatch.quality.relations import CheckTimes, view
from logdirwatch.quality.results import Checked, failed
from logdirwatch.quality.settings import QualitySettings
from logdirwatch.quality.suites import suite_of
from logdirwatch.settings import Settings
from logdirwatch.store.schema.columns import Column, Table
from logdirwatch.store.schema.definitions import ACTIONS, ALERTS, QUALITY_RESULTS, TABLES
from logdirwatch.store.tables import Tables, retried
from logdirwatch.store.writing.small_batch import computed

NAME = "validate"
WHOLE = {ALERTS.name, ACTIONS.name}
"""Histories that are read completely: open records may be old."""

SMALL_BYTES = 64 << 20
"""A table up to this size is read once; for a larger one each expectation reads its own columns."""


def run(settings: Settings, names: Iterable[str], now_ms: int) -> list[Checked]:
    """Check the named tables that exist, store the results, and return them."""
    spark = build_session(settings, "logdirwatch-validate")
    try:
        tables = Tables(spark, settings)
        found = check(spark, tables, names, settings.quality, now_ms)
        keep(spark, tables, found, now_ms)
        return found
    finally:
        end_session(spark)


def check(
    spark: SparkSession, tables: Tables, names: Iterable[str], settings: QualitySettings, now_ms: int
) -> list[Checked]:
    """Return the results of every expectation of the named tables that exist."""
    there = {table.name for table in TABLES.values() if tables.exists(table)}
    times = CheckTimes(settled_ms=now_ms - settings.settle_ms, fresh_ms=now_ms - settings.fresh_ms)
    examiner = Examiner(spark, settings.docs_path)
    with ExitStack() as stack:
        frames = {
            table.name: stack.enter_context(as_of_now(tables, table, now_ms - settings.window_ms))
            if table.name in there
            else _empty(spark, table)
            for table in TABLES.values()
        }
        for name, frame in frames.items():
            frame.createOrReplaceTempView(view(TABLES[name]))
        chosen = [name for name in names if name in there]
        return [one for name in chosen for one in examiner.check(suite_of(TABLES[name], times), frames[name])]


def keep(spark: SparkSession, tables: Tables, found: Iterable[Checked], now_ms: int) -> None:
    """Append the results to ``quality_results``."""
    tables.create_missing([QUALITY_RESULTS])
    columns = [column for column in QUALITY_RESULTS.columns if not column.name.startswith("source_")]
    run_id = uuid.uuid4().hex
    rows = [
        (run_id, one.suite, one.expectation, "*", now_ms, one.success, one.observed, one.unexpected, one.error)
        for one in found
    ]
    spark.createDataFrame(rows, _schema(columns)).createOrReplaceTempView("quality_found")
    listed = ", ".join(column.name for column in columns)
    statement = f"INSERT INTO {tables.name(QUALITY_RESULTS)} ({listed}) SELECT {listed} FROM quality_found"  # noqa: S608
    retried(f"append to {QUALITY_RESULTS.name}", lambda: spark.sql(statement))


def tell(settings: Settings, found: Iterable[Checked], now_ms: int) -> None:
    """Report the results to the stream, which alerts; raises UserError if telemetry does not accept them."""
    record = PipelineRecord(version=1, query=NAME, timestamp_ms=now_ms, quality=failed(found))
    write(settings.telemetry, topics.METRICS, [(record.key, msgspec.json.encode(record))])


@contextmanager
def as_of_now(tables: Tables, table: Table, since_ms: int) -> Iterator[DataFrame]:
    """Yield a fixed version of a table's rows: an expectation compares results of several jobs while the stream writes.

    Each job lists the files of a fixed version again, which costs more than the rows of a small table.
    """
    if tables.delta(table).detail().head()["sizeInBytes"] > SMALL_BYTES:
        yield _since(tables.read_as_of_now(table), table, since_ms)
        return
    with computed(_since(tables.read(table), table, since_ms)) as rows:
        yield rows


def _since(rows: DataFrame, table: Table, since_ms: int) -> DataFrame:
    return rows if table.time is None or table.name in WHOLE else rows.where(f"{table.time} >= {since_ms}")


def _empty(spark: SparkSession, table: Table) -> DataFrame:
    return spark.createDataFrame([], _schema(table.columns))


def _schema(columns: Iterable[Column]) -> str:
    return ", ".join(f"`{column.name}` {column.kind}" for column in columns)
