"""The Delta tables, read without Spark."""

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from logdirwatch.store.schema.definitions import TABLES
from logdirwatch_lab.demo.judgement import Row


def rows(tables_path: str, table: str) -> list[Row]:
    """Return a table's rows; none if it does not exist."""
    try:
        found: list[Row] = DeltaTable(f"{tables_path}/{table}").to_pyarrow_table().to_pylist()
    except TableNotFoundError:
        return []
    return found


def counts(tables_path: str) -> dict[str, int]:
    """Return the number of rows of each table."""
    return {table: count(tables_path, table) for table in TABLES}


def count(tables_path: str, table: str) -> int:
    """Return the number of rows of a table; 0 if it does not exist."""
    try:
        return int(DeltaTable(f"{tables_path}/{table}").to_pyarrow_dataset().count_rows())
    except TableNotFoundError:
        return 0
