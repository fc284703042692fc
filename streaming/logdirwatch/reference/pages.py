"""The pages of the documentation's reference, written from the code."""

from collections.abc import Iterator
from typing import Any

from typer import Context
from typer.cli import get_docs_for_click

from logdirwatch.model.topics import TOPICS
from logdirwatch.reference import support
from logdirwatch.reference.configuration import reference_yaml
from logdirwatch.reference.schemas import RECORDS, json_schema
from logdirwatch.settings import Settings
from logdirwatch.store.schema.definitions import TABLES
from logdirwatch.text.units import human_ms

_PARTITIONS = {
    "logdir.metrics": "`topics.metrics_partitions`",
    "logdir.events": "`topics.events_partitions`",
    "logdir.inventory": "`topics.inventory_partitions`",
}
_EXIT_CODES = "Exit codes: 0 success, 1 failure, 2 wrong use. Global options go before the name of the command."


def generated(root_command: Any) -> dict[str, str]:
    """Return every generated page by its path; ``root_command`` is the command line's."""
    pages = {
        "reference/commands.md": _commands(root_command),
        "reference/configuration.md": _configuration(),
        "reference/topics.md": _topics(),
        "reference/records.md": _records(),
        "reference/tables.md": _tables(),
        "support.md": support.lines(),
    }
    return {path: "\n".join(lines) + "\n" for path, lines in pages.items()}


def _configuration() -> Iterator[str]:
    yield "# Configuration\n"
    yield (
        "Every key of the configuration with its meaning and default, as `logdirwatch config reference` prints it. "
        "`logdirwatch config check` prints the values in effect, with secrets masked.\n"
    )
    yield f"```yaml\n{reference_yaml(Settings)}```"


def _topics() -> Iterator[str]:
    yield "# Topics\n"
    yield (
        "Every topic of the telemetry cluster, what it carries, and the settings with which `logdirwatch topics "
        "create` creates it. Records are JSON in UTF-8; [records](records.md) has their fields.\n"
    )
    yield "| topic | carries | partitions | settings |\n|---|---|---|---|"
    for topic in TOPICS:
        settings = "<br>".join(f"`{key}={value}`{_days(key, value)}" for key, value in topic.configs.items())
        partitions = (
            f"{topic.partitions} ({_PARTITIONS[topic.name]})" if topic.name in _PARTITIONS else topic.partitions
        )
        yield f"| `{topic.name}` | {topic.carries} | {partitions} | {settings} |"


def _days(key: str, value: str) -> str:
    return f" ({human_ms(int(value))})" if key.endswith(".ms") else ""


def _records() -> Iterator[str]:
    yield "# Records\n"
    yield "Every record on the topics, with its fields. `logdirwatch schema NAME` prints its JSON Schema.\n"
    yield (
        "In fields ending in `_ms`, times are milliseconds since the epoch and durations milliseconds. `_bytes` are "
        "bytes, `_bytes_per_s` bytes per second, and `_ratio` shares from 0 to 1. Null means unknown. A field that is "
        "not required may be missing where it does not apply, or in the records of an older release. Unknown fields "
        "are ignored. A record without a required field is rejected, and is in the table `rejected_records` with the "
        "reason. Internal fields are listed separately: only logdirwatch reads them, and they may change with any "
        "release.\n"
    )
    for name, (topic, _) in RECORDS.items():
        yield f"## {name}\n\nTopic `{topic}`, `logdirwatch schema {name}`.\n"
        yield from _definitions(json_schema(name))


def _definitions(schema: dict[str, Any]) -> Iterator[str]:
    for title, definition in schema["$defs"].items():
        if "properties" in definition:
            yield f"**{title}.** {_plain(definition)}\n"
            yield from _by_value(definition)
            yield from _fields(definition, is_internal=False)
            yield from _fields(definition, is_internal=True)
        elif "enum" in definition:
            values = ", ".join(f"`{value}`" for value in definition["enum"])
            yield f"**{title}.** {_plain(definition)} One of {values}.\n"


def _fields(definition: dict[str, Any], *, is_internal: bool) -> Iterator[str]:
    """Yield the table of the fields that consumers may rely on, or of those that only logdirwatch itself reads."""
    found = {f: k for f, k in definition["properties"].items() if bool(k.get("x-internal")) is is_internal}
    if not found:
        return
    if is_internal:
        yield "Internal fields, which only logdirwatch reads and which may change with any release:\n"
    yield "| field | type | null | required | meaning |\n|---|---|---|---|---|"
    yield from (_row(field, kind, definition) for field, kind in found.items())
    yield ""


def _row(field: str, kind: dict[str, Any], definition: dict[str, Any]) -> str:
    """Return the table row of one field."""
    is_null, is_required = {"type": "null"} in kind.get("anyOf", ()), field in definition.get("required", ())
    by_value = {name for rule in definition.get("allOf", ()) for name in rule["then"]["properties"]}
    what = "as above" if field in by_value else _type(kind)
    return f"| `{field}` | {what} | {_yes(is_null)} | {_yes(is_required)} | {_plain(kind)} |"


def _yes(holds: bool) -> str:
    return "yes" if holds else ""


def _plain(schema: dict[str, Any]) -> str:
    """Return a schema's description as Markdown."""
    return " ".join(str(schema.get("description", "")).replace("``", "`").replace("|", "\\|").split())


def _by_value(definition: dict[str, Any]) -> Iterator[str]:
    """Yield the types of a field by the value of another field."""
    rows = [
        (tag, found["const"], field, _type(kind))
        for rule in definition.get("allOf", ())
        for tag, found in rule["if"]["properties"].items()
        for field, kind in rule["then"]["properties"].items()
    ]
    if rows:
        tag, _, field, _ = rows[0]
        yield f"| `{tag}` | `{field}` |\n|---|---|"
        yield from (f"| `{value}` | {kind} |" for _, value, _, kind in rows)
        yield ""


def _type(kind: dict[str, Any]) -> str:
    if "anyOf" in kind:
        return " or ".join(_type(part) for part in kind["anyOf"] if part != {"type": "null"})
    if "$ref" in kind:
        return str(kind["$ref"].rpartition("/")[2])
    if "enum" in kind:
        return " or ".join(f"`{value}`" for value in kind["enum"])
    if kind.get("type") == "array":
        return f"list of {_type(kind['items'])}" if kind.get("items") else "list"
    if kind.get("type") == "object" and isinstance(kind.get("additionalProperties"), dict):
        return f"map to {_type(kind['additionalProperties']) or 'anything'}"
    return str(kind.get("type", "anything"))


def _tables() -> Iterator[str]:
    yield "# Tables\n"
    yield (
        "Every Delta table and column; the tables are below `tables.path`, or in `tables.catalog` and "
        "`tables.table_schema`. In columns ending in `_ms`, times are milliseconds since the epoch and durations "
        "milliseconds; `_bytes` are bytes, and null means unknown. Values that vary in shape are JSON text.\n"
    )
    for table in TABLES.values():
        key = ", ".join(f"`{name}`" for name in table.key)
        yield f"## {table.name}\n\n{table.comment}. One row per {key}.\n"
        yield "| column | type | meaning |\n|---|---|---|"
        yield from (f"| `{c.name}` | {c.kind.replace('<', '&lt;')} | {c.comment} |" for c in table.columns)
        yield ""


def _commands(root: Any) -> Iterator[str]:
    text = get_docs_for_click(obj=root, ctx=Context(root), name="logdirwatch", title="Commands")
    yield text.replace("# Commands\n", f"# Commands\n\n{_EXIT_CODES}\n", 1).rstrip("\n")
