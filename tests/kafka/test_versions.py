"""Older releases of Kafka, with ZooKeeper and in KRaft mode: what a release can tell is told, and what not by name."""

import subprocess

import pytest
from kafka import OffsetAndMetadata, TopicPartition

from logdirwatch import settings as configuration
from logdirwatch.jars import KAFKA_VERSION
from logdirwatch.jobs.checks import cluster_id
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.local.config import ClusterSpec
from logdirwatch.model.records import TopicRecord
from logdirwatch.model.vocabulary import MetadataMode
from tests.kafka.collecting import Collector
from tests.kafka.conftest import cluster_in
from tests.kafka.telemetry import fresh_topics
from tests.kafka.test_doctor_kafka import examined
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.long

TOPIC, PARTITIONS = "orders", 6
ZOOKEEPER = ["fenced_brokers", "elr", "metadata_quorum"]
RELEASES = {
    ("2.8.2", MetadataMode.ZOOKEEPER): ["capacity", "cordons", *ZOOKEEPER],
    ("3.9.1", MetadataMode.ZOOKEEPER): ["cordons", *ZOOKEEPER],
    ("3.9.1", MetadataMode.KRAFT): ["cordons", "fenced_brokers"],
    (KAFKA_VERSION, MetadataMode.KRAFT): [],
}
"""What a release cannot report."""


@pytest.fixture(params=RELEASES, ids=lambda release: f"{release[0]}-{release[1].value}")
def release(request):
    return request.param


@pytest.fixture
def old_cluster(release, tmp_path):
    version, metadata = release
    spec = ClusterSpec(brokers=1, log_dirs=3, kafka_version=version, metadata=metadata)
    with cluster_in(tmp_path, spec) as running:
        fresh_topics(configuration.load(running.config_path))
        yield running


def make_topic(cluster):
    """Make a topic in all three directories, of which a group committed offsets."""
    settings = KafkaSettings(bootstrap_servers=cluster.bootstrap_servers)
    with clients.admin(settings) as admin:
        admin.create_topics({TOPIC: {"num_partitions": PARTITIONS, "replication_factor": 1}})
        admin.wait_for_topics([TOPIC])
    parts = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
    with clients.consumer(settings, group_id="readers") as reader:
        reader.assign(parts)
        reader.commit({part: OffsetAndMetadata(0, "", -1) for part in parts})


def scanned(collector):
    """Return the topic as a scan told it that knew its groups."""
    found = [record for record in collector.inventory(TopicRecord) if record.topic == TOPIC]
    return next((record for record in reversed(found) if record.partitions[0].groups), None)


def polled(collector, holds):
    """Return the newest record of the broker, once it is as wanted."""
    return wait_until(
        lambda: next((record for record in collector.metrics(0)[-1:] if holds(record)), None),
        DEADLINE_S,
        lambda: f"a record as wanted; the last one is {collector.metrics(0)[-1:]}\n{collector.log}",
    )


def test_a_release_tells_what_it_can_and_a_failed_directory_is_seen(release, old_cluster, tmp_path):
    version, metadata = release
    make_topic(old_cluster)
    assert cluster_id(configuration.load(old_cluster.config_path).clusters["local"]) is not None
    with Collector(old_cluster.telemetry, old_cluster.bootstrap_servers, tmp_path) as collector:
        topic = wait_until(lambda: scanned(collector), DEADLINE_S, lambda: f"a scan with groups\n{collector.log}")
        assert [part.leader for part in topic.partitions] == [0] * PARTITIONS
        assert {part.slowest_group for part in topic.partitions} <= {None, "readers"}
        assert all(part.adding == [] for part in topic.partitions), "reassignments are known, and none runs"
        record = polled(collector, lambda record: record.partitions is not None and record.configs is not None)
        assert record.kafka_version == version.rpartition(".")[0]
        assert (record.metadata_mode, record.not_reported) == (metadata, RELEASES[release])
        assert record.controller_id == 0
        assert [log_dir.is_metadata_dir for log_dir in record.log_dirs] == [False] * 3
        assert {log_dir.total_bytes is None for log_dir in record.log_dirs} == {"capacity" in record.not_reported}
        assert record.partitions.leaderless == 0
        assert "not known" not in collector.log

        old_cluster.break_log_dir(0, 1)
        broken = polled(collector, lambda record: record.partitions and record.partitions.leaderless)
        assert sorted(log_dir.error_code for log_dir in broken.log_dirs) == [0, 0, 56]
        assert broken.partitions.under_min_isr >= broken.partitions.leaderless

    found = examined(old_cluster.config_path)
    assert {finding["check"] for finding in found["findings"]} <= {"offline_replica_count"}
    told = " ".join(notice["what"] for notice in found.get("notices", ()))
    assert ("the size of log directories" in told) == ("capacity" in RELEASES[release])
    assert ("cordons" in told) == ("cordons" in RELEASES[release])
    listed = subprocess.run(
        [old_cluster.tool("kafka-topics"), "--bootstrap-server", old_cluster.bootstrap_servers, "--list"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert TOPIC in listed.stdout.splitlines()
    old_cluster.restore(0, 1)
