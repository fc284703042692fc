"""Parts of a table definition."""

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
