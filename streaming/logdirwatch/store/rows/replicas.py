"""The status of every replica: placement x directory status x metadata. DataFrame in, DataFrame out.

The rules, in order; the first that applies decides::

    its broker is offline                               offline, cause broker
    its broker is unknown, or not judged          unknown, cause unknown
    its directory is offline                            offline, cause directory
    its directory is saturated                          saturated, cause directory
    no directory lists it, Kafka calls it offline       offline, cause directory (the broker lives)
    it is a copy, Kafka calls the original offline      offline, cause directory (nothing is copied from it)
    no directory lists it, and one did before           unknown, cause lost
    no directory ever listed it                         unknown, cause never_listed
    its directory is unknown, or the past is  unknown, cause unknown
    it is the copy in progress of a move                moving
    its directory is online, filling or critical        online
    anything else                                       unknown, cause unknown

A replica that the metadata assigns to a broker has a row even if no directory lists it: it was never created, or lost,
or is in a directory that was offline before the first scan. One that the metadata no longer assigns has none, nor has
one of a topic that a later complete scan did not list.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus, ReplicaCause, ReplicaStatus
from logdirwatch.store.rows.placements import KEY, SEEN, WHEN
from logdirwatch.store.rows.plain_judgements import Broker, Judgement, View
from logdirwatch.store.schema.definitions import REPLICA_STATE

_PARTITION = ("cluster", "topic", "partition")
_METADATA = ("leader", "replicas", "isr", "offline_replicas")
SERVING = (LogDirStatus.ONLINE, LogDirStatus.FILLING, LogDirStatus.CRITICAL)
LISTED = (ReplicaStatus.ONLINE, ReplicaStatus.SATURATED, ReplicaStatus.MOVING)
_VIEW = "array<struct<path:string,status:string,since_ms:bigint>>"
_BROKER = f"struct<cluster:string,broker:int,sequence:bigint,status:string,since_ms:bigint,log_dirs:{_VIEW}>"


def judgements(records: DataFrame) -> DataFrame:
    """Return the judgements in state records (column ``record``, JSON), without their other fields."""
    return records.select(F.from_json("record", _BROKER).alias("b")).select("b.*")


def essence(states: DataFrame) -> DataFrame:
    """Return the thin rows of states without what no judgement needs, which is nearly all of them."""
    return states.withColumn("record", F.to_json(F.from_json("record", _BROKER))).withColumn(
        "body", F.lit(None).cast("string")
    )


def judged_brokers(judgements: DataFrame) -> DataFrame:
    """Return the newest of each broker's ``judgements``.

    Columns: cluster, broker, broker_status, broker_since_ms, and ``views``, a map of path to status and since_ms.
    """
    newest = judgements.groupBy("cluster", "broker").agg(F.max_by(F.struct("*"), "sequence").alias("n"))
    return newest.select(
        "cluster",
        "broker",
        F.col("n.status").alias("broker_status"),
        F.col("n.since_ms").alias("broker_since_ms"),
        F.map_from_entries(
            F.transform("n.log_dirs", lambda d: F.struct(d["path"], F.struct(d["status"], d["since_ms"])))
        ).alias("views"),
    )


def collected_judgements(judged: DataFrame) -> dict[Broker, Judgement]:
    """Return the judgements in rows of ``judged_brokers``, as ``plain_judgements`` does; without their numbers."""
    return {
        (row["cluster"], row["broker"]): Judgement(
            0, row["broker_status"], row["broker_since_ms"], {path: View(**view) for path, view in row["views"]}
        )
        for row in judged.toArrow().to_pylist()
    }


def of_brokers(rows: DataFrame, only: DataFrame | None) -> DataFrame:
    """Return the rows of the brokers in ``only`` (cluster, broker), all rows for None."""
    return rows if only is None else rows.join(F.broadcast(only), on=["cluster", "broker"], how="left_semi")


def derive(
    placements: DataFrame,
    keys: DataFrame,
    partitions: DataFrame,
    brokers: DataFrame,
    scanned: DataFrame,
    only: DataFrame | None = None,
) -> DataFrame:
    """Return every row of ``replica_state`` as it should be, with ``old``, its stored row, and ``is_gone``.

    ``placements`` are those of ``store.placements`` and ``keys`` their keys, ``partitions`` rows of ``topic_state``,
    ``brokers`` those of ``judged_brokers``, ``scanned`` the time of each cluster's last whole scan of topics: cluster,
    scanned_at_ms. With ``only`` (cluster, broker), the placements must be those of these brokers.
    """
    metadata = partitions.select(*_PARTITION, *_METADATA, *WHEN, F.col("inventory_at_ms").alias("metadata_at_ms"))
    seen = placements.join(metadata.drop(*WHEN), on=list(_PARTITION), how="left")
    rows = seen.unionByName(_unlisted(keys, metadata, only), allowMissingColumns=True)
    judged = rows.join(F.broadcast(brokers), on=["cluster", "broker"], how="left").join(
        F.broadcast(scanned), on="cluster", how="left"
    )
    return _shaped(judged.withColumn("view", F.col("views")[F.col("log_dir")]).withColumn("verdict", _verdict()))


def _unlisted(keys: DataFrame, metadata: DataFrame, only: DataFrame | None) -> DataFrame:
    """Return the replicas that the metadata assigns and that have no placement.

    Nearly always there are none, so only keys are compared and the metadata of the few is joined afterwards.
    """
    assigned = metadata.select(*_PARTITION, F.explode("replicas").alias("broker"), F.lit(False).alias("is_future"))
    missing = of_brokers(assigned, only).join(keys, on=list(KEY), how="left_anti")
    return missing.join(metadata, on=list(_PARTITION), how="inner").withColumn("was_listed", F.lit(False))


def _verdict() -> Column:
    is_unlisted = F.col("log_dir").isNull()
    is_offline_by_metadata = F.array_contains("offline_replicas", F.col("broker"))
    view = F.col("view.status")
    broker_since, view_since = F.col("broker_since_ms"), F.col("view.since_ms")
    by_metadata = F.col("metadata_at_ms")
    return (
        F.when(F.col("broker_status") == BrokerStatus.OFFLINE, _is(ReplicaStatus.OFFLINE, "broker", broker_since))
        .when(F.col("broker_status") == BrokerStatus.UNKNOWN, _is(ReplicaStatus.UNKNOWN, "unknown", broker_since))
        .when(F.col("broker_status").isNull(), _is(ReplicaStatus.UNKNOWN, "unknown", by_metadata))
        .when(view == LogDirStatus.OFFLINE, _is(ReplicaStatus.OFFLINE, "directory", view_since))
        .when(view == LogDirStatus.SATURATED, _is(ReplicaStatus.SATURATED, "directory", view_since))
        .when(
            (is_unlisted | F.col("is_future")) & F.coalesce(is_offline_by_metadata, F.lit(False)),
            _is(ReplicaStatus.OFFLINE, "directory", by_metadata),
        )
        .when(is_unlisted & F.col("was_listed"), _is(ReplicaStatus.UNKNOWN, "lost", by_metadata))
        .when(is_unlisted & ~F.col("was_listed"), _is(ReplicaStatus.UNKNOWN, "never_listed", by_metadata))
        .when(view.isin(*SERVING) & F.col("is_future"), _is(ReplicaStatus.MOVING, None, F.col("inventory_at_ms")))
        .when(view.isin(*SERVING), _is(ReplicaStatus.ONLINE, None, view_since))
        .otherwise(_is(ReplicaStatus.UNKNOWN, "unknown", F.coalesce(view_since, by_metadata)))
    )


def _is(status: ReplicaStatus, cause: str | None, since: Column) -> Column:
    spelled = F.lit(None if cause is None else ReplicaCause(cause).value)
    return F.struct(F.lit(status.value).alias("status"), spelled.cast("string").alias("cause"), since.alias("since_ms"))


def _shaped(rows: DataFrame) -> DataFrame:
    """Build the rows; a status keeps its start time even if the level of its directory changed since."""
    status, cause = F.col("verdict.status"), F.col("verdict.cause")
    is_as_before = status.eqNullSafe(F.col("old.status")) & cause.eqNullSafe(F.col("old.cause"))
    is_known = F.col("metadata_at_ms").isNotNull()
    is_assigned = F.array_contains("replicas", F.col("broker"))
    is_current = ~F.col("is_future")
    return rows.select(
        *KEY,
        *SEEN,
        status.alias("status"),
        cause.alias("cause"),
        F.when(is_known, is_current & F.col("leader").eqNullSafe(F.col("broker"))).alias("is_leader"),
        F.when(is_known, is_current & F.array_contains("isr", F.col("broker"))).alias("in_isr"),
        (F.col("log_dir").isNotNull() & status.isin(*LISTED)).alias("is_listed"),
        F.when(is_as_before, F.col("old.status_at_ms")).otherwise(F.col("verdict.since_ms")).alias("status_at_ms"),
        "was_listed",
        *WHEN,
        "old",
        _is_gone(is_known, is_assigned).alias("is_gone"),
    )


def _is_gone(is_known: Column, is_assigned: Column) -> Column:
    is_unlisted = F.col("log_dir").isNull()
    is_deleted = F.coalesce(F.col("scanned_at_ms") > F.col("inventory_at_ms"), F.lit(False))
    return (
        F.when(F.col("is_future") & is_unlisted, F.lit(True))
        .when(is_known, ~is_assigned)
        .otherwise(is_unlisted | is_deleted)
    )


def changes(derived: DataFrame) -> DataFrame:
    """Return the rows of ``replica_state`` to write: those that differ from the stored one, or are removed.

    ``old_status`` is the stored one's.
    """
    values = F.struct(*REPLICA_STATE.names)
    is_stored = F.col("old").isNotNull()
    same = values.eqNullSafe(F.struct(*(F.col(f"old.{name}").alias(name) for name in REPLICA_STATE.names)))
    must_go = F.col("is_gone") & is_stored
    must_change = ~F.col("is_gone") & ~same
    return derived.where(must_go | must_change).select(
        *REPLICA_STATE.names, "is_gone", F.col("old.status").alias("old_status")
    )
