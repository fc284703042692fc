"""Rows that Spark keeps while they are used more than once."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame


@contextmanager
def held(frame: DataFrame) -> Iterator[DataFrame]:
    """Cache the rows of a frame that reads no table, from its first use to the end of the block."""
    kept = frame.persist()
    try:
        yield kept
    finally:
        kept.unpersist()


@contextmanager
def computed(frame: DataFrame) -> Iterator[DataFrame]:
    """Compute the rows of a frame now, and keep them, detached from their tables, to the end of the block.

    A frame that is only cached is planned again, including the search for files, whenever one of its tables is written.
    Spark frees the rows itself, but only after a garbage collection.
    """
    partitions = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    kept = frame.coalesce(partitions).localCheckpoint()
    try:
        yield kept
    finally:
        kept._jdf.queryExecution().analyzed().rdd().unpersist(False)  # noqa: SLF001 - PySpark has no public method
