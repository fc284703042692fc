"""A folder on a disk, or on any file system that the kernel mounts: what is written survives a power failure."""

import errno
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pyarrow.fs import FileSystem, LocalFileSystem, SubTreeFileSystem

from logdirwatch.errors import UserError

_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS}


class LocalFolder:
    """A folder of the local file system; see ``folder.Folder``."""

    options: dict[str, str] | None = None

    def __init__(self, url: str) -> None:
        self._path = Path(unquote(urlsplit(url).path) if url.startswith("file:") else url).absolute()
        self.url = str(self._path)
        self._files = SubTreeFileSystem(self.url, LocalFileSystem())

    @property
    def files(self) -> FileSystem:
        """The folder for pyarrow."""
        return self._files

    def create(self, name: str, data: bytes) -> bool:
        """Create a file by a hard link to a complete one: of several writers, also over NFS, one succeeds."""
        path, whole = self._path / name, self._path / f"entry-{uuid.uuid4()}.tmp"
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            _write(whole, data)
            is_created = _is_linked(whole, path)
        finally:
            whole.unlink(missing_ok=True)
        _flush(path.parent)
        return is_created

    def write(self, name: str, data: bytes) -> None:
        """Write a new file, and flush it and its folder."""
        _write(self._path / name, data)
        _flush((self._path / name).parent)

    def read(self, names: Sequence[str]) -> list[bytes]:
        """Return the contents of files."""
        return [(self._path / name).read_bytes() for name in names]

    def tag(self, name: str) -> str | None:
        """Return the number and the time of the file."""
        try:
            found = (self._path / name).stat()
        except FileNotFoundError:
            return None
        return f"{found.st_dev}/{found.st_ino}/{found.st_mtime_ns}/{found.st_size}"

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the files in a folder with their sizes."""
        try:
            with os.scandir(self._path / folder) as found:
                return {each.name: each.stat().st_size for each in found if each.is_file()}
        except FileNotFoundError:
            return {}

    def delete(self, name: str) -> None:
        """Delete a file."""
        (self._path / name).unlink(missing_ok=True)

    def flush(self, names: Sequence[str]) -> None:
        """Flush files and their folders."""
        paths = [self._path / name for name in names]
        for path in (*paths, *{path.parent for path in paths}):
            _flush(path)


def _is_linked(whole: Path, path: Path) -> bool:
    try:
        path.hardlink_to(whole)
    except FileExistsError:
        # NFS repeats a request whose answer was lost, and then finds the link that it made.
        return path.samefile(whole)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        raise UserError(
            f"the file system of {path.parent} has no hard links, by which the writers of a table exclude each other: "
            "put tables.path on another one, or into an object store"
        ) from None
    return True


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
