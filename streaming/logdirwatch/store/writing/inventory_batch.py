"""How ``store_inventory`` writes a batch, from what its records, the tables and the judgements of brokers say.

Of large tables only what may have changed is decided about: the driver compares listings with the stored rows as
columns, and leaves the replicas that may change to the rules of ``plain_replicas``. Every step is idempotent; the
markers come last.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from logdirwatch.model import topics
from logdirwatch.parse.decoding import Decoder
from logdirwatch.store.direct.arrow import arrow_rows, keys
from logdirwatch.store.direct.merge import Changes, Key, Rewrite, Stored
from logdirwatch.store.direct.rewriting import Parts, places_of, replacement
from logdirwatch.store.rows import single
from logdirwatch.store.rows.content import Subject
from logdirwatch.store.rows.judgements import (
    Broker,
    Judged,
    after_tombstones,
    is_changed,
    judged_brokers,
    judgements,
    unstored,
)
from logdirwatch.store.rows.listings import Candidates, Changed, Listings, candidates, listings
from logdirwatch.store.rows.partitions import partition_changes, with_partitions
from logdirwatch.store.rows.replicas import WHEN, Seen, replica_changes, seen_in
from logdirwatch.store.rows.replicas import Known as KnownReplicas
from logdirwatch.store.rows.scans import (
    MarkerKey,
    Markers,
    Part,
    Whole,
    is_recognized,
    last_whole_scans,
    left_log_dirs,
    marker_rows,
    newer_parts,
    newer_rows,
    unfinished,
    whole_log_dirs,
    whole_scans,
)
from logdirwatch.store.rows.single import SOURCE_NAMES, Row
from logdirwatch.store.rows.thin import Placed, Thin
from logdirwatch.store.schema.definitions import (
    BROKER_STATE,
    LOG_DIR_INVENTORY,
    REJECTED_RECORDS,
    REPLICA_STATE,
    TOPIC_STATE,
)
from logdirwatch.store.writing.engine import Change, Target
from logdirwatch.store.writing.recognition import Known, Trust
from logdirwatch.store.writing.small_batch import SmallBatch
from logdirwatch.store.writing.store import one_by_one
from logdirwatch.store.writing.tally import Numbers, differences

SCANNED = ("replicas", "topic", "scan")
MOST_CANDIDATES = 100_000
"""The number of replicas, and of partitions, that the driver decides about at a time."""

_AT_MS = "inventory_at_ms"
_OBJECT = Decoder(dict[str, Any])
_OF_METADATA = (*TOPIC_STATE.key, "leader", "replicas", "isr", "offline_replicas", *WHEN)


class Written(NamedTuple):
    """The state after a batch: the judgements, the rows kept for the next one, and changes in counts, if known."""

    judged: Judged
    kept: list[Placed]
    differences: list[Numbers] | None


class _Scan(NamedTuple):
    """What a batch contains about directories and topics."""

    listed: Listings
    recognized: Mapping[MarkerKey, Part]
    topic_parts: list[Part]
    log_dirs: Mapping[MarkerKey, Whole]
    scans: Mapping[MarkerKey, Whole]


def write_batch(batch: SmallBatch, before: Judged | None, trusted: Trust | None, change: Change) -> Written:
    """Write a batch with the rows kept for it.

    ``before`` are the judgements from which all replicas were derived, None if they have to be derived again.
    """
    is_scan = batch.has(*SCANNED)
    is_all = before is None or (is_scan and (trusted is None or not trusted.is_derived))
    stored = judgements(_records(change))
    states = after_tombstones(batch.of("state"), batch.of("deleted"))
    judged = judged_brokers(stored, states)
    _write_rejected(batch, change)
    deleted = {(each.thin.cluster, each.thin.broker): each.thin.at_ms for each in batch.of("deleted")}
    markers = _markers(change, deleted)
    scan = _scan(batch, markers)
    changed = Changed(changed_brokers(before or {}, judged), _merge_partitions(scan, trusted, change), is_all)
    numbers: list[Numbers] | None = []
    if is_all or changed.brokers or changed.partitions or scan.listed.parts or (is_scan and _has_strays(trusted)):
        numbers = _merge_replicas(scan, markers, judged, changed, trusted, change)
    if is_all or is_scan or deleted or changed.brokers:
        paths = judged if is_all or is_scan or changed.brokers else {}
        _merge_markers({**scan.log_dirs, **scan.scans}, deleted, paths, change)
    if trusted is not None:
        trusted.is_derived |= is_all
    kept = unstored(states, stored)
    if is_scan:
        others = (*batch.of("topic"), *batch.of("scan"))
        kept += unfinished(batch.of("replicas"), others, _markers(change, {}))
    return Written(judged, kept, numbers)


def still_recognized(kept: Iterable[Placed], known: Known | None) -> list[Placed]:
    """Return the rows kept for a batch without the recognized listings whose content is not stored any more."""
    return [placed for placed in kept if not is_recognized(placed.thin) or (known and _is_stored(placed.thin, known))]


def _is_stored(thin: Thin, known: Known) -> bool:
    topic = _OBJECT.decode(thin.body or "")["topic"] if thin.kind == "topic" else None
    assert thin.cluster is not None
    return known.has(Subject(thin.cluster, thin.broker, thin.log_dir, topic), bytes.fromhex(thin.record or ""))


def _records(change: Change) -> list[str]:
    """Return the state records in ``broker_state``."""
    found = change(BROKER_STATE, lambda target: target.read(("record",)))
    return [text for text in found.column("record").to_pylist() if text]


def changed_brokers(before: Judged, judged: Judged) -> Set[Broker]:
    """Return the brokers whose judgement changed."""
    return {broker for broker in before.keys() | judged.keys() if is_changed(before.get(broker), judged.get(broker))}


def _has_strays(trusted: Trust | None) -> bool:
    return trusted is None or trusted.has_strays


def _write_rejected(batch: SmallBatch, change: Change) -> None:
    """Insert the rejected records of the inventory; ``store`` keeps those of the state topic."""
    rejected = [placed for placed in batch.of("rejected") if placed.position.topic == topics.INVENTORY]
    if rejected:
        rows = one_by_one(REJECTED_RECORDS, single.rejected)(rejected)
        change(REJECTED_RECORDS, lambda target: target.insert_new(rows))


def _markers(change: Change, deleted: Mapping[Key, int]) -> Markers:
    """Return the markers that remain after the tombstones, with their time."""
    rows = change(LOG_DIR_INVENTORY, lambda target: target.read((*LOG_DIR_INVENTORY.key, _AT_MS)))
    markers = dict(zip(keys(rows, LOG_DIR_INVENTORY.key), rows.column(_AT_MS).to_pylist(), strict=True))
    return {key: at_ms for key, at_ms in markers.items() if at_ms > deleted.get(key[:2], -1)}


def _scan(batch: SmallBatch, markers: Markers) -> _Scan:
    log_dirs = batch.of("replicas")
    recognized = newer_parts((each for each in log_dirs if is_recognized(each.thin)), markers)
    listed = listings(newer_rows((each for each in log_dirs if not is_recognized(each.thin)), markers))
    parts = newer_parts(batch.of("topic"), markers)
    scans = whole_scans(parts, newer_parts(batch.of("scan"), markers))
    wholes = whole_log_dirs([*recognized, *listed.parts])
    return _Scan(listed, {part.subject: part for part in recognized}, parts, wholes, scans)


def _topic_of(part: Part) -> Key:
    return part.subject[0], part.record["topic"]


def _merge_partitions(scan: _Scan, trusted: Trust | None, change: Change) -> Set[Key]:
    """Write the partitions that changed, and return their keys."""
    is_derived = trusted is not None and trusted.is_derived
    said = {_topic_of(part) for part in scan.topic_parts if not (is_derived and part.is_recognized)}
    if not said and not scan.scans:
        return set()

    def use(target: Target) -> Set[Key]:
        version = None if trusted is None else trusted.check(target)
        columns = target.stored()
        wanted = said | _unlisted_topics(scan, set(keys(columns.rows, ("cluster", "topic"))))
        changed: set[Key] = set()
        found = replacement(TOPIC_STATE, columns, _noted(_by_topics(scan, columns.rows, wanted), changed))
        target.replace(columns, found)
        if trusted is not None and version is not None:
            trusted.partitions = version.after(bool(changed))
        return changed

    return change(TOPIC_STATE, use)


def _noted(parts: Parts, changed: set[Key]) -> Parts:
    """Yield parts that note the keys which change."""

    def noted(changes: Changes) -> Changes:
        changed.update(changes.keys)
        return changes

    for places, decide in parts:
        yield places, lambda rows, decide=decide: noted(decide(rows))  # type: ignore[misc]


def _by_topics(scan: _Scan, rows: pa.Table, wanted: Set[Key]) -> Parts:
    """Yield the places of the partitions of some topics, as many as are decided about at a time."""
    found = places_of(rows, ("cluster", "topic"), wanted)
    places: defaultdict[Key, list[int]] = defaultdict(list)
    for place, topic in zip(found, keys(rows.take(pa.array(found, pa.int64())), ("cluster", "topic")), strict=True):
        places[topic].append(place)
    sizes = Counter({topic: len(places[topic]) for topic in wanted})
    parts: defaultdict[Key, list[Part]] = defaultdict(list)
    for part in scan.topic_parts:
        parts[_topic_of(part)].append(part)
        sizes[_topic_of(part)] += len(part.record.get("partitions", ()))
    for some in _portions(sorted(wanted), sizes):
        of_them = [part for topic in some for part in parts[topic]]
        yield [place for topic in some for place in places[topic]], partial(_partition_changes, scan, of_them)


def _portions(wanted: Iterable[Key], sizes: Mapping[Key, int]) -> Iterator[list[Key]]:
    portion: list[Key] = []
    size = 0
    for topic in wanted:
        portion.append(topic)
        size += sizes[topic]
        if size >= MOST_CANDIDATES:
            yield portion
            portion, size = [], 0
    yield portion


def _partition_changes(scan: _Scan, parts: Sequence[Part], rows: Stored) -> Changes:
    """Decide about the partitions of some topics; ``rows`` are all stored ones of these."""
    stored: defaultdict[Key, list[Mapping[str, object]]] = defaultdict(list)
    for key, row in rows.items():
        stored[key[:2]].append(row)
    known = (with_partitions(part, stored[_topic_of(part)]) if part.is_recognized else part for part in parts)
    return partition_changes(rows, sorted(known, key=lambda part: (part.at_ms, part.source)), scan.scans)


def _unlisted_topics(scan: _Scan, stored: Set[Key]) -> Set[Key]:
    """Return the stored topics that a whole scan of their cluster does not list."""
    whole = {(key[0], each.collector, each.at_ms) for key, each in scan.scans.items()}
    clusters = {cluster for cluster, _, _ in whole}
    listed = {_topic_of(part) for part in scan.topic_parts if (part.subject[0], part.collector, part.at_ms) in whole}
    return {key for key in stored if key[0] in clusters} - listed


def _merge_replicas(
    scan: _Scan, markers: Markers, judged: Judged, changed: Changed, trusted: Trust | None, change: Change
) -> list[Numbers] | None:
    """Write the replicas that changed, and return by how much the counts did; None if that is not known."""
    scanned = last_whole_scans(markers, scan.scans)
    metadata = change(TOPIC_STATE, lambda target: _metadata(target, trusted))
    if changed.is_all:
        changed = changed._replace(partitions=set(keys(metadata, TOPIC_STATE.key)))
    tries = []

    def use(target: Target) -> list[Numbers] | None:
        tries.append(target)
        version = None if trusted is None else trusted.check(target)
        columns, numbers = target.stored(), list[Numbers]()

        def decide(found: Candidates, rows: Stored) -> Changes:
            listed = _with_recognized(found.listed, rows, scan.recognized)
            partitions = _rows_of(metadata, found.partitions)
            changes = replica_changes(rows, KnownReplicas(listed, scan.log_dirs, partitions, judged, scanned))
            before = [rows[key] for key in changes.keys if key in rows]
            numbers.extend(differences(before, changes.written.values()))
            return changes

        parts = candidates(columns.rows, scan.listed, scan.log_dirs, changed, MOST_CANDIDATES)
        found = replacement(REPLICA_STATE, columns, ((each.places, partial(decide, each)) for each in parts))
        target.replace(columns, found)
        if trusted is not None and version is not None:
            trusted.replicas = version.after(bool(found.gone or found.new))
        return numbers if len(tries) == 1 else None  # an earlier try may have arrived

    return change(REPLICA_STATE, use)


def _metadata(target: Target, trusted: Trust | None) -> pa.Table:
    if trusted is not None:
        trusted.check(target)
    return target.stored(_OF_METADATA).rows


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


def _rows_of(metadata: pa.Table, wanted: Set[Key]) -> dict[Key, Row]:
    """Return rows of ``topic_state``, with the columns that replicas depend on."""
    found = metadata.take(pa.array(places_of(metadata, TOPIC_STATE.key, wanted), pa.int64())).to_pylist()
    return {(row["cluster"], row["topic"], row["partition"]): row for row in found}


def _merge_markers(
    wholes: Mapping[MarkerKey, Whole], deleted: Mapping[Key, int], judged: Judged, change: Change
) -> None:
    """Merge the markers of whole scans, and remove those of removed brokers and directories."""
    rows = marker_rows(wholes)

    def decide(stored: pa.Table) -> Rewrite:
        known = dict(zip(keys(stored, LOG_DIR_INVENTORY.key), stored.column(_AT_MS).to_pylist(), strict=True))
        gone: set[Key] = {key for key, at_ms in known.items() if at_ms <= deleted.get(key[:2], -1)}
        gone |= left_log_dirs(known.keys() - gone, judged)
        kept_ms = {key: at_ms for key, at_ms in known.items() if key not in gone}
        new = {key: row for key, row in rows.items() if row[_AT_MS] > kept_ms.get(key, row[_AT_MS] - 1)}
        return Rewrite(arrow_rows(LOG_DIR_INVENTORY, [*new.values()]), gone | new.keys())

    change(LOG_DIR_INVENTORY, lambda target: target.rewrite(decide, (_AT_MS,)))
