"""Opens tables whose log others write meanwhile."""

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from logdirwatch.store.delta_log.inspection import read_log
from logdirwatch.store.storage.folder import Folder


def opened(folder: Folder) -> DeltaTable:
    """Return a table. Raises DamagedLogError, TableNotFoundError, and DeltaError for a table beyond deltalake.

    deltalake lists the log by itself, and what a listing lacks may have been created meanwhile (see ``read_log``).
    """
    read_log(folder)
    try:
        return DeltaTable(folder.url, storage_options=folder.options)
    except DeltaError:
        return DeltaTable(folder.url, storage_options=folder.options)
