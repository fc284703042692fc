"""The entries of a log: their names, their actions, and whether a power failure or a copy left one incomplete.

A line that is cut shows by itself. An entry that ends after a whole line is read by every reader as a commit that added
fewer files, or none: only ``commitInfo``, which Spark and delta-rs write first, says how many there were.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from logdirwatch.parse.decoding import Decoder, NotReadableError

Action: TypeAlias = Mapping[str, Any]
"""An action of Delta's log, such as ``{"add": {...}}``."""

JSON_OBJECT = Decoder(dict[str, Any])
FOLDER = "_delta_log"
NUMBERED = re.compile(r"(\d{20})\.(json|checkpoint\..+)")

_ADDED = ("numAddedFiles", "numTargetFilesAdded", "numFilesAdded", "num_added_files", "num_target_files_added")
_REMOVED = ("numRemovedFiles", "numTargetFilesRemoved", "numFilesRemoved", "num_removed_files")
_DEFINING = ("CREATE", "REPLACE", "SET ", "UNSET ", "ADD ", "CHANGE ", "DROP ", "RENAME ", "CLUSTER ", "UPGRADE ")
"""How operations begin that change the definition of a table, and so have an action besides ``commitInfo``."""


class IncompleteEntryError(ValueError):
    """A log entry lacks a part; the text says which."""


def file_name(version: int) -> str:
    """Return the name of the file with the log entry of a version, relative to the table.

    >>> file_name(7)
    '_delta_log/00000000000000000007.json'
    """
    return f"{FOLDER}/{version:020}.json"


def encoded(actions: Iterable[Action]) -> bytes:
    """Return a log entry with these actions."""
    return b"".join(msgspec.json.encode(action) + b"\n" for action in actions)


def complete_actions(entry: bytes) -> list[Action]:
    """Return the actions of a log entry. Raises IncompleteEntryError."""
    if not entry.strip(b"\0 \r\n\t"):
        raise IncompleteEntryError("is empty" if not entry else "contains no action")
    actions = [_action(line, number) for number, line in enumerate(entry.splitlines(), 1) if line.strip()]
    _check_counts(actions)
    return actions


def _action(line: bytes, number: int) -> Action:
    try:
        return JSON_OBJECT.decode(line)
    except NotReadableError:
        raise IncompleteEntryError(f"is cut or damaged in line {number}") from None


def _check_counts(actions: Sequence[Action]) -> None:
    info = _of(actions, "commitInfo")
    if not info:
        return
    operation, metrics = str(info[0].get("operation") or ""), _numbers(info[0].get("operationMetrics"))
    if operation.startswith(_DEFINING) and len(actions) == len(info):
        raise IncompleteEntryError(
            f"is cut: its operation {operation.strip()} changes the table, but no change follows"
        )
    added, removed = _of(actions, "add"), _of(actions, "remove")
    for kind, found, names in (("add", added, _ADDED), ("remove", removed, _REMOVED)):
        told = max((metrics.get(name, 0) for name in names), default=0)
        if len(found) < told:
            raise IncompleteEntryError(f"is cut: it has {len(found)} of its {told} actions of the kind {kind}")
    # Spark counts the files it wrote in an INSERT before it leaves out those without rows.
    if metrics.get("numFiles") and not added and metrics.get("numOutputRows"):
        raise IncompleteEntryError("is cut: it has none of the files that it added")


def _of(actions: Iterable[Action], kind: str) -> list[Mapping[str, Any]]:
    return [action[kind] for action in actions if isinstance(action.get(kind), dict)]


def _numbers(metrics: object) -> dict[str, int]:
    """Return the metrics of an operation; Spark writes them as texts."""
    pairs = metrics.items() if isinstance(metrics, dict) else ()
    return {name: int(value) for name, value in pairs if str(value).isdecimal()}
