"""The newest version of a table, kept from batch to batch: opening a table lists its log, which may be a week's."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from logdirwatch.errors import UserError
from logdirwatch.store.delta_log.entries import file_name
from logdirwatch.store.delta_log.inspection import DamagedLogError, damaged, features_beyond_deltalake, opened
from logdirwatch.store.direct.arrow import arrow_schema
from logdirwatch.store.schema.columns import Table
from logdirwatch.store.storage.folder import Folder

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


class NotDirectError(Exception):
    """Only Spark can write a table, or this change of it; the text says why."""


class RowsChangedError(Exception):
    """Another writer changed rows that were read before, and on which more than one table depends."""


class Version(NamedTuple):
    """A version of a table, which another table in the same place does not have."""

    table_id: str
    number: int

    def after(self, is_changed: bool) -> "Version":
        """Return the version that is current after this one was read, and perhaps changed."""
        return self._replace(number=self.number + is_changed)


@dataclass(frozen=True)
class DataFile:
    """A file of a table; ``path`` is relative to it, the times bound ``Table.time``; None: unknown."""

    path: str
    size_bytes: int
    rows: int | None
    from_ms: int | None
    to_ms: int | None


class Snapshot(NamedTuple):
    """One version of a table: its files, and the properties of the table."""

    version: Version
    files: tuple[DataFile, ...]
    configuration: Mapping[str, str | None]


class Newest:
    """Finds the newest version of a table in a folder."""

    def __init__(self, folder: Folder, table: Table) -> None:
        self.folder, self.table = folder, table
        self._lock = Lock()
        self._delta: DeltaTable | None = None
        self._known: tuple[str, Snapshot] | None = None
        """The newest version, and the tag of its log entry: a table that was made again has another."""

    def snapshot(self) -> Snapshot:
        """Return the newest version.

        Raises NotDirectError for a table that only Spark can write, and UserError for one whose log is damaged.
        """
        with self._lock:
            if self._known is None or not self._is_current(*self._known):
                self._known = self._read()
            return self._known[1]

    def _is_current(self, tag: str, known: Snapshot) -> bool:
        """Whether a version still exists and is the newest: versions have no gaps."""
        number = known.version.number
        if self.folder.tag(file_name(number)) != tag:
            self._delta = None
        return self._delta is not None and self.folder.tag(file_name(number + 1)) is None

    def _read(self) -> tuple[str, Snapshot]:
        delta, self._delta = self._delta, None
        delta = self._opened() if delta is None else self._updated(delta)
        if reason := _reason_for_spark(delta, self.table):
            raise NotDirectError(f"{self.table.name}: {reason}")
        tag = self.folder.tag(file_name(delta.version()))
        if tag is None:
            raise NotDirectError(f"{self.table.name}: the log entry of its newest version is gone")
        self._delta = delta
        version = Version(str(delta.metadata().id), delta.version())
        return tag, Snapshot(version, tuple(_files(delta, self.table)), delta.metadata().configuration)

    def _updated(self, delta: DeltaTable) -> DeltaTable:
        try:
            delta.update_incremental()
        except DeltaError:
            return self._opened()
        return delta

    def _opened(self) -> DeltaTable:
        try:
            return opened(self.folder)
        except DamagedLogError as error:
            raise UserError(damaged(f"table {self.table.name} at {self.folder.url}", error)) from None
        except TableNotFoundError:
            raise NotDirectError(f"{self.table.name}: it does not exist") from None
        except DeltaError:
            if features := features_beyond_deltalake(self.folder):
                raise NotDirectError(f"{self.table.name}: features {', '.join(features)}") from None
            raise


def _files(delta: DeltaTable, table: Table) -> Iterator[DataFile]:
    added = pa.table(delta.get_add_actions(flatten=True))
    wanted = ["path", "size_bytes", "num_records", *(f"{end}.{table.time}" for end in ("min", "max"))]
    for row in added.select([name for name in wanted if name in added.column_names]).to_pylist():
        from_ms, to_ms = row.get(f"min.{table.time}"), row.get(f"max.{table.time}")
        yield DataFile(row["path"], row["size_bytes"], row.get("num_records"), from_ms, to_ms)


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
