"""Why a directory is offline: the evidence in order, from what says most to what says least.

1. The broker's log names the exception that Kafka met: nothing is nearer to the failure.
2. The kernel's log names the device, but its error may have met another process, or be older.
3. The host sees the state afterwards (mount, path, inodes, quota), which may be a consequence.
4. Several directories in one poll with space left share a cause that is none of their disks.
5. Free space comes last: it fits many failures that have other reasons.

A step overrules a weaker one, never the other way round, so that evidence may come in any order. What names no cause
is overruled by anything. One word of the log leaves the cause open: EIO is what a program meets on a dying device, on a
lost path, on a file system that shut itself down alike. There the kernel or the host explains it. Without evidence the
cause is ``unknown``: space that was left proves no broken disk.
"""

from msgspec.structs import replace

from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect import predicates
from logdirwatch.detect.settings import Thresholds
from logdirwatch.detect.state.broker_state import BrokerMemory, KernelWord, LogDirMemory, Verdict
from logdirwatch.model.records import EventRecord
from logdirwatch.model.vocabulary import POLLED_FAILURE, Cause, FullBy, KernelTrouble

EVENT = "event"
BROKER_LOG = "broker_log"
KERNEL_LOG = "kernel_log"
HOST = "host_"
"""How everything begins that the host's look decided."""
SEVERAL_AT_ONCE = "several_at_once"
BY_SPACE = frozenset({"usable_under_reserve", "growth_reached_zero"})
KERNEL_NEAR_MS = HOUR_MS
"""How long before a failure an error of its device may be that explains it."""
HOST_NEAR_POLLS = 3
_BEHIND_IO_ERRORS = frozenset({Cause.REMOUNT, Cause.READ_ONLY, Cause.FILE_SYSTEM})
_BY_THE_DISK = frozenset({Cause.READ_ONLY, Cause.FILE_SYSTEM})
"""What a disk that cannot read or write its sectors brings a file system to."""
INODES_OUT_RATIO = 0.995
"""What is shown as 100 % of the inodes."""
INODES_SHORT_RATIO = 0.95
"""Enough where the log says that nothing was left and bytes were: a replica takes six files, some are gone again."""
SPACE_SHORT_RATIO = 0.99
"""From here on "no space left" is said of the bytes: the rest is written between two polls."""
SPACE_WAS_LEFT = "space_was_left"
"""No evidence of a broken disk, though release 0.1.0 called it ``failed``."""


def weight(verdict: Verdict) -> int:
    """Return which step decided, the strongest first; what names no cause comes after all that do."""
    if verdict.decided_by == BROKER_LOG:
        step = 1
    elif verdict.decided_by == KERNEL_LOG:
        step = 2
    elif verdict.decided_by.startswith(HOST):
        step = 3
    elif verdict.decided_by == SEVERAL_AT_ONCE:
        step = 4
    else:
        step = 5 if verdict.decided_by in BY_SPACE else 6
    return step if verdict.cause is not Cause.UNKNOWN else step + 10


def stronger(known: Verdict | None, found: Verdict | None) -> Verdict | None:
    """Return the verdict that holds: the one that stands, unless a stronger step found another."""
    if known is None or found is None:
        return known or found
    if found.cause is known.cause:
        holds = found if weight(found) < weight(known) else known
        other = known if holds is found else found
        return replace(holds, full_by=holds.full_by or other.full_by, device=holds.device or other.device)
    if _explains(found, known):
        return found
    if _explains(known, found):
        return known
    is_deeper = found.decided_by == known.decided_by == KERNEL_LOG and found.cause is Cause.FAILED
    # A sick device makes its file system shut down or turn read-only: of two lines of the kernel it explains the other.
    return found if is_deeper or weight(found) < weight(known) else known


