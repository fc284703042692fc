"""What Kafka does with a topic that is deleted while one of its replicas lies on an offline directory."""

import subprocess
from pathlib import Path

from logdirwatch import settings as configuration
from logdirwatch.kafka import clients
from logdirwatch.model.vocabulary import KAFKA_STORAGE_ERROR
from logdirwatch_lab import probes
from tests.support.waiting import DEADLINE_S, wait_until

PARTITIONS = 4


def folders(log_dir, topic):
    return sorted(path.name for path in log_dir.iterdir() if path.name.startswith(topic))


def created(admin, topic, log_dirs):
    """Make a topic, and wait until all its replicas lie in the directories, some in each."""
    admin.create_topics({topic: {"num_partitions": PARTITIONS, "replication_factor": 1}})

    def complete():
        found = [folders(Path(log_dir), topic) for log_dir in log_dirs]
        return all(found) and sum(map(len, found)) == PARTITIONS

    wait_until(complete, DEADLINE_S, f"the replicas of {topic} in {log_dirs}")


def deleted(admin, topic):
    admin.delete_topics([topic])
    wait_until(lambda: topic not in admin.list_topics(), DEADLINE_S, f"{topic} to be gone")


def test_its_bytes_stay_as_strays_that_kafka_neither_lists_nor_removes(make_cluster):
    cluster = make_cluster(brokers=1, log_dirs=2)
    node = cluster.state().broker(0)
    log_dir = Path(node.log_dirs[1])
    aside = log_dir.with_name("aside")
    with clients.admin(configuration.load(cluster.config_path).clusters["local"]) as admin:
        created(admin, "gone", node.log_dirs)
        log_dir.rename(aside)
        log_dir.touch()

        def is_offline():
            return probes.log_dir_errors(node.address, 0)[str(log_dir)] == KAFKA_STORAGE_ERROR

        wait_until(is_offline, DEADLINE_S, "the directory to be offline")
        deleted(admin, "gone")
    log_dir.unlink()
    aside.rename(log_dir)
    lost = folders(log_dir, "gone")
    assert lost, "the broker could not delete them"
    cluster.stop(0)
    cluster.start(0)
    strays = folders(log_dir, "gone")
    assert len(strays) == len(lost)
    assert all(name.endswith("-stray") for name in strays)
    with clients.admin(configuration.load(cluster.config_path).clusters["local"]) as admin:
        created(admin, "later", node.log_dirs)
        command = [cluster.tool("kafka-log-dirs"), "--bootstrap-server", cluster.bootstrap_servers, "--describe"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=DEADLINE_S).stdout
        assert '"later-' in listed
        assert '"gone-' not in listed
        deleted(admin, "later")
    wait_until(lambda: not folders(log_dir, "later"), DEADLINE_S, "what was deleted in time to leave the disk")
    assert folders(log_dir, "gone") == strays
