"""One table in a local folder: delta-rs reads its log, this process its files, and Delta's own store commits.

A commit needs exactly the version after the one that was read. If another writer was first, everything is done again
from the new version, so no two writers ever decide from the same rows.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import structlog
from delta.exceptions import ConcurrentWriteException
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from logdirwatch import __version__
from logdirwatch.clock import wall_ms
from logdirwatch.parse.decoding import Decoder
from logdirwatch.store import log_store
from logdirwatch.store.direct.arrow import arrow_schema, encoded_schema, statistics
from logdirwatch.store.schema.columns import Table

log = structlog.get_logger(__name__)

Action: TypeAlias = Mapping[str, Any]
"""An action of Delta's log."""
_ACTION = Decoder(dict[str, Any])

FEATURES = frozenset({"domainMetadata", "clustering", "invariants", "appendOnly"})
"""The features that a table may have; the others ask more of a writer."""

PROPERTIES = frozenset(
    {
        "delta.dataSkippingStatsColumns",
        "delta.deletedFileRetentionDuration",
        "delta.logRetentionDuration",
        "delta.enableDeletionVectors",
        "delta.checkpointInterval",
    }
)
MOST_BYTES = 32 << 20
"""The size of the files that one change of a table may have to read."""

_CHECKPOINT_INTERVAL = "10"
_HARMLESS = {"add", "remove", "commitInfo", "txn", "domainMetadata"}
"""The actions that change no row, if files are only rewritten, and no definition of the table."""


class Version(NamedTuple):
    """A version of a table, which another table in the same place does not have."""

    table_id: str
    number: int

    def after(self, is_changed: bool) -> "Version":
        """Return the version that is current after this one was read, and perhaps changed."""
        return self._replace(number=self.number + is_changed)


class NotDirectError(Exception):
    """Only Spark can write a table, or this change of it; the text says why."""


@dataclass(frozen=True)
class DataFile:
    """A file of a table; ``path`` is relative to it, the times bound ``Table.time``; None: unknown."""

    path: str
    size_bytes: int
    rows: int | None
    from_ms: int | None
    to_ms: int | None


