"""Observes one log directory on its own host: space, inodes, mount, and a probe that writes and reads.

The probe writes 4 KiB to a hidden plain file, syncs it, reads it back from the disk, compares and removes it. A broker
ignores it: at start it loads only the subdirectories of a log directory (Kafka 4.3.1 ``LogManager.loadLogs``) and
refuses one that is no replica, while it skips a plain file, such as its own ``.lock``.
"""

import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from logdirwatch.collect.rounds.changes import ReserveOf
from logdirwatch.model.records import HostLogDir

MISSING = "does not exist on this host: is watch-host running in another mount namespace, a container or beside one?"
REFUSED = "must not be looked at by this user: run watch-host as the broker's own"
PROBE_BYTES = 4_096
PROBE_FILE = ".logdirwatch-probe"

ReadBack = Callable[[int], bytes]
ReserveFileOf = Callable[[str], tuple[str, int] | None]
"""A log directory's reserve file by name and size; None where none is configured."""

RESERVE_TAKES = 0.9
BLOCK_BYTES = 512
"""The unit of ``st_blocks``."""


def no_reserve_file(path: str) -> None:  # noqa: ARG001 - the signature of ReserveFileOf
    """Return None: no reserve file is configured."""
    return


@dataclass(frozen=True)
class ProbeRules:
    """When to write: not if probing is off, nor into the last bytes, below ``reserve_of(path, total_bytes)``.

    ``file_name`` must differ between two processes that probe the same directory.
    """

    is_on: bool
    reserve_of: ReserveOf
    file_name: str = PROBE_FILE
    reserve_file_of: ReserveFileOf = no_reserve_file


def look(path: str, rules: ProbeRules, timer_s: Callable[[], float] = time.monotonic) -> HostLogDir:
    """Return what the host sees of ``path``; never raises nor creates a directory, may hang as long as the disk does.

    ``usable_bytes`` is what an unprivileged process may write, as Java's ``getUsableSpace``.
    """
    try:
        found, root = Path(path).stat(), Path("/").stat()
        space = os.statvfs(path)
    except FileNotFoundError:
        return HostLogDir(path=path, config_error=MISSING)
    except PermissionError:
        return HostLogDir(path=path, config_error=REFUSED)
    except OSError as error:
        return HostLogDir(path=path, probe_error=_reason("look", error))
    total_bytes, usable_bytes = space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize
    probe_ms = probe_error = None
    if not stat.S_ISDIR(found.st_mode):
        probe_error = "look: not a directory"
    elif rules.is_on and usable_bytes >= max(PROBE_BYTES, rules.reserve_of(path, total_bytes)):
        probe_ms, probe_error = _timed_probe(path, found.st_uid, rules.file_name, timer_s)
    return HostLogDir(
        path=path,
        total_bytes=total_bytes,
        usable_bytes=usable_bytes,
        total_inodes=space.f_files,
        free_inodes=space.f_favail,
        volume=f"dev {os.major(found.st_dev)}:{os.minor(found.st_dev)}",
        is_read_only=bool(space.f_flag & os.ST_RDONLY),
        is_root_volume=found.st_dev == root.st_dev,
        probe_ms=probe_ms,
        probe_error=probe_error,
        is_reserve_there=_is_there(path, rules.reserve_file_of(path)),
    )


def _is_there(path: str, reserve: tuple[str, int] | None) -> bool | None:
    """Tell whether a reserve file has its blocks allocated; deleting a sparse one would free nothing."""
    if reserve is None:
        return None
    name, size_bytes = reserve
    try:
        taken_bytes = (Path(path) / name).lstat().st_blocks * BLOCK_BYTES
    except FileNotFoundError:
        return False
    except OSError:
        return None
    return taken_bytes >= RESERVE_TAKES * size_bytes


def _timed_probe(
    path: str, owner: int, file_name: str, timer_s: Callable[[], float]
) -> tuple[float | None, str | None]:
    """Return how long the probe took in ms, and what was wrong; both None if it proves nothing."""
    begun_s = timer_s()
    try:
        error = probe(Path(path) / file_name, os.urandom(PROBE_BYTES))
    except PermissionError as refused:
        # The broker runs as the owner: that another user may not write says nothing about the disk.
        if owner != os.geteuid():
            return None, None
        error = _reason("probe", refused)
    except OSError as failed:
        error = _reason("probe", failed)
    return (timer_s() - begun_s) * 1_000, error


def read_back(descriptor: int) -> bytes:
    """Read a file from its beginning, from the disk instead of memory if the system can do that."""
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    return os.pread(descriptor, PROBE_BYTES + 1, 0)


def probe(file: Path, content: bytes, read: ReadBack = read_back) -> str | None:
    """Write ``content``, sync, read, compare and remove; return what is wrong, None if it came back unchanged.

    Raises OSError when a step fails.
    """
    file.unlink(missing_ok=True)  # left behind by a probe that was killed
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, content)
        os.fsync(descriptor)
        return None if read(descriptor) == content else "probe: other bytes were read than written"
    finally:
        os.close(descriptor)
        file.unlink(missing_ok=True)


def _reason(step: str, error: OSError) -> str:
    return f"{step}: {error.strerror or type(error).__name__}"
