"""Why a directory is offline: the evidence in order, from the strongest to the weakest.

1. The broker's log has the exception that Kafka got: nothing is closer to the failure.
2. The kernel's log names the device, but its error may have affected another process, or be older.
3. The host sees the state afterwards (mount, path, inodes, quota), which may be a consequence.
4. Several directories that fail in one poll with space left share a cause other than their disks.
5. Free space comes last: it is compatible with many failures that have other causes.

A step overrules weaker ones, never stronger ones, so that evidence may arrive in any order. Evidence without a cause is
overruled by any other. One error of the log leaves the cause open: a program gets EIO from a dying device, a lost path
and a file system that shut itself down alike. Then the kernel or the host explains it. Without evidence the cause is
``unknown``: free space does not prove a failed disk.
"""

from msgspec.structs import replace

from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect import predicates
from logdirwatch.detect.settings import Thresholds
from logdirwatch.detect.state import episodes
from logdirwatch.detect.state.broker_state import BrokerMemory, KernelFinding, LogDirMemory, Verdict
from logdirwatch.model.records import EventRecord
from logdirwatch.model.times import GAP_POLLS
from logdirwatch.model.vocabulary import POLLED_FAILURE, Cause, FullBy, KernelTrouble, LogDirStatus
from logdirwatch.parse.broker_log.causes import is_of_quota
from logdirwatch.parse.kernel_log.lines import tells_damage

EVENT = "event"
BROKER_LOG = "broker_log"
KERNEL_LOG = "kernel_log"
HOST = "host_"
"""The prefix of steps decided by an observation of the host."""
SEVERAL_AT_ONCE = "several_at_once"
BY_SPACE = frozenset({"usable_under_reserve", "growth_reached_zero"})
KERNEL_NEAR_MS = HOUR_MS
"""How long before a failure an error of its device may have occurred that explains it."""
HOST_NEAR_POLLS = 3
_BEHIND_IO_ERRORS = frozenset({Cause.REMOUNT, Cause.READ_ONLY, Cause.FILE_SYSTEM})
_BEHIND = {
    Cause.READ_ONLY: (
        KernelTrouble.MEDIUM_ERROR,
        KernelTrouble.POOL_FULL,
        KernelTrouble.NO_SPACE,
        KernelTrouble.NO_MEMORY,
        KernelTrouble.FILE_SYSTEM_ERROR,
    ),
    Cause.FILE_SYSTEM: (KernelTrouble.MEDIUM_ERROR, KernelTrouble.NO_MEMORY),
}
"""The troubles, by what a file system makes of them, that explain it: the deepest first."""
_IS_DAMAGE = {KernelTrouble.FILE_SYSTEM_ERROR: True, KernelTrouble.NO_MEMORY: False}
"""Only damage explains a read-only mount, and a lack of memory no damage."""
INODES_OUT_RATIO = 0.995
"""The ratio that is shown as 100 % of the inodes."""
INODES_SHORT_RATIO = 0.95
"""Enough if the log says that nothing was left although bytes were: a replica takes six files, some removed since."""
SPACE_SHORT_RATIO = 0.99
"""From this ratio "no space left" refers to bytes: the rest can be written between two polls."""
SPACE_WAS_LEFT = "space_was_left"
"""No evidence of a failed disk."""


def weight(verdict: Verdict) -> int:
    """Return which step decided, the strongest first; evidence without a cause comes last."""
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
    """Return the standing verdict, unless a stronger step found another."""
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
    # A failing device makes its file system shut down or turn read-only: of two kernel lines it explains the other.
    return found if is_deeper or weight(found) < weight(known) else known


def _explains(other: Verdict, io_error: Verdict) -> bool:
    """Tell whether the kernel or the host explains the log's I/O error, whose device is unknown."""
    is_bare = io_error.cause is Cause.FAILED and io_error.decided_by == BROKER_LOG and io_error.device is None
    if other.decided_by == KERNEL_LOG:
        return is_bare and (other.cause in _BEHIND_IO_ERRORS or other.cause is Cause.FULL)
    return is_bare and other.decided_by.startswith(HOST) and other.cause in _BEHIND_IO_ERRORS


def judge(memory: BrokerMemory, path: str, thresholds: Thresholds) -> Verdict:
    """Return the verdict on an offline directory from everything known about it now."""
    log_dir = memory.log_dirs[path]
    known = log_dir.verdict
    verdict = None if _says_nothing(known, log_dir) else known
    for found in (_by_kernel(log_dir), _by_host(log_dir), _by_pattern(memory, path), _by_space(log_dir, thresholds)):
        verdict = stronger(verdict, found)
    assert verdict is not None, "free space always yields a verdict"
    return _measured(log_dir, _behind_file_system(log_dir, verdict), thresholds)


def _says_nothing(known: Verdict | None, log_dir: LogDirMemory) -> bool:
    """Tell whether only the failure itself is known, so that even the space left is news."""
    return known is not None and known.decided_by == EVENT and log_line(log_dir.event_detail) is None


def by_event(record: EventRecord) -> Verdict | None:
    """Return the verdict of an event: its cause comes from the broker's log, if the line was understood."""
    cause = Cause(record.cause) if record.cause in set(Cause) else Cause.UNKNOWN
    if cause is Cause.UNKNOWN:
        return None
    full_by = _full_by(record) if cause is Cause.FULL else None
    return Verdict(cause=cause, decided_by=BROKER_LOG, full_by=full_by, device=record.device, said=record.detail)