def _explains(other: Verdict, io_error: Verdict) -> bool:
    """Tell whether the kernel or the host says what lies behind the log's I/O error, of which no device is known."""
    is_bare = io_error.cause is Cause.FAILED and io_error.decided_by == BROKER_LOG and io_error.device is None
    if other.decided_by == KERNEL_LOG:
        return is_bare and (other.cause in _BEHIND_IO_ERRORS or other.cause is Cause.FULL)
    return is_bare and other.decided_by.startswith(HOST) and other.cause in _BEHIND_IO_ERRORS


def judge(memory: BrokerMemory, path: str, thresholds: Thresholds) -> Verdict:
    """Return the verdict on an offline directory from all that is known of it now."""
    log_dir = memory.log_dirs[path]
    known = standing(log_dir)
    verdict = None if _says_nothing(known, log_dir) else known
    for found in (_by_kernel(log_dir), _by_host(log_dir), _by_pattern(memory, path), _by_space(log_dir, thresholds)):
        verdict = stronger(verdict, found)
    assert verdict is not None, "free space always has an answer"
    return _measured(log_dir, _unreadable(log_dir, verdict), thresholds)


def _says_nothing(known: Verdict | None, log_dir: LogDirMemory) -> bool:
    """Tell whether all that is known is that the directory failed: then even space that was left is news."""
    return known is not None and known.decided_by == EVENT and log_line(log_dir.event_detail) is None


def by_event(record: EventRecord) -> Verdict | None:
    """Return what an event says: a cause comes from the broker's log, where its line was understood."""
    cause = Cause(record.cause) if record.cause in set(Cause) else Cause.UNKNOWN
    if cause is Cause.UNKNOWN:
        return None
    full_by = _full_by(record) if cause is Cause.FULL else None
    return Verdict(cause=cause, decided_by=BROKER_LOG, full_by=full_by, device=record.device, said=record.detail)


def log_line(detail: str | None) -> str | None:
    """Return what an event adds, where it is a line of the broker's log; what a poll says of itself is none."""
    return None if detail == POLLED_FAILURE else detail


def standing(log_dir: LogDirMemory) -> Verdict | None:
    """Return the verdict that stands; an older release kept only the cause and what decided."""
    if log_dir.verdict is not None or log_dir.cause is None:
        return log_dir.verdict
    if log_dir.cause is Cause.FAILED and log_dir.decided_by == SPACE_WAS_LEFT:
        return None
    decided_by = log_dir.decided_by or EVENT
    is_of_log = decided_by == EVENT and log_dir.cause is not Cause.UNKNOWN
    return Verdict(cause=log_dir.cause, decided_by=BROKER_LOG if is_of_log else decided_by, said=log_dir.event_detail)


def shown(log_dir: LogDirMemory) -> Verdict:
    """Return the verdict that is told of an offline directory."""
    return standing(log_dir) or Verdict(cause=Cause.UNKNOWN, decided_by=EVENT)


def set_verdict(log_dir: LogDirMemory, verdict: Verdict) -> None:
    """Keep a verdict; ``decided_by`` beside it is only set once DescribeLogDirs confirmed the failure."""
    log_dir.verdict, log_dir.cause = verdict, verdict.cause
    if log_dir.decided_by is not None:
        log_dir.decided_by = verdict.decided_by


def common(verdicts: list[Verdict]) -> Cause:
    """Return the one cause of several directories; ``unknown`` where they differ.

    A limit of the process is the broker's, whichever directory met it first.
    """
    causes = {verdict.cause for verdict in verdicts}
    if len(causes) == 1:
        return causes.pop()
    return Cause.LIMIT if causes == {Cause.LIMIT, Cause.UNKNOWN} else Cause.UNKNOWN


def kernel_near(log_dir: LogDirMemory) -> KernelWord | None:
    """Return what the kernel said of a directory's device about when it failed: older words explain nothing."""
    word = log_dir.kernel
    return None if word is None or (log_dir.offline_ms or 0) - word.at_ms > KERNEL_NEAR_MS else word


