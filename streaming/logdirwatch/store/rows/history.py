"""Thin rows as rows of the history tables. DataFrame in, DataFrame out."""

from collections.abc import Mapping

from msgspec import Struct
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.model.records import (
    ActionRecord,
    AlertRecord,
    DecisionRecord,
    EventRecord,
    ExecutionRecord,
    HostLogDir,
    HostRecord,
    LogDirSample,
    MetricsRecord,
    Transition,
)
from logdirwatch.store.schema.columns import SOURCE, Table
from logdirwatch.store.schema.definitions import (
    ACTIONS,
    ALERTS,
    DECISIONS,
    EXECUTIONS,
    LOG_DIR_SAMPLES,
    REJECTED_RECORDS,
    TRANSITIONS,
)
from logdirwatch.store.schema.history_tables import OF_EVENT, OF_HOST, OF_POLL, OF_POLL_AND_LOG_DIR
from logdirwatch.store.schema.json_types import spark_type

UNKNOWN_CLUSTER = "unknown"
SOURCE_NAMES = tuple(column.name for column in SOURCE)
POLL, LOG_DIR, EVENT, HOST = "poll", "log_dir", "event", "host"


def parsed(thin: DataFrame, kind: str, record: type[Struct]) -> DataFrame:
    """Return the thin rows of one kind with their record as the column ``r``."""
    is_of_kind = F.col("kind") == kind
    # Spark may evaluate ``r`` before it filters: only the condition keeps other kinds from the parser.
    body = F.when(is_of_kind, F.from_json("body", spark_type(record), {"mode": "FAILFAST"}))
    return thin.where(is_of_kind).withColumn("r", body)


def shaped(rows: DataFrame, table: Table, expressions: Mapping[str, Column]) -> DataFrame:
    """Return ``rows`` as rows of ``table``: each column by its expression, null without one.

    The source is that of the thin row, unless an expression says otherwise.
    """
    source = {name: F.col(name.removeprefix("source_")) for name in SOURCE_NAMES if name not in expressions}
    known = {**source, **expressions}
    nothing = F.lit(None)
    return rows.select(
        [known.get(column.name, nothing).cast(column.kind).alias(column.name) for column in table.columns]
    )


def fields(record: str, names: tuple[str, ...]) -> dict[str, Column]:
    """Return the columns ``names`` as fields of the struct column ``record``."""
    return {name: F.col(f"{record}.`{name}`") for name in names}


def fields_by_column(table: Table, record: type[Struct]) -> dict[str, str]:
    """Return the field of ``record`` for every column of ``table`` that it has one for.

    ``from`` is ``from_status``, and ``bytes`` is ``planned_bytes``.
    """
    spelled = {name: name for name in spark_type(record).names}
    spelled |= {f"{end}_status": end for end in ("from", "to") if end in spelled}
    spelled |= {"planned_bytes": "bytes"} if "bytes" in spelled else {}
    return {name: spelled[name] for name in table.names if name in spelled}


def _like(table: Table, record: type[Struct]) -> dict[str, Column]:
    return {name: F.col(f"r.`{field}`") for name, field in fields_by_column(table, record).items()}


def samples(thin: DataFrame) -> DataFrame:
    """Return the rows of ``log_dir_samples``: a poll, each directory of it, an event, each directory of a host."""
    return _polls(thin).unionByName(_events(thin)).unionByName(_hosts(thin))


def _polls(thin: DataFrame) -> DataFrame:
    the_poll_itself = F.array(F.lit(None).cast(spark_type(LogDirSample)))
    rows = parsed(thin, "metrics", MetricsRecord).withColumn("d", F.explode(F.concat(the_poll_itself, "r.log_dirs")))
    is_poll = F.col("d.path").isNull()
    of_poll = {name: F.when(is_poll, column) for name, column in fields("r", OF_POLL).items()}
    of_log_dir = fields("d", tuple(name for name in spark_type(LogDirSample).names if name != "path"))
    rest = {
        "log_dir": F.col("d.path"),
        "kind": F.when(is_poll, F.lit(POLL)).otherwise(F.lit(LOG_DIR)),
        "partitions": F.when(is_poll, F.to_json("r.partitions")),
        "moves": F.when(is_poll, F.to_json("r.moves")),
        "kafka_timestamp_ms": F.col("kafka_timestamp_ms"),
    }
    return shaped(rows, LOG_DIR_SAMPLES, {**fields("r", OF_POLL_AND_LOG_DIR), **of_poll, **of_log_dir, **rest})


