"""The local cluster: real Kafka brokers with several log directories, and one more broker for telemetry."""

import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from logdirwatch import settings
from logdirwatch.errors import UserError
from logdirwatch.jars import KAFKA_VERSION
from logdirwatch_lab import archive, bringup, config, faults, fill, nodes, processes, report
from logdirwatch_lab.config import ClusterSpec
from logdirwatch_lab.fill import Filled, FillWith, Target
from logdirwatch_lab.guard import Guard
from logdirwatch_lab.jvm import Jvm, plain_jvm
from logdirwatch_lab.report import ClusterStatus
from logdirwatch_lab.state import Node, State, StateFile
from logdirwatch_lab.volumes import Space, volumes_of
from logdirwatch_lab.waiting import wait_until

SIGNAL_DEADLINE_S = 120.0


def _silent(_line: str) -> None:
    """Tell nobody."""


class LocalCluster:
    """A cluster below ``home/cluster``; every method reads its state again, so commands and objects may be mixed.

    As a context manager it starts as ``spec`` says and is always removed, even when this process is killed.
    ``say`` gets a progress line before each long step; ``jars_home`` is the home whose jars are used; ``under`` is
    a command that starts the brokers, such as one that drops privileges, whose own commands follow as arguments.
    Methods raise UserError when there is no cluster, or no such broker or directory.
    """

    def __init__(
        self,
        home: Path,
        spec: ClusterSpec | None = None,
        *,
        jars_home: Path | None = None,
        say: bringup.Say = _silent,
        under: Sequence[str] = (),
    ) -> None:
        # Resolved: a symbolic link would lead out of the brokers' namespace.
        self.home = home.resolve()
        self.folder = self.home / "cluster"
        self.spec = spec or ClusterSpec()
        self._jars_home = (jars_home or home).resolve()
        self._say = say
        self._under = tuple(under)
        self._file = StateFile(self.folder)
        self._guard: Guard | None = None

    def __enter__(self) -> "LocalCluster":
        cluster_id = config.new_cluster_id()
        self._guard = Guard(self.home, cluster_id)
        try:
            self.up(cluster_id)
        except BaseException:
            self._guard.dismiss()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.down()
        finally:
            if self._guard is not None:
                self._guard.dismiss()

    def up(self, cluster_id: str | None = None) -> None:
        """Start everything and return when all brokers are ready; the remains of a dead cluster are removed first."""
        _check_path(self.home)
        with self._file.exclusive():
            state = self._file.load()
            if state is not None and any(processes.find(node.process) for node in state.nodes):
                raise UserError(f"a local cluster already runs in {self.home}; stop it first: logdirwatch-lab down")
            bringup.tear_down(self.folder)
            telemetry = archive.kafka_jvm(self._jars_home, self.folder, self._say)
            kafka = bringup.Kafkas(
                self._monitored_jvm(self.spec.kafka_version, self.spec.is_tiered, telemetry), telemetry
            )
            identifier = cluster_id or config.new_cluster_id()
            bringup.bring_up(self.spec, self.home, kafka, self._say, identifier, under=self._under)
            bringup.write_config(self.home, self.state())

    def down(self, cluster_id: str | None = None) -> bool:
        """Kill all processes, unmount and remove everything but jars; return whether there was anything.

        With ``cluster_id``, another cluster that was started in the same place meanwhile is left alone.
        """
        if not self.folder.exists():
            return False
        with self._file.exclusive():
            if cluster_id is not None and (state := self._file.load()) is not None and state.cluster_id != cluster_id:
                return False
            bringup.tear_down(self.folder)
        return True

    def state(self) -> State:
        """Return the parts of the cluster."""
        state = self._file.load()
        if state is None:
            raise UserError(f"no local cluster in {self.home}; start one with: logdirwatch-lab up")
        return state

    @property
    def bootstrap_servers(self) -> str:
        """Address of the monitored cluster."""
        return self.state().bootstrap_servers

    @property
    def telemetry(self) -> str:
        """Address of the telemetry cluster."""
        return self.state().telemetry.address

    @property
    def config_path(self) -> Path:
        """The configuration that points at this cluster."""
        return settings.local_cluster_config(self.home)

    def tool(self, name: str) -> Path:
        """Return one of Kafka's tools as a script, such as ``kafka-topics``."""
        return self.folder / "bin" / f"{name}.sh"

    def status(self) -> ClusterStatus:
        """Return the running brokers and the state of their directories on this machine."""
        state = self.state()
        return report.cluster_status(state, volumes_of(state))

    def space(self, broker: int, log_dir: int | str) -> Space | None:
        """Return the space of a directory's filesystem by statvfs."""
        target = self._target(broker, log_dir)
        return target.volumes.space(target.volume)

    def kill(self, broker: int) -> None:
        """End a broker's process with SIGKILL."""
        processes.kill([self._running(broker).process])

    def pause(self, broker: int) -> None:
        """Suspend a broker's process with SIGSTOP; return when it is suspended. Its connections stay open."""
        self._signal(broker, signal.SIGSTOP, "paused")

    def resume(self, broker: int) -> None:
        """Resume a paused broker."""
        self._signal(broker, signal.SIGCONT, "running")

    def stop(self, broker: int) -> None:
        """Shut a broker down cleanly, and kill it if it does not end."""
        node = self._running(broker)
        self._say(f"stopping broker {broker}")
        processes.stop(node.process, nodes.STOP_GRACE_S)

    def start(self, broker: int, under: Sequence[str] = ()) -> None:
        """Start a broker that does not run, format its new directories, and return when it is ready.

        ``under`` is a command for this start only; the cluster's own comes before it.
        """
        with self._changing() as state:
            node = state.broker(broker)
            if processes.find(node.process):
                raise UserError(f"broker {broker} already runs")
            self._start(state, node, under)

    def use_release(self, kafka_version: str) -> None:
        """Start brokers with another release of Kafka from now on, on the directories that they have.

        Those that run keep theirs until they are stopped and started. The tools are the new release's at once.
        """
        with self._changing() as state:
            state.kafka_version = kafka_version
            bringup.write_tools(state, self._monitored_jvm(kafka_version, bool(state.remote)), self.folder)
            self._file.save(state)

    def break_log_dir(self, broker: int, log_dir: int | str) -> None:
        """Replace a log directory with a file; Kafka notices at its next write, within about a second."""
        faults.break_log_dir(self._target(broker, log_dir))

    def fill(
        self,
        broker: int,
        log_dir: int | str,
        with_: FillWith = FillWith.DATA,
        *,
        rate_bytes_per_s: int | None = None,
        until_ratio: float | None = None,
        replicas: Sequence[int] = (),
        partitions: int = 1,
        topic_configs: Mapping[str, str] | None = None,
        stop: threading.Event | None = None,
    ) -> Filled:
        """Fill a sized log directory's filesystem until it is used to ``until_ratio``, it fails, or ``stop`` is set.

        ``data`` creates a topic with ``partitions`` partitions in the directory and further replicas on the brokers
        ``replicas``, and writes to it; ``file`` writes a file next to the directory.
        """
        target = self._target(broker, log_dir)
        if target.state.log_dir_size_bytes is None:
            raise UserError(
                "these log directories have no size limit, filling them would fill this machine's disk; "
                "create the cluster with: logdirwatch-lab up --log-dir-size 64MB"
            )
        stop = stop or threading.Event()
        self._say(f"filling {target.volume} with {with_.value}")
        if with_ is FillWith.FILE:
            return fill.fill_with_file(target, rate_bytes_per_s, until_ratio, stop)
        if target.is_offline():
            raise UserError(f"{target.log_dir} is offline; repair it with: logdirwatch-lab restore {broker} {log_dir}")
        topic = f"fill-{broker}-{target.index}"
        partitions = fill.place_topic(target, topic, [broker, *replicas], partitions, dict(topic_configs or {}))
        return fill.fill_with_data(target, topic, partitions, rate_bytes_per_s, until_ratio, stop)

    def restore(self, broker: int, log_dir: int | str) -> None:
        """Repair a broken or full directory and return when it is online; restarts the broker only if necessary.

        A file in its place is replaced by a new, formatted directory, a file that fills it is removed, and a directory
        full of data gets a file system of twice the size.
        """
        with self._changing() as state:
            target = self._target(broker, log_dir, state)
            faults.check_metadata_survives(target)
            restart = faults.must_restart(target)
            if restart:
                self._say(f"stopping broker {broker}")
                processes.stop(target.node.process, nodes.STOP_GRACE_S)
                faults.wait_for_another_leader(target)
            self._say(f"repairing {target.log_dir}")
            faults.repair(target)
            if restart:
                self._start(state, target.node)
            nodes.wait_online(target.node, target.log_dir)

    def _start(self, state: State, node: Node, under: Sequence[str] = ()) -> None:
        kafka = self._monitored_jvm(state.kafka_version, bool(state.remote))
        launcher = bringup.launcher_of(state, kafka)
        nodes.format_all([(launcher, node)])
        self._say(f"starting broker {node.id}")
        launcher.start(node, nodes.BROKER_HEAP_MIB, (*self._under, *under))
        self._file.save(state)
        nodes.wait_serving(node, [node])

    def _monitored_jvm(self, kafka_version: str, is_tiered: bool, telemetry: Jvm | None = None) -> Jvm:
        """Return how the monitored brokers are started; only what the telemetry broker runs has an archive."""
        if is_tiered or kafka_version != KAFKA_VERSION:
            return plain_jvm(self._jars_home, kafka_version, is_tiered=is_tiered)[0]
        return telemetry or archive.kafka_jvm(self._jars_home, self.folder, self._say)

    @contextmanager
    def _changing(self) -> Iterator[State]:
        with self._file.exclusive():
            yield self.state()

    def _signal(self, broker: int, number: signal.Signals, wanted: str) -> None:
        node = self._running(broker)
        processes.send(node.process, number)
        wait_until(lambda: report.broker_state(node) == wanted, SIGNAL_DEADLINE_S, f"broker {broker} is not {wanted}")

    def _running(self, broker: int) -> Node:
        node = self.state().broker(broker)
        if processes.find(node.process) is None:
            raise UserError(f"broker {broker} does not run")
        return node

    def _target(self, broker: int, log_dir: int | str, state: State | None = None) -> Target:
        state = state or self.state()
        node = state.broker(broker)
        return Target(state, volumes_of(state), node, log_dir_index(node, log_dir))


def log_dir_index(node: Node, log_dir: int | str) -> int:
    """Return the index of a directory given by its index or its path; raises UserError if there is none."""
    if isinstance(log_dir, str) and log_dir in node.log_dirs:
        return node.log_dirs.index(log_dir)
    if str(log_dir).isdecimal() and int(log_dir) < len(node.log_dirs):
        return int(log_dir)
    known = ", ".join(f"{index} ({path})" for index, path in enumerate(node.log_dirs))
    raise UserError(f"no log directory {log_dir} on broker {node.id}; it has {known}", exit_code=2)


def _check_path(home: Path) -> None:
    """Refuse a path that Kafka or Java would take for a list of paths."""
    if any(char in str(home) for char in ",:\n"):
        raise UserError(f"the home folder {home} must not contain a comma, colon or line break", exit_code=2)
