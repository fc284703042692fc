import json
from typing import Any

import jsonschema
import msgspec
import pytest

from logdirwatch.reference.schemas import RECORDS, json_schema

WHOLE: dict[str, dict[str, Any]] = {
    "metrics": {"version": 1, "cluster": "c", "broker": 2, "timestamp_ms": 5, "status": "ok"},
    "heartbeat": {"type": "heartbeat", "version": 1, "cluster": "c", "timestamp_ms": 5},
    "pipeline": {"type": "pipeline", "version": 1, "query": "store", "timestamp_ms": 5},
    "events": {"version": 1, "broker": 2, "event": "LogDirFailure"},
    "inventory": {"type": "scan", "version": 1, "cluster": "c", "timestamp_ms": 5, "topics": 3, "is_complete": True},
    "decisions": {"version": 1, "id": "a1", "decision": "accept", "by": "me", "reason": "r", "at_ms": 5},
}


def accepts(name: str, record: dict[str, Any]) -> bool:
    return jsonschema.Draft202012Validator(json_schema(name)).is_valid(record)


def decodes(name: str, record: dict[str, Any]) -> bool:
    try:
        msgspec.json.decode(json.dumps(record), type=RECORDS[name][1])
    except msgspec.ValidationError:
        return False
    return True


@pytest.mark.parametrize("name", RECORDS)
def test_every_schema_is_itself_valid(name):
    jsonschema.Draft202012Validator.check_schema(json_schema(name))


@pytest.mark.parametrize("name", WHOLE)
def test_the_smallest_record_is_accepted_by_schema_and_decoder(name):
    assert accepts(name, WHOLE[name])
    assert decodes(name, WHOLE[name])


@pytest.mark.parametrize(("name", "missing"), [(name, key) for name, record in WHOLE.items() for key in record])
def test_schema_and_decoder_refuse_a_record_without_a_required_field(name, missing):
    record = {key: value for key, value in WHOLE[name].items() if key != missing}
    assert not accepts(name, record)
    assert decodes(name, record) is (missing == "type" and name in {"heartbeat", "pipeline"})


@pytest.mark.parametrize("name", WHOLE)
def test_fields_that_the_schema_does_not_name_are_ignored(name):
    assert accepts(name, {**WHOLE[name], "added_later": 1})


def test_the_integer_form_of_an_event_is_accepted():
    assert accepts("events", {"version": 1, "broker": 2, "event": 1})


def test_another_version_is_refused():
    assert not accepts("events", {"version": 2, "broker": 2, "event": "LogDirFailure"})
