"""Version 0 of a Delta table, written as its log entry: Delta's own command runs a Spark job for each table."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from logdirwatch import __version__
from logdirwatch.store.delta_log.entries import Action, encoded, file_name
from logdirwatch.store.schema.columns import Table
from logdirwatch.store.storage.folder import Folder

FILE_NAME = file_name(0)
# What Delta 4.4 requires of writers of a table with clustering columns; readers need nothing.
PROTOCOL = {
    "minReaderVersion": 1,
    "minWriterVersion": 7,
    "writerFeatures": ["domainMetadata", "clustering", "invariants", "appendOnly"],
}
_DEFAULT_PROPERTIES = "spark.databricks.delta.properties.defaults."


def actions(table: Table, schema: str, properties: Mapping[str, str], table_id: str, now_ms: int) -> list[Action]:
    """Return the actions of the log entry; ``schema`` is the JSON of Spark's type."""
    clustering = {"clusteringColumns": [[name] for name in table.clustered_by], "domainName": "delta.clustering"}
    return [
        {"commitInfo": _commit_info(table, properties, now_ms)},
        {
            "metaData": {
                "id": table_id,
                "description": table.comment,
                "format": {"provider": "parquet", "options": {}},
                "schemaString": schema,
                "partitionColumns": [],
                "configuration": dict(properties),
                "createdTime": now_ms,
            }
        },
        {"protocol": PROTOCOL},
        {"domainMetadata": {"domain": "delta.clustering", "configuration": _compact(clustering), "removed": False}},
    ]


def _commit_info(table: Table, properties: Mapping[str, str], now_ms: int) -> dict[str, Any]:
    return {
        "timestamp": now_ms,
        "operation": "CREATE TABLE",
        "operationParameters": {
            "partitionBy": "[]",
            "clusterBy": _compact(table.clustered_by),
            "description": table.comment,
            "isManaged": "false",
            "properties": _compact(properties),
        },
        "isolationLevel": "Serializable",
        "isBlindAppend": True,
        "operationMetrics": {},
        "engineInfo": f"logdirwatch/{__version__}",
    }


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def can_write(spark: SparkSession) -> bool:
    """Tell whether tables may be created by their log entries: not with default properties, which SQL applies."""
    return not any(key.startswith(_DEFAULT_PROPERTIES) for key in spark.conf.getAll)


def write(spark: SparkSession, folder: Folder, entry: Sequence[Action]) -> bool:
    """Write the log entry unless there is one, and return whether it was written.

    The caller has checked that the table does not exist: an old table's log no longer has this entry.
    """
    jvm: Any = spark._jvm  # noqa: SLF001 - PySpark has no other access to Delta's log
    try:
        return folder.create(FILE_NAME, encoded(entry))
    finally:
        # The log object still takes the table for missing.
        log = jvm.org.apache.spark.sql.delta.DeltaLog
        log.invalidateCache(spark._jsparkSession, jvm.org.apache.hadoop.fs.Path(folder.url))  # noqa: SLF001
