"""The telemetry topics as streams, and the one way a query is started."""

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from logdirwatch import spark_version
from logdirwatch.jobs.checkpoint.folder import modified_ms
from logdirwatch.kafka.clients import spark_options
from logdirwatch.settings import Settings

# After the records of a batch, Spark's consumer fetches the next ones, and then, on the same connection, asks for the
# end offset: the broker answers in order, and delays the fetch for half a second while there is nothing new. That is
# half a second for each partition in each batch.
SHORT_FETCHES = {"kafka.fetch.max.wait.ms": "10"}

Trigger = Callable[[DataStreamWriter], DataStreamWriter]


def unpacked(column: Column, schema: str) -> Column:
    """Return the fields of a JSON column as columns; all null if it is not JSON.

    They are columns, not a struct: Spark would parse the JSON again for each use of a struct field.
    """
    return F.inline(F.array(F.from_json(column, schema)))


def kafka_stream(
    spark: SparkSession,
    settings: Settings,
    topics: Sequence[str],
    starting_offsets: str | None = None,
    max_records: int | None = None,
    fetches: Mapping[str, str] = SHORT_FETCHES,
) -> DataFrame:
    """Return the telemetry topics as a stream of key, value, topic, partition, offset, timestamp.

    A batch reads everything available, or ``max_records``: queries that judge by time must not see half of the past.
    """
    limits = {} if max_records is None else {"maxOffsetsPerTrigger": str(max_records)}
    return (
        spark.readStream.format("kafka")
        .options(**fetches)
        .options(**spark_options(settings.telemetry))
        .option("subscribe", ",".join(topics))
        .option("startingOffsets", starting_offsets or settings.stream.starting_offsets)
        # Monitoring must continue when retention deleted unread offsets, and must not stop at night for that.
        .option("failOnDataLoss", "false")
        .options(**limits)
        .load()
        .select("key", "value", "topic", "partition", "offset", "timestamp")
    )


def few_tasks(records: DataFrame, settings: Settings) -> DataFrame:
    """Read the many partitions of a stream in as many tasks as its shuffles have.

    A batch has few records of each: one task per partition, each with a Python worker, would cost more than the work.
    """
    return records.coalesce(settings.stream.shuffle_partitions)


KAFKA_ROWS = "topic string, key string, value string"
"""The columns of a query that writes several topics with one sink."""


def to_kafka(frame: DataFrame, settings: Settings) -> DataStreamWriter:
    """Write columns topic, key and value to the telemetry cluster."""
    return frame.writeStream.format("kafka").options(**spark_options(settings.telemetry)).outputMode("update")


def checkpoint(settings: Settings, name: str) -> str:
    """Return the checkpoint folder of a query."""
    return f"{settings.checkpoints.path.rstrip('/')}/{name}"


def last_commit_ms(spark: SparkSession, settings: Settings, names: Sequence[str]) -> int | None:
    """Return when any of the queries last ended a batch, wherever the checkpoints are; None if none ever did."""
    times = [at_ms for name in names for at_ms in modified_ms(spark, f"{checkpoint(settings, name)}/commits")]
    return max(times, default=None)


def start_query(writer: DataStreamWriter, settings: Settings, name: str, trigger: Trigger) -> StreamingQuery:
    """Start a query with its name, its own checkpoint and its trigger."""
    return trigger(writer.queryName(name).option("checkpointLocation", checkpoint(settings, name))).start()


def every(interval: str) -> Trigger:
    """Trigger a micro-batch each ``interval``."""
    return lambda writer: writer.trigger(processingTime=interval)


def real_time(batch: str) -> Trigger:
    """Run in Spark's real-time mode, with offsets committed each ``batch``."""
    return lambda writer: spark_version.in_real_time(writer, batch)
