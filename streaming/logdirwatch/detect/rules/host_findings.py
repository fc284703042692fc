"""The host's evidence that would explain a failure: kernel lines about a device, and observed faults."""

from logdirwatch.detect import causes
from logdirwatch.detect.state.broker_state import HostFinding, KernelFinding, LogDirMemory, Trouble, Verdict
from logdirwatch.model.records import HostLogDir
from logdirwatch.model.vocabulary import LOST_WAY, Cause, FullBy, KernelTrouble

PATH_LOST = "host_path_lost"

_EXPLAIN = (
    frozenset({KernelTrouble.MEDIUM_ERROR}),
    LOST_WAY,
    frozenset({KernelTrouble.POOL_FULL}),
    frozenset({KernelTrouble.NO_SPACE}),
)
# The error texts of glibc; the first match decides.
_PATH_LOST = (
    "Stale file handle",
    "Stale NFS file handle",
    "Transport endpoint is not connected",
    "No such file or directory",
    "No such device",
    "Host is down",
    "does not exist on this host",
    "Not a directory",
    "not a directory",
)
_BY_PROBE = (
    ("Read-only file system", Cause.READ_ONLY, None, "host_read_only"),
    ("Disk quota exceeded", Cause.FULL, FullBy.QUOTA, "host_quota"),
    ("No space left on device", Cause.FULL, None, "host_no_space"),
    ("Permission denied", Cause.PERMISSION, None, "host_permission"),
    ("Structure needs cleaning", Cause.FILE_SYSTEM, None, "host_file_system"),
    ("Input/output error", Cause.FAILED, None, "host_io_error"),
)


def note(log_dir: LogDirMemory, seen: HostLogDir, at_ms: int) -> None:
    """Apply one observation: kernel lines are kept, other findings are valid until the next observation."""
    word = _kernel_word(seen, at_ms)
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
    a volume returns I/O errors, and the file system on it shuts down or turns read-only.
    """
    near = [
        trouble for trouble in reversed(log_dir.troubles.values()) if at_ms - trouble.at_ms <= causes.KERNEL_NEAR_MS
    ]
    for kinds in _EXPLAIN:
        if found := next((trouble for trouble in near if trouble.kind in kinds), None):
            return found
    return None


def forget(log_dir: LogDirMemory, until_ms: int) -> None:
    """Ignore kernel lines up to a time for explaining failures: a person declared the disk healthy."""
    if log_dir.kernel is not None and log_dir.kernel.at_ms <= until_ms:
        log_dir.kernel = None


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
    if (used_inodes_ratio(seen) or 0.0) >= causes.INODES_OUT_RATIO:
        return Verdict(cause=Cause.FULL, decided_by="host_inodes", full_by=FullBy.INODES)
    for text, cause, full_by, decided_by in _BY_PROBE:
        if text in error:
            return Verdict(cause=cause, decided_by=decided_by, full_by=full_by, said=error)
    return None


def _is_path_lost(log_dir: LogDirMemory, seen: HostLogDir, error: str) -> bool:
    """Tell whether a path is gone that was seen before; one that never existed is a configuration error."""
    if seen.is_root_volume:
        was_lost = log_dir.host_word is not None and log_dir.host_word.verdict.decided_by == PATH_LOST
        return was_lost or log_dir.is_root_volume is False
    return log_dir.is_volume_told and seen.volume is None and any(text in error for text in _PATH_LOST)


def used_inodes_ratio(seen: HostLogDir) -> float | None:
    """Return the share of inodes in use; some file systems have no fixed number and report 0."""
    if not seen.total_inodes or seen.free_inodes is None:
        return None
    return 1.0 - seen.free_inodes / seen.total_inodes
