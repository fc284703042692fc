"""A filesystem that runs out of inodes with space left: a real broker, its log, its host, and what is concluded."""

import os
import subprocess
from pathlib import Path

import pytest
from kafka.admin import NewTopic
from kafka.errors import KafkaError

from logdirwatch import settings as configuration
from logdirwatch.jobs.queries.recommend import policy_for
from logdirwatch.kafka import clients, telemetry_topics
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.vocabulary import KAFKA_STORAGE_ERROR, Rule
from logdirwatch.plan.recommend import recommend
from logdirwatch_lab.config import CLUSTER
from logdirwatch_lab.volumes import volumes_of
from tests.kafka.collecting import collector_of, look_at_host
from tests.kafka.observing import facts_after
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.detect.builders import BrokerMemory, Driver
from tests.unit.plan.builders import MIB

SPARE_INODES = 40


@pytest.fixture
def sized(make_cluster):
    running = make_cluster(brokers=1, log_dirs=2, log_dir_size_bytes=64 * MIB)
    telemetry_topics.create_missing(configuration.load(running.config_path))
    return running


def give_few_inodes(sized, path):
    """Leave a filesystem a few more inodes than it uses."""
    volumes = volumes_of(sized.state())
    volume = str(Path(path).parent)
    seen = os.statvfs(volumes.view(volume))
    most = seen.f_files - seen.f_ffree + SPARE_INODES
    command = volumes.inside(["mount", "-o", f"remount,size={64 * MIB},nr_inodes={most}", volume])
    subprocess.run(command, check=True, capture_output=True)


def use_inodes(sized, is_over):
    """Create topics until it is over: each replica takes half a dozen files."""
    with clients.admin(KafkaSettings(bootstrap_servers=sized.bootstrap_servers)) as admin:
        for number in range(200):
            if is_over():
                return
            try:
                admin.create_topics([NewTopic(f"small-{number}", num_partitions=4, replication_factor=1)])
            except KafkaError:
                continue


@pytest.mark.long
def test_a_filesystem_without_inodes_is_told_as_that_and_no_disk_is_replaced(sized, tmp_path):
    node = sized.state().brokers[0]
    with collector_of(sized, tmp_path) as collector:
        collector.waits_for(lambda: len(collector.metrics(node.id)) >= 3, "samples before")
        give_few_inodes(sized, node.log_dirs[0])

        def failed():
            newest = collector.metrics(node.id)[-1]
            return [one.path for one in newest.log_dirs if one.error_code == KAFKA_STORAGE_ERROR]

        use_inodes(sized, failed)
        (path, *_) = wait_until(failed, DEADLINE_S, "a directory to go offline")
        record, events = look_at_host(sized, node, tmp_path)
        driver = Driver(memory=BrokerMemory(cluster=CLUSTER, broker=node.id))
        for shown in [*collector.metrics(node.id), *events, record]:
            driver.at_ms = max(driver.at_ms, shown.timestamp_ms)
            driver.show(shown)
        (alert,) = [one for one in driver.open_alerts() if one.rule is Rule.LOG_DIR_OFFLINE]
        assert (alert.cause, alert.evidence["full_by"]) == ("full", "inodes")
        assert "inode" in alert.summary
        assert path in {alert.log_dir, *alert.evidence.get("log_dirs", ())}
        assert alert.evidence["used_inodes_ratio"] > 0.95
        facts = facts_after(collector, 0)
        policy = policy_for(configuration.load(sized.config_path), CLUSTER)
        actions = recommend(alert, facts, policy, alert.at_ms)
        assert not {"replace_disk", "expand_disk"} & {str(one.kind) for one in actions}
        assert "inode" in actions[0].reason
