"""The state of a local cluster, for people and programs."""

import msgspec

from logdirwatch_lab import processes
from logdirwatch_lab.state import Node, State
from logdirwatch_lab.volumes import Volumes

# Less than one segment fits.
FULL_BELOW_BYTES = 1 << 20


class LogDirStatus(msgspec.Struct, frozen=True):
    """One log directory: ``ok``, ``failed`` (a file in its place), ``full``, or ``unknown``; sizes by statvfs."""

    path: str
    status: str
    total_bytes: int | None
    usable_bytes: int | None


class BrokerStatus(msgspec.Struct, frozen=True):
    """One broker: ``running``, ``paused`` or ``stopped``; ``pid`` None when it is stopped."""

    id: int
    pid: int | None
    status: str
    log_dirs: list[LogDirStatus]


class ClusterStatus(msgspec.Struct, frozen=True):
    """The whole cluster; the addresses are ``host:port``, comma-separated."""

    telemetry: str
    bootstrap_servers: str
    brokers: list[BrokerStatus]


def cluster_status(state: State, volumes: Volumes) -> ClusterStatus:
    """Return the status of the monitored brokers and their directories."""
    return ClusterStatus(
        state.telemetry.address, state.bootstrap_servers, [_broker_status(node, volumes) for node in state.brokers]
    )


def broker_state(node: Node) -> str:
    """Return ``running``, ``paused`` or ``stopped``."""
    if node.process is None or processes.find(node.process) is None:
        return "stopped"
    return "paused" if processes.is_paused(node.process) else "running"


def _broker_status(node: Node, volumes: Volumes) -> BrokerStatus:
    status = broker_state(node)
    pid = node.process.pid if node.process and status != "stopped" else None
    return BrokerStatus(node.id, pid, status, [_log_dir_status(path, volumes) for path in node.log_dirs])


def _log_dir_status(path: str, volumes: Volumes) -> LogDirStatus:
    space = volumes.space(path)
    if space is None:
        return LogDirStatus(path, "unknown", None, None)
    if not volumes.view(path).is_dir():
        return LogDirStatus(path, "failed", space.total_bytes, space.free_bytes)
    status = "full" if space.free_bytes < FULL_BELOW_BYTES else "ok"
    return LogDirStatus(path, status, space.total_bytes, space.free_bytes)
