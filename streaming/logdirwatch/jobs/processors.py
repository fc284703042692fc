"""The thin Spark adapters of the judges of shards and of clusters, and the schemas of their state.

As types: for a string every task would ask the JVM, for each state, in each batch.
"""

from pyspark.sql import Column, Row
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

from logdirwatch.detect.spark.judge import ShardJudge
from logdirwatch.detect.spark.shard import NEIGHBOURS, SHARDS
from logdirwatch.fleet.judge import ClusterJudge

STATE_SCHEMA = StructType([StructField("version", IntegerType()), StructField("body", StringType())])
"""One memory: the version of its form, and the memory as JSON."""

SHARD_SCHEMA = StructType(
    [
        StructField("version", IntegerType()),
        StructField("length_bytes", IntegerType()),
        StructField("body", BinaryType()),
    ]
)
"""The memories of a shard: the version of their form, their length before compression, and what was compressed."""


def kafka_row(topic: str, key: str, value: str | None) -> Row:
    """Return the row of a record that a processor writes."""
    return Row(topic=topic, key=key, value=value)


class ShardProcessor(ShardJudge, StatefulProcessor):
    """See :class:`ShardJudge`."""

    schema = SHARD_SCHEMA
    made = staticmethod(kafka_row)


def shard_of(broker: Column) -> Column:
    """Return the shard of a broker."""
    return F.pmod(F.floor(broker / NEIGHBOURS), F.lit(SHARDS))


class ClusterProcessor(ClusterJudge, StatefulProcessor):
    """See :class:`ClusterJudge`."""

    schema = STATE_SCHEMA
    made = staticmethod(kafka_row)
