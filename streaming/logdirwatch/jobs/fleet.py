"""The query ``fleet``: states of brokers in, alerts about clusters out. Kafka to Kafka, no table on this path."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it
from pyspark.sql.streaming.query import StreamingQuery

from logdirwatch.fleet.processor import ClusterProcessor
from logdirwatch.jobs.session import KAFKA_ROWS, every, few_tasks, kafka_stream, start_query, to_kafka
from logdirwatch.model import topics
from logdirwatch.settings import Settings

NAME = "fleet"
TOPICS = (topics.STATE,)

# A tombstone has nothing but its key; ten digits hold every broker id.
_KEY = r"(?s)^(.+)/(\d{1,10})$"


def keyed(records: DataFrame) -> DataFrame:
    """Add the cluster that a record's key ``cluster/broker`` names; one with another key is ``store``'s to reject."""
    key = F.col("key").cast("string")
    return records.select(
        F.regexp_extract(key, _KEY, 1).alias("cluster"),
        *("topic", "partition", "offset", "key", "value"),
        F.unix_millis("timestamp").alias("timestamp_ms"),
    ).where(F.col("cluster") != "")


def judged(records: DataFrame, settings: Settings) -> DataFrame:
    """Return the rows topic, key, value that the judgement writes."""
    return (
        keyed(records)
        .groupBy("cluster")
        .transformWithState(
            statefulProcessor=ClusterProcessor(settings.fleet, settings.detect),
            outputStructType=KAFKA_ROWS,
            outputMode="update",
            timeMode="processingTime",
        )
    )


def start(spark: SparkSession, settings: Settings) -> StreamingQuery:
    """Start the query."""
    records = few_tasks(kafka_stream(spark, settings, TOPICS), settings)
    rows = judged(records, settings)
    return start_query(to_kafka(rows, settings), settings, NAME, every(settings.stream.fleet_trigger))
