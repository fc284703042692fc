"""A folder on a disk or in an object store, as the writers and readers of Delta tables need it."""

from collections.abc import Sequence
from typing import Protocol

from pyarrow.fs import FileSystem

from logdirwatch.store.storage.options import Get, storage_options


class Folder(Protocol):
    """A folder; names are relative to it, with slashes."""

    url: str
    """Its path or URL, for deltalake."""
    options: dict[str, str] | None
    """How deltalake reaches it; None: nothing is needed."""

    @property
    def files(self) -> FileSystem:
        """The same folder for pyarrow."""

    def create(self, name: str, data: bytes) -> bool:
        """Create a file unless there is one, and return whether it has this content, which nobody else writes.

        Durable when it returns. After another error than UserError the file may exist or not.
        """

    def write(self, name: str, data: bytes) -> None:
        """Write a file that nobody else writes, durably."""

    def read(self, names: Sequence[str]) -> list[bytes]:
        """Return the contents of files. Raises FileNotFoundError."""

    def tag(self, name: str) -> str | None:
        """Return what changes when another file takes this name; None if there is no such file."""

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the files in a folder with their sizes in bytes; none if there is no folder."""

    def delete(self, name: str) -> None:
        """Delete a file."""

    def flush(self, names: Sequence[str]) -> None:
        """Make files durable that a library has written."""


def scheme_of(url: str) -> str:
    """Return the scheme of a path or URL; ``file`` for a path.

    >>> scheme_of("s3a://bucket/tables"), scheme_of("/var/lib/tables"), scheme_of("file:/tables")
    ('s3a', 'file', 'file')
    """
    scheme, colon, _ = url.partition(":")
    return scheme.lower() if colon and "/" not in scheme else "file"


def folder_at(url: str, get: Get) -> Folder:
    """Return the folder at a path or URL; ``get`` returns Hadoop's properties. Raises UnknownOptionsError."""
    # Each takes a moment to import, and one of them is needed.
    if scheme_of(url) == "file":
        from logdirwatch.store.storage.local import LocalFolder  # noqa: PLC0415

        return LocalFolder(url)
    from logdirwatch.store.storage.objects import ObjectFolder  # noqa: PLC0415

    return ObjectFolder(url, storage_options(url, get))
