"""The schemas of Spark's state. As types: for a string every task would ask the JVM, for each state, in each batch."""

from pyspark.sql import Row
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

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
