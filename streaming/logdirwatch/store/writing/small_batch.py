"""A micro-batch that is small: collected by one Spark job, and parsed by the driver."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.model.evidence.stream import RejectedRows
from logdirwatch.store.rows.thin import Placed, Position
from logdirwatch.store.writing.intake import Belief, thin_rows


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


MOST_BYTES = 96 << 20
"""The size of the keys and values of a small batch: what 2,000 brokers with twelve directories send in 30 s is one."""

# Only the driver can add up sizes before anything else runs, so each task sends it a bounded number of bounded records.
MOST_TASK_ROWS = 8_192
MOST_RECORD_BYTES = 64 << 10
# Java copies what a job returns several times, and clears that away: more work than to compress it before. Spark 4.0
# and 4.1 do not know the codec.
_COMPRESSED = {
    "spark.sql.execution.arrow.compression.codec": "zstd",
    "spark.sql.execution.arrow.compression.zstd.level": "1",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "512",
}
MOST_REASONS = 20
SIZED = ("key", "value")
_ROW_BYTES = 1 << 10  # what a record needs besides its key and value
_NUMBER_IN_TASK = (1 << 33) - 1  # the lower bits of monotonically_increasing_id


Note = Callable[[Sequence[RejectedRows]], None]


def forget(_: Sequence[RejectedRows]) -> None:
    """Do nothing."""


class Limits(NamedTuple):
    """How many rows each task sends to the driver, how large each of them is, and all of them."""

    task_rows: int
    row_bytes: int
    bytes: int


@dataclass(frozen=True)
class SmallBatch:
    """The thin rows of a batch, one for each identity, by kind."""

    by_kind: dict[str, list[Placed]]

    def of(self, kind: str) -> list[Placed]:
        """Return the rows of a kind."""
        return self.by_kind.get(kind, [])

    def has(self, *kinds: str) -> bool:
        """Whether there are rows of one of the kinds."""
        return any(kind in self.by_kind for kind in kinds)

    def joined(self, others: Iterable[Placed]) -> "SmallBatch":
        """Return this batch with other thin rows."""
        return newest(chain(*self.by_kind.values(), others))

    def rejected(self, topic: str | None = None) -> list[RejectedRows]:
        """Return the rejected records by topic and reason, or of one topic, most frequent first."""
        found: defaultdict[tuple[str, str], list[Position]] = defaultdict(list)
        for thin, position in self.of("rejected"):
            if topic is None or position.topic == topic:
                found[position.topic, thin.reason or ""].append(position)
        counted = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
        return [_rejected(topic, reason, positions) for (topic, reason), positions in counted[:MOST_REASONS]]


def _rejected(topic: str, reason: str, positions: list[Position]) -> RejectedRows:
    first = min(positions, key=lambda position: position[1:3])
    example = f"{topic}/{first.partition}/{first.offset}"
    return RejectedRows(topic=topic, reason=reason, rows=len(positions), example=example)


def batches(records: DataFrame, believed: Belief) -> Iterator[SmallBatch]:
    """Yield the batch of Kafka rows, in several parts if it is not small; each partition stays in its order."""
    time = F.unix_millis("timestamp").alias("kafka_timestamp_ms")
    rows = records.select("topic", "partition", "offset", time, "key", "value")
    small = fetched(rows, SIZED)
    for part in (small,) if small is not None else _parts(rows):
        values = part.select(Position._fields).to_pydict().values()
        yield by_kind(map(Position._make, zip(*values, strict=True)), believed)


def _parts(rows: DataFrame) -> Iterator[pa.Table]:
    """Yield Kafka rows in parts that are small, or have one record of a partition."""
    partitions = rows.select("topic", "partition").distinct().count()
    size = sum((F.coalesce(F.length(name), F.lit(0)) for name in SIZED), F.lit(_ROW_BYTES))
    before = F.sum(size).over(Window.partitionBy("topic", "partition").orderBy("offset")) - size
    with held(rows.withColumn("part", F.floor(before * partitions / F.lit(MOST_BYTES)))) as parted:
        last = parted.agg(F.max("part")).first()
        for number in range(last[0] + 1 if last else 0):
            with compressed(rows.sparkSession):
                yield parted.where(F.col("part") == number).select(*rows.columns).toArrow()


def fetched(frame: DataFrame, sized: Sequence[str], limits: Limits | None = None) -> pa.Table | None:
    """Return the rows of a frame, or None if they are not small; the columns ``sized`` may be large."""
    limits = limits or Limits(MOST_TASK_ROWS, MOST_RECORD_BYTES, MOST_BYTES)
    with compressed(frame.sparkSession):
        rows = _few(frame, sized, limits).toArrow()
    fits, number = rows.column("fits"), rows.column("number")
    if not pc.all(fits).as_py() and rows.num_rows:
        return None
    if (pc.max(number).as_py() or 0) >= limits.task_rows or rows.nbytes > limits.bytes:
        return None
    return rows.select(frame.columns)


@contextmanager
def compressed(spark: SparkSession) -> Iterator[None]:
    """Have the session compress what its jobs return as Arrow."""
    before = {key: spark.conf.get(key, None) for key in _COMPRESSED}
    for key, value in _COMPRESSED.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, known in before.items():
            _restore(spark, key, known)


def _restore(spark: SparkSession, key: str, value: str | None) -> None:
    if value is None:
        spark.conf.unset(key)
    else:
        spark.conf.set(key, value)


def _few(frame: DataFrame, sized: Sequence[str], limits: Limits) -> DataFrame:
    """Return the first rows of each task, without the large columns of those that are large."""
    size = sum((F.coalesce(F.length(name), F.lit(0)) for name in sized), F.lit(0))
    fits = size <= limits.row_bytes
    number = F.monotonically_increasing_id().bitwiseAND(F.lit(_NUMBER_IN_TASK))
    bounded = (F.when(fits, F.col(name)).alias(name) if name in sized else F.col(name) for name in frame.columns)
    return frame.select(*bounded, fits.alias("fits"), number.alias("number")).where(F.col("number") <= limits.task_rows)


def by_kind(positions: Iterable[Position], believed: Belief) -> SmallBatch:
    """Parse Kafka records."""
    return newest(Placed(thin, position) for position in positions for thin in thin_rows(position, believed))


def newest(rows: Iterable[Placed]) -> SmallBatch:
    """Return a batch of thin rows; of two of one identity the higher rank stays, then the earlier in Kafka."""
    best: dict[tuple[str, str], Placed] = {}
    for placed in rows:
        key = placed.thin.kind, placed.thin.identity
        known = best.get(key)
        if known is None or _order(placed) < _order(known):
            best[key] = placed
    found: defaultdict[str, list[Placed]] = defaultdict(list)
    for placed in best.values():
        found[placed.thin.kind].append(placed)
    return SmallBatch(dict(found))


def _order(placed: Placed) -> tuple[int, int, int]:
    return -placed.thin.rank, placed.position.partition, placed.position.offset
