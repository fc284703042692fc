"""Parts of a table definition."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """One column; ``kind`` is its type in Spark SQL."""

    name: str
    kind: str
    comment: str


@dataclass(frozen=True)
class Table:
    """One table; no two rows share ``key``, and ``time`` is what merges into a history are pruned by."""

    name: str
    comment: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    clustered_by: tuple[str, ...]
    time: str | None = None

    @property
    def names(self) -> list[str]:
        """The column names, in order."""
        return [column.name for column in self.columns]

    @property
    def sought_by(self) -> list[str]:
        """The columns used for file skipping: key, clustering and time. Delta keeps no statistics of booleans."""
        sought = {*self.key, *self.clustered_by, self.time}
        return [column.name for column in self.columns if column.name in sought and column.kind != "boolean"]


def columns(text: str) -> tuple[Column, ...]:
    """Read column definitions, one per line: name, type, and the comment, which is the rest."""
    return tuple(Column(*line.split(maxsplit=2)) for line in text.strip().splitlines())


SOURCE = columns("""
    source_topic      string  Kafka topic of the record that this row was made from
    source_partition  int     Partition of that record
    source_offset     bigint  Offset of that record
""")


_DELTA_NAMES = {"int": {"integer", "long"}, "bigint": {"long"}, "double": {"double"}, "boolean": {"boolean"}}
_TEXTS = {"string", "varchar", "char"}


def foreign_change(table: Table, types: Mapping[str, str], needed: Collection[str] = ()) -> str | None:
    """Return the first column that is not as this program wrote it, given the types of the table in Delta's names.

    A column that is missing counts if it is ``needed``, and rows are identified by it: the others may be younger than
    the table. Only types without parts are compared.
    """
    for column in table.columns:
        found = types.get(column.name)
        if found is None and column.name in table.key and column.name in needed:
            return f"it has no column {column.name}"
        allowed = _TEXTS if column.kind == "string" else _DELTA_NAMES.get(column.kind)
        if found is not None and allowed is not None and found not in allowed:
            return f"its column {column.name} is {found}, not {column.kind}"
    return None
