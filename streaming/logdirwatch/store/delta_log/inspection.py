"""What is wrong with a table's log, and which features it asks of its readers: by its own files, without Spark.

Readers take an empty entry for a commit without changes, and name none of the log's files in their errors.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from logdirwatch.store.delta_log.entries import (
    FOLDER,
    JSON_OBJECT,
    NUMBERED,
    Action,
    IncompleteEntryError,
    complete_actions,
    file_name,
)
from logdirwatch.store.storage.folder import Folder

READABLE = frozenset({"columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "variantType"})
"""The features for readers that deltalake implements."""

_HINT = "_last_checkpoint"
_PART = re.compile(r"(?P<version>\d{20})\.checkpoint\.\d{10}\.(?P<of>\d{10})\.parquet")


class LogFiles(NamedTuple):
    """The files of a log that a reader needs: its newest checkpoint, if any, and the entries after it."""

    checkpoint: int | None
    checkpoint_files: list[str]
    entries: list[int]
    has_hint: bool
    """Whether there is a file that names the newest checkpoint."""


class DamagedLogError(Exception):
    """A file of a log is incomplete or missing; the text names it and says what it lacks."""


def log_files(names: Iterable[str]) -> LogFiles:
    """Return the files that a reader needs of those in a log's folder."""
    names = set(names)
    names -= _parts_alone(names)
    numbered = [(int(found[1]), name, found[2] == "json") for name in names if (found := NUMBERED.fullmatch(name))]
    newest = max((version for version, _, is_entry in numbered if not is_entry), default=None)
    parts = sorted(name for version, name, is_entry in numbered if version == newest and not is_entry)
    after = -1 if newest is None else newest
    entries = sorted(version for version, _, is_entry in numbered if is_entry and version > after)
    return LogFiles(newest, parts, entries, _HINT in names)


def _parts_alone(names: Iterable[str]) -> set[str]:
    """Return the parts of checkpoints of which another part is missing: readers ignore them."""
    parts = {name: found for name in names if (found := _PART.fullmatch(name))}
    whole = Counter((found["version"], found["of"]) for found in parts.values())
    return {name for name, found in parts.items() if whole[found["version"], found["of"]] < int(found["of"])}


def read_log(folder: Folder) -> list[list[Action]] | None:
    """Return the entries after the newest checkpoint; None if there is no log. Raises DamagedLogError.

    A listing is not atomic: beside an entry it may lack the one before, which was created meanwhile. So what is missing
    is missing in a second listing too.
    """
    try:
        return _read(folder)
    except DamagedLogError:
        return _read(folder)


def _read(folder: Folder) -> list[list[Action]] | None:
    files = log_files(folder.sizes(FOLDER))
    if files.checkpoint is None and not files.entries:
        if any(name.endswith(".parquet") for name in folder.sizes("")):
            raise DamagedLogError(f"there are data files, but no entries in {FOLDER}")
        return None
    _check_contiguous(files)
    _check_hint(folder, files)
    for name in files.checkpoint_files:
        _check_checkpoint(folder, name)
    names = [file_name(version) for version in files.entries]
    return [_complete(name, entry) for name, entry in zip(names, folder.read(names), strict=True)]


def _check_contiguous(files: LogFiles) -> None:
    first = 0 if files.checkpoint is None else files.checkpoint + 1
    for expected, version in enumerate(files.entries, first):
        if version != expected:
            raise DamagedLogError(f"the entry {file_name(expected)} is missing")


def _check_hint(folder: Folder, files: LogFiles) -> None:
    """Look for the checkpoint that the hint names. Readers ignore a damaged hint, but not one that leads nowhere."""
    if not files.has_hint:
        return
    try:
        named = int(JSON_OBJECT.decode(folder.read([f"{FOLDER}/{_HINT}"])[0])["version"])
    except (ValueError, KeyError, TypeError):
        return
    if files.checkpoint is None or named > files.checkpoint:
        raise DamagedLogError(
            f"the checkpoint of version {named}, which {FOLDER}/{_HINT} names, or a part of it, is missing"
        )


def _check_checkpoint(folder: Folder, name: str) -> None:
    if not name.endswith(".parquet"):
        return
    try:
        rows = pq.read_metadata(f"{FOLDER}/{name}", filesystem=folder.files).num_rows
    except pa.ArrowException as error:
        raise DamagedLogError(f"the checkpoint {FOLDER}/{name} is cut or damaged") from error
    if not rows:
        raise DamagedLogError(f"the checkpoint {FOLDER}/{name} contains no action")


def _complete(name: str, entry: bytes) -> list[Action]:
    try:
        return complete_actions(entry)
    except IncompleteEntryError as error:
        raise DamagedLogError(f"the entry {name} {error}") from None


def check_definition(folder: Folder) -> None:
    """Raise DamagedLogError if a log lacks the definition of its table, which a cut checkpoint may have had."""
    for kind in ("protocol", "metaData"):
        if _newest_of(folder, kind) is None:
            names = ", ".join(f"{FOLDER}/{name}" for name in log_files(folder.sizes(FOLDER)).checkpoint_files)
            raise DamagedLogError(f"no action {kind} in {names or 'any entry'}")


def foreign(where: str, change: str) -> str:
    """Return the error about a table whose columns another program changed, for people."""
    return (
        f"{where} is not as logdirwatch wrote it: {change}; the other tables and the alerts are not affected; "
        "change the column back: docs/troubleshooting.md#a-column-that-another-program-changed"
    )


def damaged(where: str, error: DamagedLogError) -> str:
    """Return the error about a damaged log, for people; ``where`` says which table, and where it is."""
    return (
        f"{where} cannot be read: its log is damaged: {error}; the other tables and the alerts are not affected; "
        "restore that file from a backup, or see docs/troubleshooting.md#a-damaged-log-entry"
    )


def beyond(where: str, features: Sequence[str]) -> str:
    """Return the error about a table that deltalake cannot read, for people."""
    return (
        f"{where} is complete, but it has table features that this program's reader (deltalake) lacks: "
        f"{', '.join(features)}; Spark with the release of Delta Lake that added them reads it, and ALTER TABLE ... "
        "DROP FEATURE removes one: docs/troubleshooting.md#a-table-feature-that-deltalake-lacks"
    )


def features_beyond_deltalake(folder: Folder) -> list[str]:
    """Return the features that a complete log asks of its readers and deltalake lacks; a version counts as one."""
    protocol = _newest_of(folder, "protocol") or {}
    version, features = protocol.get("minReaderVersion", 1), protocol.get("readerFeatures") or []
    if version > 3:
        return [f"reader version {version}"]
    return sorted(set(features) - READABLE)


def _newest_of(folder: Folder, kind: str) -> Any:
    """Return the newest action of a kind in a complete log, None if there is none."""
    for actions in reversed(read_log(folder) or []):
        for action in actions:
            if kind in action:
                return action[kind]
    for name in log_files(folder.sizes(FOLDER)).checkpoint_files:
        if not name.endswith(".parquet"):
            continue
        found = pq.read_table(f"{FOLDER}/{name}", columns=[kind], filesystem=folder.files)
        for one in found.column(kind).to_pylist():
            if one is not None:
                return one
    return None


def opened(folder: Folder) -> DeltaTable:
    """Return a table. Raises DamagedLogError, TableNotFoundError, and DeltaError for a table beyond deltalake.

    deltalake lists the log by itself, and what a listing lacks may have been created meanwhile (see ``read_log``).
    """
    read_log(folder)
    try:
        return DeltaTable(folder.url, storage_options=folder.options)
    except DeltaError:
        return DeltaTable(folder.url, storage_options=folder.options)