def _by_kernel(log_dir: LogDirMemory) -> Verdict | None:
    word = kernel_near(log_dir)
    if word is None or word.cause is Cause.UNKNOWN:
        return None
    return Verdict(cause=word.cause, decided_by=KERNEL_LOG, device=word.device, said=word.text)


def _by_host(log_dir: LogDirMemory) -> Verdict | None:
    word = log_dir.host_word
    if word is None or (log_dir.offline_ms or 0) - word.at_ms > HOST_NEAR_POLLS * log_dir.host_interval_ms:
        return None
    return word.verdict


def _by_pattern(memory: BrokerMemory, path: str) -> Verdict | None:
    """Take several directories that served a moment ago and are offline now for one fault that is none of theirs."""
    carrier = memory.log_dirs[path].carrier or path
    together = [
        other
        for other, log_dir in memory.log_dirs.items()
        if carrier in {other, log_dir.carrier} and _was_seen_to_fail(log_dir)
    ]
    if len(together) < 2 or path not in together:
        return None
    return Verdict(cause=Cause.UNKNOWN, decided_by=SEVERAL_AT_ONCE)


def _was_seen_to_fail(log_dir: LogDirMemory) -> bool:
    if log_dir.offline_ms is None:
        return False
    if log_dir.event_ms == log_dir.offline_ms:
        return True
    sample_at_ms = log_dir.sample_at_ms
    return sample_at_ms is not None and log_dir.offline_ms - sample_at_ms <= predicates.GAP_POLLS * log_dir.interval_ms


def _by_space(log_dir: LogDirMemory, thresholds: Thresholds) -> Verdict:
    cause, decided_by = predicates.offline_cause(log_dir, thresholds, log_dir.offline_ms or 0)
    return Verdict(cause=cause, decided_by=decided_by, full_by=FullBy.SPACE if cause is Cause.FULL else None)


def _unreadable(log_dir: LogDirMemory, verdict: Verdict) -> Verdict:
    """Take the disk for what failed where its sectors cannot be read or written and its file system gave up."""
    if verdict.cause not in _BY_THE_DISK:
        return verdict
    for trouble in log_dir.troubles.values():
        is_near = (log_dir.offline_ms or 0) - trouble.at_ms <= KERNEL_NEAR_MS
        if trouble.kind == KernelTrouble.MEDIUM_ERROR and is_near:
            return Verdict(cause=Cause.FAILED, decided_by=KERNEL_LOG, device=trouble.device, said=trouble.text)
    return verdict


def _measured(log_dir: LogDirMemory, verdict: Verdict, thresholds: Thresholds) -> Verdict:
    """Say what ran out where the log only says that nothing was left: ENOSPC is said of inodes and bytes alike."""
    if verdict.cause is not Cause.FULL or verdict.full_by is not None:
        return verdict
    if (log_dir.used_inodes_ratio or 0.0) >= INODES_OUT_RATIO:
        return replace(verdict, full_by=FullBy.INODES)
    if _by_space(log_dir, thresholds).cause is Cause.FULL:
        return replace(verdict, full_by=FullBy.SPACE)
    is_short = (log_dir.used_inodes_ratio or 0.0) >= INODES_SHORT_RATIO
    if is_short:
        return replace(verdict, full_by=FullBy.INODES)
    used_ratio = predicates.used_ratio(log_dir.total_bytes, log_dir.usable_bytes) or 0.0
    return replace(verdict, full_by=FullBy.SPACE) if used_ratio >= SPACE_SHORT_RATIO else verdict


def _full_by(record: EventRecord) -> FullBy | None:
    """Return what the log says that ran out; "no space left" leaves it open until it is measured."""
    if record.full_by in {FullBy.QUOTA, FullBy.INODES}:
        return FullBy(record.full_by)
    return FullBy.QUOTA if "quota" in (record.detail or "").lower() else None