class DirectTable:
    """A table as of its newest version when it was opened.

    Raises NotDirectError for a table that only Spark can write.
    """

    def __init__(self, spark: SparkSession, folder: Path, table: Table, most_bytes: int | None = None) -> None:
        self._spark, self._folder, self.table = spark, folder, table
        self._most_bytes = MOST_BYTES if most_bytes is None else most_bytes
        self._delta = DeltaTable(folder)
        if reason := _reason_for_spark(self._delta, table):
            raise NotDirectError(f"{table.name}: {reason}")

    @property
    def version(self) -> Version:
        """The version that was read."""
        return Version(str(self._delta.metadata().id), self._delta.version())

    def has_rows_of(self, earlier: Version) -> bool:
        """Whether the table has the same rows as in an earlier version: since then files were only rewritten."""
        return self._all_since(earlier, lambda actions: all(map(_keeps_rows, actions)))

    def is_signed_since(self, earlier: Version, signature: str) -> bool:
        """Whether an earlier version was only changed with a signature (``Tables.signed``)."""
        return self._all_since(
            earlier, lambda actions: _is_signed(actions, signature) or all(map(_keeps_rows, actions))
        )

    def _all_since(self, earlier: Version, is_fine: Callable[[list[Action]], bool]) -> bool:
        """Whether all versions after an earlier one are fine; one whose log entry has expired is not."""
        now = self.version
        if now.table_id != earlier.table_id or now.number < earlier.number:
            return False
        log_folder, numbers = self._folder / "_delta_log", range(earlier.number + 1, now.number + 1)
        try:
            entries = [(log_folder / log_store.file_name(number)).read_bytes().splitlines() for number in numbers]
        except FileNotFoundError:
            return False
        return all(is_fine([_ACTION.decode(line) for line in lines]) for lines in entries)

    def files(self) -> Iterator[DataFile]:
        """Yield the table's files."""
        time_column = self.table.time
        added = pa.table(self._delta.get_add_actions(flatten=True))
        wanted = ["path", "size_bytes", "num_records", *(f"{end}.{time_column}" for end in ("min", "max"))]
        for row in added.select([name for name in wanted if name in added.column_names]).to_pylist():
            from_ms, to_ms = row.get(f"min.{time_column}"), row.get(f"max.{time_column}")
            yield DataFile(row["path"], row["size_bytes"], row.get("num_records"), from_ms, to_ms)

    def all_files(self) -> list[DataFile]:
        """Return the table's files. Raises NotDirectError if they are large."""
        files = list(self.files())
        self._check_size(files)
        return files

    def check_rows(self, most: int) -> None:
        """Raise NotDirectError if the table has, or may have, more rows than these."""
        if self.has_more_rows(most):
            raise NotDirectError(f"{self.table.name}: it has many rows")

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
        rows = ds.dataset([str(self._folder / file.path) for file in files], schema=schema, format="parquet")
        return rows.to_table(columns=names, filter=where, use_threads=False)

    def columns(self, file: DataFile, names: Sequence[str]) -> pa.Table:
        """Return some columns of a file as in ``encoded_schema``, null where the file lacks a column."""
        path, schema = self._folder / file.path, encoded_schema(self.table)
        there = [name for name in names if name in pq.read_schema(path).names]
        texts = [name for name in there if pa.types.is_dictionary(schema.field(name).type)]
        rows = pq.ParquetFile(path, read_dictionary=texts).read(there)
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

        Raises ConcurrentWriteException if another writer was first.
        """
        now_ms, version = wall_ms(), self._delta.version() + 1
        added = [self._written(rows, now_ms) for rows in files if rows.num_rows]
        actions = [_commit_info(version, now_ms), *added, *(_remove(file, now_ms) for file in removed)]
        lines = [msgspec.json.encode(action).decode() for action in actions]
        if log_store.write(self._spark, str(self._folder), version, lines):
            self._check_point(version)
            return
        for action in added:
            (self._folder / action["add"]["path"]).unlink()
        raise ConcurrentWriteException(f"another writer wrote version {version} of {self.table.name}")

    def _written(self, rows: pa.Table, now_ms: int) -> dict[str, Any]:
        name = f"part-00000-{uuid.uuid4()}-c000.zstd.parquet"
        path = self._folder / name
        pq.write_table(rows, path, compression="zstd", store_schema=False)
        stats = statistics(rows, self.table.sought_by)
        about = {"path": name, "partitionValues": {}, "size": path.stat().st_size, "modificationTime": now_ms}
        return {"add": {**about, "dataChange": True, "stats": stats}}

    def _check_point(self, version: int) -> None:
        """Write a checkpoint of the log as often as Delta does, and remove expired parts of the log."""
        interval = self._delta.metadata().configuration.get("delta.checkpointInterval", _CHECKPOINT_INTERVAL)
        if version % int(interval):
            return
        try:
            written = DeltaTable(self._folder)
            written.create_checkpoint()
            written.cleanup_metadata()
        except Exception as error:
            # The version is written, and readers need no checkpoint; the next one comes soon.
            log.warning("tables.no_checkpoint", table=self.table.name, version=version, error=str(error))


def _reason_for_spark(delta: DeltaTable, table: Table) -> str | None:
    """Return why a table cannot be written directly: any feature that is not known to be harmless."""
    protocol, metadata = delta.protocol(), delta.metadata()
    if protocol.min_reader_version != 1 or protocol.min_writer_version not in (2, 7):
        return "other protocol"
    if unknown := set(protocol.writer_features or ()) - FEATURES:
        return f"features {', '.join(sorted(unknown))}"
    if unknown := metadata.configuration.keys() - PROPERTIES:
        return f"properties {', '.join(sorted(unknown))}"
    if metadata.configuration.get("delta.enableDeletionVectors", "false") != "false" or metadata.partition_columns:
        return "deletion vectors or partitions"
    return None if _has_columns(delta, table) else "other columns"


def _has_columns(delta: DeltaTable, table: Table) -> bool:
    found = pa.schema(delta.schema().to_arrow())
    plain = all(field.nullable and (field.metadata or {}).keys() <= {b"comment"} for field in found)
    types = {field.name: field.type for field in found}
    return plain and types == {field.name: field.type for field in arrow_schema(table)}


def _is_signed(actions: Iterable[Action], signature: str) -> bool:
    return any(action.get("commitInfo", {}).get("userMetadata") == signature for action in actions)


def _keeps_rows(action: Action) -> bool:
    """Whether an action of the log leaves the rows of a table as they are."""
    change = action.get("add") or action.get("remove") or {}
    return not change.get("dataChange", bool(change)) and action.keys() <= _HARMLESS


def _commit_info(version: int, now_ms: int) -> Mapping[str, Any]:
    about = {"timestamp": now_ms, "operation": "MERGE", "operationParameters": {}, "readVersion": version - 1}
    rules = {"isolationLevel": "Serializable", "isBlindAppend": False}
    return {"commitInfo": {**about, **rules, "operationMetrics": {}, "engineInfo": f"logdirwatch/{__version__}"}}


def _remove(file: DataFile, now_ms: int) -> Mapping[str, Any]:
    about = {"path": file.path, "deletionTimestamp": now_ms, "dataChange": True}
    return {"remove": {**about, "extendedFileMetadata": True, "partitionValues": {}, "size": file.size_bytes}}
