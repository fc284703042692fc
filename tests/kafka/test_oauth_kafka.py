"""OAUTHBEARER: Python's client and Spark's log in with tokens of the same endpoint, by the same properties."""

import json

import pytest

from logdirwatch.kafka.settings import KafkaSettings
from tests.kafka.collecting import run, write_config
from tests.kafka.secured import PASSWORD
from tests.kafka.telemetry import Run, fresh_topics
from tests.support.waiting import DEADLINE_S

pytestmark = [pytest.mark.long, pytest.mark.release]


@pytest.fixture
def endpoint(secured):
    with secured.issuer.endpoint() as running:
        yield running


def test_a_cluster_is_watched_and_judged_with_tokens(secured, watched, endpoint, tmp_path):
    client = secured.oauth_client(endpoint, "admin")
    settings = watched.model_copy(update={"telemetry": KafkaSettings(bootstrap_servers=secured.oauth, client=client)})
    fresh_topics(settings)
    config = write_config(
        tmp_path / "collect.yaml", secured.oauth, secured.oauth, client=client, telemetry_client=client
    )
    done = run(config, "collect", "--once")
    assert (done.returncode, done.stderr) == (0, "")
    by_python = len(secured.issuer.granted)
    stream = Run(tmp_path / "run", settings)
    stream.start()
    try:
        stream.wait_for(lambda: ("test", 0) in stream.states(), "the broker judged", DEADLINE_S)
        assert stream.stop() == 0
    finally:
        stream.stop()
    assert len(secured.issuer.granted) > by_python
    log = (stream.folder / "stream.log").read_text()
    assert json.dumps(PASSWORD)[1:-1] not in log
    assert PASSWORD not in log


def test_a_wrong_secret_is_one_line_without_it(secured, endpoint, tmp_path):
    client = secured.oauth_client(endpoint, "admin", "wr0ng")
    config = write_config(tmp_path / "c.yaml", secured.oauth, secured.oauth, client=client, telemetry_client=client)
    done = run(config, "alerts")
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert "the token endpoint answers 401" in line
    assert "wr0ng" not in line
