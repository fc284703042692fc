"""``logdirwatch doctor`` as it is typed."""

import json

import pytest


def test_a_configuration_that_cannot_be_read_is_a_finding(run, tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("telemetry: {bootstrap_server: x}\n")
    ended = run("--config", str(path), "doctor", "--json")
    assert (ended.exit_code, ended.err) == (1, "")
    (finding,) = json.loads(ended.out)["findings"]
    assert finding["check"] == "configuration"
    assert "telemetry.bootstrap_server: there is no such key; did you mean bootstrap_servers?" in finding["what"]
    assert "config reference" in finding["remedy"]


def test_a_client_property_that_cannot_be_translated_is_a_finding(run, tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("clusters: {prod: {client: {ssl.provider: hidden}}}\n")
    ended = run("--config", str(path), "doctor")
    assert ended.exit_code == 1
    assert "clusters.prod.client: Kafka client property ssl.provider: not supported" in " ".join(ended.out.split())
    assert "  do: " in ended.out
    assert "hidden" not in ended.out


@pytest.mark.parametrize("arguments", [["--ignore", "nonsense"]])
def test_wrong_use(run, arguments):
    ended = run("doctor", *arguments)
    assert ended.exit_code == 2
    assert "no check is named nonsense; the checks: configuration, telemetry_is_monitored" in ended.err
