"""What Spark keeps as state. As types: of a text every task asks the JVM, for each of its states, in each batch."""

from pyspark.sql.types import IntegerType, StringType, StructField, StructType

STATE_SCHEMA = StructType([StructField("version", IntegerType()), StructField("body", StringType())])
"""One memory: the version of its form, and the memory as JSON."""
