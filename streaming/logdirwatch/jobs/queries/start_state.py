"""The initial state of ``detect`` without a checkpoint: from ``logdir.state`` or, if that is empty, ``broker_state``.

A state record has the machine's memory and the input offsets that it covers. The query continues from the lowest of
them; older records change nothing, firing alerts are not raised again, and heartbeats keep rising.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import structlog
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.detect.pipeline import heartbeats, queries
from logdirwatch.detect.spark.judge import HEARTBEAT_BROKER, PIPELINE_BROKER
from logdirwatch.detect.state.broker_state import MEMORY_VERSION
from logdirwatch.jobs.checkpoint.folder import Folder, modified_ms
from logdirwatch.jobs.streams import SHORT_FETCHES, checkpoint, unpacked
from logdirwatch.kafka.clients import admin, read_all, spark_options
from logdirwatch.model import topics
from logdirwatch.model.records import SILENT, AlertRecord
from logdirwatch.model.vocabulary import NO_CLUSTER, PIPELINE_RULES, Rule
from logdirwatch.parse.reading import RecordReader, logged
from logdirwatch.parse.records import Rejected, parse
from logdirwatch.settings import Settings
from logdirwatch.spark_version import by_connect
from logdirwatch.store.schema.definitions import BROKER_STATE
from logdirwatch.store.tables import Tables

log = structlog.get_logger(__name__)

EARLIEST = -2
_IN_ALERTS = (*PIPELINE_RULES, Rule.HEARTBEAT)
_NEEDED = (
    "cluster string, broker bigint, reason string, is_silent boolean, positions map<string,bigint>, machine string"
)


class StartState(NamedTuple):
    """The initial memories (cluster, broker, version, body), and the offsets to continue from, as Spark's JSON."""

    memories: DataFrame
    starting_offsets: str


def start_state(spark: SparkSession, settings: Settings, name: str, sources: Sequence[str]) -> StartState | None:
    """Return the initial state of a query without a checkpoint; None with one, or if no state was ever written."""
    if has_checkpoint(spark, settings, name):
        return None
    for place, records in (("logdir.state", _from_topic), ("broker_state", _from_table)):
        found = records(spark, settings)
        if found is None:
            continue
        states = parsed_states(found).persist()
        if count := states.count():
            log.warning("detect.started_from_state", reason="no checkpoint", read_from=place, brokers=count)
            offsets = starting_offsets(lowest_positions(states), _partitions(settings, sources))
            memories = with_memories_from_alerts(spark, memories_of(states), last_alerts(spark, settings, _IN_ALERTS))
            return StartState(memories, json.dumps(offsets))
        states.unpersist()
    return None


def has_checkpoint(spark: SparkSession, settings: Settings, name: str) -> bool:
    """Tell whether a query of that name ever planned a batch, wherever its checkpoint is."""
    return bool(modified_ms(spark, f"{checkpoint(settings, name)}/offsets"))


def _from_topic(spark: SparkSession, settings: Settings) -> DataFrame | None:
    """Return the last value of every key, null for a tombstone; None if the topic is empty."""
    if _is_empty(settings, topics.STATE):
        return None
    return _records(spark, settings, topics.STATE).groupBy("key").agg(F.max_by("record", "offset").alias("record"))


def _is_empty(settings: Settings, topic: str) -> bool:
    """Tell whether a topic has no records: the very first start would run two Spark jobs for nothing."""
    return next(read_all(settings.telemetry, topic), None) is None


def _records(spark: SparkSession, settings: Settings, topic: str) -> DataFrame:
    """Return key, offset and record (JSON, null for a tombstone) of everything in a topic that can be read."""
    found = (
        spark.read.format("kafka")
        .options(**SHORT_FETCHES)
        .options(**spark_options(settings.telemetry))
        .option("subscribe", topic)
        .option("failOnDataLoss", "false")
        .load()
    )
    return readable(found.select("key", "offset", "value"), topic)


def readable(rows: DataFrame, topic: str) -> DataFrame:
    """Return the rows (key, offset, value) that the parser accepts, with ``record`` for the value.

    What it does not accept hides no earlier record of its key; ``store`` counts and keeps it.
    """
    return rows.mapInArrow(partial(readable_batches, topic=topic), "key binary, offset bigint, record string")


