"""A folder in an object store: S3 and what speaks its protocol, Azure Data Lake Storage, Google Cloud Storage."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import obstore
from deltalake.fs import DeltaStorageHandler
from obstore.exceptions import AlreadyExistsError
from obstore.store import from_url
from pyarrow.fs import FileSystem, PyFileSystem

from logdirwatch.store.storage.options import StorageOptions

_AT_ONCE = 8
_RETRIED: Any = {"retry_timeout": timedelta(seconds=20)}
"""By default a store that does not answer is asked for three minutes."""


class ObjectFolder:
    """A folder of an object store; see ``folder.Folder``. What was put is durable."""

    def __init__(self, url: str, options: StorageOptions) -> None:
        self.url = url
        self.options: dict[str, str] | None = options.of_deltalake()
        config: Any = options.config
        client: Any = options.client
        self._store: Any = from_url(url, config=config, client_options=client, retry_config=_RETRIED)
        self._files: FileSystem | None = None

    @property
    def files(self) -> FileSystem:
        """The folder for pyarrow."""
        if self._files is None:
            self._files = PyFileSystem(DeltaStorageHandler(self.url, self.options))
        return self._files

    def create(self, name: str, data: bytes) -> bool:
        """Put an object that is not there: ``If-None-Match: *``, or the generation 0 of Google Cloud Storage."""
        try:
            obstore.put(self._store, name, data, mode="create", use_multipart=False)
        except AlreadyExistsError:
            # The client repeats a request whose answer was lost, and then finds what it has put.
            return self._read(name) == data
        return True

    def write(self, name: str, data: bytes) -> None:
        """Put an object."""
        obstore.put(self._store, name, data)

    def read(self, names: Sequence[str]) -> list[bytes]:
        """Return the contents of objects, several at once."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(self._read, names))

    def _read(self, name: str) -> bytes:
        return bytes(obstore.get(self._store, name).bytes())

    def tag(self, name: str) -> str | None:
        """Return the entity tag, and the time, of the object."""
        try:
            found = obstore.head(self._store, name)
        except FileNotFoundError:
            return None
        return f"{found['e_tag']}/{found['last_modified']}/{found['size']}"

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the objects in a folder with their sizes."""
        found = obstore.list_with_delimiter(self._store, folder)["objects"]
        return {each["path"].rpartition("/")[2]: each["size"] for each in found}

    def delete(self, name: str) -> None:
        """Delete an object."""
        obstore.delete(self._store, name)

    def flush(self, names: Sequence[str]) -> None:
        """Do nothing: an object that was put is durable."""
