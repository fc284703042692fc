"""The resources in ``conf/strimzi`` are as Strimzi's published schemas have them."""

from pathlib import Path

import pytest
import yaml

from tests.support import strimzi

FOLDER = Path(__file__).parents[2] / "conf" / "strimzi"
RESOURCES = [
    pytest.param(resource, id=f"{path.name}-{resource['metadata']['name']}")
    for path in sorted(FOLDER.glob("*.yaml"))
    for resource in yaml.safe_load_all(path.read_text(encoding="utf-8"))
    if resource is not None and "kind" in resource
]


def test_every_kind_of_resource_is_among_them():
    assert {parameter.values[0]["kind"] for parameter in RESOURCES} == {"KafkaUser", "KafkaRebalance"}


@pytest.mark.parametrize("resource", RESOURCES)
def test_a_resource_is_as_its_schema_says(resource):
    assert strimzi.errors(resource) == []
    assert resource["apiVersion"] == "kafka.strimzi.io/v1"


def test_a_misspelt_field_is_noticed():
    resource = RESOURCES[0].values[0]
    assert strimzi.errors({**resource, "spec": {**resource["spec"], "athorization": {}}})
