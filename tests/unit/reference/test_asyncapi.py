"""The AsyncAPI document: complete, without loose ends, and with the schemas of ``logdirwatch schema``."""

import json

import jsonschema
import msgspec
import pytest

from logdirwatch.model.topics import TOPICS
from logdirwatch.reference.asyncapi import document
from logdirwatch.reference.schemas import RECORDS, json_schema
from tests.unit.report.builders import action, alert


@pytest.fixture(scope="module")
def found():
    return json.loads(json.dumps(document()))


def refs(part):
    if isinstance(part, dict):
        yield from ([part["$ref"]] if "$ref" in part else [])
        part = list(part.values())
    for one in part if isinstance(part, list) else []:
        yield from refs(one)


def test_every_reference_leads_to_something(found):
    for ref in set(refs(found)):
        part = found
        for key in ref.removeprefix("#/").split("/"):
            part = part[key]
        assert isinstance(part, dict)


def test_every_topic_has_its_records(found):
    told = {(channel["address"], name) for channel in found["channels"].values() for name in channel["messages"]}
    assert told == {(topic, name) for name, (topic, _) in RECORDS.items()}
    assert {channel["bindings"]["kafka"]["partitions"] for channel in found["channels"].values()} == {
        topic.partitions for topic in TOPICS
    }


def test_what_several_records_are_made_of_is_one_schema():
    parts = {}
    for name in RECORDS:
        for part, schema in json_schema(name)["$defs"].items():
            assert parts.setdefault(part, schema) == schema, part


@pytest.mark.parametrize(("name", "record"), [("alerts", alert()), ("actions", action())])
def test_records_are_as_the_document_says(found, name, record):
    payload = {**found["components"]["messages"][name]["payload"], "components": found["components"]}
    validator, told = jsonschema.Draft202012Validator(payload), msgspec.to_builtins(record)
    validator.validate(told)
    del told["cluster"]
    assert not validator.is_valid(told)
