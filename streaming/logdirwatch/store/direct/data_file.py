"""Reads one Parquet file of a table.

``pyarrow.dataset`` does the same, but imports pandas, which the driver has no use for (``jobs/no_pandas.py``).
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq


class Where(NamedTuple):
    """Which rows are wanted: ``holds`` returns a boolean for each value of one column, null for a null."""

    column: str
    holds: Callable[[pa.ChunkedArray], pa.ChunkedArray]


def file_rows(path: Path, schema: pa.Schema, names: Sequence[str], where: Where | None = None) -> pa.Table:
    """Return the wanted rows of a file, with some columns of the schema of its table; null in those it lacks."""
    needed = dict.fromkeys([*names, *([where.column] if where else [])])
    with pq.ParquetFile(path) as file:
        there = set(file.schema_arrow.names)
        rows = file.read([name for name in needed if name in there], use_threads=False)
    wanted = pa.schema([schema.field(name) for name in needed])
    rows = _completed(rows, wanted)
    if where is not None:
        rows = rows.filter(where.holds(rows.column(where.column)))
    return rows.select(list(names))


def _completed(rows: pa.Table, wanted: pa.Schema) -> pa.Table:
    columns = [
        rows.column(field.name).cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(rows.num_rows, field.type)
        for field in wanted
    ]
    return pa.table(columns, schema=wanted)
