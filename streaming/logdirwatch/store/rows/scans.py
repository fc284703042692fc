"""Which scans are complete: for a directory all parts of one time, for a cluster's topics as many as its end counts.

Only a complete scan proves that something was removed. One split by the end of a batch waits for the next batch.
DataFrame in, DataFrame out.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.model.records import ReplicasRecord, ScanRecord, TopicRecord
from logdirwatch.model.vocabulary import BrokerStatus
from logdirwatch.store.rows.history import parsed, shaped
from logdirwatch.store.schema.definitions import LOG_DIR_INVENTORY

SOURCE = ("topic", "partition", "offset")
_LOG_DIR = ("cluster", "broker", "log_dir")
_SNAPSHOT = (*_LOG_DIR, "collector", "at_ms")
_SCAN = ("cluster", "collector", "at_ms")


def replicas_parts(thin: DataFrame, markers: DataFrame) -> DataFrame:
    """Return the parts of directories' snapshots that are newer than ``markers`` (rows of ``log_dir_inventory``).

    ``place`` numbers those of each broker from the oldest to the newest.
    """
    rows = parsed(thin, "replicas", ReplicasRecord).select(
        "cluster",
        "broker",
        "log_dir",
        F.col("r.collector").alias("collector"),
        "at_ms",
        F.col("r.part").alias("part"),
        F.col("r.parts").alias("parts"),
        F.col("r.replicas").alias("replicas"),
        F.struct(*SOURCE).alias("source"),
    )
    newer = _newer(rows, markers.where(F.col("broker").isNotNull()), _LOG_DIR)
    order = Window.partitionBy("cluster", "broker").orderBy("at_ms", "source")
    return newer.withColumn("place", F.row_number().over(order))


def topic_parts(thin: DataFrame, markers: DataFrame) -> DataFrame:
    """Return the parts of topics that are newer than their cluster's last whole scan."""
    rows = parsed(thin, "topic", TopicRecord).select(
        "cluster",
        F.col("r.collector").alias("collector"),
        "at_ms",
        F.col("r.topic").alias("name"),
        F.col("r.part").alias("part"),
        F.col("r.parts").alias("parts"),
        F.col("r").alias("r"),
        F.struct(*SOURCE).alias("source"),
    )
    return _newer(rows, markers.where(F.col("broker").isNull()), ("cluster",))


def scan_ends(thin: DataFrame, markers: DataFrame) -> DataFrame:
    """Return the ends of scans that saw every topic and are newer than their cluster's last whole scan."""
    rows = (
        parsed(thin, "scan", ScanRecord)
        .where(F.col("r.is_complete"))
        .select(
            "cluster",
            F.col("r.collector").alias("collector"),
            "at_ms",
            F.col("r.topics").alias("topics"),
            F.struct(*SOURCE).alias("source"),
        )
    )
    return _newer(rows, markers.where(F.col("broker").isNull()), ("cluster",))


def _newer(rows: DataFrame, markers: DataFrame, key: tuple[str, ...]) -> DataFrame:
    known = F.broadcast(markers.select(*key, F.col("inventory_at_ms").alias("known_at_ms")))
    return (
        rows.join(known, on=list(key), how="left")
        .where(F.col("known_at_ms").isNull() | (F.col("at_ms") > F.col("known_at_ms")))
        .drop("known_at_ms")
    )


def whole_log_dirs(parts: DataFrame) -> DataFrame:
    """Return the newest whole snapshot of each directory: its key, at_ms, collector, listed, source."""
    snapshots = (
        parts.groupBy(*_SNAPSHOT)
        .agg(
            F.count_distinct("part").alias("seen"),
            F.max("parts").alias("parts"),
            F.sum(F.size("replicas")).alias("listed"),
            F.max("source").alias("source"),
        )
        .where(F.col("seen") == F.col("parts"))
    )
    return _newest(snapshots, _LOG_DIR)


def whole_scans(parts: DataFrame, ends: DataFrame) -> DataFrame:
    """Return the newest whole scan of each cluster's topics: cluster, at_ms, collector, listed, source."""
    whole_topics = (
        parts.groupBy(*_SCAN, "name")
        .agg(F.count_distinct("part").alias("seen"), F.max("parts").alias("parts"))
        .where(F.col("seen") == F.col("parts"))
    )
    counted = whole_topics.groupBy(*_SCAN).agg(F.count("*").alias("listed"))
    whole = (
        ends.join(counted, on=list(_SCAN), how="left")
        .withColumn("listed", F.coalesce("listed", F.lit(0)))
        .where(F.col("listed") == F.col("topics"))
    )
    return _newest(whole, ("cluster",))


def last_whole_scans(markers: DataFrame, whole: DataFrame) -> DataFrame:
    """Return when each cluster's topics were last scanned whole: cluster, scanned_at_ms.

    ``markers`` are rows of ``log_dir_inventory``, ``whole`` those of ``whole_scans``.
    """
    known = markers.where(F.col("broker").isNull()).select("cluster", F.col("inventory_at_ms").alias("at_ms"))
    times = known.unionByName(whole.select("cluster", "at_ms"))
    return times.groupBy("cluster").agg(F.max("at_ms").alias("scanned_at_ms"))


def left_log_dirs(markers: DataFrame, judged: DataFrame) -> DataFrame:
    """Return the markers of directories that their answering brokers no longer have.

    ``markers`` are rows of ``log_dir_inventory``, ``judged`` those of ``replicas.judged_brokers``.
    """
    answers = F.col("broker_status").isin(BrokerStatus.ONLINE, BrokerStatus.DEGRADED)
    paths = judged.where(answers).select("cluster", "broker", F.map_keys("views").alias("paths"))
    known = markers.join(F.broadcast(paths), on=["cluster", "broker"], how="inner")
    return known.where(~F.array_contains("paths", F.col("log_dir"))).drop("paths")


def _newest(rows: DataFrame, key: tuple[str, ...]) -> DataFrame:
    newest = rows.groupBy(*key).agg(F.max(F.struct("at_ms", "collector", "listed", "source")).alias("n"))
    return newest.select(*key, "n.at_ms", "n.collector", "n.listed", "n.source")


def unfinished(thin: DataFrame, markers: DataFrame) -> DataFrame:
    """Return the thin rows that may still become whole: newer than their marker, and the newest of their place."""
    replicas = thin.where(F.col("kind") == "replicas")
    topics = thin.where(F.col("kind").isin("topic", "scan"))
    return _latest(_newer(replicas, markers.where(F.col("broker").isNotNull()), _LOG_DIR), _LOG_DIR).unionByName(
        _latest(_newer(topics, markers.where(F.col("broker").isNull()), ("cluster",)), ("cluster",))
    )


def _latest(rows: DataFrame, key: tuple[str, ...]) -> DataFrame:
    newest = rows.groupBy(*key).agg(F.max("at_ms").alias("newest_ms"))
    return rows.join(newest, on=list(key), how="inner").where(F.col("at_ms") == F.col("newest_ms")).drop("newest_ms")


def marker_rows(log_dirs: DataFrame, scans: DataFrame) -> DataFrame:
    """Return the rows of ``log_dir_inventory`` that whole snapshots and scans make."""
    whole = log_dirs.unionByName(scans, allowMissingColumns=True)
    source = {f"source_{name}": F.col(f"source.{name}") for name in SOURCE}
    rest = ("cluster", "broker", "log_dir", "collector", "listed")
    expressions = {name: F.col(name) for name in rest}
    return shaped(whole, LOG_DIR_INVENTORY, {**expressions, **source, "inventory_at_ms": F.col("at_ms")})
