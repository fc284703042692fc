"""One table, read and written by this process alone: no Java, no Spark job.

A commit needs exactly the version after the one that was read. If another writer was first, everything is done again
from the new version, so no two writers ever decide from the same rows.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import structlog
from deltalake import DeltaTable

from logdirwatch import __version__
from logdirwatch.clock import wall_ms
from logdirwatch.store.delta_log.entries import (
    FOLDER,
    Action,
    IncompleteEntryError,
    complete_actions,
    encoded,
    file_name,
)
from logdirwatch.store.delta_log.inspection import log_files
from logdirwatch.store.direct.arrow import arrow_schema, encoded_schema, statistics
from logdirwatch.store.direct.newest import DataFile, Newest, NotDirectError, Version

log = structlog.get_logger(__name__)

MOST_BYTES = 32 << 20
"""The size of the files that one change of a table may have to read."""

_CHECKPOINT_INTERVAL = "10"
_HARMLESS = {"add", "remove", "commitInfo", "txn", "domainMetadata"}
"""The actions that change no row, if files are only rewritten, and no definition of the table."""


class ConflictError(Exception):
    """Another writer wrote the version that a commit needed."""


class DirectTable:
    """A table as of its newest version when it was opened.

    Raises NotDirectError for a table that only Spark can write, and UserError for one whose log is damaged.
    """

    def __init__(self, newest: Newest, most_bytes: int | None = None) -> None:
        self._folder, self.table = newest.folder, newest.table
        self._most_bytes = MOST_BYTES if most_bytes is None else most_bytes
        self._snapshot = newest.snapshot()

    @property
    def version(self) -> Version:
        """The version that was read."""
        return self._snapshot.version

    def has_rows_of(self, earlier: Version) -> bool:
        """Whether the table has the same rows as in an earlier version: since then files were only rewritten."""
        now = self.version
        if now.table_id != earlier.table_id or now.number < earlier.number:
            return False
        names = [file_name(number) for number in range(earlier.number + 1, now.number + 1)]
        with suppress(FileNotFoundError, IncompleteEntryError):
            return all(_keeps_rows(action) for entry in self._folder.read(names) for action in complete_actions(entry))
        return False  # a log entry has expired

    def files(self) -> Sequence[DataFile]:
        """Return the table's files."""
        return self._snapshot.files

    def all_files(self) -> list[DataFile]:
        """Return the table's files. Raises NotDirectError if they are large."""
        files = list(self.files())
        self._check_size(files)
        return files

    def has_more_rows(self, most: int) -> bool:
        """Whether the table has, or may have, more rows than these."""
        rows = [file.rows for file in self.files()]
        return any(number is None for number in rows) or sum(number or 0 for number in rows) > most

    def read(
        self, files: Sequence[DataFile], columns: Sequence[str] | None = None, where: ds.Expression | None = None
    ) -> pa.Table:
        """Return the rows of some files, null in columns that a file lacks. Raises NotDirectError if they are large."""
        self._check_size(files)
        schema = arrow_schema(self.table)
        names = list(columns or schema.names)
        if not files:
            return schema.empty_table().select(names)
        rows = ds.dataset([file.path for file in files], schema=schema, format="parquet", filesystem=self._folder.files)
        return rows.to_table(columns=names, filter=where, use_threads=False)

    def columns(self, file: DataFile, names: Sequence[str]) -> pa.Table:
        """Return some columns of a file as in ``encoded_schema``, null where the file lacks a column."""
        schema, files = encoded_schema(self.table), self._folder.files
        metadata = pq.read_metadata(file.path, filesystem=files)
        there = [name for name in names if name in metadata.schema.to_arrow_schema().names]
        texts = [name for name in there if pa.types.is_dictionary(schema.field(name).type)]
        with pq.ParquetFile(file.path, metadata=metadata, read_dictionary=texts, filesystem=files) as found:
            rows = found.read(there)
        kinds = {name: schema.field(name).type for name in names}
        columns = [
            rows.column(name).cast(kind) if name in there else pa.nulls(rows.num_rows, kind)
            for name, kind in kinds.items()
        ]
        return pa.table(columns, names=list(names))

    def _check_size(self, files: Iterable[DataFile]) -> None:
        if sum(file.size_bytes for file in files) > self._most_bytes:
            raise NotDirectError(f"{self.table.name}: its files are large")

    def commit(self, files: Sequence[pa.Table], removed: Iterable[DataFile] = ()) -> None:
        """Add files with these rows and remove files, as one version.

        Raises ConflictError if another writer was first.
        """
        now_ms, version = wall_ms(), self.version.number + 1
        added = [self._written(rows, now_ms) for rows in files if rows.num_rows]
        gone = [_remove(file, now_ms) for file in removed]
        entry = encoded([_commit_info(version, now_ms, len(added), len(gone)), *added, *gone])
        # An error leaves the files: the entry may have arrived all the same, and VACUUM deletes what is not in use.
        if self._folder.create(file_name(version), entry):
            self._check_point(version)
            return
        for action in added:
            self._folder.delete(action["add"]["path"])
        raise ConflictError(f"another writer wrote version {version} of {self.table.name}")

    def _written(self, rows: pa.Table, now_ms: int) -> dict[str, Any]:
        name, sink = f"part-00000-{uuid.uuid4()}-c000.zstd.parquet", pa.BufferOutputStream()
        pq.write_table(rows, sink, compression="zstd", store_schema=False)
        data = sink.getvalue().to_pybytes()
        self._folder.write(name, data)
        stats = statistics(rows, self.table.sought_by)
        about = {"path": name, "partitionValues": {}, "size": len(data), "modificationTime": now_ms}
        return {"add": {**about, "dataChange": True, "stats": stats}}

    def _check_point(self, version: int) -> None:
        """Write a checkpoint of the log as often as Delta does, and remove expired parts of the log."""
        interval = self._snapshot.configuration.get("delta.checkpointInterval") or _CHECKPOINT_INTERVAL
        if version % int(interval):
            return
        try:
            written = DeltaTable(self._folder.url, storage_options=self._folder.options)
            written.create_checkpoint()
            # Before the entries that it replaces are deleted.
            files = log_files(self._folder.sizes(FOLDER)).checkpoint_files
            self._folder.flush([f"{FOLDER}/{name}" for name in files])
            written.cleanup_metadata()
        except Exception as error:
            # The version is written, and readers need no checkpoint; the next one comes soon.
            log.warning("tables.no_checkpoint", table=self.table.name, version=version, error=str(error))


def _keeps_rows(action: Action) -> bool:
    """Whether an action of the log leaves the rows of a table as they are."""
    change = action.get("add") or action.get("remove") or {}
    return not change.get("dataChange", bool(change)) and action.keys() <= _HARMLESS


def _commit_info(version: int, now_ms: int, added: int, removed: int) -> Action:
    """Return who commits what; the numbers show whether an entry is complete, the id whose it is."""
    about = {"timestamp": now_ms, "operation": "MERGE", "operationParameters": {}, "readVersion": version - 1}
    rules = {"isolationLevel": "Serializable", "isBlindAppend": False}
    metrics = {"numTargetFilesAdded": str(added), "numTargetFilesRemoved": str(removed)}
    writer = {"engineInfo": f"logdirwatch/{__version__}", "txnId": str(uuid.uuid4())}
    return {"commitInfo": {**about, **rules, "operationMetrics": metrics, **writer}}


def _remove(file: DataFile, now_ms: int) -> Mapping[str, Any]:
    about = {"path": file.path, "deletionTimestamp": now_ms, "dataChange": True}
    return {"remove": {**about, "extendedFileMetadata": True, "partitionValues": {}, "size": file.size_bytes}}
