"""The content of patches for Strimzi's resources, according to its schemas."""

from collections.abc import Mapping
from typing import Any

from logdirwatch.config.section import GIB

TAKEN_BY_FILE_SYSTEM_RATIO = 0.05
"""The share of a volume that its file system may use itself, as ext4 does."""


def topic_configs(values: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the merge patch of a KafkaTopic; null deletes a value."""
    return {"spec": {"config": {key: _number(value) for key, value in values.items()}}}


def grown(volume: int | None, size_bytes: int) -> list[dict[str, Any]]:
    """Return the JSON patch of a KafkaNodePool that enlarges a volume; ``volume`` None: the pool has only one.

    A patch identifies volumes only by position. Its test operation fails if another id is at that position.
    """
    if volume is None:
        return [{"op": "replace", "path": "/spec/storage/size", "value": quantity(size_bytes)}]
    at = f"/spec/storage/volumes/{volume}"
    return [
        {"op": "test", "path": f"{at}/id", "value": volume},
        {"op": "replace", "path": f"{at}/size", "value": quantity(size_bytes)},
    ]


def added(volume: int, size_bytes: int) -> list[dict[str, Any]]:
    """Return the JSON patch of a KafkaNodePool that gives its brokers one more volume."""
    value = {"id": volume, "type": "persistent-claim", "size": quantity(size_bytes), "deleteClaim": False}
    return [
        {"op": "test", "path": "/spec/storage/type", "value": "jbod"},
        {"op": "add", "path": "/spec/storage/volumes/-", "value": value},
    ]


def quantity(size_bytes: int) -> str:
    """Return the size of a volume whose file system has at least this many bytes."""
    return f"{-int(-size_bytes * (1 + TAKEN_BY_FILE_SYSTEM_RATIO) // GIB)}Gi"


def _number(value: str | None) -> int | str | None:
    return int(value) if value is not None and value.removeprefix("-").isdecimal() else value