def log_line(detail: str | None) -> str | None:
    """Return the detail of an event if it is a line of the broker's log, not the text of a poll."""
    return None if detail == POLLED_FAILURE else detail


def is_by_log(record: EventRecord) -> bool:
    """Tell whether an event quotes the broker's own log, or names a cause, which only the log does."""
    return log_line(record.detail) is not None or by_event(record) is not None


def is_of_log(log_dir: LogDirMemory) -> bool:
    """Tell whether what is known of a directory's failure rests on a line of the broker's own log."""
    known = log_dir.verdict
    return log_line(log_dir.event_detail) is not None or (known is not None and known.decided_by == BROKER_LOG)


def is_condemned(memory: BrokerMemory, log_dir: LogDirMemory) -> bool:
    """Tell whether only the broker's log says that a directory failed, and the broker has not started since.

    Kafka writes that line first. From then on it refuses every write there, and the thread that takes the directory
    offline may die of the same error: then leaders stay, and DescribeLogDirs goes on answering 0 (Kafka 4.3.1
    ``LogDirFailureChannel``, ``UnifiedLog.maybeHandleIOException``). Only a start tries the directory again.
    """
    return (
        log_dir.known_status is LogDirStatus.OFFLINE
        and is_of_log(log_dir)
        and log_dir.decided_by is None
        and log_dir.event_ms is not None
        and not episodes.has_started_since(memory, log_dir.event_ms)
    )


def ignored_since_ms(memory: BrokerMemory, log_dir: LogDirMemory) -> int | None:
    """Return since when Kafka has not acted on a failure in its log; None if it has, or if it may need a moment."""
    since_ms = log_dir.contradicted_ms
    if since_ms is None or memory.newest_ms - since_ms < predicates.SILENCE_POLLS * log_dir.interval_ms:
        return None
    return since_ms


def shown(log_dir: LogDirMemory) -> Verdict:
    """Return the verdict to report about an offline directory."""
    return log_dir.verdict or Verdict(cause=Cause.UNKNOWN, decided_by=EVENT)


def set_verdict(log_dir: LogDirMemory, verdict: Verdict) -> None:
    """Keep a verdict; ``decided_by`` is only set once DescribeLogDirs confirmed the failure."""
    log_dir.verdict, log_dir.cause = verdict, verdict.cause
    if log_dir.decided_by is not None:
        log_dir.decided_by = verdict.decided_by


def common(verdicts: list[Verdict]) -> Cause:
    """Return the common cause of several directories; ``unknown`` if they differ.

    A process limit affects the whole broker, no matter which directory reached it first.
    """
    causes = {verdict.cause for verdict in verdicts}
    if len(causes) == 1:
        return causes.pop()
    return Cause.LIMIT if causes == {Cause.LIMIT, Cause.UNKNOWN} else Cause.UNKNOWN


def kernel_near(log_dir: LogDirMemory) -> KernelFinding | None:
    """Return the kernel's line about a directory's device around the failure: older ones explain nothing."""
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
    """Return the verdict on several directories that went offline together: one fault, which is not in their disks."""
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
    if log_dir.event_ms is not None and log_dir.event_ms >= log_dir.offline_ms:
        return True
    sample_at_ms = log_dir.sample_at_ms
    return sample_at_ms is not None and log_dir.offline_ms - sample_at_ms <= GAP_POLLS * log_dir.interval_ms


def _by_space(log_dir: LogDirMemory, thresholds: Thresholds) -> Verdict:
    cause, decided_by = predicates.offline_cause(log_dir, thresholds, log_dir.offline_ms or 0)
    return Verdict(cause=cause, decided_by=decided_by, full_by=FullBy.SPACE if cause is Cause.FULL else None)


def _behind_file_system(log_dir: LogDirMemory, verdict: Verdict) -> Verdict:
    """Return what made a file system turn read-only or give up, if the kernel names it.

    Sectors that cannot be read or written, no space, or damage: a read-only mount is always a consequence.
    """
    near = [t for t in log_dir.troubles.values() if (log_dir.offline_ms or 0) - t.at_ms <= KERNEL_NEAR_MS]
    for kind in _BEHIND.get(verdict.cause, ()):
        for trouble in near:
            is_damage = tells_damage(trouble.text if kind is KernelTrouble.FILE_SYSTEM_ERROR else verdict.said or "")
            is_meant = trouble.kind == kind and is_damage is _IS_DAMAGE.get(kind, is_damage)
            if is_meant and kind.cause is not None:
                return Verdict(cause=kind.cause, decided_by=KERNEL_LOG, device=trouble.device, said=trouble.text)
    return verdict


def _measured(log_dir: LogDirMemory, verdict: Verdict, thresholds: Thresholds) -> Verdict:
    """Return what ran out if the log only says that no space was left: ENOSPC means inodes and bytes alike."""
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
    """Return what ran out according to the log; "no space left" leaves it open until it is measured."""
    if record.full_by in {FullBy.QUOTA, FullBy.INODES}:
        return FullBy(record.full_by)
    return FullBy.QUOTA if is_of_quota(record.detail) else None
