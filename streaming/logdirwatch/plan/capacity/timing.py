"""How long until a log directory is full, and how long Kafka takes: deletion delay, copies at once."""

from typing import Any

from logdirwatch.model.vocabulary import COPY_THREADS
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Precondition
from logdirwatch.text.units import human_in, human_ms

DELETE_DELAY_MS = 60_000
"""Kafka's default of ``log.segment.delete.delay.ms`` (``ServerLogConfigs``), used if the value is unknown."""


def place_target(directory: LogDir) -> dict[str, Any]:
    """Return the target of an action on one directory."""
    return {"broker": directory.broker, "log_dir": directory.path}


def time_to_full_ms(directory: LogDir, freed_bytes: int = 0) -> int | None:
    """Return the time until the directory is full at its present growth, once ``freed_bytes`` are free.

    It includes what running steps free before then, and what running copies still add.
    """
    growth = directory.growth_bytes_per_s
    if growth is None or growth <= 0 or directory.usable_bytes is None:
        return None
    lasting = directory.usable_bytes - (directory.incoming_bytes or 0) + directory.relief_bytes + freed_bytes
    return max(0, int(lasting / growth * 1000))


def delete_delay_ms(broker: int, snapshot: ClusterSnapshot) -> int:
    """Return how long a broker keeps deleted files (``file.delete.delay.ms``)."""
    found = snapshot.brokers[broker].configs.get("log.segment.delete.delay.ms") if broker in snapshot.brokers else None
    return DELETE_DELAY_MS if found is None else int(found)


def copies_at_once(broker: int, snapshot: ClusterSnapshot) -> int:
    """Return how many copies between its directories a broker runs at once; Kafka's default is one per directory."""
    configured = snapshot.brokers[broker].configs.get(COPY_THREADS) if broker in snapshot.brokers else None
    if configured is not None and configured.isdigit():
        return max(1, int(configured))
    return max(1, len(snapshot.directories_of.get(broker, ())))


def in_time(source: LogDir, needs_ms: int) -> Precondition:
    """Return the precondition that the action takes effect before the directory is full."""
    left = time_to_full_ms(source)
    text = f"takes effect in {human_ms(needs_ms)}; {source.path} is full {human_in(left)}"
    return Precondition("in_time", text, None if left is None else left > needs_ms)
