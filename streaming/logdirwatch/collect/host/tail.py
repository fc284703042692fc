"""Follows a log file across rotation, truncation and restarts of this process. Bytes only.

The position in each log is stored, and so are the reported directories.

Rotation by renaming is recognised by the inode, whatever the new name; by copying and truncating from the size and the
first bytes of the file, which also identify a new file with a reused inode. A renamed file is read to its end first.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Annotated, BinaryIO
from urllib.parse import quote

import msgspec
import structlog
from msgspec import Meta, Struct, field

from logdirwatch.errors import UserError
from logdirwatch.parse.decoding import Decoder, NotReadableError

log = structlog.get_logger(__name__)

CHUNK_BYTES = 1 << 20
HEAD_BYTES = 256
# A file that is renamed away is missing for a moment; only one that stays away is worth a line.
LOOKS_BEFORE_TOLD = 2
COMPRESSED = (".gz", ".zip", ".bz2", ".xz", ".zst")
# What an open file answers once its disk or mount is gone, even when the path is good again.
_DEAD_FILE = {errno.ESTALE, errno.EIO, errno.ENXIO, errno.ENODEV, errno.ENOTCONN, errno.ESHUTDOWN}


class Position(Struct, frozen=True):
    """A position in a file, and which file it is: its inode and a digest of its first bytes."""

    inode: Annotated[int, Meta(ge=0)]
    offset: Annotated[int, Meta(ge=0)]
    head_bytes: Annotated[int, Meta(ge=0)] = 0
    head_digest: str = ""


END_OF_FILE = None
Piece = bytes | None


class Tail:
    """Reads what is appended to ``path``.

    Without a ``position`` it starts ``back_bytes`` before the end, because earlier lines are old; a file that appears
    later is read from its beginning. A missing or unreadable file raises nothing: one warning is logged, and the next
    read tries again.
    """

    def __init__(self, path: Path, position: Position | None = None, back_bytes: int = 0) -> None:
        self._path = path
        self._saved = position
        self._back_bytes = back_bytes
        self._file: BinaryIO | None = None
        self._offset = self._inode = 0
        self._head = b""
        self._is_new = False
        self._gone_reason: str | None = None
        self._is_reopened = False
        self._looks_failed = 0
        self.began_midway = False
        """Whether the first byte that was read is not the first of the file."""

    def read(self) -> Iterator[Piece]:
        """Yield what was appended since the last call; ``END_OF_FILE`` where a file ended and the next one begins."""
        try:
            if self._file is None:
                yield from self._opened_first()
            is_rotated = self._is_rotated()
            yield from self._rest()
            while is_rotated:
                self._open_next()
                yield END_OF_FILE
                is_rotated = self._is_rotated()
                yield from self._rest()
        except FileNotFoundError as error:
            self._is_new = self._is_new or self._saved is None
            self._tell_failure(error.strerror)
        except OSError as error:
            self._tell_failure(error.strerror)
            if error.errno in _DEAD_FILE:
                self._leave()
        else:
            self._worked()

    def position(self, held_bytes: int = 0) -> Position | None:
        """Return where to resume after a restart; ``held_bytes`` were read and are not processed yet."""
        if self._file is None:
            return self._saved
        return self._present(held_bytes)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _present(self, held_bytes: int) -> Position:
        digest = sha256(self._head).hexdigest()
        return Position(self._inode, max(0, self._offset - held_bytes), len(self._head), digest)

    def _leave(self) -> None:
        """Close a file that cannot be read any more: the next read finds it again, or the one in its place."""
        if self._file is not None:
            self._saved, self._is_reopened = self._present(0), True
            self.close()

    def _opened_first(self) -> Iterator[Piece]:
        """Open the file to begin with; yield ``END_OF_FILE`` if it is another one than was left."""
        self._open_first()
        if self._is_reopened and self._offset == 0:
            yield END_OF_FILE
        self._is_reopened = False

    def _open_first(self) -> None:
        if self._saved is not None:
            path, offset = self._resume(self._saved)
        elif self._is_new:
            path, offset = self._path, 0
        else:
            path, offset = self._path, max(0, self._path.stat().st_size - self._back_bytes)
            self.began_midway = offset > 0
        self._open(path, offset)

    def _resume(self, saved: Position) -> tuple[Path, int]:
        """Find the file that was being read, which may have been renamed; else start with the present one."""
        for path in [self._path, *self._siblings()]:
            if path.exists() and path.stat().st_ino == saved.inode and _is_head_of(path, saved):
                return path, saved.offset
        return self._path, 0

    def _open(self, path: Path, offset: int) -> None:
        # Without waiting for the writer of a named pipe, which is no file to follow.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            found = os.fstat(descriptor)
            _check_regular(found.st_mode)
            os.lseek(descriptor, offset, os.SEEK_SET)
            head = os.pread(descriptor, HEAD_BYTES, 0)
        except OSError:
            os.close(descriptor)
            raise
        self.close()
        self._file, self._offset = os.fdopen(descriptor, "rb", buffering=0), offset
        self._inode, self._head = found.st_ino, head

    def _rest(self) -> Iterator[Piece]:
        """Yield up to the end of the open file; one that was truncated or rewritten is read from its start."""
        assert self._file is not None
        head = os.pread(self._file.fileno(), HEAD_BYTES, 0)
        if os.fstat(self._file.fileno()).st_size < self._offset or not head.startswith(self._head):
            self._offset = self._file.seek(0)
            yield END_OF_FILE
        self._head = head
        while data := self._file.read(CHUNK_BYTES):
            self._offset += len(data)
            yield data

    def _is_rotated(self) -> bool:
        """Tell whether the path names another file by now; checked before reading, so that nothing is missed.

        While the path leads nowhere, also for want of permission, the open file is read.
        """
        try:
            now = self._path.stat()
        except OSError as error:
            self._gone_reason = error.strerror
            return False
        self._gone_reason = None
        return now.st_ino != self._inode

    def _open_next(self) -> None:
        """Open the file that was created after the open one: several may have come and gone between two reads."""
        assert self._file is not None
        done = os.fstat(self._file.fileno())
        ages = [(path.stat(), path) for path in self._siblings()]
        between = [
            (age.st_mtime_ns, path)
            for age, path in ages
            if age.st_mtime_ns > done.st_mtime_ns and age.st_ino != done.st_ino
        ]
        self._open(min(between)[1] if between else self._path, 0)

    def _siblings(self) -> list[Path]:
        """Return the rotated files, without compressed ones.

        ``x.log.1``, ``x.log.2026-11-26-10``, with logrotate's dateext ``x.log-20261126`` or ``x-20261126.log``.
        """
        name, stem, suffix = self._path.name, self._path.stem, self._path.suffix
        try:
            beside = list(self._path.parent.iterdir())
        except PermissionError:
            return []  # the folder may be entered, but not listed
        found = [path for path in beside if path != self._path and path.suffix not in COMPRESSED]
        rotated = re.compile(rf"{re.escape(name)}[.\-_].+|{re.escape(stem)}[.\-_]\d[\d.\-_T]*{re.escape(suffix)}")
        return [path for path in found if rotated.fullmatch(path.name) and path.is_file()]

    def _worked(self) -> None:
        if self._gone_reason is not None:
            self._tell_failure(self._gone_reason)
            return
        if self._looks_failed >= LOOKS_BEFORE_TOLD:
            log.warning("host.log.recovered", path=str(self._path))
        self._looks_failed = 0

    def _tell_failure(self, reason: str | None) -> None:
        self._looks_failed += 1
        if self._looks_failed == LOOKS_BEFORE_TOLD:
            log.warning("host.log.failed", path=str(self._path), error=reason)


def _check_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "Is a directory" if stat.S_ISDIR(mode) else "Is no regular file")


def _is_head_of(path: Path, saved: Position) -> bool:
    with path.open("rb") as file:
        head = file.read(saved.head_bytes)
    return path.stat().st_size >= saved.offset and sha256(head).hexdigest() == saved.head_digest


class TailState(Struct, frozen=True):
    """Positions by the path of the log, and the directories and failing tasks reported in this run of the broker."""

    positions: dict[str, Position] = field(default_factory=dict)
    told_dirs: dict[str, str] = field(default_factory=dict)
    told_tasks: list[str] = field(default_factory=list)


_DECODER = Decoder(TailState)


class StateFile:
    """A small JSON file; if it is lost or broken, only lines written meanwhile are missed.

    Raises UserError when the folder cannot be created.
    """

    def __init__(self, folder: Path, cluster: str, broker: int) -> None:
        self._path = folder / f"{quote(cluster, safe='')}-{broker}.json"
        self._written: TailState | None = None
        self._is_told = False
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"host.state_dir {folder}: {error.strerror}") from None

    def load(self) -> TailState:
        """Return what was saved last, the empty state if there is nothing to read."""
        try:
            return _DECODER.decode(self._path.read_bytes())
        except FileNotFoundError:
            pass
        except (OSError, NotReadableError) as error:
            log.warning(
                "host.state.unreadable",
                path=str(self._path),
                error=str(error),
                meaning="logs are followed from their end",
            )
        return TailState()

    def save(self, state: TailState) -> None:
        """Write ``state`` if it changed; a failure, as on a full disk, is only logged."""
        if state == self._written:
            return
        fresh = self._path.with_suffix(".new")
        try:
            fresh.write_bytes(msgspec.json.encode(state))
            os.replace(fresh, self._path)  # noqa: PTH105 - one step, or the old state stays
        except OSError as error:
            if not self._is_told:
                log.warning("host.state.not_written", path=str(self._path), error=error.strerror)
            self._is_told = True
        else:
            self._written, self._is_told = state, False
