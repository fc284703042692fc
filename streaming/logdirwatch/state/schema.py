"""The schemas of Spark's state. As types: for a string every task would ask the JVM, for each state, in each batch."""

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
