"""Observes every log directory each round, each in its own thread: a dead disk blocks only that thread.

Observed are space, inodes, the mount, and a probe. It writes 4 KiB to a hidden plain file, syncs it, reads it back from
the disk, compares and removes it. A broker ignores it: at start it loads only the subdirectories of a log directory
(Kafka 4.3.1 ``LogManager.loadLogs``) and refuses one that is no replica, while it skips a plain file, such as its own
``.lock``.
"""

import asyncio
import contextlib
import os
import stat
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from logdirwatch.collect.rounds.changes import ReserveOf
from logdirwatch.model.records import HostLogDir
from logdirwatch.text.units import human_s

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


T = TypeVar("T")
Look = Callable[[str], HostLogDir]


def in_thread(work: Callable[[], T]) -> "asyncio.Future[T]":
    """Start ``work`` in its own thread and return its future.

    The thread is a daemon: the program can end while it hangs in the kernel.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if outcome.done():
            return
        if error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(value)  # type: ignore[arg-type] # None only where T is None

    def run() -> None:
        value, error = None, None
        try:
            value = work()
        except BaseException as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop ended while this one hung
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="host", daemon=True).start()
    return outcome


class Prober:
    """Observes ``paths``; one without an answer within ``timeout_ms`` is reported so, and skipped until it answers."""

    def __init__(
        self, paths: Sequence[str], look: Look, timeout_ms: int, timer_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._paths = paths
        self._look = look
        self._timeout_ms = timeout_ms
        self._timer_s = timer_s
        self._busy: dict[str, tuple[asyncio.Future[HostLogDir], float]] = {}
        self._ended: dict[str, threading.Event] = {}

    async def round(self) -> list[HostLogDir]:
        """Observe every directory once; one that still hangs from an earlier round is not waited for again."""
        begun = {path: self._begin(path) for path in self._paths if not self._is_hanging(path)}
        if begun:
            await asyncio.wait(begun.values(), timeout=self._timeout_ms / 1_000)
        return [self._answer(path) for path in self._paths]

    def finish(self, timeout_s: float) -> None:
        """Wait for running observations, which remove their files; those that hang are left behind."""
        ends_s = time.monotonic() + timeout_s
        for ended in self._ended.values():
            ended.wait(max(0.0, ends_s - time.monotonic()))

    def _begin(self, path: str) -> "asyncio.Future[HostLogDir]":
        ended = self._ended[path] = threading.Event()

        def looked() -> HostLogDir:
            try:
                return self._look(path)
            finally:
                ended.set()

        future = in_thread(looked)
        self._busy[path] = future, self._timer_s()
        return future

    def _is_hanging(self, path: str) -> bool:
        """Tell whether an earlier observation has not ended; an answer that came too late is dropped."""
        return path in self._busy and not self._busy[path][0].done()

    def _answer(self, path: str) -> HostLogDir:
        future, begun_s = self._busy[path]
        if not future.done():
            waited_s = self._timer_s() - begun_s
            return HostLogDir(path=path, probe_error=f"no answer for {human_s(waited_s)}")
        error = future.exception()
        return HostLogDir(path=path, probe_error=f"look: {error}") if error else future.result()
