"""The brokers' files. Pure: text from a node's description."""

import shlex
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from logdirwatch.errors import UserError
from logdirwatch.jars import KAFKA_VERSION, kafka_release
from logdirwatch.model.vocabulary import MetadataMode
from logdirwatch_lab.state import HOST, MountMode, Node, State

CLUSTER = "local"
MIB = 1 << 20
SMALLEST_LOG_DIR_BYTES = 16 * MIB
KRAFT_ONLY_SINCE = (4, 0)
SEVERAL_DIRECTORIES_SINCE = (3, 7)
"""In KRaft mode (KIP-858)."""
TIERED_SINCE = (3, 6)

# Kafka writes checkpoints to every directory at these intervals, so that a broken one is noticed without traffic.
MONITORED = {
    "log.segment.bytes": 1 * MIB,
    "log.index.size.max.bytes": 64 << 10,
    "log.retention.check.interval.ms": 1_000,
    "log.initial.task.delay.ms": 500,
    "log.segment.delete.delay.ms": 1_000,
    "log.flush.offset.checkpoint.interval.ms": 1_000,
    "log.flush.start.offset.checkpoint.interval.ms": 1_000,
    "replica.high.watermark.checkpoint.interval.ms": 1_000,
    "broker.heartbeat.interval.ms": 500,
    "broker.session.timeout.ms": 5_000,
    "leader.imbalance.check.interval.seconds": 10,
}
_SMALL = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": 0,
    "log.cleaner.dedupe.buffer.size": 16 * MIB,
    "num.io.threads": 4,
    "num.network.threads": 2,
    "offsets.topic.num.partitions": 3,
    "share.coordinator.state.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
}
# Kafka's own remote storage for tests: files in a folder that all brokers share.
_TIERED = {
    "remote.log.storage.system.enable": "true",
    "remote.log.storage.manager.class.name": "org.apache.kafka.server.log.remote.storage.LocalTieredStorage",
    "rsm.config.delete.enable": "true",
    "remote.log.metadata.manager.listener.name": "PLAINTEXT",
    "remote.log.manager.task.interval.ms": 1_000,
    "rlmm.config.remote.log.metadata.topic.num.partitions": 3,
}

# The tools in recommended commands, and a few more that are useful; main classes of newer releases first.
TOOLS = {
    "kafka-acls": ("org.apache.kafka.tools.AclCommand", "kafka.admin.AclCommand"),
    "kafka-cluster": ("org.apache.kafka.tools.ClusterTool", "kafka.tools.ClusterTool"),
    "kafka-configs": ("kafka.admin.ConfigCommand",),
    "kafka-console-consumer": ("org.apache.kafka.tools.consumer.ConsoleConsumer", "kafka.tools.ConsoleConsumer"),
    "kafka-console-producer": ("org.apache.kafka.tools.ConsoleProducer", "kafka.tools.ConsoleProducer"),
    "kafka-console-share-consumer": ("org.apache.kafka.tools.consumer.ConsoleShareConsumer",),
    "kafka-delete-records": ("org.apache.kafka.tools.DeleteRecordsCommand", "kafka.admin.DeleteRecordsCommand"),
    "kafka-features": ("org.apache.kafka.tools.FeatureCommand", "kafka.admin.FeatureCommand"),
    "kafka-leader-election": ("org.apache.kafka.tools.LeaderElectionCommand", "kafka.admin.LeaderElectionCommand"),
    "kafka-log-dirs": ("org.apache.kafka.tools.LogDirsCommand", "kafka.admin.LogDirsCommand"),
    "kafka-metadata-quorum": ("org.apache.kafka.tools.MetadataQuorumCommand", "kafka.admin.MetadataQuorumCommand"),
    "kafka-reassign-partitions": (
        "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
        "kafka.admin.ReassignPartitionsCommand",
    ),
    "kafka-storage": ("kafka.tools.StorageTool",),
    "kafka-topics": ("org.apache.kafka.tools.TopicCommand", "kafka.admin.TopicCommand"),
}

