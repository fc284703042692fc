"""One micro-batch: parsed once, summarized once, and then read by kind."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.store.tables import Span
from logdirwatch.store.writing.intake import Belief, take_in

HOUR_MS = 3_600_000
MOST_SPANS = 12


@dataclass(frozen=True)
class Batch:
    """The thin rows of a batch, and for each kind whether ids repeat and the times covered."""

    thin: DataFrame
    spans_by_kind: dict[str, list[Span]]
    repeating: frozenset[str]

    def has(self, *kinds: str) -> bool:
        """Whether there are rows of one of the kinds."""
        return any(kind in self.spans_by_kind for kind in kinds)

    def spans(self, *kinds: str) -> list[Span]:
        """Return the times covered by rows of the kinds, as few inclusive spans."""
        return joined(span for kind in kinds for span in self.spans_by_kind.get(kind, ()))

    def of(self, *kinds: str) -> DataFrame:
        """Return the rows of the kinds, one for each identity."""
        rows = self.thin.where(F.col("kind").isin(*kinds))
        return one_each(rows) if self.repeating.intersection(kinds) else rows


@contextmanager
def taken_in(records: DataFrame, believed: Belief) -> Iterator[Batch]:
    """Parse Kafka rows, and keep the result until the batch is written."""
    with held(take_in(records, believed)) as thin:
        yield looked_over(thin)


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
    """Compute the rows of a frame now, and keep them to the end of the block; see ``cut_off``."""
    kept = cut_off(frame)
    try:
        yield kept
    finally:
        release(kept)


def cut_off(frame: DataFrame) -> DataFrame:
    """Return the rows of a frame, computed now and detached from their tables, until ``release``.

    A frame that is only cached is planned again, including the search for files, whenever one of its tables is written.
    Rows kept from batch to batch would gain partitions each time; their number is limited to that of a shuffle.
    """
    partitions = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    return frame.coalesce(partitions).localCheckpoint()


def release(frame: DataFrame) -> None:
    """Free the rows of a detached frame. Spark does so itself, but only after a garbage collection."""
    frame._jdf.queryExecution().analyzed().rdd().unpersist(False)  # noqa: SLF001 - PySpark has no public method for it


def looked_over(thin: DataFrame) -> Batch:
    """Return the batch of some thin rows; one pass over them."""
    things = thin.groupBy("kind", "identity").agg(
        F.count("*").alias("rows"), F.min("at_ms").alias("from_ms"), F.max("at_ms").alias("to_ms")
    )
    hours = (
        things.groupBy("kind", F.floor(F.col("from_ms") / HOUR_MS))
        .agg(F.max("rows").alias("rows"), F.min("from_ms").alias("from_ms"), F.max("to_ms").alias("to_ms"))
        .collect()
    )
    spans: defaultdict[str, list[Span]] = defaultdict(list)
    for hour in hours:
        spans[hour["kind"]].append((hour["from_ms"], hour["to_ms"]))
    return Batch(thin, dict(spans), frozenset(hour["kind"] for hour in hours if hour["rows"] > 1))


def one_each(thin: DataFrame) -> DataFrame:
    """Return one row for each kind and identity: the highest rank, then the first in Kafka."""
    order = Window.partitionBy("kind", "identity").orderBy(F.desc("rank"), "partition", "offset")
    return thin.withColumn("place", F.row_number().over(order)).where(F.col("place") == 1).drop("place")


def joined(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, merging those less than an hour apart, and then the nearest until few are left.

    >>> joined([(10, 20), (0, 5), (10 * 3_600_000, 10 * 3_600_000)])
    [(0, 20), (36000000, 36000000)]
    """
    whole: list[Span] = []
    for low, high in sorted(spans):
        if whole and low - whole[-1][1] < HOUR_MS:
            whole[-1] = (whole[-1][0], max(whole[-1][1], high))
        else:
            whole.append((low, high))
    while len(whole) > MOST_SPANS:
        at = min(range(1, len(whole)), key=lambda place: whole[place][0] - whole[place - 1][1])
        whole[at - 1 : at + 1] = [(whole[at - 1][0], whole[at][1])]
    return whole
