"""Directories that lie on one volume: their space is there once, and so is its alert.

The host source tells it. Without it, it is seen: equal size, and free bytes that move together over ``TOGETHER``
samples in which they changed. Before that, equal numbers are enough to doubt: directories that are idle never move.
"""

from collections.abc import Sequence
from itertools import pairwise

from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory
from logdirwatch.model.records import LogDirSample
from logdirwatch.model.vocabulary import SPACE_STATUSES

TOGETHER = 10
APART_BYTES = 16 << 20
APART_RATIO = 0.001
"""Small directories must move together more closely: of a few MiB everything is within 16 MiB."""


def watch(memory: BrokerMemory, samples: Sequence[LogDirSample]) -> None:
    """Compare the directories of one answer with each other, before their numbers are remembered."""
    told = [sample for sample in samples if sample.usable_bytes is not None]
    alike = _with_a_neighbour(told)
    for sample in told:
        log_dir = memory.log_dirs[sample.path]
        if log_dir.is_volume_told or sample.usable_bytes == log_dir.usable_bytes:
            continue
        twin = next((other.path for other in alike if other is not sample and _are_alike(sample, other)), None)
        if twin is None or twin != log_dir.twin:
            log_dir.twin, log_dir.twin_samples, log_dir.volume = twin, 0, None
            continue
        log_dir.twin_samples = min(log_dir.twin_samples + 1, TOGETHER)
        if log_dir.twin_samples == TOGETHER:
            log_dir.volume = f"of {min(twin, sample.path)}"


def _with_a_neighbour(samples: Sequence[LogDirSample]) -> list[LogDirSample]:
    """Return, by path, the directories that are like another one: mostly none, and then there is nothing to compare."""
    ordered = sorted(samples, key=lambda sample: (sample.total_bytes or 0, sample.usable_bytes or 0))
    pairs = [pair for pair in pairwise(ordered) if _are_alike(*pair)]
    return sorted({sample.path: sample for pair in pairs for sample in pair}.values(), key=lambda sample: sample.path)


def _are_alike(one: LogDirSample | LogDirMemory, other: LogDirSample | LogDirMemory) -> bool:
    apart_bytes = min(APART_BYTES, APART_RATIO * (one.total_bytes or 0))
    is_near = abs((one.usable_bytes or 0) - (other.usable_bytes or 0)) <= apart_bytes
    return one.total_bytes == other.total_bytes and is_near


def on_volume(memory: BrokerMemory, path: str) -> list[str]:
    """Return the directories on a directory's volume, in order; itself alone when none is known."""
    volume = memory.log_dirs[path].volume
    if volume is None:
        return [path]
    return sorted(other for other, log_dir in memory.log_dirs.items() if log_dir.volume == volume)


def may_share(memory: BrokerMemory, path: str) -> list[str]:
    """Return, in order, the directories that lie on a directory's volume, or may by their numbers.

    Of one that does not serve the free bytes are those of an earlier time, so its size alone is compared.
    """
    log_dir, known = memory.log_dirs[path], on_volume(memory, path)
    if log_dir.is_volume_told:
        return known
    alike = (other for other, seen in memory.log_dirs.items() if _may_be_one(log_dir, seen))
    return sorted({*known, *alike})


def _may_be_one(one: LogDirMemory, other: LogDirMemory) -> bool:
    if not one.total_bytes or one.total_bytes != other.total_bytes:
        return False
    return other.status not in SPACE_STATUSES or _are_alike(one, other)


def sharing(memory: BrokerMemory, path: str) -> list[str]:
    """Return those of them that can be written: the first speaks for all."""
    return [other for other in on_volume(memory, path) if memory.log_dirs[other].status in SPACE_STATUSES]


def first_serving(memory: BrokerMemory, path: str) -> str | None:
    """Return which of the directories that may lie on one volume speaks for all of it."""
    serving = [other for other in may_share(memory, path) if memory.log_dirs[other].status in SPACE_STATUSES]
    return serving[0] if serving else None


def unaccounted_bytes(memory: BrokerMemory, path: str) -> int | None:
    """Return the used bytes of a directory's volume that no replica explains; None while a part is not known.

    The replicas of directories that may lie there too explain them as well: this is what is unaccounted for at least.
    """
    log_dir, explained_bytes = memory.log_dirs[path], 0
    for other in may_share(memory, path):
        size_bytes = memory.log_dirs[other].replica_bytes
        if size_bytes is None:
            return None
        explained_bytes += size_bytes
    if log_dir.total_bytes is None or log_dir.usable_bytes is None:
        return None
    return log_dir.total_bytes - log_dir.usable_bytes - explained_bytes