# Compiling code is not worth its cost for the few rows of a small cluster, and every batch would compile its own; nor
# is a plan that is made again after each of its stages, which takes a third of a batch of store. Whole stages stay on
# by name, for without them files are read row by row, by code that is generated again for every plan.
INTERPRETED = {
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


@dataclass(frozen=True)
class ClusterSpec:
    """The options of ``up``.

    With ``mount_mode`` None the first mode that this machine allows is used if ``log_dir_size_bytes`` is set.
    ``metadata_in_first_dir`` applies to every broker, or to the named ones.
    """

    brokers: int = 4
    log_dirs: int = 3
    log_dir_size_bytes: int | None = None
    metadata_in_first_dir: bool | frozenset[int] = False
    mount_mode: MountMode | None = None
    kafka_version: str = KAFKA_VERSION
    metadata: MetadataMode = MetadataMode.KRAFT
    is_tiered: bool = False

    def __post_init__(self) -> None:
        if self.brokers < 1 or self.log_dirs < 1:
            raise UserError("a local cluster needs at least one broker and one log directory", exit_code=2)
        if self.log_dir_size_bytes is not None and self.log_dir_size_bytes < SMALLEST_LOG_DIR_BYTES:
            raise UserError("a log directory needs at least 16 MiB", exit_code=2)
        self._check_metadata()

    def _check_metadata(self) -> None:
        release = kafka_release(self.kafka_version)
        if self.is_tiered and release < TIERED_SINCE:
            raise UserError(f"Kafka {self.kafka_version} has no tiered storage; the first is 3.6", exit_code=2)
        if self.metadata is MetadataMode.MIGRATING:
            raise UserError("a local cluster is made with zookeeper or kraft", exit_code=2)
        if self.is_zookeeper and release >= KRAFT_ONLY_SINCE:
            raise UserError(f"Kafka {self.kafka_version} has no ZooKeeper any more; the last is 3.9", exit_code=2)
        if self.is_zookeeper and self.metadata_in_first_dir:
            raise UserError("with ZooKeeper no log directory holds the metadata", exit_code=2)
        if not self.is_zookeeper and self.log_dirs > 1 and release < SEVERAL_DIRECTORIES_SINCE:
            raise UserError(
                f"Kafka {self.kafka_version} takes several log directories with ZooKeeper only: --metadata zookeeper",
                exit_code=2,
            )

    @property
    def is_zookeeper(self) -> bool:
        """Whether the brokers keep their metadata in ZooKeeper."""
        return self.metadata is MetadataMode.ZOOKEEPER

    @property
    def controllers(self) -> int:
        """The number of brokers that are controllers of a quorum too."""
        if self.is_zookeeper:
            return 0
        return 3 if self.brokers >= 3 else 1

    def is_metadata_in_first_dir(self, broker: int) -> bool:
        """Return whether a broker halts when its first log directory fails."""
        wanted = self.metadata_in_first_dir
        return wanted if isinstance(wanted, bool) else broker in wanted

    @property
    def ports(self) -> int:
        """The number of ports that the monitored brokers, ZooKeeper and the telemetry broker need."""
        return self.brokers + self.controllers + self.is_zookeeper + 2


def plan_nodes(spec: ClusterSpec, folder: Path, ports: Sequence[int]) -> tuple[list[Node], Node]:
    """Lay out the monitored brokers and the telemetry broker below ``folder``.

    Two brokers share a rack, so that a lost replica can be rebuilt in its rack.
    """
    free = iter(ports)
    racks = max(1, spec.brokers // 2)
    brokers = [
        Node(
            id=broker,
            port=next(free),
            controller_port=next(free) if broker < spec.controllers else None,
            rack=f"r{broker % racks}",
            folder=str(home),
            log_dirs=(dirs := [str(volume_of(home, index) / "logs") for index in range(spec.log_dirs)]),
            metadata_dir=dirs[0] if spec.is_metadata_in_first_dir(broker) else str(home / "metadata"),
        )
        for broker, home in ((broker, folder / "brokers" / str(broker)) for broker in range(spec.brokers))
    ]
    home = folder / "telemetry"
    telemetry = Node(
        id=0,
        port=next(free),
        controller_port=next(free),
        rack=None,
        folder=str(home),
        log_dirs=[str(home / "logs")],
        metadata_dir=str(home / "metadata"),
    )
    return brokers, telemetry


def plan_zookeeper(folder: Path, port: int) -> Node:
    """Lay out ZooKeeper's server below ``folder``; its data is where a broker's metadata would be."""
    home = folder / "zookeeper"
    return Node(
        id=0, port=port, controller_port=None, rack=None, folder=str(home), log_dirs=[], metadata_dir=str(home / "data")
    )


def zookeeper_properties(zookeeper: Node) -> str:
    """Return the zoo.cfg of ZooKeeper's server."""
    properties = {
        "dataDir": zookeeper.metadata_dir,
        "clientPort": zookeeper.port,
        "clientPortAddress": HOST,
        "admin.enableServer": "false",
        "maxClientCnxns": 0,
    }
    return _lines(properties)


def new_cluster_id() -> str:
    """Return a random cluster id in Kafka's format, without a leading dash that a tool would take for an option."""
    while (identifier := urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return identifier


def volume_of(broker_folder: Path, index: int) -> Path:
    """Return the mount point of a broker's log directory; the directory is below it, so that it can be replaced."""
    return broker_folder / f"d{index}"


def broker_properties(
    node: Node, voters: Sequence[Node], brokers: int, zookeeper: Node | None = None, remote: str | None = None
) -> str:
    """Return the server.properties of a node of a cluster of ``brokers`` brokers, with remote storage in ``remote``."""
    replicas = min(3, brokers)
    properties: dict[str, Any] = {
        **(_of_kraft(node, voters) if zookeeper is None else _of_zookeeper(node, zookeeper)),
        "inter.broker.listener.name": "PLAINTEXT",
        "advertised.listeners": f"PLAINTEXT://{node.address}",
        "log.dirs": ",".join(node.log_dirs),
        "default.replication.factor": replicas,
        "offsets.topic.replication.factor": replicas,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": 1,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": 1,
        **_SMALL,
    }
    if node.rack is not None:
        properties.update(MONITORED, **{"broker.rack": node.rack})
    if remote is not None:
        copies = {"rlmm.config.remote.log.metadata.topic.replication.factor": replicas}
        properties.update(_TIERED, **copies, **{"rsm.config.dir": remote})
    return _lines(properties)


def _of_kraft(node: Node, voters: Sequence[Node]) -> dict[str, Any]:
    """Return the properties of KRaft mode; up to 3.6 the controllers' listener has no default protocol."""
    controller = f",CONTROLLER://{HOST}:{node.controller_port}" if node.controller_port else ""
    return {
        "node.id": node.id,
        "process.roles": "broker,controller" if node.controller_port else "broker",
        "controller.quorum.voters": ",".join(f"{voter.id}@{HOST}:{voter.controller_port}" for voter in voters),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "listeners": f"PLAINTEXT://{node.address}{controller}",
        "metadata.log.dir": node.metadata_dir,
    }


def _of_zookeeper(node: Node, zookeeper: Node) -> dict[str, Any]:
    return {
        "broker.id": node.id,
        "zookeeper.connect": zookeeper.address,
        "zookeeper.session.timeout.ms": 6_000,
        "listeners": f"PLAINTEXT://{node.address}",
    }


def _lines(properties: Mapping[str, Any]) -> str:
    return "".join(f"{key}={_escaped(str(value))}\n" for key, value in properties.items())


def tool_script(java: Sequence[str], main_class: str, prefix: Sequence[str] = ()) -> str:
    """Return a shell script that runs one of Kafka's tools."""
    return f'#!/bin/sh\nexec {shlex.join([*prefix, *java, main_class])} "$@"\n'


def watch_config(state: State, home: Path, folder: Path, command: Sequence[str]) -> str:
    """Return the configuration of the cluster; ``command`` runs this program with the same home."""
    cluster = {
        "bootstrap_servers": state.bootstrap_servers,
        "tools": {
            "prefix": f"{shlex.quote(str(folder / 'bin'))}/",
            "stop_command": f"{shlex.join(command)} stop {{broker}}",
            "start_command": f"{shlex.join(command)} start {{broker}}",
        },
    }
    content = {
        "home": str(home),
        "default_cluster": CLUSTER,
        "telemetry": {"bootstrap_servers": state.telemetry.address},
        "clusters": {CLUSTER: cluster},
        "collect": {"metrics_interval_ms": 1_000, "inventory_interval_ms": 10_000, "partitions_interval_ms": 1_000},
        # Two cores run brokers, collector and stream here: tables may lag a little, and plans allow for it.
        "stream": {
            "detect_trigger": "2 seconds",
            "shuffle_partitions": 1,
            "fleet_trigger": "15 seconds",
            "store_trigger": "10 seconds",
            "store_inventory_trigger": "10 seconds",
            "stop_timeout_ms": 1_000,
            "driver_java_options": "-Xms384m -Xmn128m -XX:TieredStopAtLevel=1",
            "extra": INTERPRETED,
        },
        "plan": {"inventory_max_age_scans": 6},
        "tables": {"path": str(folder / "tables")},
        "checkpoints": {"path": str(folder / "checkpoints")},
    }
    return "# Written by logdirwatch-lab up.\n" + yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def _escaped(value: str) -> str:
    """Escape for a Java properties file, which is read as ISO 8859-1."""
    escaped = value.replace("\\", "\\\\")
    return "".join(char if char.isascii() else f"\\u{ord(char):04x}" for char in escaped)
