"""How ``store`` writes a batch. Every step is idempotent."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.store.rows import brokers, history
from logdirwatch.store.schema.definitions import (
    ACTIONS,
    ALERTS,
    BROKER_STATE,
    DECISIONS,
    EXECUTIONS,
    LOG_DIR_SAMPLES,
    LOG_DIR_STATE,
    QUALITY_RESULTS,
    REJECTED_RECORDS,
    TRANSITIONS,
)
from logdirwatch.store.tables import Tables, same_key
from logdirwatch.store.writing.batch import Batch, computed

WRITTEN = (
    BROKER_STATE,
    LOG_DIR_STATE,
    LOG_DIR_SAMPLES,
    TRANSITIONS,
    ALERTS,
    ACTIONS,
    EXECUTIONS,
    DECISIONS,
    REJECTED_RECORDS,
    QUALITY_RESULTS,
)

HISTORIES = (
    (LOG_DIR_SAMPLES, ("metrics", "event", "host"), history.samples),
    (TRANSITIONS, ("transition",), history.transitions),
    (ALERTS, ("alert",), history.alerts),
    (ACTIONS, ("action",), history.actions),
    (EXECUTIONS, ("execution",), history.executions),
)


def write_batch(batch: Batch, tables: Tables) -> None:
    """Write a batch of metrics, events, state, alerts, actions, executions and decisions."""
    write_rejected(batch, tables)
    for table, kinds, rows in HISTORIES:
        if batch.has(*kinds):
            tables.insert_new(table, rows(batch.of(*kinds)), batch.spans(*kinds))
    if batch.has("decision"):
        _write_decisions(batch, tables)
    if batch.has("deleted"):
        _delete_brokers(batch, tables)
    if batch.has("state", "configs"):
        _write_brokers(batch, tables)


def write_rejected(batch: Batch, tables: Tables) -> None:
    """Store the rejected records."""
    if batch.has("rejected"):
        tables.insert_new(REJECTED_RECORDS, history.rejected(batch.of("rejected")), batch.spans("rejected"))


def _write_decisions(batch: Batch, tables: Tables) -> None:
    clusters = (
        tables.read(ALERTS)
        .select(F.col("alert_id").alias("id"), "cluster")
        .union(tables.read(ACTIONS).select("action_id", "cluster"))
        .distinct()
    )
    tables.insert_new(DECISIONS, history.decisions(batch.of("decision"), clusters), batch.spans("decision"))


def _delete_brokers(batch: Batch, tables: Tables) -> None:
    """Remove the brokers of tombstones; a later state record stays."""
    is_earlier = "t.source_partition = s.partition AND t.source_offset < s.offset"
    for table in (LOG_DIR_STATE, BROKER_STATE):
        tables.merge(
            table,
            batch.of("deleted"),
            "t.cluster = s.cluster AND t.broker = s.broker",
            lambda merge: merge.whenMatchedDelete(is_earlier),
        )


def _write_brokers(batch: Batch, tables: Tables) -> None:
    stored = tables.read(BROKER_STATE)
    with computed(brokers.fresh_states(batch.of("state"), stored, batch.of("deleted"))) as fresh:
        if batch.has("state"):
            _merge_log_dirs(fresh, tables)
        rows = brokers.broker_rows(fresh, batch.of("configs"))
        tables.merge(BROKER_STATE, rows, same_key(BROKER_STATE), _newer_broker)


def _merge_log_dirs(fresh: DataFrame, tables: Tables) -> None:
    gone = brokers.gone_log_dirs(fresh, tables.read(LOG_DIR_STATE)).withColumn("is_gone", F.lit(True))
    rows = brokers.log_dir_rows(fresh).withColumn("is_gone", F.lit(False)).unionByName(gone)
    tables.merge(LOG_DIR_STATE, rows, same_key(LOG_DIR_STATE), _newer_log_dir)


def _newer_log_dir(merge: Any) -> Any:
    values = {name: f"s.`{name}`" for name in LOG_DIR_STATE.names}
    return (
        merge.whenMatchedDelete("s.is_gone AND s.sequence > t.sequence")
        .whenMatchedUpdate("s.sequence > t.sequence", values)
        .whenNotMatchedInsert("NOT s.is_gone", values)
    )


def _newer_broker(merge: Any) -> Any:
    """Update state and configuration independently; a configuration alone creates no row."""
    is_newer = "s.configs_at_ms > coalesce(t.configs_at_ms, -1)"
    configs = {
        "configs": f"CASE WHEN {is_newer} THEN s.configs ELSE t.configs END",
        "configs_at_ms": "greatest(s.configs_at_ms, t.configs_at_ms)",
    }
    values = {name: f"s.`{name}`" for name in BROKER_STATE.names}
    return (
        merge.whenMatchedUpdate("s.sequence > t.sequence", {**values, **configs})
        .whenMatchedUpdate(is_newer, configs)
        .whenNotMatchedInsert("s.sequence IS NOT NULL", values)
    )
