"""How ``store`` writes a batch: without Spark if it is small and the tables allow it, otherwise by Spark's merges."""

from pyspark.sql import DataFrame

from logdirwatch.model.evidence.stream import RejectedRows
from logdirwatch.store.tables import Tables
from logdirwatch.store.writing.batch import taken_in
from logdirwatch.store.writing.direct import write_small
from logdirwatch.store.writing.history import write_batch
from logdirwatch.store.writing.intake import Belief
from logdirwatch.store.writing.rejects import rejected_rows
from logdirwatch.store.writing.small_batch import collected
from logdirwatch.store.writing.unless_for_spark import unless_for_spark


def write_records(records: DataFrame, believed: Belief, tables: Tables) -> list[RejectedRows]:
    """Write Kafka rows; return the rejected ones."""
    if tables.are_direct():
        small = collected(records, believed)
        if small is not None and unless_for_spark(lambda: write_small(small, tables.direct)):
            return small.rejected()
    with taken_in(records, believed) as batch:
        write_batch(batch, tables)
        return rejected_rows(batch)
