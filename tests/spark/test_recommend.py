"""recommend's batch function over real Delta tables; Kafka is a list here, the tables are not."""

import re
import shutil
import time

import msgspec
import pytest
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.collect.settings import CollectSettings
from logdirwatch.jobs.queries.recommend import Recommender, batch_function, policy_for
from logdirwatch.model import topics
from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import Decision
from logdirwatch.plan.cluster.from_tables_spark import load_facts
from logdirwatch.settings import ClusterSettings, Settings
from logdirwatch.store.schema.definitions import (
    BROKER_STATE,
    LOG_DIR_INVENTORY,
    LOG_DIR_STATE,
    REPLICA_STATE,
    TOPIC_STATE,
)
from logdirwatch.store.settings import TableSettings
from logdirwatch.store.tables import Tables
from tests.unit.plan.builders import MIB, alert

HOUR_MS = 3_600_000
PARTITION = {"leader": 1, "replicas": [1, 2], "isr": [1, 2]}
CONFIGS = {"cleanup.policy": "delete", "segment.bytes": str(MIB), "retention.bytes": "-1"}


NUMBERS = (1, 2, 3)


@pytest.fixture(scope="module")
def made(spark, tmp_path_factory):
    """Tables of three brokers with a directory each, all well; t-0 lies on brokers 1 and 2, in sync."""
    folder = tmp_path_factory.mktemp("made") / "tables"
    tables = Tables(spark, Settings(tables=TableSettings(path=str(folder))))
    tables.create_missing([BROKER_STATE, LOG_DIR_STATE, REPLICA_STATE, TOPIC_STATE, LOG_DIR_INVENTORY])
    write(spark, tables, BROKER_STATE, *({"broker": n, "status": "online", "at_ms": now()} for n in NUMBERS))
    write(spark, tables, LOG_DIR_STATE, *map(a_directory, NUMBERS))
    write(spark, tables, REPLICA_STATE, *map(a_replica, NUMBERS[:2]))
    write(spark, tables, TOPIC_STATE, {**PARTITION, "topic": "t", "partition": 0, "configs": CONFIGS})
    write(spark, tables, LOG_DIR_INVENTORY, {"inventory_at_ms": now()})
    return folder


def write(spark, tables, table, *rows):
    full = [tuple(({"cluster": "c"} | row).get(name) for name in table.names) for row in rows]
    frame = spark.createDataFrame(full, tables.read(table).schema).coalesce(1)
    frame.write.format("delta").mode("append").saveAsTable(tables.name(table))


def a_directory(number):
    total, used = 1000 * MIB, number * 100 * MIB
    space = {"total_bytes": total, "usable_bytes": total - used, "sample_at_ms": now(), "replica_count": 1}
    return {"broker": number, "log_dir": "/d 1", "status": "online", "at_ms": now(), **space}


def a_replica(number):
    return {
        "broker": number,
        "log_dir": "/d 1",
        "topic": "t",
        "partition": 0,
        "is_future": False,
        "size_bytes": 50 * MIB,
    }


class Cluster:
    """Tables in a folder, and the topics as lists."""

    # Every batch must say at once what follows from it.
    rests = 0

    def __init__(self, spark, folder, made):
        self.spark, self._made = spark, made
        # Every test must see the tables as fresh, however slow the machine is.
        self.settings = Settings(
            tables=TableSettings(path=str(folder / "tables")),
            collect=CollectSettings(inventory_interval_ms=HOUR_MS),
            clusters={"c": ClusterSettings(bootstrap_servers="kafka:9092")},
        )
        self.topic, self.published, self.reads = [], [], 0
        self.restart()

    def make_tables(self):
        shutil.copytree(self._made, self.settings.tables_path)

    def restart(self):
        self.keeper = Recommender(
            read=self._history,
            facts=lambda cluster: load_facts(self.spark, self.settings, cluster),
            publish=self._publish,
            policy=lambda cluster: policy_for(self.settings, cluster),
            skew_ms=self.settings.detect.clock_skew_ms,
            rests=self.rests,
        )
        self.take = batch_function(self.keeper)

    def send(self, *records):
        """Run a batch of (topic, value) records."""
        rows = self._placed(encoded(*records))
        kinds = "topic string, key binary, value binary, at_ms long, partition int, offset long"
        self.take(self.spark.createDataFrame(rows, kinds).withColumn("timestamp", F.timestamp_millis("at_ms")), 0)
        self.topic += rows

    def told(self):
        return [(str(a.kind), str(a.status), a.revision) for a in self.published]

    def _history(self):
        self.reads += 1
        return list(self.topic)

    def _publish(self, actions):
        self.published += actions
        self.topic += self._placed(
            (topics.ACTIONS, a.action_id.encode(), msgspec.json.encode(a), now()) for a in actions
        )

    def _placed(self, records):
        """Return records with a partition and offsets."""
        return [(*record, 0, offset) for offset, record in enumerate(records, len(self.topic))]


