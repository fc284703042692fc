"""Thin rows as rows of the history tables. DataFrame in, DataFrame out."""

from collections.abc import Mapping

from msgspec import Struct
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.store.rows.plain import SOURCE_NAMES, UNKNOWN_CLUSTER
from logdirwatch.store.schema.columns import Table
from logdirwatch.store.schema.definitions import REJECTED_RECORDS
from logdirwatch.store.schema.json_types import spark_type


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


def rejected(thin: DataFrame) -> DataFrame:
    """Return the rows of ``rejected_records``."""
    rows = thin.where(F.col("kind") == "rejected").withColumn("cluster", F.coalesce("cluster", F.lit(UNKNOWN_CLUSTER)))
    same = ("topic", "partition", "offset", "cluster", "reason", "kafka_timestamp_ms", "key", "value")
    return shaped(rows, REJECTED_RECORDS, {name: F.col(name) for name in same})
