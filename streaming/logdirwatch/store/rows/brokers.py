"""State records as rows of ``broker_state`` and ``log_dir_state``. DataFrame in, DataFrame out.

``broker_state`` is written last: its sequence proves that a state record has been stored, including directories.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.model.records import LogDirView, PartitionHealth, StateRecord
from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.store.rows.history import fields, parsed, shaped
from logdirwatch.store.schema.definitions import BROKER_STATE, LOG_DIR_STATE
from logdirwatch.store.schema.json_types import spark_type

CONFIGS = "map<string,string>"

OF_BROKER = tuple(name for name in spark_type(StateRecord).names if name in BROKER_STATE.names)
OF_PARTITIONS = tuple(name for name in spark_type(PartitionHealth).names if name in BROKER_STATE.names)
OF_LOG_DIR = tuple(name for name in spark_type(LogDirView).names if name in LOG_DIR_STATE.names)
OF_CONFIGS = ("configs", "configs_at_ms")


def fresh_states(states: DataFrame, stored: DataFrame, deleted: DataFrame) -> DataFrame:
    """Return the state records, parsed into ``r``, that are newer than the stored rows of ``broker_state``.

    ``states`` and ``deleted``, the topic's tombstones, are thin rows, one per broker; a record before a tombstone is
    void.
    """
    return parsed(unstored_states(states, stored, deleted), "state", StateRecord)


def unstored_states(states: DataFrame, stored: DataFrame, deleted: DataFrame) -> DataFrame:
    """Return the thin rows of states that no tombstone voids and that are newer than ``broker_state``."""
    known = stored.select("cluster", "broker", F.col("sequence").alias("known_sequence"))
    is_fresh = F.col("known_sequence").isNull() | (F.col("rank") > F.col("known_sequence"))
    rows = after_tombstones(states, deleted).join(known, on=["cluster", "broker"], how="left")
    return rows.where(is_fresh).drop("known_sequence")


def after_tombstones(states: DataFrame, deleted: DataFrame) -> DataFrame:
    """Return the state records (thin rows) that no later tombstone of their broker voids."""
    gone = deleted.select("cluster", "broker", F.col("offset").alias("deleted_at"))
    rows = states.join(gone, on=["cluster", "broker"], how="left")
    return rows.where(F.col("deleted_at").isNull() | (F.col("offset") > F.col("deleted_at"))).drop("deleted_at")


def broker_rows(fresh: DataFrame, configs: DataFrame) -> DataFrame:
    """Return the rows of ``broker_state`` to merge: states, configurations (thin rows), or both of a broker.

    A row of a configuration alone has no sequence.
    """
    is_offline = F.lit(LogDirStatus.OFFLINE.value)
    states = shaped(
        fresh,
        BROKER_STATE,
        {
            **fields("r", OF_BROKER),
            **fields("r.partitions", OF_PARTITIONS),
            "partition_examples": F.col("r.partitions.examples"),
            "log_dir_count": F.size("r.log_dirs"),
            "offline_log_dirs": F.size(F.filter("r.log_dirs", lambda d: d["status"] == is_offline)),
            "record": F.col("record"),
        },
    ).drop(*OF_CONFIGS)
    read = F.from_json("body", CONFIGS, {"mode": "FAILFAST"})
    newest = configs.select("cluster", "broker", read.alias("configs"), F.col("at_ms").alias("configs_at_ms"))
    return states.join(newest, on=["cluster", "broker"], how="full").select(BROKER_STATE.names)


def log_dir_rows(fresh: DataFrame) -> DataFrame:
    """Return the rows of ``log_dir_state`` in new state records."""
    rows = fresh.withColumn("d", F.explode("r.log_dirs"))
    expressions = {
        **fields("d", OF_LOG_DIR),
        **fields("r", ("cluster", "broker", "sequence", "at_ms")),
        "log_dir": F.col("d.path"),
    }
    return shaped(rows, LOG_DIR_STATE, expressions)


def gone_log_dirs(fresh: DataFrame, stored: DataFrame) -> DataFrame:
    """Return the stored rows of ``log_dir_state`` that their broker's new state record no longer lists.

    Their sequence is that of the new record.
    """
    listed = fresh.select("cluster", "broker", F.col("rank").alias("newest"), F.col("r.log_dirs.path").alias("paths"))
    return (
        stored.join(listed, on=["cluster", "broker"], how="inner")
        .where((F.col("sequence") < F.col("newest")) & ~F.array_contains("paths", F.col("log_dir")))
        .withColumn("sequence", F.col("newest"))
        .select(LOG_DIR_STATE.names)
    )
