"""A batch of ``store`` beside a plain append of the same rows."""

import datetime as dt
import time
from argparse import Namespace
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace
from pyspark.sql import SparkSession

from lakehouse import (
    DAY_MS,
    LOG_DIRS,
    MIB,
    NOW_MS,
    TOTAL_BYTES,
    configure,
    jobs,
    markdown,
    session,
    spent,
    version,
    written,
)
from logdirwatch.detect import machine, state_view
from logdirwatch.detect.observations import Sample
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.model import topics
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import LogDirSample, MetricsRecord, PartitionHealth, StateRecord
from logdirwatch.model.vocabulary import PollStatus
from logdirwatch.store.schema.definitions import BROKER_STATE, LOG_DIR_SAMPLES, LOG_DIR_STATE, TABLES
from logdirwatch.store.tables import Tables
from logdirwatch.store.writing.intake import Belief
from logdirwatch.store.writing.store import write_records

LIMIT_S = 6.0
INTERVAL_MS = 10_000
CLUSTERS = 10
HISTORY_DAYS = 30
PER_TOPIC = 6
FILLED = (LOG_DIR_SAMPLES, LOG_DIR_STATE, BROKER_STATE)
KAFKA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
    ]
)
OF_KAFKA = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"


def measure(folder: Path, chosen: Namespace) -> None:
    """Print how long batches took, and what they wrote into each table."""
    print(f"## A batch: {chosen.brokers} brokers, {LOG_DIRS} directories each, heap {chosen.heap}\n")
    before = {table.name: -1 for table in FILLED}
    with session(folder, chosen.heap, chosen.conf, chosen.java_options) as (spark, tables):
        tables.create_missing(TABLES.values())
        configure(spark, chosen.conf)
        before |= {name: version(folder / "tables" / name) for name in before}
        header = (
            "batch",
            "polls",
            "Kafka MiB",
            "rows",
            "jobs",
            "store s",
            "cpu s",
            "append s",
            "cpu s",
            "ratio",
            "limit s",
        )
        markdown(header, batches(folder, spark, tables, chosen))
        for table in FILLED:
            print(f"Delta's history of {table.name}, the newest first, ms:")
            history = spark.sql(f"DESCRIBE HISTORY {tables.name(table)} LIMIT 2").collect()
            print("  " + "\n  ".join(str(times(row["operationMetrics"])) for row in history))
        print()
    markdown(
        ("table", "commits", "MiB written a batch", "files written a batch", "rows written a batch"),
        (row_of(folder / "tables" / name, version_before) for name, version_before in before.items()),
    )


def batches(folder: Path, spark: SparkSession, tables: Tables, chosen: Namespace) -> Iterator[tuple[object, ...]]:
    plain = {table.name: str(folder / "plain" / table.name) for table in FILLED}
    polls_of = [1] * (1 + chosen.batches) + [3] * chosen.batches
    at_ms = NOW_MS
    for number, polls in enumerate(polls_of):
        source = folder / f"kafka-{number}"
        write_kafka(source, [*records(chosen.brokers, at_ms, polls, number)], at_ms)
        size = sum(path.stat().st_size for path in source.iterdir())
        before = jobs(spark)
        took = spent(lambda source=source: store(spark, tables, source))  # type: ignore[misc]
        ran = jobs(spark) - before
        staged = stage(folder / f"rows-{number}", tables, at_ms)
        appended = spent(lambda staged=staged: append_plain(spark, staged, plain))  # type: ignore[misc]
        rows = sum(spark.read.parquet(path).count() for path in staged.values())
        name = "first, cold" if number == 0 else str(number + 1)
        yield name, polls, size / MIB, rows, ran, *took, *appended, took.seconds / appended.seconds, LIMIT_S
        at_ms += polls * INTERVAL_MS


def store(spark: SparkSession, tables: Tables, source: Path) -> None:
    """What the query ``store`` does with a batch."""
    write_records(spark.read.schema(OF_KAFKA).parquet(str(source)).coalesce(2), Belief("bench", 60_000), tables)


def stage(folder: Path, tables: Tables, from_ms: int) -> dict[str, str]:
    """Put the rows that the batch left into files of their own: what is appended must not be made first."""
    frames = {table.name: tables.read(table) for table in FILLED}
    frames[LOG_DIR_SAMPLES.name] = frames[LOG_DIR_SAMPLES.name].where(f"timestamp_ms >= {from_ms}")
    for name, frame in frames.items():
        frame.write.parquet(str(folder / name))
    return {name: str(folder / name) for name in frames}


