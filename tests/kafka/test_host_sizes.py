"""Kafka 2.8 reports no sizes: watch-host does, from a directory that fills to its failure. Real disks, really full."""

import time

import pytest

from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.vocabulary import MetadataMode, Rule
from logdirwatch_lab.config import ClusterSpec
from logdirwatch_lab.fill import Ended, FillWith
from tests.kafka.collecting import Looks, look_at_host
from tests.kafka.conftest import cluster_in
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.detect.builders import BrokerMemory, Driver
from tests.unit.plan.builders import MIB

pytestmark = pytest.mark.long

LEVELS = {0.78: "filling", 0.88: "critical", 0.97: "saturated"}


@pytest.fixture
def cluster(tmp_path):
    spec = ClusterSpec(
        brokers=1, log_dirs=2, log_dir_size_bytes=64 * MIB, kafka_version="2.8.2", metadata=MetadataMode.ZOOKEEPER
    )
    with cluster_in(tmp_path, spec) as running:
        yield running


def make_topic(cluster):
    """Make a topic in both directories: Kafka writes checkpoints of it once a second, full or not."""
    with clients.admin(KafkaSettings(bootstrap_servers=cluster.bootstrap_servers)) as admin:
        admin.create_topics({"orders": {"num_partitions": 4, "replication_factor": 1}})
        admin.wait_for_topics(["orders"])


class Judge:
    """Shows the machine what the collector and the host source of the broker say, each thing once."""

    def __init__(self, cluster, looks, folder):
        self._cluster, self._looks, self._folder = cluster, looks, folder
        self.node = cluster.state().brokers[0]
        self.driver = Driver(memory=BrokerMemory(cluster="test", broker=self.node.id))
        self._shown = 0

    def polled(self):
        record = self._looks.poll()
        self.driver.at_ms = time.time_ns() // 1_000_000
        for told in self._looks.metrics()[self._shown :]:
            self.driver.show(told)
        self._shown = len(self._looks.metrics())
        return record

    def seen_by_host(self):
        host, events = look_at_host(self._cluster, self.node, self._folder)
        for event in events:
            self.driver.show(event)
        self.driver.show(host)

    def status(self, path):
        """Return what a directory is: two samples in a row decide."""
        self.seen_by_host()
        self.polled()
        self.polled()
        return self.driver.status(path)

    def alert(self, rule):
        return next((one for one in self.driver.open_alerts() if one.rule is rule), None)


def test_a_directory_is_told_of_at_every_level_before_it_fails_and_the_cause_is_that_it_was_full(cluster, tmp_path):
    with Looks(cluster.bootstrap_servers) as looks:
        judge = Judge(cluster, looks, tmp_path)
        path = judge.node.log_dirs[0]
        make_topic(cluster)
        judge.polled()
        assert judge.status(path) == "online"
        assert all(log_dir.total_bytes is None for log_dir in looks.metrics()[-1].log_dirs), "Kafka tells none"
        for ratio, level in LEVELS.items():
            assert cluster.fill(0, 0, FillWith.FILE, until_ratio=ratio).ended is Ended.RATIO
            assert judge.status(path) == level
            alert = judge.alert(Rule.LOG_DIR_SPACE)
            assert (alert.log_dir, alert.to_status) == (path, level)
            assert alert.evidence["used_ratio"] == pytest.approx(cluster.space(0, 0).used_ratio, abs=0.02)
        assert str(alert.severity) == "page", alert.summary
        assert cluster.fill(0, 0, FillWith.FILE).ended is Ended.FULL
        wait_until(
            lambda: judge.polled() and judge.driver.status(path) == "offline",
            DEADLINE_S,
            "the failure to be reported",
            pause_s=0.3,
        )
        judge.seen_by_host()
        alert = judge.alert(Rule.LOG_DIR_OFFLINE)
        assert (alert.log_dir, alert.cause, alert.evidence["full_by"]) == (path, "full", "space"), alert.summary
