"""Fills a log directory's file system with a topic's data, or with a file that is no replica."""

import errno
import os
import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from kafka.errors import KafkaError

from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.text.units import human_s
from logdirwatch_lab import probes
from logdirwatch_lab.state import Node, State
from logdirwatch_lab.volumes import Volumes
from logdirwatch_lab.waiting import wait_until

BALLAST = "fill.bin"
"""The file next to the log directory, on the same file system."""

STEP_S = 0.1
LARGEST_RECORD_BYTES = 32 << 10
UNPACED_STEP_BYTES = 512 << 10
PLACING_DEADLINE_S = 180.0
STALLED_AFTER_S = 60.0
LOOK_EVERY_S = 1.0
CLOSE_S = 1.0
FLUSH_S = 6.0
_PRODUCER = {
    "acks": "all",
    "linger_ms": 5,
    "batch_size": 256 << 10,
    "max_block_ms": 3_000,
    "request_timeout_ms": 3_000,
    "delivery_timeout_ms": 5_000,
}


class FillWith(str, Enum):
    """The kind of data to fill with."""

    DATA = "data"
    FILE = "file"


class Ended(str, Enum):
    """The reason why a fill ended."""

    STOPPED = "stopped"
    RATIO = "ratio"
    FULL = "full"
    FAILED = "failed"
    """The broker took the directory offline, or halted."""


@dataclass(frozen=True)
class Filled:
    """The result of a fill; ``topic`` is None for a plain file."""

    written_bytes: int
    ended: Ended
    topic: str | None = None


@dataclass(frozen=True)
class Target:
    """One log directory of one broker."""

    state: State
    volumes: Volumes
    node: Node
    index: int

    @property
    def log_dir(self) -> str:
        """The path of the directory for the broker."""
        return self.node.log_dirs[self.index]

    @property
    def volume(self) -> Path:
        """The path of its file system for the broker."""
        return Path(self.log_dir).parent

    def is_at(self, ratio: float | None) -> bool:
        """Return whether the used share of the file system has reached ``ratio``; False for None."""
        space = self.volumes.space(self.volume)
        return ratio is not None and space is not None and space.used_ratio >= ratio

    def is_offline(self) -> bool:
        """Return whether the broker reports the directory as offline, or does not answer."""
        errors = probes.log_dir_errors(self.node.address, self.node.id)
        return errors is None or errors.get(self.log_dir) != 0


def fill_with_file(target: Target, rate_bytes_per_s: int | None, until: float | None, stop: threading.Event) -> Filled:
    """Write one plain file next to the log directory until its file system reaches ``until``, or is full."""
    path = target.volumes.view(target.volume / BALLAST)
    step_bytes = step_of(rate_bytes_per_s)
    written = 0
    with path.open("ab", buffering=0) as file:
        while not stop.is_set():
            if target.is_at(until):
                return Filled(written, Ended.RATIO)
            try:
                written += file.write(os.urandom(step_bytes))
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise UserError(f"cannot write {path}: {error.strerror}") from None
                return Filled(written, Ended.FULL)
            _pace(rate_bytes_per_s, stop)
    return Filled(written, Ended.STOPPED)


def fill_with_data(
    target: Target,
    topic: str,
    partitions: int,
    rate_bytes_per_s: int | None,
    until: float | None,
    stop: threading.Event,
) -> Filled:
    """Write records to all partitions of ``topic`` until the file system reaches ``until`` or the directory fails.

    Raises UserError if writes fail although the directory is online.
    """
    settings = KafkaSettings(bootstrap_servers=target.state.bootstrap_servers)
    try:
        producer = clients.producer(settings, **_PRODUCER)
    except KafkaError as error:
        raise clients.unreachable(settings, error) from None
    written, progress_s, looked_s = 0, time.monotonic(), time.monotonic()
    try:
        while not stop.is_set():
            if target.is_at(until):
                return Filled(written, Ended.RATIO, topic)
            sent = _send(producer, topic, partitions, step_of(rate_bytes_per_s))
            written, now_s = written + sent, time.monotonic()
            progress_s = now_s if sent else progress_s
            # With further replicas the leader changes when the directory fails, and writes would still succeed.
            if not sent or now_s - looked_s > LOOK_EVERY_S:
                looked_s = now_s
                if target.is_offline():
                    return Filled(written, Ended.FAILED, topic)
            if now_s - progress_s > STALLED_AFTER_S:
                raise UserError(
                    f"topic {topic} accepted no record for {human_s(STALLED_AFTER_S)} although its directory is online"
                )
            _pace(rate_bytes_per_s, stop)
    finally:
        clients.discard(producer, CLOSE_S)
    return Filled(written, Ended.STOPPED, topic)


def place_topic(target: Target, topic: str, replicas: Sequence[int], partitions: int, configs: dict[str, str]) -> int:
    """Place all partitions of ``topic`` in the target directory of the target broker.

    A missing topic is created, with ``partitions`` partitions on the brokers ``replicas``; returns their number.
    Raises UserError if they cannot be placed there.
    """
    try:
        with probes.admin(target.node.address) as client:
            if topic in client.list_topics():
                partitions = len(client.describe_topics([topic])[0]["partitions"])
            else:
                _make_topic(client, target, topic, {number: list(replicas) for number in range(partitions)}, configs)
            _wait_placed(client, target, topic, partitions)
    except KafkaError as error:
        raise UserError(f"cannot create topic {topic}: {clients.one_line(error)}") from None
    return partitions


def _make_topic(
    client: Any, target: Target, topic: str, assignments: dict[int, list[int]], configs: dict[str, str]
) -> None:
    # A broker remembers a directory that is set before the replica exists (AlterReplicaLogDirs, KIP-113).
    client.alter_replica_log_dirs({(topic, number, target.node.id): target.log_dir for number in assignments})
    client.create_topics({topic: {"assignments": assignments, "configs": configs}}, wait_for_metadata=True)


def _wait_placed(client: Any, target: Target, topic: str, partitions: int) -> None:
    """Wait until the replicas are in the directory; others are moved."""
    wanted = {(topic, number, target.node.id): target.log_dir for number in range(partitions)}

    def placed() -> bool:
        found = probes.replica_dirs(client, target.node.id, topic)
        if len(found) == partitions and set(found.values()) == {target.log_dir}:
            return True
        client.alter_replica_log_dirs(wanted)
        return False

    wait_until(placed, PLACING_DEADLINE_S, f"topic {topic} is not placed in {target.log_dir}")


def step_of(rate_bytes_per_s: int | None) -> int:
    """Return the bytes of one step; STEP_S makes ten per second."""
    return max(1, int(rate_bytes_per_s * STEP_S)) if rate_bytes_per_s else UNPACED_STEP_BYTES


def _send(producer: Any, topic: str, partitions: int, size_bytes: int) -> int:
    """Send ``size_bytes``, spread over the partitions, and return the acknowledged bytes."""
    sizes = [LARGEST_RECORD_BYTES] * (size_bytes // LARGEST_RECORD_BYTES)
    sizes += [rest] if (rest := size_bytes % LARGEST_RECORD_BYTES) else []
    try:
        sent = [
            (size, producer.send(topic, os.urandom(size), partition=random.randrange(partitions)))  # noqa: S311
            for size in sizes
        ]
        producer.flush(timeout=FLUSH_S)
    except KafkaError:
        return 0
    return sum(size for size, future in sent if future.succeeded())


def _pace(rate_bytes_per_s: int | None, stop: threading.Event) -> None:
    if rate_bytes_per_s:
        stop.wait(STEP_S)
