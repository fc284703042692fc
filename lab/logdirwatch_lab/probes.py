"""Requests to local brokers; a broker is ready when it answers a request, not by its log."""

import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Any

from kafka.errors import KafkaError

from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.kafka.cluster_description import describe_cluster
from logdirwatch.kafka.settings import KafkaSettings

CONNECT_TIMEOUT_MS = 2_000
REQUEST_TIMEOUT_MS = "3000"
KNOCK_S = 1.0


@contextlib.contextmanager
def admin(bootstrap_servers: str) -> Iterator[Any]:
    """Yield an admin client with short timeouts; raises UserError if no broker answers."""
    client = {"request.timeout.ms": REQUEST_TIMEOUT_MS}
    settings = KafkaSettings(bootstrap_servers=bootstrap_servers, client=client)
    with clients.admin(settings, CONNECT_TIMEOUT_MS) as connected:
        yield connected


def unfenced_brokers(bootstrap_servers: str) -> set[int]:
    """Return the brokers that are registered and not fenced, none if no broker answers."""
    cluster = _asked(bootstrap_servers, describe_cluster)
    return set() if cluster is None else set(cluster.unfenced)


def quorum_leader(bootstrap_servers: str) -> int | None:
    """Return the controller that leads the metadata quorum, None if there is none or no broker answers."""
    quorum = _asked(bootstrap_servers, lambda client: client.describe_metadata_quorum())
    if quorum is None:
        return None
    [topic] = quorum["topics"]
    [partition] = topic["partitions"]
    return int(partition["leader_id"]) if partition["error"] is None else None


def log_dir_errors(bootstrap_servers: str, broker: int) -> dict[str, int] | None:
    """Return the error code of each of a broker's directories, None when it does not answer."""
    answers = _asked(bootstrap_servers, lambda client: client.describe_log_dirs({}, brokers=[broker]))
    return {found["log_dir"]: found["error_code"] for answer in answers or () for found in answer["log_dirs"]} or None


def _asked(bootstrap_servers: str, ask: Callable[[Any], Any]) -> Any:
    """Return the result of ``ask`` with an admin client, None if no broker answers."""
    if not listens(bootstrap_servers):
        return None
    try:
        with admin(bootstrap_servers) as client:
            return ask(client)
    except (UserError, KafkaError, OSError):
        return None


def listens(bootstrap_servers: str) -> bool:
    """Check whether something listens there: kafka-python leaks a socket for every refused connection."""
    for address in bootstrap_servers.split(","):
        host, _, port = address.rpartition(":")
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=KNOCK_S):
            return True
    return False


def replica_dirs(client: Any, broker: int, topic: str) -> dict[int, str]:
    """Return the directory of each partition of ``topic`` on a broker, without copies in progress."""
    answers = client.describe_log_dirs([topic], brokers=[broker])
    return {
        part["partition_index"]: found["log_dir"]
        for answer in answers
        for found in answer["log_dirs"]
        for described in found["topics"]
        for part in described["partitions"]
        if not part["is_future_key"]
    }
