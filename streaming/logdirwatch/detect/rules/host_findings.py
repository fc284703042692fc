"""The host's evidence that would explain a failure: kernel lines about a device, and observed faults."""

from logdirwatch.detect import causes
from logdirwatch.detect.state.broker_state import HostFinding, KernelFinding, LogDirMemory, Trouble, Verdict
from logdirwatch.model.records import HostLogDir
from logdirwatch.model.vocabulary import LOST_WAY, Cause, FullBy, KernelTrouble
from logdirwatch.parse.broker_log.causes import cause_of, full_by
from logdirwatch.parse.kernel_log import arrays
from logdirwatch.parse.kernel_log.lines import is_io_error, tells_damage
from logdirwatch.parse.os_errors import os_error_in

PATH_LOST = "host_path_lost"

_EXPLAIN = (
    frozenset({KernelTrouble.MEDIUM_ERROR}),
    LOST_WAY,
    frozenset({KernelTrouble.POOL_FULL}),
    frozenset({KernelTrouble.NO_SPACE}),
    frozenset({KernelTrouble.NO_MEMORY}),
    frozenset({KernelTrouble.TIMED_OUT}),
)
_NO_DIRECTORY = frozenset({"ENOENT", "ENOTDIR"})
_NOT_ON_HOST = "does not exist on this host"
# A limit that the host source itself reached tells nothing of the disk.
_BY_ERROR = {
    Cause.READ_ONLY: "host_read_only",
    Cause.FULL: "host_no_space",
    Cause.PERMISSION: "host_permission",
    Cause.FILE_SYSTEM: "host_file_system",
    Cause.FAILED: "host_io_error",
}


def note(log_dir: LogDirMemory, seen: HostLogDir, at_ms: int) -> None:
    """Apply one observation: kernel lines are kept, other findings are valid until the next observation."""
    word = _kernel_word(seen, at_ms)
    members = arrays.given_up((trouble.kind, trouble.text) for trouble in log_dir.troubles.values())
    if log_dir.kernel is not None and _is_explained(log_dir.kernel, members):
        log_dir.kernel = None
    word = None if word is not None and _is_explained(word, members) else word
    behind = None if word is None else explanation(log_dir, at_ms)
    if behind is not None:
        cause = KernelTrouble(behind.kind).cause or Cause.UNKNOWN
        log_dir.kernel = KernelFinding(at_ms=at_ms, cause=cause, text=behind.text, device=behind.device)
    elif word is not None and not _is_lesser(log_dir.kernel, word):
        log_dir.kernel = word
    verdict = _look(log_dir, seen)
    log_dir.host_word = None if verdict is None else HostFinding(at_ms=at_ms, verdict=verdict)


def explanation(log_dir: LogDirMemory, at_ms: int) -> Trouble | None:
    """Return the recent kernel line that explains the others, even if it is not the last one.

    An unreadable sector is a fault of the disk, whatever follows from it. Without its path, or space in the pool below,
    a volume returns I/O errors, and the file system on it shuts down or turns read-only. So it does while its storage
    does not answer, but a drive that does not come back from that has failed.
    """
    near = [
        trouble for trouble in reversed(log_dir.troubles.values()) if at_ms - trouble.at_ms <= causes.KERNEL_NEAR_MS
    ]
    if any(one.kind == KernelTrouble.FILE_SYSTEM_ERROR and tells_damage(one.text) for one in near):
        near = [one for one in near if one.kind != KernelTrouble.NO_MEMORY]  # which damages nothing
    is_gone = any(one.kind == KernelTrouble.DEVICE_ERROR and not is_io_error(one.text) for one in near)
    for kinds in _EXPLAIN[:-1] if is_gone else _EXPLAIN:
        if found := next((trouble for trouble in near if trouble.kind in kinds), None):
            return found
    return None


