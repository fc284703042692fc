"""The stream's watch over itself, whole: from what it cannot read to the alert that says so."""

import json
import time

import pytest
from deltalake import DeltaTable

from logdirwatch.kafka.clients import producer
from logdirwatch.model import topics
from logdirwatch_lab.config import INTERPRETED
from logdirwatch_lab.demo import tables
from tests.kafka.telemetry import Message, Run, fresh_topics, send
from tests.support import bad
from tests.support.waiting import DEADLINE_S

STREAM = {
    "driver_memory": "1g",
    "pipeline_interval_ms": 500,
    "store_trigger": "2 seconds",
    "stop_timeout_ms": 1_000,
    "driver_java_options": "-XX:TieredStopAtLevel=1",
    "extra": INTERPRETED,
}


@pytest.fixture
def stream(on_disks, tmp_path):
    fresh_topics(on_disks)
    run = Run(tmp_path / "run", on_disks, overrides={"stream": STREAM}, queries=("detect", "store"))
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


ROUNDS, BROKERS, GROWN = 60, 20, 200
# Of the topics that this test reads itself, none.
WRITTEN = {topics.METRICS, topics.EVENTS, topics.DECISIONS}
BAD = [
    (topic, value) for topic, value, _ in bad.RECORDS if topic in WRITTEN and (value is None or len(value) < 100_000)
]
MIB = 1 << 20


def poll(broker, at_ms):
    record = {"version": 1, "cluster": "prod", "broker": broker, "timestamp_ms": at_ms, "status": "ok"}
    space = {"path": "/d1", "error_code": 0, "total_bytes": 1 << 40, "usable_bytes": 1 << 39}
    return json.dumps(record | {"collector": "c1", "interval_ms": 1_000, "log_dirs": [space]}).encode()


def flood(settings, begin_ms):
    """Write polls of every broker, each round between bad records of every kind; return how many those are."""
    for number in range(ROUNDS):
        at_ms = begin_ms + number * 1_000
        good = [Message(topics.METRICS, poll(broker, at_ms), at_ms) for broker in range(BROKERS)]
        spoilt = [Message(topic, value, at_ms) for topic, value in BAD]
        send(settings, [*spoilt, *good, *spoilt])
    return 2 * ROUNDS * len(BAD)


def send_grown(settings):
    """Write records of a MiB that Kafka takes for a few bytes, so that one batch of a megabyte holds all of them."""
    limits = {"batch_size": 1 << 28, "max_request_size": 1 << 28, "linger_ms": 5_000}
    client = producer(settings.telemetry, acks="all", compression_type="gzip", **limits)
    try:
        sent = [client.send(topics.EVENTS, b" " * MIB, partition=0) for _ in range(GROWN)]
        client.flush(timeout=DEADLINE_S)
        assert [future.get(timeout=DEADLINE_S).offset for future in sent]
    finally:
        client.close(timeout=5)


@pytest.fixture
def flooded(on_disks, tmp_path):
    fresh_topics(on_disks)
    detect = {"silence_min_ms": 86_400_000, "state_refresh_ms": 0}
    run = Run(tmp_path / "run", on_disks, overrides={"stream": STREAM, "detect": detect}, queries=("detect", "store"))
    run.start()
    yield run
    run.stop()


@pytest.mark.long
def test_a_flood_of_records_that_nobody_can_read_stops_nothing_and_hides_nothing(flooded):
    begin_ms = int(time.time() * 1_000) - ROUNDS * 1_000
    count = flood(flooded.settings, begin_ms) + GROWN
    send_grown(flooded.settings)
    last_ms = begin_ms + (ROUNDS - 1) * 1_000
    flooded.wait_for(
        lambda: [state["at_ms"] for state in flooded.states().values()] == [last_ms] * BROKERS,
        "every broker judged up to its last poll, and nobody else",
        300,
    )
    where = flooded.settings.tables_path
    flooded.wait_for(lambda: tables.count(where, "rejected_records") >= count, f"{count} rejected records", 300)
    position = ["topic", "partition", "offset", "reason"]
    rejected = DeltaTable(f"{where}/rejected_records").to_pyarrow_table(columns=position).to_pylist()
    assert len({(row["topic"], row["partition"], row["offset"]) for row in rejected}) == len(rejected) == count
    assert all(row["reason"] for row in rejected)
    flooded.wait_for(
        lambda: sum(row["kind"] == "poll" for row in flooded.rows("log_dir_samples")) == ROUNDS * BROKERS,
        "every poll stored",
    )
    flooded.wait_for(
        lambda: [value for values in flooded.alerts().values() for value in values if b"pipeline_rejects" in value],
        "the alert about what cannot be read",
    )
    said = flooded.service.log_file.read_text(errors="replace")
    assert (said.count("query.started"), said.count("query.failed")) == (2, 0)
