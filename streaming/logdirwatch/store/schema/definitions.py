"""Every Delta table by name.

Times are epoch milliseconds in columns ending ``_ms``, sizes are bytes in columns ending ``_bytes``; null means
unknown. Values of varying structure are JSON text.
"""

from logdirwatch.store.schema.columns import Column, Table
from logdirwatch.store.schema.history_tables import (
    ACTIONS,
    ALERTS,
    DECISIONS,
    EXECUTIONS,
    LOG_DIR_SAMPLES,
    QUALITY_RESULTS,
    REJECTED_RECORDS,
    TRANSITIONS,
)
from logdirwatch.store.schema.now_tables import (
    BROKER_STATE,
    LOG_DIR_INVENTORY,
    LOG_DIR_STATE,
    REPLICA_STATE,
    TOPIC_STATE,
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        BROKER_STATE,
        LOG_DIR_STATE,
        REPLICA_STATE,
        TOPIC_STATE,
        LOG_DIR_INVENTORY,
        LOG_DIR_SAMPLES,
        TRANSITIONS,
        ALERTS,
        ACTIONS,
        EXECUTIONS,
        DECISIONS,
        REJECTED_RECORDS,
        QUALITY_RESULTS,
    )
}

__all__ = [
    "ACTIONS",
    "ALERTS",
    "BROKER_STATE",
    "DECISIONS",
    "EXECUTIONS",
    "LOG_DIR_INVENTORY",
    "LOG_DIR_SAMPLES",
    "LOG_DIR_STATE",
    "QUALITY_RESULTS",
    "REJECTED_RECORDS",
    "REPLICA_STATE",
    "TABLES",
    "TOPIC_STATE",
    "TRANSITIONS",
    "Column",
    "Table",
]
