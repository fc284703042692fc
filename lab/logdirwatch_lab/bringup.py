"""Brings a whole cluster up, and removes it completely."""

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from logdirwatch import settings
from logdirwatch.errors import UserError
from logdirwatch_lab import config, nodes, ports, processes
from logdirwatch_lab.config import ClusterSpec
from logdirwatch_lab.jvm import TOOL_HEAP_MIB, Jvm, first_class
from logdirwatch_lab.nodes import BROKER_HEAP_MIB, TELEMETRY_HEAP_MIB, Launcher, PortTakenError
from logdirwatch_lab.state import MountMode, State, StateFile
from logdirwatch_lab.volumes import Volumes, open_volumes, unmount_below, volumes_of

PORT_ATTEMPTS = 3

Say = Callable[[str], None]


class Kafkas(NamedTuple):
    """How the monitored brokers are started, and how the telemetry broker is."""

    monitored: Jvm
    telemetry: Jvm


def bring_up(
    spec: ClusterSpec, home: Path, kafka: Kafkas, say: Say, cluster_id: str, *, under: Sequence[str] = ()
) -> None:
    """Start the monitored brokers and the telemetry broker below ``home/cluster`` and wait until all are ready.

    ``under`` is a command that starts the monitored brokers, whose own commands follow as its arguments.
    Nothing is left if it fails. Raises UserError, with the end of a broker's log if it was the cause.
    """
    attempt = 1
    while not _has_come_up(spec, home, kafka, say, cluster_id, under, last=attempt == PORT_ATTEMPTS):
        say("a port was taken meanwhile; trying others")
        attempt += 1


def tear_down(folder: Path) -> None:
    """Kill all processes of the cluster, unmount its file systems and remove its files, if there are any."""
    try:
        state = StateFile(folder).load()
    except UserError:
        # The state file may be incomplete; the command lines of the brokers name this folder.
        state = None
    if state is not None:
        processes.kill([*(node.process for node in state.nodes), state.holder])
    processes.kill(nodes.started_from(folder))
    unmount_below(folder)
    if folder.exists():
        shutil.rmtree(folder)


def _has_come_up(
    spec: ClusterSpec, home: Path, kafka: Kafkas, say: Say, cluster_id: str, under: Sequence[str], *, last: bool
) -> bool:
    """Try once; return False if other ports may help."""
    try:
        _attempt(spec, home, kafka, say, cluster_id, under)
    except PortTakenError:
        if last:
            raise
        return False
    return True


def _attempt(spec: ClusterSpec, home: Path, kafka: Kafkas, say: Say, cluster_id: str, under: Sequence[str]) -> None:
    folder = home / "cluster"
    folder.mkdir(parents=True, exist_ok=True)
    file = StateFile(folder)
    try:
        state = _laid_out(spec, folder, cluster_id)
        file.save(state)
        _make_log_dirs(state)
        _start_all(state, kafka, say, file, under)
        write_tools(state, kafka.monitored, folder)
    except BaseException:
        tear_down(folder)
        raise


def write_config(home: Path, state: State) -> None:
    """Write the configuration of the cluster; if that fails, the cluster is removed."""
    folder = home / "cluster"
    try:
        text = config.watch_config(state, home, folder, this_command(home))
        settings.local_cluster_config(home).write_text(text, encoding="utf-8")
    except BaseException:
        tear_down(folder)
        raise


def _laid_out(spec: ClusterSpec, folder: Path, cluster_id: str) -> State:
    *free, last = ports.free_ports(spec.ports)
    brokers, telemetry = config.plan_nodes(spec, folder, free if spec.is_zookeeper else [*free, last])
    opened = open_volumes(spec.mount_mode if spec.log_dir_size_bytes else MountMode.PLAIN, folder)
    return State(
        cluster_id=cluster_id,
        mount_mode=opened.mode,
        log_dir_size_bytes=spec.log_dir_size_bytes,
        holder=opened.holder,
        brokers=brokers,
        telemetry=telemetry,
        kafka_version=spec.kafka_version,
        zookeeper=config.plan_zookeeper(folder, last) if spec.is_zookeeper else None,
        remote=str(folder / "remote") if spec.is_tiered else None,
    )


def _make_log_dirs(state: State) -> None:
    opened = volumes_of(state)
    for node in state.brokers:
        for path in map(Path, node.log_dirs):
            path.parent.mkdir(parents=True)
            if state.log_dir_size_bytes:
                opened.mount(path.parent, state.log_dir_size_bytes)
            opened.view(path).mkdir()
    Path(state.telemetry.log_dirs[0]).mkdir(parents=True)
    for node in [state.telemetry, *([state.zookeeper] if state.zookeeper else state.brokers)]:
        if node.metadata_dir not in node.log_dirs:
            Path(node.metadata_dir).mkdir(parents=True)


def launcher_of(state: State, kafka: Jvm) -> Launcher:
    """Return what starts the monitored brokers."""
    return Launcher(kafka, volumes_of(state), state.cluster_id, is_zookeeper=state.zookeeper is not None)


def _start_all(state: State, kafka: Kafkas, say: Say, file: StateFile, under: Sequence[str]) -> None:
    monitored = launcher_of(state, kafka.monitored)
    telemetry = Launcher(kafka.telemetry, Volumes(MountMode.PLAIN), config.new_cluster_id())
    for node in state.brokers:
        nodes.write_files(node, state.voters, len(state.brokers), state.zookeeper, state.remote)
    nodes.write_files(state.telemetry, [state.telemetry], 1)
    if state.zookeeper is not None:
        say("starting ZooKeeper")
        try:
            nodes.start_zookeeper(state.zookeeper, kafka.monitored)
        finally:
            file.save(state)
    formatted = [state.telemetry] if state.zookeeper else state.nodes
    say(f"formatting {sum(len(node.log_dirs) for node in formatted)} log directories")
    nodes.format_all([(monitored, node) for node in state.brokers] + [(telemetry, state.telemetry)])
    say(f"starting {len(state.brokers)} brokers and the telemetry broker")
    try:
        for node in state.brokers:
            monitored.start(node, BROKER_HEAP_MIB, under)
        telemetry.start(state.telemetry, TELEMETRY_HEAP_MIB)
    finally:
        file.save(state)
    for node in state.brokers:
        nodes.wait_serving(node, state.brokers)
    nodes.wait_serving(state.telemetry, [state.telemetry])


def write_tools(state: State, kafka: Jvm, folder: Path) -> None:
    """Write the scripts of one release's tools; those of another that it does not have are removed."""
    scripts = folder / "bin"
    scripts.mkdir(exist_ok=True)
    opened = volumes_of(state)
    for name, candidates in config.TOOLS.items():
        script = scripts / f"{name}.sh"
        main_class = first_class(kafka, candidates)
        if main_class is None:
            script.unlink(missing_ok=True)
            continue
        # kafka-storage works on the directories themselves, all other tools on brokers.
        prefix = opened.inside([]) if name == "kafka-storage" else []
        script.write_text(config.tool_script(kafka.command(TOOL_HEAP_MIB), main_class, prefix), encoding="utf-8")
        script.chmod(0o755)


def this_command(home: Path) -> list[str]:
    """Return the command that runs this program with the same home from anywhere."""
    return ["env", f"LOGDIRWATCH_HOME={home}", sys.executable, "-m", "logdirwatch_lab"]