def _events(thin: DataFrame) -> DataFrame:
    partition = F.concat("r.topic", F.lit("-"), "r.partition")
    rest = {
        "collector": F.concat_ws("/", F.coalesce("r.collector", F.lit("")), "r.event", partition),
        "kind": F.lit(EVENT),
        "kafka_timestamp_ms": F.col("kafka_timestamp_ms"),
    }
    return shaped(parsed(thin, "event", EventRecord), LOG_DIR_SAMPLES, {**fields("r", OF_EVENT), **rest})


def _hosts(thin: DataFrame) -> DataFrame:
    the_look_itself = F.array(F.lit(None).cast(spark_type(HostLogDir)))
    rows = parsed(thin, "host", HostRecord).withColumn("d", F.explode(F.concat(the_look_itself, "r.log_dirs")))
    of_log_dir = fields("d", tuple(name for name in spark_type(HostLogDir).names if name != "path"))
    errors = F.when(F.col("d.path").isNull() & (F.size("r.errors") > 0), F.concat_ws("; ", "r.errors"))
    rest = {
        "log_dir": F.col("d.path"),
        "kind": F.lit(HOST),
        "error": errors,
        "kafka_timestamp_ms": F.col("kafka_timestamp_ms"),
    }
    return shaped(rows, LOG_DIR_SAMPLES, {**fields("r", OF_HOST), **of_log_dir, **rest})


def transitions(thin: DataFrame) -> DataFrame:
    """Return the rows of ``transitions``."""
    return shaped(parsed(thin, "transition", Transition), TRANSITIONS, _like(TRANSITIONS, Transition))


def alerts(thin: DataFrame) -> DataFrame:
    """Return the rows of ``alerts``."""
    expressions = {**_like(ALERTS, AlertRecord), "record": F.col("record")}
    return shaped(parsed(thin, "alert", AlertRecord), ALERTS, expressions)


def actions(thin: DataFrame) -> DataFrame:
    """Return the rows of ``actions``."""
    expressions = {**_like(ACTIONS, ActionRecord), "record": F.col("record")}
    return shaped(parsed(thin, "action", ActionRecord), ACTIONS, expressions)


def executions(thin: DataFrame) -> DataFrame:
    """Return the rows of ``executions``."""
    expressions = {**_like(EXECUTIONS, ExecutionRecord), "record": F.col("record")}
    return shaped(parsed(thin, "execution", ExecutionRecord), EXECUTIONS, expressions)


def decisions(thin: DataFrame, clusters: DataFrame) -> DataFrame:
    """Return the rows of ``decisions``; ``clusters`` (id, cluster) has the clusters that decisions leave out."""
    known = clusters.select(F.col("id").alias("known_id"), F.col("cluster").alias("known_cluster"))
    rows = parsed(thin, "decision", DecisionRecord).join(known, on=F.col("r.id") == F.col("known_id"), how="left")
    cluster = F.coalesce("r.cluster", "known_cluster", F.lit(UNKNOWN_CLUSTER))
    rest = {"cluster": cluster, "matching": F.to_json("r.matching")}
    return shaped(rows, DECISIONS, {**_like(DECISIONS, DecisionRecord), **rest})


def rejected(thin: DataFrame) -> DataFrame:
    """Return the rows of ``rejected_records``."""
    rows = thin.where(F.col("kind") == "rejected").withColumn("cluster", F.coalesce("cluster", F.lit(UNKNOWN_CLUSTER)))
    same = ("topic", "partition", "offset", "cluster", "reason", "kafka_timestamp_ms", "key", "value")
    return shaped(rows, REJECTED_RECORDS, {name: F.col(name) for name in same})
