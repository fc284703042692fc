"""Topic records as rows of ``topic_state``, with the health that follows. DataFrame in, DataFrame out."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.store.rows.history import fields, shaped
from logdirwatch.store.rows.plain import SOURCE_NAMES
from logdirwatch.store.schema.definitions import TOPIC_STATE

_PLACE = ("cluster", "name", "number")
OF_TOPIC = ("is_internal", "configs", "overridden")
OF_PARTITION = (
    *("replicas", "isr", "offline_replicas", "elr", "last_known_elr", "adding", "removing"),
    *("groups", "slowest_group", "unread_ratio"),
)
MIN_ISR = "min.insync.replicas"
_WHEN = ("inventory_at_ms", *SOURCE_NAMES)
VALUES = tuple(name for name in TOPIC_STATE.names if name not in (*TOPIC_STATE.key, *_WHEN))


def partition_rows(parts: DataFrame) -> DataFrame:
    """Return the rows of ``topic_state`` that parts of topics hold (``scans.topic_parts``), the newest of each."""
    # Without its partitions: each of them would carry all of them through the shuffle.
    of_topic = parts.withColumn("p", F.explode("r.partitions")).withColumn("r", F.struct(*(f"r.{n}" for n in OF_TOPIC)))
    exploded = of_topic.select("cluster", "name", F.col("p.partition").alias("number"), "at_ms", "source", "r", "p")
    newest = (
        exploded.groupBy(*_PLACE).agg(F.max_by(F.struct("*"), F.struct("at_ms", "source")).alias("n")).select("n.*")
    )
    return shaped(newest, TOPIC_STATE, {**_stated(), **_health()})


def _stated() -> dict[str, Column]:
    leader = F.col("p.leader")
    return {
        "cluster": F.col("cluster"),
        "topic": F.col("name"),
        "partition": F.col("number"),
        "leader": F.when(leader >= 0, leader),
        **fields("p", OF_PARTITION),
        **fields("r", OF_TOPIC),
        "inventory_at_ms": F.col("at_ms"),
        **{name: F.col(f"source.{name.removeprefix('source_')}") for name in SOURCE_NAMES},
    }


def _health() -> dict[str, Column]:
    """Return the health columns, as defined by ``collect.health``: live replicas against the effective minimum."""
    replicas = F.size("p.replicas")
    live = F.size(F.array_except("p.isr", "p.offline_replicas"))
    configured = F.expr(f"try_cast(r.configs['{MIN_ISR}'] AS int)")
    needed = F.least(configured, replicas)
    is_leaderless = F.col("p.leader").isNull() | (F.col("p.leader") < 0)
    is_under = F.when(is_leaderless, F.lit(True)).when(configured.isNotNull(), live < needed)
    return {
        "min_insync_replicas": configured,
        "is_leaderless": is_leaderless,
        "is_under_min_isr": is_under,
        "is_at_min_isr": F.when(is_under.isNotNull(), ~is_under & (replicas > 1) & (live == needed)),
        "is_sole_replica": (replicas > 1) & (live == 1),
    }


def changed_partitions(rows: DataFrame, stored: DataFrame) -> DataFrame:
    """Return the rows that are new, or newer than the stored row of their key and different."""
    known = stored.select(
        *TOPIC_STATE.key, F.col("inventory_at_ms").alias("known_at_ms"), F.struct(*VALUES).alias("known")
    )
    is_new = F.col("known_at_ms").isNull()
    # Maps cannot be compared, but sorted entries can.
    differs = ~_comparable(F.struct(*VALUES)).eqNullSafe(_comparable(F.col("known")))
    is_newer = F.col("inventory_at_ms") > F.col("known_at_ms")
    return (
        rows.join(known, on=list(TOPIC_STATE.key), how="left").where(is_new | (is_newer & differs)).select(rows.columns)
    )


def _comparable(values: Column) -> Column:
    return values.withField("configs", F.sort_array(F.map_entries(values["configs"])))


def gone_partitions(stored: DataFrame, parts: DataFrame, scans: DataFrame) -> DataFrame:
    """Return the keys of stored partitions that a newer complete scan of their cluster did not list."""
    whole = scans.select("cluster", "collector", "at_ms")
    listed = (
        parts.join(whole, on=["cluster", "collector", "at_ms"], how="left_semi")
        .select("cluster", F.col("name").alias("topic"), F.explode("r.partitions.partition").alias("partition"))
        .withColumn("partition", F.col("partition").cast("int"))
    )
    return (
        stored.join(whole, on=["cluster"], how="inner")
        .where(F.col("inventory_at_ms") < F.col("at_ms"))
        .join(listed, on=list(TOPIC_STATE.key), how="left_anti")
        .select(*TOPIC_STATE.key, F.col("at_ms").alias("inventory_at_ms"))
    )
