"""One broker: writes its files, formats its directories, starts and stops its process."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psutil

from logdirwatch.errors import UserError
from logdirwatch.text.units import human_s
from logdirwatch_lab import config, jvm, probes, processes
from logdirwatch_lab.jvm import Jvm
from logdirwatch_lab.state import Node, Process
from logdirwatch_lab.volumes import Volumes
from logdirwatch_lab.waiting import wait_until

BROKER_HEAP_MIB = 256
TELEMETRY_HEAP_MIB = 384
ZOOKEEPER_HEAP_MIB = 128
# Deadlines are for what hangs: a machine with ten times as much to do starts a broker in minutes.
SERVING_DEADLINE_S = 300.0
STOP_GRACE_S = 15.0
FORMATTED = "meta.properties"


class PortTakenError(UserError):
    """Another process took a port that was free before."""


@dataclass(frozen=True)
class Launcher:
    """Starts the brokers of one cluster with a given Java and file systems; with ZooKeeper they format nothing."""

    jvm: Jvm
    volumes: Volumes
    cluster_id: str
    is_zookeeper: bool = False

    def format_command(self, node: Node) -> list[str] | None:
        """Return the command that formats the broker's new directories, None when all are, or none need it."""
        if self.is_zookeeper:
            return None
        usable = [path for path in {*node.log_dirs, node.metadata_dir} if self.volumes.view(path).is_dir()]
        if all(self.volumes.view(f"{path}/{FORMATTED}").exists() for path in usable):
            return None
        return self.volumes.inside(jvm.format_command(self.jvm, self.cluster_id, node.properties_file))

    def start(self, node: Node, heap_mib: int, under: Sequence[str] = ()) -> None:
        """Start the broker's process, as the last arguments of the command ``under``; it is not ready yet."""
        command = [*under, *self.jvm.command(heap_mib, broker=True), jvm.BROKER, str(node.properties_file)]
        node.process = processes.spawn(self.volumes.inside(command), node.log_file)


def start_zookeeper(zookeeper: Node, kafka: Jvm) -> None:
    """Start ZooKeeper's server and wait until it listens; raises PortTakenError, UserError as wait_serving does."""
    Path(zookeeper.folder).mkdir(parents=True, exist_ok=True)
    zookeeper.properties_file.write_text(config.zookeeper_properties(zookeeper), encoding="utf-8")
    command = [*kafka.command(ZOOKEEPER_HEAP_MIB, broker=True), jvm.ZOOKEEPER, str(zookeeper.properties_file)]
    zookeeper.process = processes.spawn(command, zookeeper.log_file)

    def listens() -> bool:
        if processes.find(zookeeper.process) is None:
            raise _died(zookeeper)
        return probes.listens(zookeeper.address)

    wait_until(listens, SERVING_DEADLINE_S, lambda: _with_log(zookeeper, f"did not serve in {SERVING_DEADLINE_S:g} s"))


def started_from(folder: Path) -> list[Process]:
    """Return what runs with a configuration below ``folder``, brokers and ZooKeeper, even if missing in the state."""
    return [
        Process(running.pid, running.info["create_time"])
        for running in psutil.process_iter(["cmdline", "create_time"])
        if {jvm.BROKER, jvm.ZOOKEEPER} & set(arguments := running.info["cmdline"] or [])
        and Path(arguments[-1]).is_relative_to(folder)
    ]


def write_files(
    node: Node, voters: Sequence[Node], brokers: int, zookeeper: Node | None = None, remote: str | None = None
) -> None:
    """Write the broker's server.properties."""
    Path(node.folder).mkdir(parents=True, exist_ok=True)
    text = config.broker_properties(node, voters, brokers, zookeeper, remote)
    node.properties_file.write_text(text, encoding="utf-8")


def format_all(wanted: Sequence[tuple[Launcher, Node]]) -> None:
    """Format the new directories of several brokers at once; raises UserError with the tool's error."""
    commands = [command for launcher, node in wanted if (command := launcher.format_command(node))]
    with ThreadPoolExecutor() as pool:
        list(pool.map(jvm.run_tool, commands))


def wait_serving(node: Node, expected: Sequence[Node], deadline_s: float = SERVING_DEADLINE_S) -> None:
    """Wait until the broker answers and lists all of ``expected`` as registered and unfenced.

    Raises PortTakenError if its port was taken, UserError with the end of its log if it ended or took too long.
    """
    wanted = {other.id for other in expected}

    def serves() -> bool:
        if processes.find(node.process) is None:
            raise _died(node)
        return wanted <= probes.unfenced_brokers(node.address) and (
            probes.log_dir_errors(node.address, node.id) is not None
        )

    wait_until(serves, deadline_s, lambda: _with_log(node, f"was not ready within {human_s(deadline_s)}"))


def wait_online(node: Node, log_dir: str, deadline_s: float = SERVING_DEADLINE_S) -> None:
    """Wait until a log directory of the broker is online; UserError with the end of its log otherwise."""

    def online() -> bool:
        return (probes.log_dir_errors(node.address, node.id) or {}).get(log_dir) == 0

    wait_until(online, deadline_s, lambda: _with_log(node, f"still has {log_dir} offline after {human_s(deadline_s)}"))


def _died(node: Node) -> UserError:
    error = PortTakenError if processes.lost_its_port(node.log_file) else UserError
    return error(_with_log(node, "ended while starting"))


def _with_log(node: Node, what: str) -> str:
    return f"broker {node.id} {what}; the end of {node.log_file}:\n{processes.tail(node.log_file)}"
