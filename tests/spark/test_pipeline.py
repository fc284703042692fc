"""The stream's watch over itself where it touches Spark: progress, checkpoints, rejects, and ``detect``'s memory."""

import time

import pytest

from logdirwatch.config.stream import CheckpointSettings
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.jobs.queries.start_state import with_memories_from_alerts
from logdirwatch.jobs.streams import last_commit_ms
from logdirwatch.model import topics
from logdirwatch.model.records import ReplicaMoves
from logdirwatch.pipeline.watch import offsets
from logdirwatch.report.stored import observations
from logdirwatch.settings import Settings
from tests.spark.lake import metrics
from tests.spark.test_detect import SCHEMA, T0, Feed
from tests.support.waiting import DEADLINE_S, wait_until


def fares(at_ms, query="store", **fields):
    return {"version": 1, "type": "pipeline", "query": query, "timestamp_ms": at_ms, "lag_ms": 0} | fields


@pytest.fixture
def feed(spark, tmp_path):
    stream = Feed(spark, tmp_path, Settings(detect=DetectSettings(), default_cluster="fallback")).start()
    yield stream
    stream.stop()


def test_a_lagging_query_has_one_alert_that_goes_on_over_a_restart_and_a_lost_checkpoint(spark, feed):
    feed.send(fares(T0, lag_ms=300_000), fares(T0 + 1, "detect"))
    opened = feed.wait_for("logdir.alerts", lambda r: r.rule == "pipeline_lagging", "the alert of the query")
    assert (opened.cluster, opened.broker, opened.evidence["query"], opened.revision) == ("*", None, "store", 1)
    assert feed.records("logdir.state") == [], "a query is no broker"
    feed.stop()
    feed.send(fares(T0 + 10_000, lag_ms=700_000))
    feed.start()
    revised = feed.wait_for("logdir.alerts", lambda r: r.revision == 2, "the next revision after the restart")
    assert revised.alert_id == opened.alert_id
    feed.stop()
    (feed.folder / "checkpoint").rename(feed.folder / "lost")
    feed.written.clear()
    none = spark.createDataFrame([], "cluster string, broker bigint, version int, body string")
    feed.start(with_memories_from_alerts(spark, none, [revised]))
    feed.send(fares(T0 + 20_000), fares(T0 + 90_000))
    closed = feed.wait_for("logdir.alerts", lambda r: r.status == "resolved", "the resolve after the loss")
    assert (closed.alert_id, closed.revision, closed.reason) == (opened.alert_id, 3, "recovered")
    assert len(feed.records("logdir.alerts")) == 1, "what is on the topic is not said again"


def test_a_query_without_input_is_idle_and_one_that_read_tells_how_far(spark, tmp_path):
    (tmp_path / "in").mkdir()
    settings = Settings(checkpoints=CheckpointSettings(path=str(tmp_path / "checkpoints")))
    assert last_commit_ms(spark, settings, ["quiet"]) is None
    before_ms = time.time_ns() // 1_000_000
    query = (
        spark.readStream.schema(SCHEMA)
        .parquet(str(tmp_path / "in"))
        .writeStream.foreachBatch(lambda frame, _: frame.count())
        .option("checkpointLocation", str(tmp_path / "checkpoints" / "quiet"))
        .trigger(processingTime="200 milliseconds")
        .start()
    )
    try:
        idle = wait_until(lambda: query.lastProgress, DEADLINE_S, "a look at no input")
        assert idle["sources"][0]["endOffset"] == "null", "an idle query tells that it is"
        assert offsets(idle, "endOffset") == {}
        spark.createDataFrame([(None,) * 6], SCHEMA).write.mode("append").parquet(str(tmp_path / "in"))
        read = wait_until(
            lambda: query.lastProgress if query.lastProgress["numInputRows"] else None, DEADLINE_S, "a batch"
        )
        assert read["sources"][0]["endOffset"] == '{"logOffset": 0}'
    finally:
        query.stop()
    assert before_ms - 1_000 <= last_commit_ms(spark, settings, ["quiet", "never"]) <= time.time_ns() // 1_000_000


def test_what_a_batch_could_not_read_is_counted_by_topic_and_reason_with_an_example(lake):
    good = metrics()
    bad = [(topics.METRICS, "k", b"garbage"), (topics.METRICS, "k", b"garbage"), (topics.EVENTS, "k", b"{}")]
    found = lake.store_rows(lake.kafka(good, *bad))
    assert [(one.topic, one.rows, one.example) for one in found] == [
        (topics.METRICS, 2, f"{topics.METRICS}/0/1"),
        (topics.EVENTS, 1, f"{topics.EVENTS}/0/0"),
    ]
    assert lake.store_rows(lake.kafka(good)) == []


def test_the_moves_of_a_poll_are_stored_and_read_again(lake):
    moves = ReplicaMoves(at_ms=T0, reassignments=2, copies=0, throttles={"leader.replication.throttled.rate": 5})
    lake.store(metrics(moves=moves))
    rows = sorted(lake.rows("log_dir_samples"), key=lambda row: row["log_dir"] or "")
    (sample,) = observations(rows)
    assert sample.record.moves == moves
