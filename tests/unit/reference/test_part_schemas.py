"""What the published schemas promise: every field is described, with its unit and whether it may be null."""

import re

from msgspec import Struct
from typer.main import get_command

from logdirwatch.cli.main import app
from logdirwatch.model import records
from logdirwatch.model.actions import EXPECTED
from logdirwatch.model.evidence import EVIDENCE
from logdirwatch.model.vocabulary import ActionKind, Rule
from logdirwatch.reference.pages import generated
from logdirwatch.reference.schemas import RECORDS, json_schema

UNITS = re.compile(r"(^|_)(bytes|ms|ratios?|percent|per_s|byte_rate)(_|$)")
COUNTS_AND_NAMES = {
    *("broker", "controller_id", "leader", "partition", "version", "revision", "error_code", "flapping"),
    *("brokers", "log_dirs", "partitions", "replicas", "topics", "count", "copies", "rows", "queued", "unknown"),
    *("reached", "of", "waves", "replica", "later", "elections", "demotes", "rebuilds", "endangered", "copy_threads"),
    *("leaderless", "under_min_isr", "under_min_isr_at_most", "at_min_isr", "at_min_isr_at_most", "led_anew"),
    *("sole_replica", "internal_leaderless", "out_of_sync", "survives", "racks", "writes_survive", "without_copy"),
    *("next_failure_loses_data", "writes_stopped", "next_failure_stops_writes", "writes_unknown", "replicas_known"),
    *("recovering_logs", "dead_cleaner_threads", "forecast_confidence", "copies_begun", "throttled_replicas"),
    *("uncleanable_partitions", "from_offset", "to_offset", "replica_count", "returns_count", "unplaced_count"),
    *("behind_rows", "read_rows", "position", "away_before", "behind", "isr", "warnings", "adding", "removing"),
    *("led_again_by_return_of", "needed_brokers", "filling_brokers", "silent_brokers", "unknown_brokers"),
    *("unknown_disks", "compared_brokers", "restarted_brokers", "at_once_brokers", "away_brokers"),
    *("refused_partitions", "restarts", "at_least"),
}
"""Numbers without a unit: how many there are of what they name, node ids, places in a log."""


def properties(name):
    for title, definition in json_schema(name)["$defs"].items():
        for field, schema in definition.get("properties", {}).items():
            yield f"{title}.{field}", field, schema


def described(schema):
    return schema.get("description", "")


def below(schema):
    """Yield a schema and all that it is made of."""
    yield schema
    for part in (*schema.get("anyOf", ()), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(part, dict):
            yield from below(part)


FIELDS = [*properties("alerts"), *properties("actions")]
PARTS = [found for found in FIELDS if "Record." not in found[0]]
EVERY = {name: (field, schema) for record in RECORDS for name, field, schema in properties(record)}
OF_RECORDS = {
    f"{kind.__name__}.{field}"
    for kind in vars(records).values()
    if isinstance(kind, type) and issubclass(kind, Struct) and kind.__module__.startswith(f"{records.__name__}.")
    for field in kind.__struct_encode_fields__
}


def test_every_rule_and_every_kind_has_its_struct():
    assert set(EVIDENCE) == set(Rule)
    assert set(EXPECTED) == set(ActionKind)


def test_every_struct_is_of_one_rule_or_kind():
    kinds = [*(kind for kinds in EVIDENCE.values() for kind in kinds.all), *EXPECTED.values()]
    assert len(set(kinds)) == len(kinds)


def test_no_field_may_be_just_any_object():
    def is_open(part):
        is_bare = part.get("type") == "object" and not isinstance(part.get("additionalProperties"), dict)
        return is_bare or not part.keys() - {"description", "default"}

    assert [name for name, _, schema in FIELDS if any(map(is_open, below(schema)))] == []


def test_every_field_is_described():
    assert {*OF_RECORDS} < {*EVERY}
    assert [name for name, (_, schema) in EVERY.items() if not re.fullmatch(r"\S.*[.]", described(schema))] == []


def test_a_time_of_a_record_names_its_unit():
    times = {name: schema for name, (field, schema) in EVERY.items() if name in OF_RECORDS and field.endswith("_ms")}
    assert len(times) > 30
    assert [name for name, schema in times.items() if "milliseconds" not in described(schema)] == []


def test_a_field_of_a_record_that_may_be_null_says_when():
    fields = {name: schema for name, (_, schema) in EVERY.items() if name in OF_RECORDS}
    allow_null = {name for name, schema in fields.items() if {"type": "null"} in schema.get("anyOf", ())}
    assert {name for name, schema in fields.items() if "null" in described(schema)} >= allow_null
    assert "StateRecord.is_silent" in allow_null


def test_a_number_names_its_unit_or_counts_something():
    def is_said(field, schema):
        is_number = {part.get("type") for part in below(schema)} & {"integer", "number"}
        return not is_number or UNITS.search(field) or field in COUNTS_AND_NAMES or "ytes" in schema["description"]

    assert [name for name, field, schema in PARTS if not is_said(field, schema)] == []


def test_what_only_the_planner_reads_back_is_marked():
    found = json_schema("actions")["$defs"]["LowerRetentionExpected"]["properties"]
    assert {name for name, schema in found.items() if schema.get("x-internal")} == {
        "topic_bytes_before",
        "freed_before",
    }


def test_the_memory_of_the_state_machine_is_marked():
    found = json_schema("state")["$defs"]["StateRecord"]["properties"]
    assert {name for name, schema in found.items() if schema.get("x-internal")} == {"machine"}


def test_the_page_lists_what_only_logdirwatch_reads_apart():
    page = generated(get_command(app))["reference/records.md"]
    public, _, internal = (
        page.partition("**LowerRetentionExpected.**")[2].partition("\n\n**")[0].partition("Internal fields")
    )
    assert "`owner`" in public
    assert "`topic_bytes_before`" not in public
    assert "`topic_bytes_before`" in internal
    assert "`owner`" not in internal


def test_null_is_allowed_exactly_where_a_field_is_written_as_null():
    found = json_schema("alerts")["$defs"]["LogDirOfflineEvidence"]["properties"]
    assert {"type": "null"} in found["device"]["anyOf"]
    assert "anyOf" not in found["host"]
