"""The state of a local cluster between two commands: one JSON file, replaced atomically."""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

import msgspec

from logdirwatch.errors import UserError
from logdirwatch.jars import KAFKA_VERSION
from logdirwatch.parse.decoding import Decoder, NotReadableError

HOST = "127.0.0.1"


class MountMode(str, Enum):
    """Where the log directories' filesystems are."""

    PLAIN = "plain"
    """On the disk of the home folder, without a size limit."""
    DIRECT = "direct"
    """Sized tmpfs, mounted for the whole machine."""
    NAMESPACE = "namespace"
    """Sized tmpfs in the brokers' own user and mount namespace."""


class Process(msgspec.Struct, frozen=True):
    """A process; its creation time distinguishes it from a later one with the same pid."""

    pid: int
    created_s: float


class Node(msgspec.Struct, kw_only=True):
    """One broker, or ZooKeeper's server; ``controller_port`` is None for a broker that is not a controller."""

    id: int
    port: int
    controller_port: int | None
    rack: str | None
    folder: str
    metadata_dir: str
    log_dirs: list[str]
    process: Process | None = None

    @property
    def address(self) -> str:
        """Where clients reach it."""
        return f"{HOST}:{self.port}"

    @property
    def properties_file(self) -> Path:
        """Its configuration."""
        return Path(self.folder) / "server.properties"

    @property
    def log_file(self) -> Path:
        """The log of the broker and its JVM."""
        return Path(self.folder) / "server.log"


class State(msgspec.Struct, kw_only=True):
    """A local cluster: its options and its processes.

    ``kafka_version`` is that of the monitored brokers; ``zookeeper`` is None in KRaft mode; ``remote`` is the folder of
    the remote storage, None without tiered storage.
    """

    cluster_id: str
    mount_mode: MountMode
    log_dir_size_bytes: int | None
    holder: Process | None
    brokers: list[Node]
    telemetry: Node
    kafka_version: str = KAFKA_VERSION
    zookeeper: Node | None = None
    remote: str | None = None

    @property
    def bootstrap_servers(self) -> str:
        """Address of the monitored brokers."""
        return ",".join(node.address for node in self.brokers)

    @property
    def voters(self) -> list[Node]:
        """The brokers that are controllers too."""
        return [node for node in self.brokers if node.controller_port is not None]

    @property
    def nodes(self) -> list[Node]:
        """Every broker, the telemetry cluster's too, and ZooKeeper's server where there is one."""
        return [*([self.zookeeper] if self.zookeeper else []), *self.brokers, self.telemetry]

    def broker(self, broker_id: int) -> Node:
        """Return a monitored broker; raises UserError if there is none with that id."""
        for node in self.brokers:
            if node.id == broker_id:
                return node
        known = ", ".join(str(node.id) for node in self.brokers)
        raise UserError(f"no broker {broker_id} in the local cluster; its brokers are {known}", exit_code=2)


class StateFile:
    """The file of a cluster's state, and the lock for changing it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "cluster.json"
        self._home = folder.parent

    def load(self) -> State | None:
        """Return the state, None if there is no cluster; raises UserError if the file cannot be read."""
        try:
            return Decoder(State).decode(self.path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, NotReadableError) as error:
            raise UserError(f"{self.path} cannot be read ({error}); remove it with: logdirwatch-lab down") from None

    def save(self, state: State) -> None:
        """Replace the file atomically; a reader sees the old state or the new one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".cluster-")
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(state)))
        Path(name).replace(self.path)

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other commands from changing the cluster meanwhile."""
        self._home.mkdir(parents=True, exist_ok=True)
        # The home folder itself is locked: ``down`` would leave a lock file behind.
        handle = os.open(self._home, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)
