"""The choice of the table reader."""

from logdirwatch.cli.reading.tables.reader import TableReader
from logdirwatch.errors import UserError
from logdirwatch.settings import Settings
from logdirwatch.store.storage.options import of_extra


def table_reader(settings: Settings) -> TableReader:
    """Return a reader of the tables, which connects at its first query.

    Raises UserError when they are in a catalog and the configuration has no connection to it.
    """
    # Each takes a moment to import, in which Kafka may answer already.
    tables = settings.tables
    if tables.catalog is None:
        from logdirwatch.cli.reading.tables.delta_files import DeltaFiles  # noqa: PLC0415

        return DeltaFiles(settings.tables_path.rstrip("/"), of_extra(settings.stream.extra))
    if tables.databricks is None:
        raise UserError(
            f"the tables are in the catalog {tables.catalog}, which only Spark reads without tables.databricks: name a "
            "SQL warehouse there (docs/databricks.md), or the tables' storage in tables.path"
        )
    if tables.table_schema is None:
        raise UserError("tables.catalog needs tables.table_schema: name the schema of the tables", exit_code=2)
    from logdirwatch.cli.reading.tables.unity_catalog import UnityCatalog  # noqa: PLC0415

    return UnityCatalog(tables.catalog, tables.table_schema, tables.databricks)
