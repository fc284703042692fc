"""The query ``detect``: metrics, events, decisions in, alerts and state out. Kafka to Kafka, no table on this path."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it
from pyspark.sql.streaming.query import StreamingQuery

from logdirwatch.clock import wall_ms
from logdirwatch.detect.spark.judge import HEARTBEAT_BROKER, PIPELINE_BROKER
from logdirwatch.detect.spark.shard import VARIABLES
from logdirwatch.jobs.checkpoint import unusable
from logdirwatch.jobs.processors import ShardProcessor, shard_of
from logdirwatch.jobs.queries.start_state import start_state
from logdirwatch.jobs.session import without_empty_batches
from logdirwatch.jobs.streams import (
    KAFKA_ROWS,
    checkpoint,
    every,
    few_tasks,
    kafka_stream,
    start_query,
    to_kafka,
    unpacked,
)
from logdirwatch.model import topics
from logdirwatch.model.vocabulary import NO_CLUSTER
from logdirwatch.settings import Settings
from logdirwatch.spark_version import transform_with_state

NAME = "detect"
TOPICS = (topics.METRICS, topics.EVENTS, topics.DECISIONS)

# The parts of a broker's state resemble each other and those of other brokers, and it is written again each
# ``detect.state_refresh_ms``. Of Kafka's codecs, gzip is the one that every client reads without a further library.
# Kafka's default for a batch, 16 KiB, is less than one record.
SENT_TOGETHER = {"kafka.compression.type": "gzip", "kafka.batch.size": str(256 << 10), "kafka.linger.ms": "5"}

_BEGINNING = r'^\{"type":"(?:metrics|host)","version":\d+,"cluster":"([^"\\]+)","broker":(\d{1,9}),'
"""How the records of the project's own collectors begin."""
_BEGINNING_BYTES = 400


def keyed(records: DataFrame, default_cluster: str) -> DataFrame:
    """Add the key (cluster, broker) to raw records; those without a broker are not for ``detect``.

    Spark's JSON parser reads a record to its end, which costs as much as the rest of its way to Python. Most records
    are recognized by their beginning.
    """
    beginning = F.substring("value", 1, _BEGINNING_BYTES).cast("string")
    is_recognized = F.col("begins_with_broker") != ""
    text = F.when(is_recognized, F.lit("{}")).otherwise(F.col("value").cast("string"))
    peek = unpacked(text, "type string, cluster string, broker bigint")
    is_pipeline = F.col("peek_type") == "pipeline"
    cluster = (
        F.when(is_recognized, F.col("begins_with_cluster"))
        .when(is_pipeline, F.lit(NO_CLUSTER))
        .otherwise(F.col("peek_cluster"))
    )
    broker = (
        F.when(is_recognized, F.col("begins_with_broker").cast("bigint"))
        .when(is_pipeline, F.lit(PIPELINE_BROKER))
        .when(F.col("peek_type") == "heartbeat", F.lit(HEARTBEAT_BROKER))
        .otherwise(F.col("peek_broker"))
    )
    return (
        records.select(
            "*",
            F.regexp_extract(beginning, _BEGINNING, 1).alias("begins_with_cluster"),
            F.regexp_extract(beginning, _BEGINNING, 2).alias("begins_with_broker"),
        )
        .select("*", peek.alias("peek_type", "peek_cluster", "peek_broker"))
        .select(
            F.coalesce(cluster, F.lit(default_cluster)).alias("cluster"),
            broker.alias("broker"),
            "topic",
            "partition",
            "offset",
            F.unix_millis("timestamp").alias("timestamp_ms"),
            "value",
        )
        .where(F.col("broker").isNotNull())
    )


def by_shard(memories: DataFrame) -> DataFrame:
    """Return one row per shard, with the memories of its brokers as JSON: Spark hands one row at a time over."""
    every_one = F.to_json(F.collect_list(F.struct("broker", "version", "body")))
    return memories.groupBy("cluster", shard_of(F.col("broker")).alias("shard")).agg(every_one.alias("memories"))


def judged(records: DataFrame, settings: Settings, memories: DataFrame | None = None) -> DataFrame:
    """Return the rows topic, key, value that the state machine writes; ``memories`` is its initial state."""
    processor = ShardProcessor(settings.detect, settings.default_cluster)
    grouped = (
        keyed(records, settings.default_cluster)
        .withColumn("shard", shard_of(F.col("broker")))
        .groupBy("cluster", "shard")
    )
    initial = None if memories is None else by_shard(memories).groupBy("cluster", "shard")
    rows: DataFrame = transform_with_state(grouped, processor, KAFKA_ROWS, initial)
    return rows


def start(spark: SparkSession, settings: Settings) -> StreamingQuery:
    """Start the query, in a session of its own."""
    spark = without_empty_batches(spark, settings)
    unusable.set_aside(spark, checkpoint(settings, NAME), VARIABLES, wall_ms())
    begin = start_state(spark, settings, NAME, TOPICS)
    memories, offsets = begin or (None, None)
    records = few_tasks(kafka_stream(spark, settings, TOPICS, offsets), settings)
    writer = to_kafka(judged(records, settings, memories), settings).options(**SENT_TOGETHER)
    return start_query(writer, settings, NAME, every(settings.stream.detect_trigger))
