"""The effect of an action on each directory: use before and after, as far as known. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


class Touched(NamedTuple):
    """A directory; ``frees_bytes`` is negative if space is used, ratios are None if the size is unknown."""

    broker: int
    log_dir: str
    frees_bytes: int
    before_ratio: float | None
    after_ratio: float | None


def touched(expected: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> list[Touched]:
    """Return the directories of an action's ``expected``, by the present ``rows`` of log_dir_state."""
    known = {(row["broker"], row["log_dir"]): row for row in rows}
    changes = expected.get("on")
    return [
        _touched(change, known.get((change.get("broker"), change.get("log_dir"))))
        for change in (changes if isinstance(changes, list) else [])
        if isinstance(change.get("bytes"), int)
    ]


def _touched(change: Mapping[str, Any], row: Mapping[str, Any] | None) -> Touched:
    frees = change["bytes"]
    if row is None or not row["total_bytes"] or row["usable_bytes"] is None:
        return Touched(change["broker"], change["log_dir"], frees, None, None)
    total, usable = row["total_bytes"], row["usable_bytes"]
    return Touched(change["broker"], change["log_dir"], frees, _used(usable, total), _used(usable + frees, total))


def _used(usable_bytes: int, total_bytes: int) -> float:
    return min(1.0, max(0.0, 1 - usable_bytes / total_bytes))
