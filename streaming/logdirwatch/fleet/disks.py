"""The disks of a broker and the free space on each; log directories that share a volume are one disk. Pure."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from logdirwatch.detect.settings import Thresholds
from logdirwatch.fleet.memory import BrokerDigest, DirDigest
from logdirwatch.model.vocabulary import SPACE_STATUSES, LogDirStatus

ThresholdsOf = Callable[[str], Thresholds]
_FILLING = (LogDirStatus.FILLING, LogDirStatus.CRITICAL, LogDirStatus.SATURATED)


class Disk(NamedTuple):
    """One volume with the log directories on it; sizes in bytes, None when unknown.

    ``above_bytes`` are used above the filling threshold, or will be according to the forecast; ``room_bytes`` are free
    below it, ``rebuild_bytes`` below the critical threshold. Only a directory that is online and not cordoned has free
    space, since no other takes new replicas. ``is_unknown`` says that the free space is unknown.
    """

    broker: int
    paths: tuple[str, ...]
    is_filling: bool
    is_urgent: bool
    is_unknown: bool
    above_bytes: int
    room_bytes: int
    rebuild_bytes: int
    used_ratio: float | None
    full_at_ms: int | None
    replica_bytes: int | None


def disks(broker: int, digest: BrokerDigest, thresholds_of: ThresholdsOf) -> list[Disk]:
    """Return a broker's disks, ordered by their first paths."""
    volumes: dict[str, list[Disk]] = defaultdict(list)
    for log_dir in digest.log_dirs:
        disk = _directory(broker, log_dir, digest.at_ms, thresholds_of(log_dir.path))
        # The prefix keeps the names of volumes apart from paths, which begin with a slash.
        volumes[f"volume {log_dir.volume}" if log_dir.volume else log_dir.path].append(disk)
    return [sharing[0] if len(sharing) == 1 else _shared(sharing) for sharing in volumes.values()]


def _directory(broker: int, log_dir: DirDigest, at_ms: int, thresholds: Thresholds) -> Disk:
    total, used = log_dir.total_bytes or 0, _used_bytes(log_dir)
    is_short = _will_be_short(log_dir, at_ms, thresholds)
    is_filling = is_short or _is_filling_now(log_dir, thresholds)
    is_open = used is not None and log_dir.status in SPACE_STATUSES and not log_dir.is_cordoned
    filled, critical = int(total * thresholds.filling_ratio), int(total * thresholds.critical_ratio)
    return Disk(
        broker=broker,
        paths=(log_dir.path,),
        is_filling=is_filling,
        is_urgent=_last_known(log_dir) in _FILLING[1:],
        is_unknown=used is None or log_dir.status is LogDirStatus.UNKNOWN,
        above_bytes=max(0, (total if is_short else used) - filled) if is_filling and used is not None else 0,
        room_bytes=max(0, filled - (used or 0)) if is_open and not is_filling else 0,
        rebuild_bytes=max(0, critical - (used or 0)) if is_open else 0,
        used_ratio=None if used is None else used / total,
        full_at_ms=log_dir.full_at_ms,
        replica_bytes=log_dir.replica_bytes,
    )


def _shared(sharing: Sequence[Disk]) -> Disk:
    """Return the disk that several directories share: its space counts once, and their replicas are lost together."""
    is_filling = any(disk.is_filling for disk in sharing)
    replica_bytes = [disk.replica_bytes for disk in sharing if disk.replica_bytes is not None]
    return Disk(
        broker=sharing[0].broker,
        paths=tuple(path for disk in sharing for path in disk.paths),
        is_filling=is_filling,
        is_urgent=any(disk.is_urgent for disk in sharing),
        is_unknown=all(disk.is_unknown for disk in sharing),
        above_bytes=max(disk.above_bytes for disk in sharing),
        room_bytes=0 if is_filling else max(disk.room_bytes for disk in sharing),
        rebuild_bytes=max(disk.rebuild_bytes for disk in sharing),
        used_ratio=max((disk.used_ratio for disk in sharing if disk.used_ratio is not None), default=None),
        full_at_ms=min((disk.full_at_ms for disk in sharing if disk.full_at_ms is not None), default=None),
        replica_bytes=sum(replica_bytes) if len(replica_bytes) == len(sharing) else None,
    )


def _will_be_short(log_dir: DirDigest, at_ms: int, thresholds: Thresholds) -> bool:
    """Tell whether the forecast says that a directory is full within the time that makes it ``filling``."""
    if log_dir.full_at_ms is None or log_dir.status is LogDirStatus.OFFLINE:
        return False
    return max(0, log_dir.full_at_ms - at_ms) < thresholds.filling_within_ms


def _is_filling_now(log_dir: DirDigest, thresholds: Thresholds) -> bool:
    """Tell whether a directory is filling or worse; an unreported one counts as it was last seen.

    An offline one is short of space only if it was before it went offline: a failed disk is another matter.
    """
    status = _last_known(log_dir)
    if status is LogDirStatus.OFFLINE:
        used = _used_bytes(log_dir)
        return used is not None and used >= thresholds.filling_ratio * (log_dir.total_bytes or 0)
    return status in _FILLING


def _last_known(log_dir: DirDigest) -> LogDirStatus:
    is_unknown = log_dir.status is LogDirStatus.UNKNOWN
    return log_dir.last_status if is_unknown and log_dir.last_status is not None else log_dir.status


def _used_bytes(log_dir: DirDigest) -> int | None:
    if not log_dir.total_bytes or log_dir.usable_bytes is None:
        return None
    return log_dir.total_bytes - log_dir.usable_bytes
