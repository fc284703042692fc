"""The last known placement of every replica, and its status: placement x directory status x metadata.

The rules, in order; the first that applies decides::

    its broker is offline                               offline, cause broker
    its broker is unknown, or not judged          unknown, cause unknown
    its directory is offline                            offline, cause directory
    its directory is saturated                          saturated, cause directory
    no directory lists it, Kafka calls it offline       offline, cause directory (the broker lives)
    it is a copy, Kafka calls the original offline      offline, cause directory (nothing is copied from it)
    no directory lists it, and one did before           unknown, cause lost
    no directory ever listed it                         unknown, cause never_listed
    its directory is unknown, or the past is  unknown, cause unknown
    it is the copy in progress of a move                moving
    its directory is online, filling or critical        online
    anything else                                       unknown, cause unknown

A replica that the metadata assigns to a broker has a row even if no directory lists it: it was never created, or lost,
or is in a directory that was offline before the first scan. One that the metadata no longer assigns has none, nor has
one of a topic that a later complete scan did not list.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus, ReplicaCause, ReplicaStatus
from logdirwatch.store.direct.merge import Changes, Key, Stored
from logdirwatch.store.rows.judgements import Judged, View
from logdirwatch.store.rows.scans import MarkerKey, Part, Whole, source_columns
from logdirwatch.store.rows.single import SOURCE_NAMES, Row
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


Partition: TypeAlias = Mapping[str, Any]
Verdict: TypeAlias = tuple[ReplicaStatus, ReplicaCause | None, int | None]

_SERVING = (LogDirStatus.ONLINE, LogDirStatus.FILLING, LogDirStatus.CRITICAL)
_LISTED = (ReplicaStatus.ONLINE, ReplicaStatus.SATURATED, ReplicaStatus.MOVING)
_UNKNOWN = ReplicaStatus.UNKNOWN, ReplicaCause.UNKNOWN
_OF_BROKER: Mapping[str, tuple[ReplicaStatus, ReplicaCause]] = {
    BrokerStatus.OFFLINE: (ReplicaStatus.OFFLINE, ReplicaCause.BROKER),
    BrokerStatus.UNKNOWN: _UNKNOWN,
}
_OF_LOG_DIR: Mapping[str, ReplicaStatus] = {
    LogDirStatus.OFFLINE: ReplicaStatus.OFFLINE,
    LogDirStatus.SATURATED: ReplicaStatus.SATURATED,
}
_NO_VIEW = View("", None)


class Known(NamedTuple):
    """The input for the status of replicas, apart from the stored rows."""

    listed: Mapping[Key, Seen]
    log_dirs: Mapping[MarkerKey, Whole]
    partitions: Mapping[Key, Partition]
    judged: Judged
    scanned: Mapping[str, int]


def replica_changes(stored: Stored, known: Known) -> Changes:
    """Decide about replicas: rows that differ from the stored ones are written, missing ones deleted.

    ``stored`` are whole rows, all of the partitions.
    """
    written, gone = {}, set()
    for key, placed in _all(stored, known):
        old, partition = stored.get(key), known.partitions.get((key[0], *key[2:4]))
        if _is_gone(key, placed, partition, known.scanned.get(key[0])):
            if old is not None:
                gone.add(key)
        elif (row := _row(key, placed, partition, known.judged, old)) != old:
            written[key] = row
    return Changes(written, deleted=gone)


def _all(stored: Stored, known: Known) -> Iterator[tuple[Key, Mapping[str, Any]]]:
    """Yield the placement of each replica, and the replicas that the metadata assigns and that have none."""
    placed = placements(stored, known.listed, known.log_dirs)
    yield from placed.items()
    for (cluster, topic, number), partition in known.partitions.items():
        for broker in partition["replicas"] or ():
            key = cluster, broker, topic, number, False
            if key not in placed:
                yield key, {**dict.fromkeys(SEEN), **{name: partition[name] for name in WHEN}, "was_listed": False}


def _is_gone(key: Key, placed: Mapping[str, Any], partition: Partition | None, scanned_ms: int | None) -> bool:
    is_unlisted = placed["log_dir"] is None
    if key[4] and is_unlisted:
        return True
    if partition is not None:
        return key[1] not in partition["replicas"]
    listed_ms = placed["inventory_at_ms"]
    return is_unlisted or (scanned_ms is not None and listed_ms is not None and scanned_ms > listed_ms)


def _row(
    key: Key, placed: Mapping[str, Any], partition: Partition | None, judged: Judged, old: Mapping[str, Any] | None
) -> Row:
    """Build a row; a status keeps its start time even if the level of its directory changed since."""
    status, cause, since_ms = _verdict(key, placed, partition, judged)
    as_before = old is not None and (status, cause) == (old["status"], old["cause"])
    is_current = not key[4]
    return {
        **dict(zip(KEY, key, strict=True)),
        **placed,
        "status": status.value,
        "cause": None if cause is None else cause.value,
        "is_leader": None if partition is None else is_current and partition["leader"] == key[1],
        "in_isr": None if partition is None else is_current and key[1] in partition["isr"],
        "is_listed": placed["log_dir"] is not None and status in _LISTED,
        "status_at_ms": old["status_at_ms"] if old is not None and as_before else since_ms,
    }


def _verdict(key: Key, placed: Mapping[str, Any], partition: Partition | None, judged: Judged) -> Verdict:
    metadata_ms = None if partition is None else partition["inventory_at_ms"]
    judgement = judged.get((key[0], key[1]))
    if judgement is None:
        return *_UNKNOWN, metadata_ms
    if judgement.status in _OF_BROKER:
        return *_OF_BROKER[judgement.status], judgement.since_ms
    view = judgement.views.get(placed["log_dir"], _NO_VIEW)
    if view.status in _OF_LOG_DIR:
        return _OF_LOG_DIR[view.status], ReplicaCause.DIRECTORY, view.since_ms
    by_metadata = _of_metadata(key, placed, partition)
    return (*by_metadata, metadata_ms) if by_metadata else _of_serving(key, placed, view, metadata_ms)


def _of_metadata(
    key: Key, placed: Mapping[str, Any], partition: Partition | None
) -> tuple[ReplicaStatus, ReplicaCause] | None:
    is_unlisted, was_listed = placed["log_dir"] is None, placed["was_listed"]
    is_offline = partition is not None and key[1] in (partition["offline_replicas"] or ())
    if is_offline and (is_unlisted or key[4]):
        return ReplicaStatus.OFFLINE, ReplicaCause.DIRECTORY
    if is_unlisted and was_listed is not None:
        return ReplicaStatus.UNKNOWN, ReplicaCause.LOST if was_listed else ReplicaCause.NEVER_LISTED
    return None


def _of_serving(key: Key, placed: Mapping[str, Any], view: View, metadata_ms: int | None) -> Verdict:
    if view.status not in _SERVING:
        return *_UNKNOWN, metadata_ms if view.since_ms is None else view.since_ms
    if key[4]:
        return ReplicaStatus.MOVING, None, placed["inventory_at_ms"]
    return ReplicaStatus.ONLINE, None, view.since_ms
