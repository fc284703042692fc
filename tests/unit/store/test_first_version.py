"""The log entry that creates a table."""

import json

from logdirwatch import __version__
from logdirwatch.store.delta_log.entries import encoded
from logdirwatch.store.first_version import actions
from logdirwatch.store.schema.columns import Column, Table

TABLE = Table(
    name="visits",
    comment="A visitor's visits",
    columns=(Column("guest", "string", "Name"), Column("at_ms", "bigint", "When")),
    key=("guest",),
    clustered_by=("guest", "at_ms"),
)
SCHEMA = '{"type":"struct","fields":[]}'


def test_the_entry_has_the_actions_that_delta_writes_for_create_table():
    lines = actions(TABLE, SCHEMA, {"delta.appendOnly": "true"}, "an-id", 17)
    commit_info, *others = map(json.loads, encoded(lines).splitlines())
    assert others == [
        {
            "metaData": {
                "id": "an-id",
                "description": "A visitor's visits",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": SCHEMA,
                "partitionColumns": [],
                "configuration": {"delta.appendOnly": "true"},
                "createdTime": 17,
            }
        },
        {
            "protocol": {
                "minReaderVersion": 1,
                "minWriterVersion": 7,
                "writerFeatures": ["domainMetadata", "clustering", "invariants", "appendOnly"],
            }
        },
        {
            "domainMetadata": {
                "domain": "delta.clustering",
                "configuration": '{"clusteringColumns":[["guest"],["at_ms"]],"domainName":"delta.clustering"}',
                "removed": False,
            }
        },
    ]
    assert commit_info["commitInfo"] == {
        "timestamp": 17,
        "operation": "CREATE TABLE",
        "operationParameters": {
            "partitionBy": "[]",
            "clusterBy": '["guest","at_ms"]',
            "description": "A visitor's visits",
            "isManaged": "false",
            "properties": '{"delta.appendOnly":"true"}',
        },
        "isolationLevel": "Serializable",
        "isBlindAppend": True,
        "operationMetrics": {},
        "engineInfo": f"logdirwatch/{__version__}",
    }
