"""What the product does when what it stands on is away, slow, gone or too much: the promises of docs/reliability.md."""

import json
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from logdirwatch.kafka import clients, telemetry_topics
from logdirwatch.model import topics
from logdirwatch.settings import load
from logdirwatch_lab import archive, nodes, processes
from logdirwatch_lab.bringup import TELEMETRY_HEAP_MIB
from logdirwatch_lab.config import INTERPRETED
from logdirwatch_lab.state import MountMode
from logdirwatch_lab.volumes import Volumes
from tests.kafka.collecting import collector_of
from tests.kafka.conftest import JARS_HOME
from tests.kafka.telemetry import Message, Run, fresh_topics, send
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.long

STREAM = {
    "driver_memory": "1g",
    "pipeline_interval_ms": 500,
    "store_trigger": "2 seconds",
    "stop_timeout_ms": 1_000,
    "restart_backoff_max_ms": 1_000,
    "driver_java_options": "-XX:TieredStopAtLevel=1",
    "extra": INTERPRETED,
}
TOTAL = 1 << 30


def sample(broker, *, at_ms=None, error_code=0, usable=TOTAL // 2):
    at_ms = at_ms or time.time_ns() // 1_000_000
    space = {} if error_code else {"total_bytes": TOTAL, "usable_bytes": usable}
    record = {
        "version": 1,
        "cluster": "prod",
        "broker": broker,
        "timestamp_ms": at_ms,
        "status": "ok",
        "collector": "c1",
        "interval_ms": 1_000,
        "log_dirs": [{"path": "/d1", "error_code": error_code, **space}, {"path": "/d2", "error_code": 0, **space}],
    }
    return Message(topics.METRICS, json.dumps(record).encode(), at_ms, broker % 6)


def firing(stream, rule, **fields):
    """The alerts of a rule on the topic, as far as their fields are these."""
    found = [json.loads(value) for values in stream.alerts().values() for value in values]
    return [alert for alert in found if alert["rule"] == rule and fields.items() <= alert.items()]


def log_of(stream):
    return (stream.folder / "stream.log").read_text()


@pytest.fixture
def make_stream(watched, tmp_path):
    """Return a function that starts the stream over empty topics; it ends after the test."""
    started = []

    def make(settings=watched, queries=("fast_lane", "detect", "store"), **stream):
        fresh_topics(settings)
        run = Run(tmp_path / "run", settings, {"stream": STREAM | stream}, queries=queries)
        run.start()
        started.append(run)
        return run

    yield make
    for run in started:
        run.stop()


def test_alerts_flow_while_the_tables_are_away_and_the_tables_follow(make_stream):
    stream = make_stream()
    send(stream.settings, [sample(1)])
    stream.wait_for(lambda: stream.rows("broker_state"), "the tables written", DEADLINE_S)
    tables = Path(stream.settings.tables_path)
    away = tables.rename(tables.with_name("away"))
    tables.write_text("no folder")
    send(stream.settings, [sample(1, error_code=56)])
    stream.wait_for(lambda: firing(stream, "log_dir_offline", lane="stateful"), "the alert without tables", DEADLINE_S)
    stream.wait_for(lambda: "query.failed" in log_of(stream), "the query that writes tables to fail", DEADLINE_S)
    assert "query=store" in next(line for line in log_of(stream).splitlines() if "query.failed" in line)
    tables.unlink()
    away.rename(tables)

    def stored():
        return {(row["alert_id"], row["revision"]) for row in stream.rows("alerts")}

    expected = {key for key in stream.alerts() if key[1] > 0}
    stream.wait_for(lambda: expected <= stored(), "the tables to follow", DEADLINE_S)
    assert stream.stop() == 0


@contextmanager
def telemetry_dead(cluster):
    """Kill the telemetry broker, and start it again at the end of the block."""
    node = cluster.state().telemetry
    processes.kill([node.process])
    try:
        yield
    finally:
        kafka = archive.kafka_jvm(JARS_HOME, cluster.folder, lambda _: None)
        with cluster._changing() as state:
            nodes.Launcher(kafka, Volumes(MountMode.PLAIN), state.cluster_id).start(state.telemetry, TELEMETRY_HEAP_MIB)
            cluster._file.save(state)
        nodes.wait_serving(state.telemetry, [state.telemetry])


def test_collector_and_stream_outlive_the_telemetry_cluster(make_cluster, make_stream, tmp_path):
    """It is away until both have noticed; what failed meanwhile is told when it is back, and nothing was lost."""
    cluster = make_cluster(brokers=1, log_dirs=2)
    stream = make_stream(load(cluster.config_path), queries=("fast_lane", "detect"))
    with collector_of(cluster, tmp_path) as collector:
        stream.wait_for(lambda: ("test", 0) in stream.states(), "the broker judged", DEADLINE_S)
        with telemetry_dead(cluster):
            collector.says("publish.target.failed")
            cluster.break_log_dir(0, 1)
            wait_until(
                lambda: "pipeline.no_offsets" in log_of(stream),
                DEADLINE_S,
                lambda: f"it to notice; {stream.service.tail()}",
            )
        assert "dropped=0" in collector.says("publish.target.recovered")
        stream.wait_for(
            lambda: {alert["lane"] for alert in firing(stream, "log_dir_offline", broker=0)} == {"fast", "stateful"},
            "the directory that failed meanwhile to be told in both lanes",
            DEADLINE_S,
        )
        assert collector.stop() == 0
    assert stream.stop() == 0


@pytest.mark.release
def test_a_burst_of_ten_times_the_usual_rate_is_judged_and_stored_whole(make_stream):
    """Forty brokers tell ten polls each at once; one disk fails in the middle of it."""
    stream = make_stream()
    begin_ms = time.time_ns() // 1_000_000 - 60_000
    polls = [(broker, begin_ms + number * 1_000) for number in range(10) for broker in range(40)]
    first = [sample(broker, at_ms=begin_ms - 1_000) for broker in range(40)]
    send(stream.settings, first)
    stream.wait_for(lambda: len(stream.states()) == 40, "the usual rate judged")
    burst = [
        sample(broker, at_ms=at_ms, error_code=56 if broker == 7 and at_ms >= begin_ms + 5_000 else 0)
        for broker, at_ms in polls
    ]
    send(stream.settings, burst)
    last_ms = begin_ms + 9_000
    stream.wait_for(
        lambda: all(state["at_ms"] == last_ms for state in stream.states().values()), "every broker judged", DEADLINE_S
    )
    stream.wait_for(
        lambda: sum(row["log_dir"] is not None for row in stream.rows("log_dir_samples")) == 2 * 440,
        "every sample stored",
        DEADLINE_S,
    )
    opened = {alert["alert_id"] for alert in firing(stream, "log_dir_offline")}
    assert len(opened) == 1
    assert firing(stream, "pipeline_data_loss") == []
    assert stream.stop() == 0


@pytest.mark.release
def test_what_retention_took_before_it_was_read_is_said_with_its_range_and_the_stream_goes_on(make_stream):
    stream = make_stream(queries=("detect",))
    send(stream.settings, [sample(0)])
    stream.wait_for(stream.states, "the broker judged", DEADLINE_S)
    assert stream.stop() == 0
    send(stream.settings, [sample(0) for _ in range(20)])
    delete_before(stream.settings, topics.METRICS, 0, 15)
    stream.start()
    (alert, *_) = stream.wait_for(lambda: firing(stream, "pipeline_data_loss"), "the alert of the loss", DEADLINE_S)
    assert (alert["severity"], alert["evidence"]["query"]) == ("critical", "detect")
    (lost,) = alert["evidence"]["ranges"]
    assert (lost["topic"], lost["partition"], lost["to_offset"]) == (topics.METRICS, 0, 15)
    assert alert["evidence"]["rows"] == lost["to_offset"] - lost["from_offset"] == 14
    send(stream.settings, [sample(0, error_code=56)])
    stream.wait_for(lambda: firing(stream, "log_dir_offline"), "the next alert", DEADLINE_S)
    assert stream.stop() == 0


@pytest.mark.release
def test_the_fast_lane_goes_on_after_events_that_were_deleted_before_it_read_them(make_stream):
    stream = make_stream(queries=("fast_lane",), fast_lane_batch="5 seconds")
    settings, checkpoint = stream.settings, stream.folder / "checkpoints" / "fast_lane"

    def failed(broker):
        send(settings, [event(broker)])
        return firing(stream, "log_dir_offline", broker=broker)

    stream.wait_for(lambda: failed(0), "the first event alerted", DEADLINE_S)
    stream.wait_for((checkpoint / "commits" / "0").exists, "the first batch committed", DEADLINE_S)
    stream.kill()
    send(settings, [event(broker) for broker in range(3)])
    for partition, end in ends_of(settings, topics.EVENTS).items():
        delete_before(settings, topics.EVENTS, partition, end)
    stream.start()
    stream.wait_for(lambda: failed(1), "the next event alerted", DEADLINE_S)
    assert "the topics no longer have its offsets" in log_of(stream)
    assert stream.stop() == 0


def event(broker):
    at_ms = time.time_ns() // 1_000_000
    record = {
        "version": 1,
        "event": "LogDirFailure",
        "cluster": "prod",
        "broker": broker,
        "log_dir": "/d1",
        "timestamp_ms": at_ms,
    }
    return Message(topics.EVENTS, json.dumps(record).encode(), at_ms, broker % 3)


def ends_of(settings, topic):
    with clients.consumer(settings.telemetry) as client:
        ends = client.end_offsets(clients.partitions_of(client, topic))
    return {part.partition: end for part, end in ends.items()}


def delete_before(settings, topic, partition, offset):
    from kafka import TopicPartition

    with clients.admin(settings.telemetry) as admin:
        admin.delete_records({TopicPartition(topic, partition): offset})


@pytest.mark.release
def test_a_topic_that_was_deleted_and_made_again_is_read_on_and_what_was_passed_over_is_said(make_stream):
    stream = make_stream(queries=("detect", "store"))
    send(stream.settings, [sample(0) for _ in range(50)])
    stream.wait_for(stream.states, "the broker judged", DEADLINE_S)
    stream.wait_for(lambda: stream.rows("broker_state"), "the tables written", DEADLINE_S)
    with clients.admin(stream.settings.telemetry) as admin:
        admin.delete_topics([topics.METRICS])
        wait_until(lambda: topics.METRICS not in admin.list_topics(), DEADLINE_S, "the topic to be gone")
    telemetry_topics.create_missing(stream.settings)
    send(stream.settings, [sample(0) for _ in range(3)])
    stream.wait_for(lambda: firing(stream, "pipeline_data_loss"), "the alert of the loss", DEADLINE_S)

    def told_again():
        send(stream.settings, [sample(0, error_code=56)])
        return firing(stream, "log_dir_offline", lane="stateful")

    stream.wait_for(told_again, "the next failure to be told", DEADLINE_S)
    assert stream.stop() == 0
