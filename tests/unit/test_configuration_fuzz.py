"""Whatever stands in the configuration file, it is taken or refused in one line that shows no value."""

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from logdirwatch import settings as configuration
from logdirwatch.errors import UserError
from tests.support.generated import json_values
from tests.support.hostile import NAMES

LONGEST = 20_000
sections = st.sampled_from(sorted(configuration.Settings.model_fields))
documents = st.dictionaries(sections | st.sampled_from(NAMES), json_values | st.dictionaries(st.text(), json_values))
SECRET = "hunter2secret"


written = documents.map(lambda found: yaml.safe_dump(found).encode())


def refusal(path):
    try:
        configuration.load(path)
    except UserError as error:
        return error
    return None


@given(st.binary(max_size=200) | written | st.text().map(str.encode))
@example(b"\xff\xfe")
@example(b"home: 2024-13-45")
@example(b"home: " + b"9" * 5_000)
@example(b"1: 2")
@example(b"null: 2")
@example(b"[home]: x")
@example(b"home: !!binary x")
@example(b"home: !!python/object/apply:os.system [touch pwned]")
@example(b"home: !!timestamp x")
@example(b"home: !!int x")
@example(b"home: &a [*a]")
@example(b"home: \x00")
@example(b"[" * 50_000)
@example(b"{a: " * 5_000)
@example("home: \ud800".encode("utf-8", "surrogatepass"))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_file_is_a_configuration_or_one_line(tmp_path, content):
    path = tmp_path / "logdirwatch.yaml"
    path.write_bytes(content)
    refused = refusal(path)
    if refused is not None:
        assert refused.exit_code == 2
        assert len(str(refused)) < LONGEST
        assert str(path) in str(refused)
        assert str(refused).isprintable()


@pytest.mark.parametrize(
    "text", ["telemetry: {client: {sasl.password: [%s]}}", "telemetry: {client: %s}", "%s: 1\n? [", "%s"]
)
def test_no_value_is_shown(tmp_path, text):
    path = tmp_path / "logdirwatch.yaml"
    path.write_text(text % SECRET)
    with pytest.raises(UserError) as error:
        configuration.load(path)
    assert SECRET not in str(error.value)
