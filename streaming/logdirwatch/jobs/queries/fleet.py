"""The query ``fleet``: states of brokers and executions in, alerts about clusters out.

Kafka to Kafka, no table on this path.
"""

from collections.abc import Iterable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StringType, StructField, StructType

from logdirwatch.fleet import memory
from logdirwatch.jobs.processors import STATE_SCHEMA, ClusterProcessor
from logdirwatch.jobs.queries.start_state import has_checkpoint, last_alerts
from logdirwatch.jobs.streams import KAFKA_ROWS, SHORT_FETCHES, every, few_tasks, kafka_stream, start_query, to_kafka
from logdirwatch.model import topics
from logdirwatch.model.records import AlertRecord
from logdirwatch.settings import Settings
from logdirwatch.spark_version import transform_with_state

NAME = "fleet"
TOPICS = (topics.STATE, topics.EXECUTIONS)
# What a process had not committed when it was fenced or killed was not done.
_COMMITTED = {**SHORT_FETCHES, "kafka.isolation.level": "read_committed"}

# A tombstone has only its key; ten digits are enough for every broker id.
_KEY = r"(?s)^(.+)/(\d{1,10})$"


def keyed(records: DataFrame) -> DataFrame:
    """Add the cluster, of a state's key ``cluster/broker`` or of an execution; ``store`` keeps what has none."""
    of_state = F.regexp_extract(F.col("key").cast("string"), _KEY, 1)
    of_execution = F.get_json_object(F.col("value").cast("string"), "$.cluster")
    cluster = F.when(F.col("topic") == topics.EXECUTIONS, of_execution).otherwise(of_state)
    return records.select(
        cluster.alias("cluster"),
        *("topic", "partition", "offset", "key", "value"),
        F.unix_millis("timestamp").alias("timestamp_ms"),
    ).where(F.col("cluster") != "")


def judged(records: DataFrame, settings: Settings, memories: DataFrame | None = None) -> DataFrame:
    """Return the rows topic, key, value that ``fleet`` writes; ``memories`` is its initial state."""
    processor = ClusterProcessor(settings.fleet, settings.detect)
    initial = None if memories is None else memories.groupBy("cluster")
    rows: DataFrame = transform_with_state(keyed(records).groupBy("cluster"), processor, KAFKA_ROWS, initial)
    return rows


def memories_of(spark: SparkSession, alerts: Iterable[AlertRecord]) -> DataFrame | None:
    """Return the memories (cluster, version, body) from the last revisions of alerts; None if none fires."""
    rows = [(known.cluster, memory.MEMORY_VERSION, memory.encode(known)) for known in memory.restored(alerts)]
    schema = StructType([StructField("cluster", StringType()), *STATE_SCHEMA.fields])
    return spark.createDataFrame(rows, schema) if rows else None


def start(spark: SparkSession, settings: Settings) -> StreamingQuery:
    """Start the query; without a checkpoint it continues with its firing alerts."""
    memories = None
    if not has_checkpoint(spark, settings, NAME):
        memories = memories_of(spark, last_alerts(spark, settings, memory.RULES))
    records = few_tasks(kafka_stream(spark, settings, TOPICS, fetches=_COMMITTED), settings)
    rows = judged(records, settings, memories)
    return start_query(to_kafka(rows, settings), settings, NAME, every(settings.stream.fleet_trigger))
