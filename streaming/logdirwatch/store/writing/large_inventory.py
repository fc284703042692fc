"""How ``store_inventory`` writes a batch into large tables without Spark, if little of it is new.

Listings whose content is stored are recognized by their digest (``recognition``). The driver compares the others with
the stored rows as columns, and decides about the replicas that may change by the rules of ``plain_replicas``. The
result is what Spark writes, provided that the stored rows are what was derived last: that is what ``Trust`` is about.

Every step is idempotent; the markers come last. Spark can repeat all of it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from logdirwatch.parse.decoding import Decoder
from logdirwatch.store.direct.merge import Changes, Key, Stored
from logdirwatch.store.direct.newest import NotDirectError
from logdirwatch.store.direct.rewriting import decide_and_rewrite, places_of, read_columns
from logdirwatch.store.rows.content import Subject
from logdirwatch.store.rows.listings import Candidates, Changed, Listings, NumbersError, candidates, listings
from logdirwatch.store.rows.placements import WHEN
from logdirwatch.store.rows.plain import SOURCE_NAMES, Row
from logdirwatch.store.rows.plain_judgements import Judged, after_tombstones, judged_brokers, judgements, unstored
from logdirwatch.store.rows.plain_partitions import partition_changes, with_partitions
from logdirwatch.store.rows.plain_placements import Seen, seen_in
from logdirwatch.store.rows.plain_replicas import Known as KnownReplicas
from logdirwatch.store.rows.plain_replicas import replica_changes
from logdirwatch.store.rows.plain_scans import (
    MarkerKey,
    Markers,
    Part,
    Whole,
    is_recognized,
    last_whole_scans,
    newer_parts,
    newer_rows,
    unfinished,
    whole_log_dirs,
    whole_scans,
)
from logdirwatch.store.rows.thin import Placed, Thin
from logdirwatch.store.schema.definitions import BROKER_STATE, REPLICA_STATE, TOPIC_STATE
from logdirwatch.store.tables import retried
from logdirwatch.store.writing.direct import Open
from logdirwatch.store.writing.direct_inventory import (
    SCANNED,
    Written,
    changed_brokers,
    markers_of,
    merge_markers,
    texts,
    write_rejected,
)
from logdirwatch.store.writing.recognition import Known
from logdirwatch.store.writing.small_batch import SmallBatch
from logdirwatch.store.writing.tally import Numbers, plain_differences
from logdirwatch.store.writing.trust import Trust

MOST_CANDIDATES = 200_000
"""The number of replicas that the driver decides about."""

_OBJECT = Decoder(dict[str, Any])
_OF_METADATA = (*TOPIC_STATE.key, "leader", "replicas", "isr", "offline_replicas", *WHEN)


class _Scan(NamedTuple):
    """What a batch contains about directories and topics."""

    listed: Listings
    recognized: Mapping[MarkerKey, Part]
    topic_parts: list[Part]
    log_dirs: Mapping[MarkerKey, Whole]
    scans: Mapping[MarkerKey, Whole]


def write_large(batch: SmallBatch, before: Judged, known: Known, trusted: Trust, opened: Open) -> Written:
    """Write a batch with the rows kept for it; ``before`` are the judgements after the previous batch.

    Raises NotDirectError if Spark has to write it, which may find a part of it written.
    """
    is_scan = batch.has(*SCANNED)
    stored = judgements(texts(opened(BROKER_STATE)))
    states = after_tombstones(batch.of("state"), batch.of("deleted"))
    judged = judged_brokers(stored, states)
    write_rejected(batch, opened)
    deleted = {(each.thin.cluster, each.thin.broker): each.thin.at_ms for each in batch.of("deleted")}
    markers = markers_of(opened, deleted)
    scan = _scan(batch, markers)
    changed = Changed(changed_brokers(before, judged), _merge_partitions(scan, known, trusted, opened))
    differences: list[Numbers] = []
    if changed.brokers or changed.partitions or scan.listed.parts or (is_scan and trusted.has_strays):
        differences = _merge_replicas(scan, markers, judged, changed, trusted, opened)
    if is_scan or deleted or changed.brokers:
        paths = judged if is_scan or changed.brokers else {}
        merge_markers({**scan.log_dirs, **scan.scans}, deleted, paths, opened)
    kept = unstored(states, stored)
    if is_scan:
        others = (*batch.of("topic"), *batch.of("scan"))
        kept += unfinished(batch.of("replicas"), others, markers_of(opened, {}))
    return Written(judged, kept, differences)


def still_recognized(kept: Iterable[Placed], known: Known) -> list[Placed]:
    """Return the rows kept for a batch without the recognized listings whose content is not stored any more."""
    return [placed for placed in kept if not is_recognized(placed.thin) or _is_stored(placed.thin, known)]


def _is_stored(thin: Thin, known: Known) -> bool:
    topic = _OBJECT.decode(thin.body or "")["topic"] if thin.kind == "topic" else None
    assert thin.cluster is not None
    return known.has(Subject(thin.cluster, thin.broker, thin.log_dir, topic), bytes.fromhex(thin.record or ""))


def _scan(batch: SmallBatch, markers: Markers) -> _Scan:
    log_dirs = batch.of("replicas")
    recognized = newer_parts((each for each in log_dirs if is_recognized(each.thin)), markers)
    listed = listings(newer_rows((each for each in log_dirs if not is_recognized(each.thin)), markers))
    topics = newer_parts(batch.of("topic"), markers)
    scans = whole_scans(topics, newer_parts(batch.of("scan"), markers))
    wholes = whole_log_dirs([*recognized, *listed.parts])
    return _Scan(listed, {part.subject: part for part in recognized}, topics, wholes, scans)


def _topic_of(part: Part) -> Key:
    return part.subject[0], part.record["topic"]


def _merge_partitions(scan: _Scan, known: Known, trusted: Trust, opened: Open) -> Set[Key]:
    """Write the partitions that changed, and return their keys."""
    unknown = {_topic_of(part) for part in scan.topic_parts if not part.is_recognized}
    topics = unknown | _unlisted_topics(scan, known)

    def once() -> Changes:
        target = opened(TOPIC_STATE)
        trusted.check(target)
        columns = read_columns(target)
        places = _few(places_of(columns.rows, ("cluster", "topic"), topics))
        changes = decide_and_rewrite(target, columns, places, partial(_partition_changes, scan, topics))
        trusted.partitions = target.version.after(bool(changes.keys))
        return changes

    return retried(f"merge into {TOPIC_STATE.name}", once).keys if topics else set()


def _partition_changes(scan: _Scan, topics: Set[Key], rows: Stored) -> Changes:
    """Decide about the partitions of some topics; ``rows`` are all stored ones of these."""
    stored: defaultdict[Key, list[Mapping[str, object]]] = defaultdict(list)
    for key, row in rows.items():
        stored[key[:2]].append(row)
    parts = [
        with_partitions(part, stored[_topic_of(part)]) if part.is_recognized else part
        for part in scan.topic_parts
        if _topic_of(part) in topics
    ]
    return partition_changes(rows, parts, scan.scans)


def _unlisted_topics(scan: _Scan, known: Known) -> set[Key]:
    """Return the stored topics that a whole scan of their cluster does not list."""
    whole = {(key[0], each.collector, each.at_ms) for key, each in scan.scans.items()}
    clusters = {cluster for cluster, _, _ in whole}
    listed = {_topic_of(part) for part in scan.topic_parts if (part.subject[0], part.collector, part.at_ms) in whole}
    stored = {(each.cluster, each.topic) for each in known.stored if each.topic is not None}
    return {key for key in stored if key[0] in clusters} - listed


def _merge_replicas(
    scan: _Scan, markers: Markers, judged: Judged, changed: Changed, trusted: Trust, opened: Open
) -> list[Numbers]:
    scanned = last_whole_scans(markers, scan.scans)

    def once() -> list[Numbers]:
        target = opened(REPLICA_STATE)
        trusted.check(target)
        columns = read_columns(target)
        found = _candidates(columns.rows, scan, changed)
        seen: list[Stored] = []

        def decide(rows: Stored) -> Changes:
            seen.append(rows)
            listed = _with_recognized(found.listed, rows, scan.recognized)
            partitions = _partitions(found.partitions, trusted, opened)
            return replica_changes(rows, KnownReplicas(listed, scan.log_dirs, partitions, judged, scanned), None)

        changes = decide_and_rewrite(target, columns, _few(found.places), decide)
        trusted.replicas = target.version.after(bool(changes.keys))
        before = [seen[0][key] for key in changes.keys if key in seen[0]]
        return plain_differences(before, changes.written.values())

    return retried(f"merge into {REPLICA_STATE.name}", once)


def _candidates(rows: pa.Table, scan: _Scan, changed: Changed) -> Candidates:
    try:
        return candidates(rows, scan.listed, scan.log_dirs, changed)
    except NumbersError:
        raise NotDirectError("there are too many names") from None


def _few(places: Sequence[int]) -> Sequence[int]:
    if len(places) > MOST_CANDIDATES:
        raise NotDirectError("much of it is new")
    return places


def _with_recognized(
    listed: Mapping[Key, Seen], rows: Stored, recognized: Mapping[MarkerKey, Part]
) -> Mapping[Key, Seen]:
    """Return the listed replicas with those that recognized listings have: these are stored as they are listed."""
    found = dict(listed)
    for key, row in rows.items():
        part = recognized.get((key[0], key[1], row["log_dir"]))
        if part is not None:
            seen = seen_in(part, row)
            found[key] = max(found.get(key, seen), seen, key=_order)
    return found


def _order(seen: Seen) -> tuple[object, ...]:
    return seen.at_ms, *(seen.when[name] for name in SOURCE_NAMES)


def _partitions(keys: Set[Key], trusted: Trust, opened: Open) -> dict[Key, Row]:
    """Return rows of ``topic_state``, with the columns that replicas depend on."""
    target = opened(TOPIC_STATE)
    trusted.check(target)
    rows = read_columns(target, _OF_METADATA).rows
    found = rows.take(pa.array(places_of(rows, TOPIC_STATE.key, keys), pa.int64())).to_pylist()
    return {(row["cluster"], row["topic"], row["partition"]): row for row in found}
