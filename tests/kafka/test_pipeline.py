"""The stream's watch over itself, whole: from what it cannot read to the alert that says so."""

import json
import time

import pytest

from logdirwatch.local.config import INTERPRETED
from tests.kafka.telemetry import Message, Run, fresh_topics, send

STREAM = {
    "driver_memory": "1g",
    "pipeline_interval_ms": 500,
    "store_trigger": "2 seconds",
    "stop_timeout_ms": 1_000,
    "driver_java_options": "-XX:TieredStopAtLevel=1",
    "extra": INTERPRETED,
}


@pytest.fixture
def stream(watched, tmp_path):
    fresh_topics(watched)
    run = Run(tmp_path / "run", watched, overrides={"stream": STREAM}, queries=("detect", "store"))
    run.start()
    yield run
    run.stop()


@pytest.mark.long
def test_records_that_nobody_can_read_become_one_alert_about_the_query(stream):
    at_ms = int(time.time() * 1_000)
    send(stream.settings, [Message("logdir.events", b"garbage", at_ms + number) for number in range(12)])
    rejected = stream.wait_for(
        lambda: [json.loads(value) for values in stream.alerts().values() for value in values if b"_rejects" in value],
        "the alert about what cannot be read",
    )
    assert {alert["alert_id"] for alert in rejected} == {rejected[0]["alert_id"]}
    alert = rejected[0]
    assert (alert["rule"], alert["cluster"], alert["broker"]) == ("pipeline_rejects", "*", None)
    assert alert["evidence"]["query"] == "store"
    assert 10 <= alert["evidence"]["rows"] <= 12
    assert alert["evidence"]["reasons"][0]["example"].startswith("logdir.events/0/")
    written = [json.loads(value) for key, value in stream.values("logdir.metrics") if key == b"pipeline/store"]
    assert all(record["type"] == "pipeline" for record in written)
