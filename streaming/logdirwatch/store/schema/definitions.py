"""Every Delta table by name.

Times are epoch milliseconds in columns ending ``_ms``, sizes are bytes in columns ending ``_bytes``; null means
unknown. Values of varying structure are JSON text.
"""

from logdirwatch.store.schema import history_tables, now_tables
from logdirwatch.store.schema.columns import *  # noqa: F403 - whoever needs a table needs one import
from logdirwatch.store.schema.columns import Table
from logdirwatch.store.schema.history_tables import *  # noqa: F403
from logdirwatch.store.schema.now_tables import *  # noqa: F403

TABLES: dict[str, Table] = {
    table.name: table
    for module in (now_tables, history_tables)
    for table in vars(module).values()
    if isinstance(table, Table)
}
