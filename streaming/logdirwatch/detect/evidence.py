"""What an alert of a log directory or broker shows: the numbers behind it, and what hangs on it."""

from typing import Any

import msgspec

from logdirwatch.detect import placement, rules
from logdirwatch.detect.desk import Desk
from logdirwatch.detect.memory import LogDirMemory
from logdirwatch.model.vocabulary import KAFKA_STORAGE_ERROR


def last_sample(log_dir: LogDirMemory) -> dict[str, Any]:
    """Return the numbers of the last sample that had them."""
    return {
        "sample_at_ms": log_dir.sample_at_ms,
        "total_bytes": log_dir.total_bytes,
        "usable_bytes": log_dir.usable_bytes,
        "used_ratio": rules.used_ratio(log_dir.total_bytes, log_dir.usable_bytes),
        "growth_bytes_per_s": log_dir.growth_bytes_per_s,
        "full_at_ms": log_dir.full_at_ms,
        "forecast_confidence": log_dir.forecast_confidence,
        "is_metadata_dir": log_dir.is_metadata_dir,
    }


def of_offline(desk: Desk, path: str, log_dir: LogDirMemory) -> dict[str, Any]:
    """Return what was known of a directory before it went offline, and which rule named the cause."""
    reserve_bytes = None if log_dir.total_bytes is None else desk.thresholds(path).reserve_of(log_dir.total_bytes)
    return {
        "error_code": KAFKA_STORAGE_ERROR if log_dir.decided_by else None,
        "event_ms": log_dir.event_ms,
        "event_detail": log_dir.event_detail,
        "decided_by": log_dir.decided_by or "event",
        "reserve_bytes": reserve_bytes,
        "new_replicas_go_to": placement.next_log_dirs(desk.memory.log_dirs),
        **last_sample(log_dir),
    }


def affected(desk: Desk, log_dir: LogDirMemory) -> dict[str, Any]:
    """Return what lies in a directory, and the partitions in danger that its broker hosts."""
    return {
        "replica_count": log_dir.replica_count,
        "replica_bytes": log_dir.replica_bytes,
        **affected_by_broker(desk),
    }


def affected_by_broker(desk: Desk) -> dict[str, Any]:
    """Return the partitions in danger that the broker hosts; nothing while they are not known."""
    partitions = desk.memory.partitions
    return {} if partitions is None else msgspec.to_builtins(partitions)
