"""Rejected records of a batch, counted by topic and reason, with an example of each."""

from collections.abc import Callable, Sequence

from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.model.evidence.stream import RejectedRows
from logdirwatch.store.writing.batch import Batch

MOST_REASONS = 20

Note = Callable[[Sequence[RejectedRows]], None]


def forget(_: Sequence[RejectedRows]) -> None:
    """Do nothing."""


def rejected_rows(batch: Batch, topic: str | None = None) -> list[RejectedRows]:
    """Return the rejected records of a batch, or of one topic in it, the most frequent reasons first."""
    if not batch.has("rejected"):
        return []
    rows = batch.of("rejected").where(F.lit(True) if topic is None else F.col("topic") == topic)
    first = F.min(F.struct("partition", "offset"))
    counted = rows.groupBy("topic", "reason").agg(F.count("*").alias("rows"), first.alias("first"))
    found = counted.orderBy(F.desc("rows"), "topic", "reason").limit(MOST_REASONS).collect()
    return [
        RejectedRows(
            topic=row["topic"],
            reason=row["reason"],
            rows=row["rows"],
            example=f"{row['topic']}/{row['first']['partition']}/{row['first']['offset']}",
        )
        for row in found
    ]