def forget(log_dir: LogDirMemory, until_ms: int) -> None:
    """Ignore kernel lines up to a time for explaining failures: a person declared the disk healthy."""
    if log_dir.kernel is not None and log_dir.kernel.at_ms <= until_ms:
        log_dir.kernel = None


def _is_explained(word: KernelFinding, members: frozenset[str]) -> bool:
    return arrays.is_explained(KernelTrouble.DEVICE_ERROR, word.device, members)


def _kernel_word(seen: HostLogDir, at_ms: int) -> KernelFinding | None:
    if seen.kernel_error is None:
        return None
    cause = Cause(seen.kernel_cause) if seen.kernel_cause in set(Cause) else Cause.UNKNOWN
    return KernelFinding(at_ms=at_ms, cause=cause, text=seen.kernel_error, device=seen.device)


def _is_lesser(known: KernelFinding | None, word: KernelFinding) -> bool:
    """Tell whether a kernel line must not replace the previous one: a recent I/O error of the device explains more."""
    if known is None or known.cause is not Cause.FAILED or word.cause is Cause.FAILED:
        return False
    return word.at_ms - known.at_ms <= causes.KERNEL_NEAR_MS


def _look(log_dir: LogDirMemory, seen: HostLogDir) -> Verdict | None:
    """Return the finding of an observation, the cause before its consequences: a lost mount is not writable either."""
    error = seen.probe_error or seen.config_error or ""
    if _is_path_lost(log_dir, seen, error):
        return Verdict(cause=Cause.REMOUNT, decided_by=PATH_LOST, said=error or "the path is on the root volume now")
    if seen.is_read_only:
        return Verdict(cause=Cause.READ_ONLY, decided_by="host_read_only", said="mounted read-only")
    if seen.full_by == FullBy.QUOTA:
        return Verdict(cause=Cause.FULL, decided_by="host_quota", full_by=FullBy.QUOTA, said=error or None)
    # Without inodes a file system answers ENOSPC, as without blocks, and a larger volume may not help: so inodes come
    # before the error's own cause.
    if (used_inodes_ratio(seen) or 0.0) >= causes.INODES_OUT_RATIO:
        return Verdict(cause=Cause.FULL, decided_by="host_inodes", full_by=FullBy.INODES)
    cause = cause_of(error)
    if full_by(error, cause) is FullBy.QUOTA:
        return Verdict(cause=cause, decided_by="host_quota", full_by=FullBy.QUOTA, said=error)
    decided_by = _BY_ERROR.get(cause)
    return None if decided_by is None else Verdict(cause=cause, decided_by=decided_by, said=error)


def _is_path_lost(log_dir: LogDirMemory, seen: HostLogDir, error: str) -> bool:
    """Tell whether a path is gone that was seen before; one that never existed is a configuration error."""
    if seen.is_root_volume:
        # After the first look the memory says that the directory is on the root volume, so the earlier finding tells
        # that it was not always.
        was_lost = log_dir.host_word is not None and log_dir.host_word.verdict.decided_by == PATH_LOST
        return was_lost or log_dir.is_root_volume is False
    is_gone = cause_of(error) is Cause.REMOUNT or _has_no_path(error) or _NOT_ON_HOST in error
    return log_dir.is_volume_told and seen.volume is None and is_gone


def has_no_directory(seen: HostLogDir) -> bool:
    """Tell whether the probe found no directory at the path: whatever Kafka answers, it can create no file there."""
    return _has_no_path(seen.probe_error or "")


def _has_no_path(error: str) -> bool:
    named = os_error_in(error)
    return named is not None and named.name in _NO_DIRECTORY


def used_inodes_ratio(seen: HostLogDir) -> float | None:
    """Return the share of inodes in use; a file system without a fixed number reports 0, and never runs out of them."""
    if seen.total_inodes is None or seen.free_inodes is None:
        return None
    if seen.total_inodes == 0:
        return 0.0
    return 1.0 - seen.free_inodes / seen.total_inodes