def readable_batches(batches: Iterator[pa.RecordBatch], topic: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows that the parser accepts, a batch for each of ``batches``."""
    for batch in batches:
        rows = zip(*(batch.column(name).to_pylist() for name in ("key", "offset", "value")), strict=True)
        read = [(k, o, None if v is None else v.decode()) for k, o, v in rows if _is_readable(topic, k, v)]
        columns = zip(*read, strict=True) if read else ([], [], [])
        arrays = [pa.array(values, field.type) for values, field in zip(columns, _READ, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=_READ)


_READ = pa.schema([("key", pa.binary()), ("offset", pa.int64()), ("record", pa.string())])


def _is_readable(topic: str, key: bytes | None, value: bytes | None) -> bool:
    return not isinstance(parse(topic, key, value, -1, ""), Rejected)


def last_alerts(spark: SparkSession, settings: Settings, rules: Iterable[Rule]) -> list[AlertRecord]:
    """Return the last revision of every alert of some rules: no state record carries them."""
    if _is_empty(settings, topics.ALERTS):
        return []
    is_about_them = F.get_json_object("record", "$.rule").isin([str(rule) for rule in rules])
    found = _records(spark, settings, topics.ALERTS).where(is_about_them)
    last = found.groupBy("key").agg(F.max_by("record", "offset").alias("last")).collect()
    return RecordReader(logged).stored(AlertRecord, (row["last"] for row in last))


def with_memories_from_alerts(spark: SparkSession, memories: DataFrame, alerts: Iterable[AlertRecord]) -> DataFrame:
    """Return the memories of brokers with those of the stream's own queries and of heartbeats, from alerts."""
    rows = memories_from_alerts(list(alerts))
    return memories.unionByName(spark.createDataFrame(rows, memories.schema)) if rows else memories


def memories_from_alerts(alerts: Sequence[AlertRecord]) -> list[tuple[str, int, int, str]]:
    """Return the memories (cluster, broker, version, body) that no state record has, from the last alerts."""
    beats = heartbeats.restored(alerts)
    found = [
        (cluster, HEARTBEAT_BROKER, heartbeats.MEMORY_VERSION, heartbeats.CODEC.encode(beat))
        for cluster, beat in sorted(beats.items())
    ]
    own = queries.restored(alerts)
    if own.queries:
        found.append((NO_CLUSTER, PIPELINE_BROKER, queries.MEMORY_VERSION, queries.CODEC.encode(own)))
    return found


def _from_table(spark: SparkSession, settings: Settings) -> DataFrame | None:
    """Return the stored records; None if the table was created but never written."""
    if by_connect():  # no query that runs there writes tables
        return None
    log_folder = f"{settings.tables_path.rstrip('/')}/{BROKER_STATE.name}/_delta_log"
    if settings.tables.catalog is None and len(Folder(spark, log_folder).names()) <= 1:
        return None
    try:
        return Tables(spark, settings).read(BROKER_STATE).select("record")
    except AnalysisException:
        return None


def parsed_states(records: DataFrame) -> DataFrame:
    """Return the fields of state records that a start needs (``record``: their JSON, or null)."""
    known = records.where(F.col("record").isNotNull())
    return known.select(unpacked(F.col("record"), _NEEDED)).where(F.col("machine").isNotNull())


def memories_of(states: DataFrame) -> DataFrame:
    """Return the memories of parsed states as the initial state of ``detect``."""
    return states.select("cluster", "broker", F.lit(MEMORY_VERSION).alias("version"), F.col("machine").alias("body"))


def lowest_positions(states: DataFrame) -> list[Row]:
    """Return the lowest position of each input partition.

    Silent brokers do not count: their last state was written when nothing had arrived from them for long, and starting
    there would read days again.
    """
    # Records of 0.2.0 say it in the reason only; read so as long as states of 0.2.0 may be on the topic.
    is_heard = F.coalesce(~F.col("is_silent"), ~F.col("reason").startswith(SILENT), F.lit(True))
    positions = states.where(is_heard).select(F.explode("positions").alias("source", "offset"))
    return positions.groupBy("source").agg(F.min("offset").alias("offset")).collect()


def _partitions(settings: Settings, sources: Sequence[str]) -> dict[str, int]:
    with admin(settings.telemetry) as client:
        return {topic["name"]: len(topic["partitions"]) for topic in client.describe_topics(list(sources))}


def starting_offsets(lowest: Sequence[Row], partitions: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Return the next offset of every partition of every topic; the earliest if no state has one."""
    known = {row["source"]: row["offset"] + 1 for row in lowest}
    return {
        topic: {str(number): known.get(f"{topic}/{number}", EARLIEST) for number in range(count)}
        for topic, count in partitions.items()
    }