def append_plain(spark: SparkSession, staged: dict[str, str], plain: dict[str, str]) -> None:
    for name, path in staged.items():
        spark.read.parquet(path).write.format("delta").mode("append").save(plain[name])


def row_of(table: Path, before: int) -> tuple[object, ...]:
    total = written(table, before)
    commits = max(1, total.commits)
    return (
        table.name,
        total.commits,
        total.added_bytes / MIB / commits,
        total.added // commits,
        total.added_rows // commits,
    )


def times(metrics: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in metrics.items() if name.endswith("TimeMs") and value != "0"}


def write_kafka(folder: Path, values: list[tuple[str, str, bytes]], at_ms: int) -> None:
    """Write (topic, key, value) as two files of Kafka rows: Spark reads them in as many tasks."""
    folder.mkdir()
    time_of_it = dt.datetime.fromtimestamp(at_ms / 1000, dt.timezone.utc)
    offset = time.monotonic_ns() // 1_000_000
    for part in range(2):
        rows = [
            (key.encode(), value, topic, number % PER_TOPIC, offset + number, time_of_it)
            for number, (topic, key, value) in enumerate(values)
            if number % 2 == part
        ]
        columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), KAFKA, strict=True)]
        pq.write_table(pa.Table.from_arrays(columns, schema=KAFKA), folder / f"{part}.parquet", compression="none")


def records(brokers: int, at_ms: int, polls: int, number: int) -> Iterator[tuple[str, str, bytes]]:
    """Every broker's polls and its newest state record, which ``detect`` itself made of a month of samples."""
    template = judged()
    for broker in range(brokers):
        cluster, key = place(broker, brokers)
        for poll in range(polls):
            yield topics.METRICS, key, msgspec.json.encode(polled(cluster, broker, at_ms + poll * INTERVAL_MS))
        newest_ms = at_ms + (polls - 1) * INTERVAL_MS
        said = replace(template, cluster=cluster, broker=broker, sequence=number + 1, at_ms=newest_ms)
        yield topics.STATE, key, msgspec.json.encode(said)


def place(broker: int, brokers: int) -> tuple[str, str]:
    cluster = f"cluster-{broker * CLUSTERS // brokers}"
    return cluster, f"{cluster}/{broker}"


@cache
def judged() -> StateRecord:
    """A broker's state record with the memory of a month in it: twelve directories, an hour a sample."""
    memory, settings = BrokerMemory(cluster="bench", broker=0), DetectSettings()
    for hour in range(HISTORY_DAYS * 24):
        at_ms = NOW_MS - (HISTORY_DAYS * 24 - hour) * DAY_MS // 24
        machine.advance(
            memory, Sample(polled("bench", 0, at_ms), Origin(topics.METRICS, 0, hour, at_ms)), at_ms, settings
        )
    return state_view.state_record(memory, [])


def polled(cluster: str, broker: int, at_ms: int) -> MetricsRecord:
    return MetricsRecord(
        version=1,
        cluster=cluster,
        broker=broker,
        timestamp_ms=at_ms,
        status=PollStatus.OK,
        collector="bench",
        interval_ms=INTERVAL_MS,
        host=f"broker-{broker}.kafka.internal",
        rack=f"r{broker % 3}",
        is_fenced=False,
        is_registered=True,
        controller_id=1,
        kafka_version="4.3.1",
        metadata_version="4.3-IV0",
        partitions=PartitionHealth(),
        log_dirs=[sampled(broker, directory, at_ms) for directory in range(LOG_DIRS)],
    )


def sampled(broker: int, directory: int, at_ms: int) -> LogDirSample:
    """Use between a third and nine tenths that grows by half a percent a day, with noise of a segment."""
    noise = (broker * 7919 + directory * 104_729 + at_ms // 1000 * 31) % (1 << 30)
    share = (broker * 7 + directory * 13) % 55 / 100 + 0.3
    used = int(TOTAL_BYTES * (share + (at_ms - NOW_MS) / DAY_MS * 0.005)) + noise
    return LogDirSample(
        path=f"/data/d{directory}",
        error_code=0,
        total_bytes=TOTAL_BYTES,
        usable_bytes=max(0, TOTAL_BYTES - used),
        is_cordoned=False,
        is_metadata_dir=directory == 0,
        replica_count=84,
        replica_bytes=max(0, used - (1 << 30)),
        future_bytes=0,
    )
