"""How many Spark jobs a batch runs: planning them is nearly all that an idle stream costs, so none may be added unseen.

A number of jobs does not depend on the machine. What ``store`` does with a batch is counted in its own tests.
"""

import datetime as dt
import json
from functools import partial

import msgspec
import pytest

from logdirwatch.jobs.policy import policy_for
from logdirwatch.jobs.queries import detect, fast_lane, fleet, recommend
from logdirwatch.jobs.session import without_empty_batches
from logdirwatch.model import topics
from logdirwatch.settings import Settings
from tests.spark import lake as listings
from tests.spark.test_detect import SCHEMA, T0, metrics
from tests.spark.test_fast_lane import event
from tests.spark.test_fleet import state
from tests.unit.plan.builders import alert

SETTINGS = Settings()
BATCHES = 3


class Input:
    """Kafka rows in files, read one file a batch."""

    def __init__(self, spark, folder):
        self._spark, self._folder = spark, folder

    def send(self, topic, *records):
        for offset, record in enumerate(records):
            value = record if isinstance(record, bytes) else json.dumps(record).encode()
            key = f"{record['cluster']}/{record['broker']}".encode() if topic == topics.STATE else b"key"
            time = dt.datetime.fromtimestamp((T0 + offset) / 1000, dt.timezone.utc)
            row = bytearray(key), bytearray(value), topic, 0, offset, time
            frame = self._spark.createDataFrame([row], SCHEMA).coalesce(1)
            frame.write.mode("append").parquet(str(self._folder / "in"))

    def stream(self, spark):
        return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1").parquet(str(self._folder / "in"))


@pytest.fixture
def records(spark, tmp_path):
    return Input(spark, tmp_path)


def work(spark, writer, folder, **trigger):
    """Run a query until it has read everything; return its batches, those with input, and its jobs."""
    trigger = trigger or {"availableNow": True}
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(**trigger).start()
    query.awaitTermination()
    ran = [one for one in query.recentProgress if "addBatch" in one["durationMs"]]
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup(str(query.runId))
    return len(ran), sum(one["numInputRows"] > 0 for one in ran), len(jobs)


def to_nothing(rows):
    return rows.writeStream.format("noop").outputMode("update")


def test_detect_runs_one_job_a_batch_and_no_batch_without_input(spark, records, tmp_path):
    records.send(topics.METRICS, *(metrics(T0 + number * 5_000, error_code=56) for number in range(BATCHES)))
    stream = records.stream(without_empty_batches(spark, SETTINGS))
    assert work(spark, to_nothing(detect.judged(stream, SETTINGS)), tmp_path) == (BATCHES, BATCHES, BATCHES)


def test_fleet_runs_one_job_a_batch(spark, records, tmp_path):
    rows = None
    for sequence in range(1, BATCHES + 1):
        records.send(topics.STATE, state(1, sequence, leaderless=1))
        rows = rows or fleet.judged(records.stream(spark), SETTINGS)
        # Its timers would make it run batches for ever.
        assert work(spark, to_nothing(rows), tmp_path, once=True) == (1, 1, 1)


def test_the_fast_lane_in_micro_batches_runs_one_job_a_batch(spark, records, tmp_path):
    records.send(topics.EVENTS, *(event() for _ in range(BATCHES)))
    rows = fast_lane.alerts(records.stream(spark), SETTINGS)
    assert work(spark, to_nothing(rows), tmp_path) == (BATCHES, BATCHES, BATCHES)


def test_store_inventory_runs_at_most_three_jobs_a_batch(lake, spark, records, tmp_path):
    for scan in range(-BATCHES, 0):  # Kafka has no record before its own time
        said = (listings.topic("t", (7,), scan=scan), listings.replicas("t-0", scan=scan, size=-scan))
        records.send(topics.INVENTORY, *map(msgspec.json.encode, (*said, listings.scan_end(1, scan=scan))))
    writer = records.stream(spark).writeStream.foreachBatch(lambda rows, _: lake.inventory.write(rows, lake.tables))
    batches, _, jobs = work(spark, writer, tmp_path)
    assert jobs <= 3 * batches
    assert lake.rows("replica_state", "size_bytes") == [(1,)]


def test_recommend_runs_one_job_a_batch_beside_the_one_that_publishes(spark, records, tmp_path):
    published = []
    records.send(topics.ALERTS, *(msgspec.json.encode(alert()) for _ in range(BATCHES)))
    keeper = recommend.Recommender(
        read=list,
        facts=lambda _: None,
        publish=published.extend,
        policy=partial(policy_for, SETTINGS),
        skew_ms=60_000,
        rests=0,
    )
    stream = records.stream(spark)
    writer = stream.writeStream.foreachBatch(recommend.batch_function(keeper))
    assert work(spark, writer, tmp_path) == (BATCHES, BATCHES, BATCHES)
    assert published, "the alert was planned for"
