"""The steps of a migration from ZooKeeper to KRaft (KIP-866) on a local cluster, in the order of Kafka's own manual."""

from pathlib import Path

from logdirwatch_lab import jvm, nodes, processes
from logdirwatch_lab.cluster import LocalCluster
from logdirwatch_lab.ports import free_ports
from logdirwatch_lab.state import HOST, Node
from logdirwatch_lab.volumes import volumes_of
from tests.kafka.conftest import JARS_HOME
from tests.support.waiting import DEADLINE_S, wait_until

CONTROLLER = 3_000
HEAP_MIB = 256
MIGRATED = "Completed migration of metadata from ZooKeeper to KRaft"
MIGRATION = "zookeeper.metadata.migration.enable"
OF_ZOOKEEPER = ("zookeeper.", "broker.id=")


class Migration:
    """One cluster with ZooKeeper, and the quorum of one controller that takes over."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster
        state = cluster.state()
        self._kafka, _ = jvm.plain_jvm(JARS_HOME, state.kafka_version)
        (port,) = free_ports(1)
        folder = cluster.folder / "controller"
        metadata = str(folder / "metadata")
        self._controller = Node(
            id=CONTROLLER,
            port=port,
            controller_port=port,
            rack=None,
            folder=str(folder),
            metadata_dir=metadata,
            log_dirs=[metadata],
        )

    def start_controller(self) -> None:
        """Format the controller's directory and start it in migration mode."""
        node = self._controller
        Path(node.metadata_dir).mkdir(parents=True)
        text = {
            "process.roles": "controller",
            "node.id": node.id,
            "listeners": f"CONTROLLER://{node.address}",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": node.metadata_dir,
            **self._of_migration(),
            **self._of_quorum(),
        }
        node.properties_file.write_text("".join(f"{key}={value}\n" for key, value in text.items()))
        jvm.run_tool(jvm.format_command(self._kafka, self._cluster_id(), node.properties_file))
        self._start()

    def join(self, broker: int) -> None:
        """Let a broker take part in the migration from its next start on."""
        file = self._properties_of(broker)
        added = {**self._of_migration(), **self._of_quorum()}
        kept = [line for line in file.read_text().splitlines() if line.partition("=")[0] not in added]
        file.write_text("\n".join([*kept, *(f"{key}={value}" for key, value in added.items()), ""]))

    def wait_migrated(self) -> None:
        """Wait until the controller has all metadata, and writes what changes to ZooKeeper too."""
        log = self._controller.log_file
        wait_until(lambda: MIGRATED in log.read_text(), DEADLINE_S, f"the migration to be complete, see {log}")

    def leave_zookeeper(self, broker: int) -> None:
        """Let a broker be one of KRaft from its next start on."""
        file = self._properties_of(broker)
        kept = [line for line in file.read_text().splitlines() if not line.startswith(OF_ZOOKEEPER)]
        file.write_text("\n".join([f"node.id={broker}", "process.roles=broker", *kept, ""]))

    def finish(self) -> None:
        """Restart the controller without ZooKeeper, and stop that: there is no way back."""
        node = self._controller
        processes.stop(node.process, nodes.STOP_GRACE_S)
        kept = [line for line in node.properties_file.read_text().splitlines() if not line.startswith(OF_ZOOKEEPER)]
        node.properties_file.write_text("\n".join([*kept, ""]))
        self._start()
        with self._cluster._changing() as state:
            processes.stop(state.zookeeper.process, nodes.STOP_GRACE_S)
            # From now on new directories are formatted, as those of any cluster in KRaft mode.
            state.cluster_id, state.zookeeper = self._cluster_id(), None
            self._cluster._file.save(state)

    def _start(self) -> None:
        node = self._controller
        command = [*self._kafka.command(HEAP_MIB, broker=True), jvm.BROKER, str(node.properties_file)]
        node.process = processes.spawn(command, node.log_file)

    def _of_migration(self) -> dict[str, str]:
        return {MIGRATION: "true", "zookeeper.connect": self._cluster.state().zookeeper.address}

    def _of_quorum(self) -> dict[str, str]:
        return {
            "controller.quorum.voters": f"{CONTROLLER}@{HOST}:{self._controller.controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        }

    def _properties_of(self, broker: int) -> Path:
        return self._cluster.state().broker(broker).properties_file

    def _cluster_id(self) -> str:
        """The id that the brokers made when they first started with ZooKeeper."""
        state = self._cluster.state()
        known = volumes_of(state).view(f"{state.brokers[0].log_dirs[0]}/{nodes.FORMATTED}").read_text()
        return next(line.partition("=")[2] for line in known.splitlines() if line.startswith("cluster.id="))
