"""Directories that left ``log.dirs`` with replicas in them: ``log_dir_unknown`` until these are accounted for.

Kafka makes the replicas again in the broker's other directories, empty, and copies those that other brokers have (Kafka
4.3.1 ``LogManager.getOrCreateLog``). What was only there is lost as soon as somebody deletes the volume.
"""

from collections.abc import Set

from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.rules.log_dir_changed import COMPLETE_RATIO
from logdirwatch.detect.state.broker_state import BrokerMemory, Left, LogDirMemory
from logdirwatch.model.evidence.log_dirs import NOT_CONFIGURED
from logdirwatch.model.vocabulary import LogDirStatus

IN_OTHERS = "its replicas are complete in other directories of the broker"


def note(memory: BrokerMemory, reported: Set[str], at_ms: int) -> None:
    """Remember what the broker held before directories left its report; call it before an answer is taken."""
    leaving = [path for path, log_dir in memory.log_dirs.items() if path not in reported and log_dir.left is None]
    # Counted before any of them is marked: afterwards what they held would be missing from the sum.
    count, size_bytes = _held(memory) if leaving else (None, None)
    for path in leaving:
        memory.log_dirs[path].left = Left(at_ms=at_ms, replica_count=count, replica_bytes=size_bytes)
    for path in reported & memory.log_dirs.keys():
        memory.log_dirs[path].left = None


def why_forgotten(memory: BrokerMemory, log_dir: LogDirMemory) -> str | None:
    """Return why a directory that is no longer in ``log.dirs`` may be forgotten; None if replicas of it are missing.

    Nothing was in it, its failure was told already, or the broker holds as many replicas and nearly as many bytes
    as before, in sync. Counts alone prove nothing: replicas that were only there are made again, empty and in sync.
    """
    was_offline = LogDirStatus.OFFLINE in {log_dir.status, log_dir.last_status}
    if not log_dir.replica_count or log_dir.left is None or was_offline:
        return NOT_CONFIGURED
    count, size_bytes = _held(memory)
    had, had_bytes = log_dir.left.replica_count, log_dir.left.replica_bytes
    if count is None or size_bytes is None or had is None or had_bytes is None:
        return None
    is_in_sync = memory.partitions is None or not memory.partitions.out_of_sync
    return IN_OTHERS if is_in_sync and count >= had and size_bytes >= COMPLETE_RATIO * had_bytes else None


def is_quiet(memory: BrokerMemory) -> bool:
    """Tell whether every directory is reported; an answer without one of them is not that of the columns."""
    return all(log_dir.left is None for log_dir in memory.log_dirs.values())


def forget(context: BrokerContext, path: str | None, until_ms: int, moment: EvidenceTime, reason: str) -> None:
    """Forget a directory that left ``log.dirs`` before a person declared that nothing is missing."""
    log_dir = None if path is None else context.memory.log_dirs.get(path)
    if path is None or log_dir is None or log_dir.left is None or log_dir.left.at_ms > until_ms:
        return
    if log_dir.reason == NOT_CONFIGURED:
        context.remove_log_dir(path, reason, moment)


def _held(memory: BrokerMemory) -> tuple[int | None, int | None]:
    """Return the replicas and bytes in the directories that have not left; None: not known."""
    found = [log_dir for log_dir in memory.log_dirs.values() if log_dir.left is None]
    counts, sizes = [one.replica_count for one in found], [one.replica_bytes for one in found]
    return (
        None if None in counts else sum(count or 0 for count in counts),
        None if None in sizes else sum(size or 0 for size in sizes),
    )
