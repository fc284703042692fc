"""The last known placement of each replica, from the stored rows and whole or partial listings.

DataFrame in, DataFrame out.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.store.rows.plain import SOURCE_NAMES
from logdirwatch.store.schema.definitions import REPLICA_STATE

KEY = REPLICA_STATE.key
SEEN = ("log_dir", "size_bytes", "offset_lag")
WHEN = ("inventory_at_ms", *SOURCE_NAMES)


def listed_replicas(parts: DataFrame) -> DataFrame:
    """Return the replicas that parts of directories list (``scans.replicas_parts``), the newest listing of each."""
    exploded = parts.select("cluster", "broker", "place", F.explode("replicas").alias("item")).select(
        "cluster",
        "broker",
        F.col("item.topic").alias("topic"),
        F.col("item.partition").cast("int").alias("partition"),
        F.coalesce("item.is_future", F.lit(False)).alias("is_future"),
        "place",
        F.col("item.size_bytes").alias("size_bytes"),
        F.col("item.offset_lag").alias("offset_lag"),
    )
    # Numbers only: Spark sorts all rows if it has to compare anything longer.
    newest = exploded.groupBy(*KEY).agg(
        F.max("place").alias("place"), *(F.max_by(name, "place").alias(name) for name in ("size_bytes", "offset_lag"))
    )
    places = F.broadcast(parts.select("cluster", "broker", "place", "at_ms", "source", "log_dir"))
    return newest.join(places, on=["cluster", "broker", "place"]).select(
        *KEY, F.struct("at_ms", "source", *SEEN).alias("seen")
    )


def keys(stored: DataFrame, listed: DataFrame) -> DataFrame:
    """Return the keys of ``placements``, some of them twice."""
    return stored.select(*KEY).unionByName(listed.select(*KEY))


def placements(stored: DataFrame, listed: DataFrame, log_dirs: DataFrame) -> DataFrame:
    """Return every known replica's last placement: key, ``SEEN``, ``WHEN``, ``was_listed``, and its stored row ``old``.

    A placement is removed when a newer whole snapshot of its directory (``log_dirs``) does not list it. Repeated values
    keep their time and source, so that an unchanged row stays as it is.
    """
    old = stored.select(*KEY, F.struct(*stored.columns).alias("old"))
    merged = old.join(listed, on=list(KEY), how="full")
    age_ms = F.col("seen.at_ms") - F.coalesce("old.inventory_at_ms", F.lit(-1))
    # A replica missing in one directory may be listed in another by the same scan.
    is_newer = F.coalesce((age_ms > 0) | (F.col("old.log_dir").isNull() & (age_ms == 0)), F.lit(False))
    is_same = F.lit(True)
    for name in SEEN:
        is_same = is_same & F.col(f"old.{name}").eqNullSafe(F.col(f"seen.{name}"))
    chosen = merged.select(
        *KEY,
        "old",
        *(F.when(is_newer, F.col(f"seen.{name}")).otherwise(F.col(f"old.{name}")).alias(name) for name in SEEN),
        F.when(is_newer, F.col("seen.at_ms")).otherwise(F.col("old.inventory_at_ms")).alias("looked_ms"),
        *(F.when(is_newer & ~is_same, column).otherwise(F.col(f"old.{name}")).alias(name) for name, column in _when()),
    )
    return _without_forgotten(chosen, log_dirs)


def _when() -> list[tuple[str, Column]]:
    source = [(name, F.col(f"seen.source.{name.removeprefix('source_')}")) for name in SOURCE_NAMES]
    return [("inventory_at_ms", F.col("seen.at_ms")), *source]


def _without_forgotten(chosen: DataFrame, log_dirs: DataFrame) -> DataFrame:
    whole = log_dirs.select("cluster", "broker", "log_dir", F.col("at_ms").alias("whole_ms"))
    is_forgotten = F.coalesce(F.col("whole_ms") > F.col("looked_ms"), F.lit(False))
    # Rows of an earlier release without a directory have null: the replica may have been lost or never created.
    was_listed = F.when(is_forgotten, F.lit(True)).when(F.col("log_dir").isNull(), F.col("old.was_listed"))
    kept = chosen.join(F.broadcast(whole), on=["cluster", "broker", "log_dir"], how="left")
    return kept.select(
        *KEY,
        "old",
        *(F.when(~is_forgotten, F.col(name)).alias(name) for name in SEEN),
        F.when(is_forgotten, F.col("whole_ms")).otherwise(F.col("inventory_at_ms")).alias("inventory_at_ms"),
        *SOURCE_NAMES,
        was_listed.alias("was_listed"),
    )
