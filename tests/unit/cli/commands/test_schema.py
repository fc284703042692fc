import json

import pytest

from logdirwatch.reference.schemas import RECORDS


@pytest.mark.parametrize("name", RECORDS)
def test_a_schema_is_printed_as_json(run, name):
    ended = run("schema", name)
    assert ended.exit_code == 0
    assert RECORDS[name][0] in json.loads(ended.out)["title"]


def test_an_unknown_record_is_wrong_use_and_the_known_ones_are_named(run):
    ended = run("schema", "metric")
    assert ended.exit_code == 2
    assert "metrics" in ended.err
