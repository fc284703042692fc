"""The query ``store_inventory``: inventory and state in, the tables of replicas and partitions out."""

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from logdirwatch.jobs.streams import every, few_tasks, kafka_stream, start_query
from logdirwatch.model import topics
from logdirwatch.settings import Settings
from logdirwatch.store.tables import Tables, short_errors
from logdirwatch.store.writing.intake import Belief
from logdirwatch.store.writing.inventory import READ, WRITTEN, InventoryWriter
from logdirwatch.store.writing.small_batch import Note, forget
from logdirwatch.store.writing.tally import Replicas, Tally

NAME = "store_inventory"
TOPICS = (topics.INVENTORY, topics.STATE)


def start(
    spark: SparkSession, settings: Settings, note: Note = forget, tell: Callable[[Replicas], None] | None = None
) -> StreamingQuery:
    """Create missing tables and start the query.

    ``note`` gets the rejected records of a batch, ``tell`` the number of replicas of each broker by status.
    """
    tables = Tables(spark, settings)
    tables.create_missing((*WRITTEN, *READ))
    believed = Belief(settings.default_cluster, settings.detect.clock_skew_ms)
    inventory = InventoryWriter(believed, note, None if tell is None else Tally(tell))

    def write(records: DataFrame, batch_id: int) -> None:
        with short_errors(NAME, batch_id):
            inventory.write(records, tables.in_session(records.sparkSession))

    writer = few_tasks(kafka_stream(spark, settings, TOPICS), settings).writeStream.foreachBatch(write)
    return start_query(writer, settings, NAME, every(settings.stream.store_inventory_trigger))
