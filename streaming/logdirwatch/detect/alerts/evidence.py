"""The evidence of alerts about log directories and brokers: the numbers behind them, and what is affected."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from logdirwatch.detect import causes, predicates
from logdirwatch.detect.alerts import urgency
from logdirwatch.detect.alerts.context import BrokerContext
from logdirwatch.detect.state import placement
from logdirwatch.detect.state.broker_state import LogDirMemory
from logdirwatch.model.evidence.log_dirs import LogDirOfflineEvidence, OfflineLogDir
from logdirwatch.model.vocabulary import KAFKA_STORAGE_ERROR


def last_sample(log_dir: LogDirMemory) -> dict[str, Any]:
    """Return the numbers of the last sample that had them, as evidence names them."""
    growth, full_at_ms = urgency.outlook(log_dir)
    return {
        "sample_at_ms": log_dir.sample_at_ms,
        "total_bytes": log_dir.total_bytes,
        "usable_bytes": log_dir.usable_bytes,
        "used_ratio": predicates.used_ratio(log_dir.total_bytes, log_dir.usable_bytes),
        "growth_bytes_per_s": log_dir.growth_bytes_per_s,
        "lasting_growth_bytes_per_s": growth,
        "full_at_ms": full_at_ms,
        "forecast_confidence": log_dir.forecast_confidence,
        "is_metadata_dir": log_dir.is_metadata_dir,
    }


def of_offline(context: BrokerContext, path: str, away: Sequence[str]) -> LogDirOfflineEvidence:
    """Return the last known numbers of a directory before it went offline, and which step decided the cause.

    ``away`` are the directories of the alert at ``path``; the numbers of the first are shown, and each is listed if
    there are several or others.
    """
    log_dir = context.memory.log_dirs[away[0]]
    is_confirmed = any(context.memory.log_dirs[other].decided_by for other in away)
    verdict, kernel = causes.shown(log_dir), causes.kernel_near(log_dir)
    reserve_bytes = None if log_dir.total_bytes is None else context.thresholds(away[0]).reserve_of(log_dir.total_bytes)
    return LogDirOfflineEvidence(
        error_code=KAFKA_STORAGE_ERROR if is_confirmed else None,
        event_ms=log_dir.event_ms,
        event_detail=log_dir.event_detail,
        decided_by=verdict.decided_by,
        said=verdict.said,
        contradicted_ms=causes.ignored_since_ms(context.memory, log_dir),
        full_by=None if verdict.full_by is None else str(verdict.full_by),
        device=verdict.device,
        kernel_error=None if kernel is None else kernel.text,
        used_inodes_ratio=log_dir.used_inodes_ratio,
        why=[_why(context, other) for other in away],
        reserve_bytes=reserve_bytes,
        new_replicas_go_to=placement.next_log_dirs(context.memory.log_dirs),
        log_dirs=None if list(away) == [path] else {other: _one(context, other) for other in away},
        **last_sample(log_dir),
    )


def _why(context: BrokerContext, path: str) -> str:
    """Return the verdict on an offline directory in one line: a change of it makes a revision due."""
    log_dir = context.memory.log_dirs[path]
    verdict = causes.shown(log_dir)
    ignored = None if causes.ignored_since_ms(context.memory, log_dir) is None else "Kafka did not act on it"
    more = [str(part) for part in (verdict.full_by, verdict.device, ignored) if part is not None]
    return f"{path}: {verdict.cause} ({', '.join([verdict.decided_by, *more])})"


def _one(context: BrokerContext, path: str) -> OfflineLogDir:
    log_dir = context.memory.log_dirs[path]
    verdict = causes.shown(log_dir)
    return OfflineLogDir(
        last_status=log_dir.last_status,
        replica_count=log_dir.replica_count,
        used_ratio=predicates.used_ratio(log_dir.total_bytes, log_dir.usable_bytes),
        event_detail=log_dir.event_detail,
        cause=str(verdict.cause),
        decided_by=verdict.decided_by,
        full_by=None if verdict.full_by is None else str(verdict.full_by),
        device=verdict.device,
        said=verdict.said,
        contradicted_ms=causes.ignored_since_ms(context.memory, log_dir),
    )


def affected_in(context: BrokerContext, log_dirs: Sequence[LogDirMemory]) -> dict[str, Any]:
    """Return what is affected in several directories together, as :func:`affected` does for one."""
    return {
        "replica_count": _total(log_dir.replica_count for log_dir in log_dirs),
        "replica_bytes": _total(log_dir.replica_bytes for log_dir in log_dirs),
        **affected_by_broker(context),
    }


def _total(numbers: Iterable[int | None]) -> int | None:
    """Return the sum; None if a part of it is unknown."""
    total = 0
    for number in numbers:
        if number is None:
            return None
        total += number
    return total


def affected(context: BrokerContext, log_dir: LogDirMemory) -> dict[str, Any]:
    """Return the contents of a directory, and the partitions at risk that its broker hosts."""
    return {
        "replica_count": log_dir.replica_count,
        "replica_bytes": log_dir.replica_bytes,
        **affected_by_broker(context),
    }


def affected_by_broker(context: BrokerContext) -> dict[str, Any]:
    """Return the partitions at risk that the broker hosts; empty while they are unknown."""
    partitions = context.memory.partitions
    return {} if partitions is None else msgspec.to_builtins(partitions)
