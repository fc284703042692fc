"""The last known placement of each replica, from the stored rows and whole or partial listings."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from logdirwatch.store.direct.merge import Key, Stored
from logdirwatch.store.rows.plain import SOURCE_NAMES, Row
from logdirwatch.store.rows.plain_scans import MarkerKey, Part, Whole, source_columns
from logdirwatch.store.schema.definitions import REPLICA_STATE

KEY = REPLICA_STATE.key
SEEN = ("log_dir", "size_bytes", "offset_lag")
WHEN = ("inventory_at_ms", *SOURCE_NAMES)


class Seen(NamedTuple):
    """A replica as listed in a part of a directory's snapshot: time, and the columns ``SEEN`` and ``WHEN``."""

    at_ms: int
    seen: Row
    when: Row


def seen_in(part: Part, row: Mapping[str, Any]) -> Seen:
    """Return how a recognized part of a directory lists a stored replica."""
    return Seen(part.at_ms, {name: row[name] for name in SEEN}, when_of(part))


def when_of(part: Part) -> Row:
    """Return the columns ``WHEN`` of what a part lists."""
    return {"inventory_at_ms": part.at_ms, **source_columns(part.source)}


def placements(
    stored: Stored, listed: Mapping[Key, Seen], log_dirs: Mapping[MarkerKey, Whole]
) -> dict[Key, Mapping[str, Any]]:
    """Return every known replica's last placement: ``SEEN``, ``WHEN`` and ``was_listed``.

    A placement is removed when a newer whole snapshot of its directory (``log_dirs``) does not list it. Repeated values
    keep their time and source, so that an unchanged row stays as it is.
    """
    return {key: _placement(key, stored.get(key, {}), listed.get(key), log_dirs) for key in {**stored, **dict(listed)}}


def _placement(key: Key, old: Mapping[str, Any], seen: Seen | None, log_dirs: Mapping[MarkerKey, Whole]) -> Row:
    chosen = {name: old.get(name) for name in (*SEEN, *WHEN)}
    looked_ms = old.get("inventory_at_ms")
    if seen is not None and _is_newer(old, seen):
        looked_ms = seen.at_ms
        if any(chosen[name] != value for name, value in seen.seen.items()):
            chosen = {**seen.seen, **seen.when}
    whole = log_dirs.get((key[0], key[1], chosen["log_dir"]))
    if whole is not None and looked_ms is not None and whole.at_ms > looked_ms:
        return {**chosen, **dict.fromkeys(SEEN), "inventory_at_ms": whole.at_ms, "was_listed": True}
    # Rows of an earlier release without a directory have null: the replica may have been lost or never created.
    return {**chosen, "was_listed": old.get("was_listed") if chosen["log_dir"] is None else None}


def _is_newer(old: Mapping[str, Any], seen: Seen) -> bool:
    known_ms = old.get("inventory_at_ms")
    age_ms = seen.at_ms - (-1 if known_ms is None else known_ms)
    # A replica missing in one directory may be listed in another by the same scan.
    return age_ms > 0 or (old.get("log_dir") is None and age_ms == 0)
