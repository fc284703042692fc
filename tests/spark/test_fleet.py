"""The Spark adapter of the judgement of clusters: rows in, alerts out, state and timers kept."""

import datetime as dt
import json
import shutil

import msgspec
import pytest

from logdirwatch.config.stream import CheckpointSettings
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.jobs import memory
from logdirwatch.jobs.queries import fleet
from logdirwatch.model.records import AlertRecord
from logdirwatch.settings import Settings
from tests.support.waiting import DEADLINE_S, wait_until

SCHEMA = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"
T0 = 1_700_000_000_000


def state(broker, sequence=1, *, status="online", reason="answers", cluster="prod", **partitions):
    record = {"version": 1, "cluster": cluster, "broker": broker, "sequence": sequence, "status": status}
    record |= {"at_ms": T0 + sequence, "since_ms": T0, "reason": reason}
    return record | {"log_dirs": [], "partitions": partitions, "machine": "{}"}


def silent(broker, sequence=2):
    return state(broker, sequence, status="unknown", reason="silent: no collector reports it")


class Feed:
    """A file-fed stream of Kafka rows through ``fleet``, and everything it wrote."""

    def __init__(self, spark, folder):
        self.spark, self.folder, self.offset, self.written, self.query = spark, folder, -1, [], None
        self.settings = Settings(fleet=FleetSettings(silence_gather_ms=1_000, risk_after_ms=0, risk_hold_ms=0))
        (folder / "in").mkdir()

    def start(self, memories=None):
        records = self.spark.readStream.schema(SCHEMA).parquet(str(self.folder / "in"))
        self.query = (
            fleet.judged(records, self.settings, memories)
            .writeStream.foreachBatch(lambda frame, _: self.written.extend(frame.collect()))
            .outputMode("update")
            .option("checkpointLocation", str(self.folder / "checkpoint"))
            .trigger(processingTime="100 milliseconds")
            .start()
        )

    def send(self, *records):
        time, rows = dt.datetime.fromtimestamp(T0 / 1000, dt.timezone.utc), []
        for record in records:
            self.offset += 1
            name, value = (record, None) if isinstance(record, str) else (_key(record), json.dumps(record).encode())
            raw = None if value is None else bytearray(value)
            rows.append((bytearray(name.encode()), raw, "logdir.state", 0, self.offset, time))
        self.spark.createDataFrame(rows, SCHEMA).coalesce(1).write.mode("append").parquet(str(self.folder / "in"))

    def wait_for(self, condition, message):
        def seen():
            assert self.query.exception() is None, str(self.query.exception())[:500]
            alerts = [msgspec.json.decode(row.value, type=AlertRecord) for row in self.written]
            return [alert for alert in alerts if condition(alert)]

        return wait_until(seen, DEADLINE_S, message)[-1]


def _key(record):
    return f"{record['cluster']}/{record['broker']}"


@pytest.fixture
def feed(spark, tmp_path):
    stream = Feed(spark, tmp_path)
    stream.start()
    yield stream
    stream.query.stop()


def test_partitions_of_a_cluster_are_one_alert_that_survives_a_restart_and_ends_with_a_tombstone(feed):
    feed.send(state(1, leaderless=1), state(2), state(1, cluster="a/b", sole_replica=1))
    opened = feed.wait_for(lambda a: a.cluster == "prod", "the alert of the cluster")
    assert (opened.rule, opened.broker, opened.severity, opened.revision) == ("partitions_at_risk", None, "page", 1)
    assert feed.wait_for(lambda a: a.cluster == "a/b", "that of a cluster with a slash").severity == "warning"
    feed.query.stop()
    (feed.folder / "fleet").symlink_to(feed.folder / "checkpoint")
    settings = Settings(checkpoints=CheckpointSettings(path=str(feed.folder)))
    found = [json.loads(line) for line in memory.lines(feed.spark, settings, "fleet", None, None)]
    assert [(one["cluster"], sorted(one["brokers"])) for one in found] == [("a/b", ["1"]), ("prod", ["1", "2"])]
    feed.send("prod/1")
    feed.start()
    closed = feed.wait_for(lambda a: a.status == "resolved", "the resolve after the restart")
    assert (closed.alert_id, closed.revision, closed.reason) == (opened.alert_id, 2, "recovered")


def test_a_silent_cluster_is_one_alert_without_any_further_record(feed):
    feed.send(state(1), state(2))
    feed.send(silent(1), silent(2))
    alert = feed.wait_for(lambda a: a.rule == "broker_unknown", "the alert of the silent cluster")
    assert (alert.broker, alert.from_status, alert.to_status) == (None, None, "unknown")
    assert len(feed.written) == 1


def test_without_its_checkpoint_it_goes_on_with_the_alerts_that_fire(feed, spark):
    feed.send(state(1, leaderless=1), state(2))
    opened = feed.wait_for(lambda a: a.status == "firing", "the alert of the cluster")
    feed.query.stop()
    shutil.rmtree(feed.folder / "checkpoint")
    feed.written.clear()
    feed.send(state(1, 2), state(2, 2))
    feed.start(fleet.memories_of(spark, [opened]))
    closed = feed.wait_for(lambda a: a.status == "resolved", "the resolve of the alert that was open")
    assert closed.alert_id == opened.alert_id
    assert {row.key for row in feed.written} == {opened.alert_id}
