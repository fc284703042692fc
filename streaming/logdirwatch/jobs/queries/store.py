"""The query ``store``: every topic but the inventory in, Delta tables out."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from logdirwatch.jobs.streams import SHORT_FETCHES, every, few_tasks, kafka_stream, start_query
from logdirwatch.model import topics
from logdirwatch.settings import Settings
from logdirwatch.store.tables import Tables, short_errors
from logdirwatch.store.writing.intake import Belief
from logdirwatch.store.writing.small_batch import Note, forget
from logdirwatch.store.writing.store import WRITTEN, write_records

NAME = "store"
TOPICS = (
    topics.METRICS,
    topics.EVENTS,
    topics.STATE,
    topics.ALERTS,
    topics.ACTIONS,
    topics.DECISIONS,
    topics.EXECUTIONS,
)
"""A checkpoint of an earlier release lacks the last one: Spark reads such a topic from its beginning."""

# An execution whose process was fenced noted an intent that it never carried out.
COMMITTED = {"kafka.isolation.level": "read_committed"}


def start(spark: SparkSession, settings: Settings, note: Note = forget) -> StreamingQuery:
    """Create missing tables and start the query; ``note`` gets the rejected records of a batch."""
    tables = Tables(spark, settings)
    tables.create_missing(WRITTEN)
    believed = Belief(settings.default_cluster, settings.detect.clock_skew_ms)

    def write(records: DataFrame, batch_id: int) -> None:
        with short_errors(NAME, batch_id):
            note(write_records(records, believed, tables.in_session(records.sparkSession)))

    # After a burst or a long downtime there may be more than fits in a batch.
    limit = settings.stream.store_max_records
    records = kafka_stream(spark, settings, TOPICS, max_records=limit, fetches={**SHORT_FETCHES, **COMMITTED})
    writer = few_tasks(records, settings).writeStream.foreachBatch(write)
    return start_query(writer, settings, NAME, every(settings.stream.store_trigger))