@pytest.fixture
def cluster(spark, tmp_path, made):
    return Cluster(spark, tmp_path, made)


def encoded(*records):
    return [(topic, b"key", msgspec.json.encode(value), now()) for topic, value in records]


def now():
    return time.time_ns() // 1_000_000


def failed(**fields):
    return topics.ALERTS, alert(log_dir="/d 1", at_ms=now(), **fields)


def test_without_tables_people_hear_at_once_and_get_the_full_action_when_it_can_be_planned(cluster):
    cluster.send(failed())
    assert cluster.told() == [("investigate", "proposed", 1)]
    cluster.make_tables()
    cluster.keeper.look(now())
    assert cluster.told()[1:] == [
        ("reassign", "proposed", 1),
        ("replace_disk", "proposed", 1),
        ("restart_broker", "proposed", 1),
        ("investigate", "superseded", 2),
    ]
    (moved,) = cluster.published[1].reassignment["partitions"]
    assert moved == {"topic": "t", "partition": 0, "replicas": [3, 2], "log_dirs": ["/d 1", "any"]}


def test_a_look_at_the_same_facts_and_a_restart_say_nothing(cluster):
    cluster.make_tables()
    cluster.send(failed())
    told = cluster.told()
    cluster.keeper.look(now())
    cluster.restart()
    cluster.keeper.look(now())
    cluster.send(failed())
    assert cluster.told() == told


def test_in_a_storm_planning_rests_and_then_plans_for_all_of_it_at_once(cluster):
    looked_at_s, rested_s = (100.0, 100.0, 102.0), (110.1, 110.2)
    seconds = iter([*looked_at_s, 109.8, 109.9, *rested_s])
    cluster.keeper.rests, cluster.keeper.clock_s = 4, lambda: next(seconds)
    cluster.send(failed())
    assert not cluster.keeper.wanted.is_set()
    told = len(cluster.told())
    cluster.send(failed(alert_id="second", number=2))
    cluster.send(failed(alert_id="third", number=3))
    assert len(cluster.told()) == told
    assert cluster.keeper.wanted.is_set()
    cluster.keeper.look(now())
    assert not cluster.keeper.wanted.is_set()
    assert {a.alert_id for a in cluster.published[told:]} >= {"second", "third"}


def test_what_was_not_published_is_said_again(cluster):
    """A batch that failed while it published is run again by Spark, on a book that is read again."""
    cluster.make_tables()
    publish, cluster.keeper.publish = cluster.keeper.publish, _refuse
    with pytest.raises(RuntimeError, match="no broker"):
        cluster.send(failed())
    cluster.keeper.publish = publish
    cluster.send(failed())
    assert cluster.told()[0] == ("reassign", "proposed", 1)
    assert cluster.reads == 2


def test_decisions_and_the_end_of_an_alert_come_through_batches(cluster):
    cluster.make_tables()
    cluster.send(failed())
    identity = cluster.published[0].action_id
    said = DecisionRecord(version=1, id=identity, decision=Decision.ACCEPT, by="ann", reason="now", at_ms=now())
    cluster.send((topics.DECISIONS, said))
    assert cluster.told()[-1] == ("reassign", "accepted", 2)
    cluster.send(failed(revision=2, status="resolved", to="online", reason="recovered"))
    assert ("replace_disk", "done", 2) in cluster.told()


def test_with_nothing_open_the_tables_are_not_read(cluster):
    cluster.keeper.facts = _refuse
    cluster.send((topics.ALERTS, alert("heartbeat", number=None, log_dir=None)))
    cluster.keeper.look(now())
    assert cluster.told() == []


def test_a_table_store_that_is_down_does_not_keep_people_waiting(cluster):
    cluster.keeper.facts = _refuse
    cluster.send(failed())
    assert cluster.told() == [("investigate", "proposed", 1)]


def test_old_tables_are_not_planned_on(cluster):
    cluster.make_tables()
    cluster.keeper.take(encoded(failed()), now() + 4 * HOUR_MS)
    assert cluster.told() == [("investigate", "proposed", 1)]
    assert re.search(r"the last inventory is 4 h( \d min)? old", cluster.published[0].reason)


def test_what_a_person_must_know_of_a_cluster_that_is_not_configured_is_asked_for(cluster):
    policy = policy_for(cluster.settings, "nobody's")
    assert "KAFKA_BOOTSTRAP_SERVERS:?" in policy.tools.call("kafka-topics")
    assert "kafka:9092" in policy_for(cluster.settings, "c").tools.call("kafka-topics")


def _refuse(_):
    raise RuntimeError("no broker")
