"""Directories that share a volume: their space counts once, and has one alert.

The host source reports it. Without it, it is detected: equal size, and free bytes that change together over
``TOGETHER`` samples with changes. Before that, equal numbers are enough for doubt: those of idle directories never
change.
"""

from collections.abc import Sequence
from itertools import pairwise

from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory
from logdirwatch.model.capabilities import CapacitySource
from logdirwatch.model.records import LogDirSample
from logdirwatch.model.vocabulary import SPACE_STATUSES

TOGETHER = 10
APART_BYTES = 16 << 20
APART_RATIO = 0.001
"""Small directories must change together more closely: with a few MiB everything is within 16 MiB."""


def watch(memory: BrokerMemory, samples: Sequence[LogDirSample]) -> None:
    """Compare the directories of one answer with each other, before their numbers are remembered."""
    told = [sample for sample in samples if _is_measured(sample)]
    alike = _with_a_neighbour(told)
    for sample in told:
        log_dir = memory.log_dirs[sample.path]
        if log_dir.is_volume_told or sample.usable_bytes == log_dir.usable_bytes:
            continue
        twin = _twin(sample, alike) if alike else None
        if twin is None or twin != log_dir.twin:
            log_dir.twin, log_dir.twin_samples, log_dir.volume = twin, 0, None
            continue
        log_dir.twin_samples = min(log_dir.twin_samples + 1, TOGETHER)
        if log_dir.twin_samples == TOGETHER:
            log_dir.volume = f"of {min(twin, sample.path)}"


def _twin(sample: LogDirSample, alike: Sequence[LogDirSample]) -> str | None:
    """Return the first other directory that looks like one."""
    return next((other.path for other in alike if other is not sample and _are_alike(sample, other)), None)


def _is_measured(sample: LogDirSample) -> bool:
    return sample.usable_bytes is not None and sample.capacity_source != CapacitySource.CONFIGURATION


def _with_a_neighbour(samples: Sequence[LogDirSample]) -> list[LogDirSample]:
    """Return, by path, the directories that look like another one: usually none, which ends the comparison."""
    ordered = sorted([(one.total_bytes or 0, one.usable_bytes or 0, at) for at, one in enumerate(samples)])
    # Most neighbours are further apart than any two of one volume may be, which is asked first.
    pairs = [
        (samples[at], samples[next_at])
        for (_, free_bytes, at), (_, more_free_bytes, next_at) in pairwise(ordered)
        if more_free_bytes - free_bytes <= APART_BYTES and _are_alike(samples[at], samples[next_at])
    ]
    return sorted({sample.path: sample for pair in pairs for sample in pair}.values(), key=lambda sample: sample.path)


def _apart_bytes(total_bytes: int) -> float:
    """Return how far apart the free bytes of two directories of one size may be that share a volume."""
    return min(APART_BYTES, APART_RATIO * total_bytes)


def _are_alike(one: LogDirSample, other: LogDirSample) -> bool:
    is_near = abs((one.usable_bytes or 0) - (other.usable_bytes or 0)) <= _apart_bytes(one.total_bytes or 0)
    return one.total_bytes == other.total_bytes and is_near


def on_volume(memory: BrokerMemory, path: str) -> list[str]:
    """Return the directories on a directory's volume, in order; only itself if none is known."""
    volume = memory.log_dirs[path].volume
    if volume is None:
        return [path]
    return sorted(other for other, log_dir in memory.log_dirs.items() if log_dir.volume == volume)


def may_share(memory: BrokerMemory, path: str) -> list[str]:
    """Return, in order, the directories that are on a directory's volume, or may be according to their numbers.

    The free bytes of an offline one are old, so only its size is compared.
    """
    log_dir, known = memory.log_dirs[path], on_volume(memory, path)
    total_bytes, usable_bytes = log_dir.total_bytes, log_dir.usable_bytes or 0
    if log_dir.is_volume_told or not total_bytes:
        return known
    apart_bytes = _apart_bytes(total_bytes)
    alike = [
        other
        for other, seen in memory.log_dirs.items()
        if seen.total_bytes == total_bytes
        and (abs(usable_bytes - (seen.usable_bytes or 0)) <= apart_bytes or seen.status not in SPACE_STATUSES)
    ]
    return sorted({*known, *alike})


def sharing(memory: BrokerMemory, path: str) -> list[str]:
    """Return those of them that are writable: the first has the alert for all."""
    return [other for other in on_volume(memory, path) if memory.log_dirs[other].status in SPACE_STATUSES]


def first_serving(memory: BrokerMemory, path: str) -> str | None:
    """Return which of the directories that may share a volume has the alert for all."""
    serving = [other for other in may_share(memory, path) if memory.log_dirs[other].status in SPACE_STATUSES]
    return serving[0] if serving else None


def unaccounted_bytes(memory: BrokerMemory, path: str) -> int | None:
    """Return the used bytes of a directory's volume that no replica accounts for; None while a part is unknown.

    Replicas of directories that may share the volume count as well: this is a lower bound.
    """
    explained_bytes = 0
    for other in may_share(memory, path):
        size_bytes = memory.log_dirs[other].replica_bytes
        if size_bytes is None:
            return None
        explained_bytes += size_bytes
    return _unexplained_bytes(memory.log_dirs[path], explained_bytes)


def unaccounted_bytes_of_all(memory: BrokerMemory) -> dict[str, int | None]:
    """Return ``unaccounted_bytes`` of every directory; that each is alone on its volume is usual, and found at once."""
    if _are_apart(list(memory.log_dirs.values())):
        return {path: _unexplained_bytes(seen, seen.replica_bytes) for path, seen in memory.log_dirs.items()}
    return {path: unaccounted_bytes(memory, path) for path in memory.log_dirs}


def _unexplained_bytes(log_dir: LogDirMemory, explained_bytes: int | None) -> int | None:
    if explained_bytes is None or log_dir.total_bytes is None or log_dir.usable_bytes is None:
        return None
    return log_dir.total_bytes - log_dir.usable_bytes - explained_bytes


def _are_apart(log_dirs: Sequence[LogDirMemory]) -> bool:
    """Tell whether surely no two directories share a volume."""
    volumes = [log_dir.volume for log_dir in log_dirs if log_dir.volume is not None]
    if len(set(volumes)) < len(volumes) or any(log_dir.status not in SPACE_STATUSES for log_dir in log_dirs):
        return False
    ordered = sorted((log_dir.total_bytes or 0, log_dir.usable_bytes or 0) for log_dir in log_dirs)
    return not any(
        total_bytes == next_total_bytes and next_bytes - usable_bytes <= _apart_bytes(total_bytes)
        for (total_bytes, usable_bytes), (next_total_bytes, next_bytes) in pairwise(ordered)
    )
