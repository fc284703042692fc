"""The schema of Spark's state. As types: for a string every task would ask the JVM, for each state, in each batch."""

from pyspark.sql.types import IntegerType, StringType, StructField, StructType

STATE_SCHEMA = StructType([StructField("version", IntegerType()), StructField("body", StringType())])
"""One memory: the version of its form, and the memory as JSON."""
