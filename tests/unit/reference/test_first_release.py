"""The records of release 0.1.0 are decoded, and are as the schemas of today say."""

import base64
import json
import tarfile
from pathlib import Path

import jsonschema
import msgspec
import pytest

from logdirwatch.reference.schemas import RECORDS, json_schema
from tests.data import release

ARCHIVE = Path(release.__file__).parent / "release-0.1.0.tar.xz"
OF_TOPIC = {
    "logdir.metrics": "metrics",
    "logdir.events": "events",
    "logdir.inventory": "inventory",
    "logdir.state": "state",
    "logdir.alerts": "alerts",
    "logdir.actions": "actions",
    "logdir.decisions": "decisions",
}


@pytest.fixture(scope="module")
def records():
    """Every record of the first release's topics, with the name of its schema."""
    with tarfile.open(ARCHIVE) as archive, archive.extractfile(release.TELEMETRY) as lines:
        messages = [json.loads(line) for line in lines]
    values = [(OF_TOPIC[topic], base64.b64decode(value)) for topic, _, _, value, _ in messages if value is not None]
    assert {name for name, _ in values} >= {"metrics", "events", "inventory", "state", "alerts", "actions"}
    return values


@pytest.mark.parametrize("name", ["metrics", "events", "inventory", "state", "alerts", "actions"])
def test_records_are_decoded_and_as_the_schema_says(name, records):
    validator = jsonschema.Draft202012Validator(json_schema(name))
    for kind, value in records:
        if kind == name and (name != "metrics" or json.loads(value).get("type", "metrics") == "metrics"):
            msgspec.json.decode(value, type=RECORDS[name][1])
            validator.validate(json.loads(value))
