"""Days of samples as ``store`` leaves them, and what ``maintain`` makes of them every night."""

import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from string import Template

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

import panels
from lakehouse import (
    DAY_MS,
    GIB,
    LOG_DIRS,
    MIB,
    NOW_MS,
    TOTAL_BYTES,
    append,
    configure,
    fleet,
    markdown,
    session,
    spent,
    version,
    written,
)
from logdirwatch.store.schema.definitions import LOG_DIR_SAMPLES, TABLES
from logdirwatch.store.settings import MaintainSettings
from logdirwatch.store.tables import Tables
from logdirwatch.store.upkeep.maintain import Upkeep
from tables_batch import CLUSTERS

WHOLE_FLEET = 24_000
DATABASE = "week"
ROUNDS = 3
# A poll's own row, without a directory, and one of each directory of it; their noise is that of topics written to.
SELECT = """
    SELECT
      cluster, broker, log_dir, 'bench' AS collector, timestamp_ms, IF(is_poll, 'poll', 'log_dir') AS kind,
      'ok' AS status, $interval_ms AS interval_ms,
      IF(is_poll, CONCAT('broker-', broker, '.kafka.internal'), NULL) AS host,
      IF(is_poll, CONCAT('r', broker % 3), NULL) AS rack, IF(is_poll, FALSE, NULL) AS is_fenced,
      IF(is_poll, TRUE, NULL) AS is_registered, IF(is_poll, 1, NULL) AS controller_id,
      IF(is_poll, timestamp_ms - 7, NULL) AS controller_at_ms, IF(is_poll, '4.3.1', NULL) AS kafka_version,
      IF(is_poll, '4.3-IV0', NULL) AS metadata_version,
      IF(is_poll, '{"leaderless":0,"under_min_isr":0}', NULL) AS partitions,
      IF(is_poll, MAP('OfflineLogDirectoryCount', 0.0D), NULL) AS metrics,
      IF(is_poll, NULL, 0) AS error_code, IF(is_poll, NULL, $total_bytes) AS total_bytes,
      IF(is_poll, NULL, $total_bytes - used_bytes - (timestamp_ms - $from_ms)
        - 4096 * PMOD(XXHASH64(cluster, broker, d, timestamp_ms), 16384)) AS usable_bytes,
      IF(is_poll, NULL, FALSE) AS is_cordoned, IF(is_poll, NULL, d = 0) AS is_metadata_dir,
      IF(is_poll, NULL, 84) AS replica_count,
      IF(is_poll, NULL, used_bytes + (minute_ms - $from_ms)
        + PMOD(XXHASH64(cluster, broker, d, minute_ms), 16777216)) AS replica_bytes,
      IF(is_poll, NULL, 0) AS future_bytes,
      timestamp_ms + PMOD(XXHASH64(cluster, broker, timestamp_ms), 40) AS kafka_timestamp_ms,
      'logdir.metrics' AS source_topic, broker % 6 AS source_partition,
      (timestamp_ms - $from_ms) DIV $interval_ms * 1000 + broker DIV 6 AS source_offset
    FROM (SELECT *, d IS NULL AS is_poll, timestamp_ms DIV 60000 * 60000 AS minute_ms FROM polled)
"""


def measure(folder: Path, chosen: Namespace) -> None:
    """Print a line a day, then what a week of panels asks of these tables."""
    rows_a_day = chosen.sampled_brokers * (LOG_DIRS + 1) * (86_400 // chosen.interval_s)
    print(
        f"## Samples: {chosen.sampled_brokers * LOG_DIRS:,} directories of {chosen.sampled_brokers} brokers in "
        f"{CLUSTERS} clusters, one each {chosen.interval_s} s, {chosen.days} days: {rows_a_day:,} rows a day, "
        f"in files of {chosen.file_s} s, heap {chosen.heap}\n"
    )
    with session(folder, chosen.heap, chosen.conf, chosen.java_options) as (spark, tables):
        tables.create_missing(TABLES.values())
        configure(spark, chosen.conf)
        fleet(spark, CLUSTERS, chosen.sampled_brokers // CLUSTERS)
        header = (
            "day", "rows", "files written", "bytes a row", "made in s", "maintain s", "cpu s", "files now",
            "bytes a row now", "rewritten MiB", "table MiB", f"GB a day of {WHOLE_FLEET:,} directories each 10 s",
        )  # fmt: skip
        markdown(header, nights(folder, spark, tables, chosen))
        spark.sql(f"CREATE DATABASE {DATABASE}")
        for name in TABLES:
            spark.sql(f"CREATE TABLE {DATABASE}.{name} USING delta LOCATION '{folder}/tables/{name}'")
        queries = {
            query: text for query, text in panels.distinct("databricks", DATABASE).items() if "log_dir_samples" in text
        }
        print(f"Queries of the dashboards over these samples, by Spark, of the last {chosen.days} days:\n")
        markdown(panels.HEADER, panels.timed(queries, lambda text: spark.sql(text).collect(), ROUNDS))


def nights(folder: Path, spark: SparkSession, tables: Tables, chosen: Namespace) -> Iterator[tuple[object, ...]]:
    table = folder / "tables" / LOG_DIR_SAMPLES.name
    for day in range(chosen.days):
        from_ms = NOW_MS - (chosen.days - day) * DAY_MS
        before = version(table)
        begin_s = time.monotonic()
        append(tables, LOG_DIR_SAMPLES, samples(spark, from_ms, chosen))
        made_s = time.monotonic() - begin_s
        new = written(table, before)
        before = version(table)
        upkeep = Upkeep(spark, tables, MaintainSettings(), from_ms + DAY_MS)
        configure(spark, chosen.conf)
        maintained = spent(lambda upkeep=upkeep: upkeep.keep_up(LOG_DIR_SAMPLES))  # type: ignore[misc]
        rewritten = written(table, before)
        detail = tables.delta(LOG_DIR_SAMPLES).detail().head()
        per_row = detail["sizeInBytes"] / (new.added_rows * (day + 1))
        yield (
            day + 1, new.added_rows, new.added, new.added_bytes / new.added_rows, made_s, *maintained,
            detail["numFiles"], per_row, rewritten.added_bytes / MIB, detail["sizeInBytes"] / MIB,
            per_row * WHOLE_FLEET * (1 + 1 / LOG_DIRS) * 8_640 / GIB,
        )  # fmt: skip


def samples(spark: SparkSession, from_ms: int, chosen: Namespace) -> DataFrame:
    """Return a day's rows in the order of their time, so many files a day as ``file_s`` says."""
    interval_ms = chosen.interval_s * 1000
    polls = spark.range(0, DAY_MS // interval_ms, 1, max(1, 86_400 // chosen.file_s))
    times = polls.select((F.lit(from_ms) + F.col("id") * interval_ms).alias("timestamp_ms"))
    log_dirs, brokers = spark.table("log_dirs"), spark.table("brokers")
    places = log_dirs.unionByName(brokers, allowMissingColumns=True).orderBy("broker").localCheckpoint()
    times.crossJoin(F.broadcast(places)).createOrReplaceTempView("polled")
    numbers = {"interval_ms": interval_ms, "total_bytes": TOTAL_BYTES, "from_ms": NOW_MS - 30 * DAY_MS}
    return spark.sql(Template(SELECT).substitute(numbers))
