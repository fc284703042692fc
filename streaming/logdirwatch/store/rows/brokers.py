"""State records of a batch by what is stored. DataFrame in, DataFrame out."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it


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
