"""The log entry that creates a table."""

import json

from logdirwatch.store.delta_log.entries import encoded
from logdirwatch.store.first_version import PROTOCOL, actions
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
        {"protocol": PROTOCOL},
        {
            "domainMetadata": {
                "domain": "delta.clustering",
                "configuration": '{"clusteringColumns":[["guest"],["at_ms"]],"domainName":"delta.clustering"}',
                "removed": False,
            }
        },
    ]
    told = commit_info["commitInfo"]
    assert (told["operation"], told["timestamp"]) == ("CREATE TABLE", 17)
    assert told["operationParameters"]["clusterBy"] == '["guest","at_ms"]'
