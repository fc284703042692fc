"""Tables of a folder as another writer than Spark makes them."""

import msgspec
import pyarrow as pa
from deltalake import write_deltalake

from logdirwatch.store.schema.definitions import TABLES

ARROW = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "array<int>": pa.list_(pa.int32()),
    "array<string>": pa.list_(pa.string()),
    "map<string,string>": pa.map_(pa.string(), pa.string()),
}


class Written:
    """A folder of tables; columns that a row leaves out are null."""

    def __init__(self, root):
        self.root = root

    def write(self, table, *rows, without=()):
        names = [(c.name, ARROW[c.kind]) for c in TABLES[table].columns if c.kind in ARROW and c.name not in without]
        schema = pa.schema(names)
        write_deltalake(self.root / table, pa.Table.from_pylist(list(rows), schema=schema), mode="append")

    def alerts(self, *alerts):
        self.write("alerts", *(self.row(alert) for alert in alerts))

    def actions(self, *actions):
        self.write("actions", *(self.row(action) for action in actions))

    def executions(self, *records):
        """Write records of executions in the order of the journal."""
        self.write(
            "executions",
            *(
                {
                    **{name: str(getattr(record, name)) for name in ("execution_id", "action_id", "cluster", "state")},
                    "source_offset": offset,
                    "at_ms": record.at_ms,
                    "record": msgspec.json.encode(record).decode(),
                }
                for offset, record in enumerate(records)
            ),
        )

    @staticmethod
    def row(record):
        names = ("alert_id", "action_id", "cluster", "status", "severity")
        told = {name: str(getattr(record, name)) for name in names if hasattr(record, name)}
        numbers = {
            name: getattr(record, name) for name in ("revision", "at_ms", "opened_at_ms") if hasattr(record, name)
        }
        return {**told, **numbers, "record": msgspec.json.encode(record).decode()}
