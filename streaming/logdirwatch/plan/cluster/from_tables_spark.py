"""The snapshot of one cluster, read from the tables by Spark."""

from collections.abc import Iterator, Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.plan.cluster.from_tables import Row, facts_from, zip_rows
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.store.schema.columns import Table
from logdirwatch.store.settings import StoreSettings
from logdirwatch.store.tables import Tables

# Errors of Spark and Delta for a table that store has not created yet.
_MISSING = frozenset(
    {"TABLE_OR_VIEW_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE", "PATH_NOT_FOUND"}
)


def _chosen(table: Table, names: Sequence[str], there: set[str]) -> list[Column]:
    """Return columns; null for one that a table of an earlier release does not have."""
    kinds = {column.name: column.kind for column in table.columns}
    return [F.col(name) if name in there else F.lit(None).cast(kinds[name]).alias(name) for name in names]


def load_facts(spark: SparkSession, settings: StoreSettings, cluster: str) -> ClusterSnapshot | None:
    """Return the snapshot of a cluster from the tables; None if they are missing or have no broker of it."""
    tables = Tables(spark, settings)

    def read(table: Table, columns: Sequence[str]) -> Iterator[Row]:
        stored = tables.read(table).where(F.col("cluster") == cluster)
        rows = stored.select(*_chosen(table, columns, set(stored.columns))).toArrow()
        return zip_rows(rows.to_pydict())

    try:
        return facts_from(read, cluster)
    except AnalysisException as error:
        if error.getCondition() in _MISSING:
            return None
        raise
