"""What is done to the monitored cluster: topics, moves, data, clients, and everything mended."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from kafka import TopicPartition, TopicPartitionReplica
from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType
from kafka.errors import KafkaError
from kafka.producer.future import FutureRecordMetadata

from logdirwatch.kafka import clients as kafka_clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch_lab import faults, fill, probes
from logdirwatch_lab.cluster import LocalCluster
from logdirwatch_lab.config import new_cluster_id
from logdirwatch_lab.fill import Target
from logdirwatch_lab.nodes import FORMATTED
from logdirwatch_lab.volumes import volumes_of
from tests.scenarios.clients import Pair
from tests.support.waiting import DEADLINE_S, wait_until

ANSWER_S = 60
DIRECTORY_MODE = 0o755
MOVES_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
# What lets root into a directory that is closed to it: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH (capability.h).
OVERRIDING = 1 << 1 | 1 << 2
RECORD_BYTES = 32 << 10
REFUSED_S = 20.0
UNTIL_REFUSED = {"acks": "all", "max_block_ms": 5_000, "request_timeout_ms": 5_000, "delivery_timeout_ms": 15_000}


def _is_taken(future: FutureRecordMetadata, until_s: float) -> bool:
    try:
        future.get(timeout=max(0.0, until_s - time.monotonic()))
    except KafkaError:
        return False
    return True


def _overrides_permissions(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    effective = next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(effective, 16) & OVERRIDING)


class Hands:
    """One cluster, and the settings of its clients."""

    def __init__(self, cluster: LocalCluster, monitored: KafkaSettings) -> None:
        self.cluster = cluster
        self.monitored = monitored

    def log_dir(self, broker: int, index: int) -> str:
        return self.cluster.state().broker(broker).log_dirs[index]

    def topic(self, name: str, *assignments: list[int], at: tuple[int, int] | None = None, min_isr: int = 2) -> None:
        """Make a topic, one partition a list of brokers; ``at``: the broker and directory that all of them lie in."""
        configs = {"min.insync.replicas": str(min_isr)}
        if at is not None:
            assert len({tuple(brokers) for brokers in assignments}) == 1, "they lie in one directory of one broker"
            fill.place_topic(self.target(*at), name, assignments[0], len(assignments), configs)
            return
        with kafka_clients.admin(self.monitored) as client:
            wanted = {"assignments": dict(enumerate(assignments)), "configs": configs}
            client.create_topics({name: wanted}, wait_for_metadata=True)

    def topic_in(self, name: str, index: int, *assignments: list[int], min_isr: int = 2) -> None:
        """Make a topic whose replicas lie in the directories of one index on all their brokers."""
        placed = {
            TopicPartitionReplica(name, number, broker): self.log_dir(broker, index)
            for number, brokers in enumerate(assignments)
            for broker in brokers
        }
        with kafka_clients.admin(self.monitored) as client:
            # A broker remembers a directory that is named before the replica exists (KIP-113).
            client.alter_replica_log_dirs(placed)
            wanted = {"assignments": dict(enumerate(assignments)), "configs": {"min.insync.replicas": str(min_isr)}}
            client.create_topics({name: wanted}, wait_for_metadata=True)

    def prefer(self, topic: str, broker: int, index: int) -> None:
        """Name the directory of the replica that a topic yet to be made will have on a broker."""
        with kafka_clients.admin(self.monitored) as client:
            client.alter_replica_log_dirs({TopicPartitionReplica(topic, 0, broker): self.log_dir(broker, index)})

    def delete_topics(self, *names: str) -> None:
        with kafka_clients.admin(self.monitored) as client:
            client.delete_topics(list(names))

    def write(self, topic: str, records: int) -> None:
        """Write records of 10 kB."""
        client = kafka_clients.producer(self.monitored)
        try:
            for number in range(records):
                client.send(topic, key=str(number).encode(), value=b"x" * 10_000)
            client.flush(DEADLINE_S)
        finally:
            kafka_clients.discard(client, 1)

    def write_until_refused(self, topic: str, partitions: int) -> None:
        """Write to all partitions until none takes a record any more."""
        client = kafka_clients.producer(self.monitored, **UNTIL_REFUSED)
        taking = set(range(partitions))
        try:
            while taking:
                sent = {number: client.send(topic, os.urandom(RECORD_BYTES), partition=number) for number in taking}
                # The client does not give up by itself what waits for a leader.
                until_s = time.monotonic() + REFUSED_S
                taking = {number for number, future in sent.items() if _is_taken(future, until_s)}
        finally:
            kafka_clients.discard(client, 1)

    def move(self, topic: str, partition: int, broker: int, to: str) -> type[KafkaError]:
        """Ask a broker to move its replica to another of its directories; return its answer."""
        with kafka_clients.admin(self.monitored) as client:
            (answer,) = client.alter_replica_log_dirs({TopicPartitionReplica(topic, partition, broker): to}).values()
        return answer  # type: ignore[no-any-return]

    def reassign(self, topic: str, *assignments: list[int]) -> None:
        """Give the partitions of a topic other brokers."""
        with kafka_clients.admin(self.monitored) as client:
            wanted = {TopicPartition(topic, number): brokers for number, brokers in enumerate(assignments)}
            client.alter_partition_reassignments(wanted)

    def unregister(self, broker: int) -> None:
        """Let the controller forget a broker that does not run, as an operator does who retires it."""
        tool = [self.cluster.tool("kafka-cluster"), "unregister", "--id", str(broker)]
        command = [*tool, "--bootstrap-server", self.cluster.bootstrap_servers]
        subprocess.run(command, check=True, capture_output=True)

    @contextmanager
    def broker_config(self, broker: int, key: str, value: str) -> Iterator[None]:
        """Give a broker a dynamic configuration, and take it away."""
        self._configure(ConfigResourceType.BROKER, str(broker), {key: (AlterConfigOp.SET, value)})
        try:
            yield
        finally:
            self._configure(ConfigResourceType.BROKER, str(broker), {key: (AlterConfigOp.DELETE, None)})

    def topic_config(self, topic: str, key: str, value: str) -> None:
        self._configure(ConfigResourceType.TOPIC, topic, {key: (AlterConfigOp.SET, value)})

    def _configure(
        self, kind: ConfigResourceType, name: str, configs: dict[str, tuple[AlterConfigOp, str | None]]
    ) -> None:
        with kafka_clients.admin(self.monitored) as client:
            done = client.alter_configs([ConfigResource(kind, name, configs)], raise_on_unknown=False)
        assert done == {kind.name.lower(): {name: "OK"}}, done

    def slow_moves(self, broker: int) -> AbstractContextManager[None]:
        """Limit the moves between the directories of a broker as far as Kafka can.

        A fetch of 1 MiB gets through whenever the 11 seconds of the quota's window are over (ReplicationQuotaManager).
        """
        return self.broker_config(broker, MOVES_RATE, "1")

    def clients(self, topic: str, partitions: int = 1) -> Pair:
        """A producer and a consumer of a topic, to be entered."""
        return Pair(self.monitored, topic, partitions)

    def target(self, broker: int, index: int) -> Target:
        state = self.cluster.state()
        return Target(state, volumes_of(state), state.broker(broker), index)

    def topic_names(self) -> list[str]:
        with kafka_clients.admin(self.monitored) as client:
            return list(client.list_topics())

    def take_permissions(self, broker: int, index: int) -> None:
        """Let nobody read or write a log directory, the brokers included, which may not override that."""
        target = self.target(broker, index)
        assert not _overrides_permissions(target.node.process.pid), "brokers may override permissions on this machine"
        target.volumes.view(target.log_dir).chmod(0)

    def give_permissions(self, broker: int, index: int) -> None:
        target = self.target(broker, index)
        target.volumes.view(target.log_dir).chmod(DIRECTORY_MODE)

    def replace_log_dir(self, broker: int, index: int) -> None:
        """Put an empty, formatted directory in the place of one of a broker that does not run, as a new disk is."""
        target = self.target(broker, index)
        path = target.volumes.view(target.log_dir)
        known = (path / FORMATTED).read_text().splitlines()
        shutil.rmtree(path)
        path.mkdir()
        kept = [line for line in known if not line.startswith("directory.id=")]
        (path / FORMATTED).write_text("\n".join([*kept, f"directory.id={new_cluster_id()}", ""]))

    def files_of(self, broker: int, index: int, topic: str) -> list[str]:
        """The folders that a topic's replicas have on disk, deleted ones included."""
        target = self.target(broker, index)
        return sorted(path.name for path in target.volumes.view(target.log_dir).glob(f"{topic}-*"))

    def out_of_sync(self) -> list[str]:
        """The partitions whose replicas are not all in sync."""
        with kafka_clients.admin(self.monitored) as client:
            described = client.describe_topics()
        return [
            f"{topic['name']}-{part['partition_index']} in sync on {part['isr_nodes']} of {part['replica_nodes']}"
            for topic in described
            for part in topic["partitions"]
            if set(part["isr_nodes"]) != set(part["replica_nodes"])
        ]

    def mend(self, broker: int) -> bool:
        """Mend every directory of a broker and let it run; return whether it was started."""
        is_stopped = self._resumed(broker)
        targets = [self.target(broker, index) for index in range(len(self.cluster.state().broker(broker).log_dirs))]
        if not is_stopped and self._needs_restart(broker, targets):
            self.cluster.stop(broker)
            is_stopped = True
        for target in targets:
            self.give_permissions(broker, target.index)
            faults.repair(target)
        if is_stopped:
            self.cluster.start(broker)
        return is_stopped

    def _resumed(self, broker: int) -> bool:
        """Let a paused broker go on; return whether it does not run at all."""
        status = self.cluster.status().brokers[broker].status
        if status == "paused":
            self.cluster.resume(broker)
        return status == "stopped"

    def _needs_restart(self, broker: int, targets: list[Target]) -> bool:
        """Kafka takes no directory back while it runs."""
        if not all(target.volumes.view(target.log_dir).is_dir() for target in targets):
            return True
        address = targets[0].node.address
        errors = wait_until(lambda: probes.log_dir_errors(address, broker), ANSWER_S, f"broker {broker} to answer")
        return any(errors.values())
