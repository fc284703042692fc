"""The records of earlier releases are decoded, and are as the schemas of today say."""

import base64
import json
import tarfile
from pathlib import Path

import jsonschema
import msgspec
import pytest

from logdirwatch.model.records import ActionRecord
from logdirwatch.plan.action_records import action_id
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.reference.schemas import RECORDS, json_schema
from tests.data import release

ARCHIVES = sorted(Path(release.__file__).parent.glob("release-*.tar.xz"))
OF_TOPIC = {
    "logdir.metrics": "metrics",
    "logdir.events": "events",
    "logdir.inventory": "inventory",
    "logdir.state": "state",
    "logdir.alerts": "alerts",
    "logdir.actions": "actions",
    "logdir.decisions": "decisions",
}


@pytest.fixture(scope="module", params=ARCHIVES, ids=lambda archive: archive.name)
def records(request):
    """Every record of a release's topics, with the name of its schema."""
    with tarfile.open(request.param) as archive, archive.extractfile(release.TELEMETRY) as lines:
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


def test_an_action_is_the_same_after_it_was_read_and_written_again(records):
    sent = [value for name, value in records if name == "actions"]
    for value in sent:
        whole, action = json.loads(value), msgspec.json.decode(value, type=ActionRecord)
        written = msgspec.json.encode(action)
        again = msgspec.json.decode(written, type=ActionRecord)
        assert json.loads(written).items() >= whole.items()
        assert content_hash(again) == content_hash(action) == content_hash(_as_given(whole))
        assert action_id(again.alert_id, again.kind, again.target) == again.action_id == whole["action_id"]


def _as_given(whole):
    """The action with its parts as they stand in the JSON, nothing of it read."""
    return ActionRecord(**{name: value for name, value in whole.items() if name in ActionRecord.__struct_fields__})
