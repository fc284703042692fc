"""Follows a log file across rotation, truncation and restarts of this process. Bytes only.

Rotation by renaming is recognised by the inode, whatever the new name; by copying and truncating from the size and the
first bytes of the file, which also identify a new file with a reused inode. A renamed file is read to its end first.
"""

import errno
import os
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

import structlog
from msgspec import Struct

log = structlog.get_logger(__name__)

CHUNK_BYTES = 1 << 20
HEAD_BYTES = 256
# A file that is renamed away is missing for a moment; only one that stays away is worth a line.
LOOKS_BEFORE_TOLD = 2
COMPRESSED = (".gz", ".zip", ".bz2", ".xz", ".zst")


class Position(Struct, frozen=True):
    """A position in a file, and which file it is: its inode and a digest of its first bytes."""

    inode: int
    offset: int
    head_bytes: int = 0
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
        self._offset = 0
        self._head = b""
        self._is_new = False
        self._is_gone = False
        self._looks_failed = 0
        self.began_midway = False
        """Whether the first byte that was read is not the first of the file."""

    def read(self) -> Iterator[Piece]:
        """Yield what was appended since the last call; ``END_OF_FILE`` where a file ended and the next one begins."""
        try:
            if self._file is None:
                self._open_first()
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
        else:
            self._worked()

    def position(self, held_bytes: int = 0) -> Position | None:
        """Return where to resume after a restart; ``held_bytes`` were read and are not processed yet."""
        if self._file is None:
            return self._saved
        digest = sha256(self._head).hexdigest()
        return Position(os.fstat(self._file.fileno()).st_ino, self._offset - held_bytes, len(self._head), digest)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

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
        file = path.open("rb", buffering=0)
        file.seek(offset)
        self.close()
        self._file, self._offset, self._head = file, offset, os.pread(file.fileno(), HEAD_BYTES, 0)

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
        """Tell whether the path names another file by now; checked before reading, so that nothing is missed."""
        assert self._file is not None
        try:
            now = self._path.stat()
        except FileNotFoundError:
            self._is_gone = True
            return False
        self._is_gone = False
        return now.st_ino != os.fstat(self._file.fileno()).st_ino

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
        found = [path for path in self._path.parent.iterdir() if path != self._path and path.suffix not in COMPRESSED]
        rotated = re.compile(rf"{re.escape(name)}[.\-_].+|{re.escape(stem)}[.\-_]\d[\d.\-_T]*{re.escape(suffix)}")
        return [path for path in found if rotated.fullmatch(path.name) and path.is_file()]

    def _worked(self) -> None:
        if self._is_gone:
            self._tell_failure(os.strerror(errno.ENOENT))
            return
        if self._looks_failed >= LOOKS_BEFORE_TOLD:
            log.warning("host.log.recovered", path=str(self._path))
        self._looks_failed = 0

    def _tell_failure(self, reason: str | None) -> None:
        self._looks_failed += 1
        if self._looks_failed == LOOKS_BEFORE_TOLD:
            log.warning("host.log.failed", path=str(self._path), error=reason)


def _is_head_of(path: Path, saved: Position) -> bool:
    with path.open("rb") as file:
        head = file.read(saved.head_bytes)
    return path.stat().st_size >= saved.offset and sha256(head).hexdigest() == saved.head_digest
