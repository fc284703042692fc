"""What the bundle for Databricks has of the same queries: a dashboard, SQL alerts and a Genie space."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

import yaml

from dashboards import lakeview, sql
from dashboards.fields import Limits
from logdirwatch.store.schema.definitions import TABLES

FOLDER = Path(__file__).parents[1] / "conf" / "databricks"
SCHEMA = "${resources.schemas.tables.catalog_name}.${resources.schemas.tables.name}"
_DAY = "unix_millis(now()) - 86400000"
HOST = sql.Host(SCHEMA, ":%s", {"from_ms": _DAY, "to_ms": sql.NOW_MS[sql.WRITTEN_IN], "interval_ms": "3600000"})
WAREHOUSE = "${resources.sql_warehouses.tables.id}"
READERS = "${var.readers}"

ALERTS: Mapping[str, tuple[str, str, str | None]] = {
    "firing_page": ("logdirwatch: somebody has to act now", "notify_firing", "severity = 'page'"),
    "firing_critical": ("logdirwatch: critical alerts", "notify_firing", "severity = 'critical'"),
    "silence": ("logdirwatch: nobody sees a cluster", "notify_silence", None),
}
"""Title, query and the rows of each SQL alert, which is triggered while there are any."""

QUESTIONS: Mapping[str, str] = {
    "Which alerts are open?": "open_alerts_list",
    "What should be done now?": "actions_open",
    "Which log directories will be full first?": "time_to_full",
    "How full is every log directory?": "directories_list",
    "Which brokers are not healthy?": "brokers_list",
    "Can any one broker or log directory be lost and rebuilt?": "room_answers",
    "Which partitions are at risk?": "partitions_list",
    "What changed in the last day?": "transitions_list",
    "Does logdirwatch itself work?": "pipeline_alerts",
}
"""The query that answers a question."""

INSTRUCTIONS = (
    "Each table and column is described in Unity Catalog. Columns that end in _ms are milliseconds, of the epoch or of "
    "a span; _bytes are bytes; _ratio is between 0 and 1. A missing value means that nobody knows, never zero or "
    "healthy. What is known of a cluster is the past if its newest broker_state.at_ms is old: say so. Of alerts, "
    "actions and executions only the newest revision of an id counts."
)


class _Dumper(yaml.SafeDumper):
    """Writes queries as they are read."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def files(limits: Limits) -> Iterator[tuple[str, str]]:
    """Yield the files below the folder of the bundle, with their texts."""
    board = json.dumps(lakeview.dashboard(limits), indent=1, ensure_ascii=False) + "\n"
    yield f"dashboards/{lakeview.FILE}", board
    yield "resources/alerts.yml", _yaml("alerts", alerts(limits))
    yield "resources/genie_space.yml", _yaml("genie_spaces", {"fleet": genie_space(limits)})


def _yaml(kind: str, content: object) -> str:
    head = "# Written by make dashboards from dashboards/queries.\n"
    whole = {"resources": {kind: content}}
    return head + yaml.dump(whole, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def alerts(limits: Limits) -> dict[str, Any]:
    """Return the SQL alerts."""
    return {name: _alert(*parts, limits) for name, parts in ALERTS.items()}


def _alert(title: str, query: str, rows: str | None, limits: Limits) -> dict[str, Any]:
    columns = sql.columns(query)
    text = f"SELECT {', '.join(lakeview.selected(query))}\nFROM (\n{_rendered(query, limits)}\n)"
    return {
        "display_name": title,
        "warehouse_id": WAREHOUSE,
        "run_as": {"service_principal_name": "${var.principal}"},
        "query_text": text + (f"\nWHERE {rows}" if rows else "") + "\n",
        "custom_summary": f"{title}: {{{{ALERT_STATUS}}}}",
        "custom_description": f"{sql.description(query)} {{{{QUERY_RESULT_TABLE}}}}",
        "evaluation": {
            "source": {"name": columns[0], "aggregation": "COUNT"},
            "comparison_operator": "GREATER_THAN",
            "threshold": {"value": {"double_value": 0}},
            "empty_result_state": "OK",
            "notification": {
                # Another alert may begin while the first one fires.
                "notify_on_ok": True,
                "retrigger_seconds": 3600,
                "subscriptions": [{"user_email": "${var.notify_email}"}],
            },
        },
        "schedule": {"quartz_cron_schedule": "${var.alert_cron}", "timezone_id": "UTC"},
        "permissions": [{"level": "CAN_READ", "group_name": READERS}],
    }


def genie_space(limits: Limits) -> dict[str, Any]:
    """Return the Genie space: all tables, whose descriptions Unity Catalog has, and what people ask."""
    asked = [
        {"id": _id(question), "question": [question], "sql": _rendered(query, limits).splitlines(keepends=True)}
        for question, query in sorted(QUESTIONS.items(), key=lambda each: _id(each[0]))
    ]
    samples = [{"id": _id(f"sample {question}"), "question": [question]} for question in QUESTIONS]
    return {
        "title": "logdirwatch",
        "description": "Ask about the disks of Kafka brokers: what is full, broken or at risk, and what to do.",
        "warehouse_id": WAREHOUSE,
        "permissions": [{"level": "CAN_RUN", "group_name": READERS}],
        "serialized_space": {
            "version": 2,
            "config": {"sample_questions": sorted(samples, key=itemgetter("id"))},
            "data_sources": {"tables": [{"identifier": f"{SCHEMA}.{name}"} for name in sorted(TABLES)]},
            "instructions": {
                "text_instructions": [{"id": _id("instructions"), "content": [INSTRUCTIONS]}],
                "example_question_sqls": asked,
            },
        },
    }


def _id(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _rendered(query: str, limits: Limits) -> str:
    return sql.rendered(query, sql.WRITTEN_IN, frozenset(), limits.numbers, HOST)
