"""How ``store_inventory`` writes a small batch without Spark: the same rows as ``inventory``, by the same rules.

Every step is idempotent; the markers come last. Spark can repeat all of it.
"""

from collections.abc import Mapping, Set
from functools import partial
from typing import NamedTuple

import pyarrow.dataset as ds

from logdirwatch.model import topics
from logdirwatch.store.direct.merge import Changes, Key, Stored, merge
from logdirwatch.store.direct.newest import NotDirectError
from logdirwatch.store.direct.table import DirectTable
from logdirwatch.store.rows import plain
from logdirwatch.store.rows.plain_judgements import (
    Broker,
    Judged,
    after_tombstones,
    is_changed,
    judged_brokers,
    judgements,
    unstored,
)
from logdirwatch.store.rows.plain_partitions import partition_changes
from logdirwatch.store.rows.plain_placements import listed_replicas
from logdirwatch.store.rows.plain_replicas import Known, replica_changes
from logdirwatch.store.rows.plain_scans import (
    MarkerKey,
    Markers,
    Part,
    Whole,
    last_whole_scans,
    left_log_dirs,
    marker_rows,
    newer_parts,
    unfinished,
    whole_log_dirs,
    whole_scans,
)
from logdirwatch.store.rows.thin import Placed
from logdirwatch.store.schema.definitions import (
    BROKER_STATE,
    LOG_DIR_INVENTORY,
    REJECTED_RECORDS,
    REPLICA_STATE,
    TOPIC_STATE,
)
from logdirwatch.store.tables import retried
from logdirwatch.store.writing.direct import Open, insert_new
from logdirwatch.store.writing.small_batch import SmallBatch
from logdirwatch.store.writing.store import one_by_one
from logdirwatch.store.writing.tally import Numbers, plain_differences, plain_totals

SCANNED = ("replicas", "topic", "scan")
MOST_LISTED_BYTES = 4 << 20
"""The size of the parts of scans, as JSON, of a small batch."""
MOST_ROWS = 20_000
"""The number of replicas, and of partitions, up to which the driver looks at all of them."""

_AT_MS = "inventory_at_ms"


class Written(NamedTuple):
    """The state after a batch: the judgements, the rows kept for the next one, and changes in counts."""

    judged: Judged
    kept: list[Placed]
    differences: list[Numbers]


class _Scan(NamedTuple):
    """What a batch contains about directories and topics beyond the markers."""

    log_dir_parts: list[Part]
    topic_parts: list[Part]
    log_dirs: Mapping[MarkerKey, Whole]
    scans: Mapping[MarkerKey, Whole]


def write_small(batch: SmallBatch, told: Judged | None, opened: Open) -> Written:
    """Write a batch with the rows kept for it; ``told`` are the judgements after the previous batch, if any.

    Raises NotDirectError if Spark has to write it, which may find a part of it written.
    """
    _check(batch, opened)
    stored = judgements(texts(opened(BROKER_STATE)))
    states = after_tombstones(batch.of("state"), batch.of("deleted"))
    judged = judged_brokers(stored, states)
    changed = changed_brokers(told, judged) if told is not None and not batch.has(*SCANNED) else None
    write_rejected(batch, opened)
    differences = []
    if changed is None or changed or batch.has("deleted"):
        deleted = {(each.thin.cluster, each.thin.broker): each.thin.at_ms for each in batch.of("deleted")}
        markers = markers_of(opened, deleted)
        scan = _scan(batch, markers)
        if batch.has("topic", "scan"):
            _merge_partitions(scan, opened)
        if changed is None or changed:
            differences = _merge_replicas(scan, markers, judged, changed, opened)
        paths = judged if changed is None or changed else {}
        merge_markers({**scan.log_dirs, **scan.scans}, deleted, paths, opened)
    kept = unstored(states, stored)
    if batch.has(*SCANNED):
        listings, others = batch.of("replicas"), (*batch.of("topic"), *batch.of("scan"))
        kept += unfinished(listings, others, markers_of(opened, {}))
    return Written(judged, kept, differences)


def _check(batch: SmallBatch, opened: Open) -> None:
    if sum(len(placed.thin.body or "") for kind in SCANNED for placed in batch.of(kind)) > MOST_LISTED_BYTES:
        raise NotDirectError("its listings are long")
    for table in (REPLICA_STATE, TOPIC_STATE):
        opened(table).check_rows(MOST_ROWS)


def texts(brokers: DirectTable) -> list[str]:
    """Return the state records in ``broker_state``."""
    return [text for text in brokers.read(brokers.all_files(), ("record",)).column("record").to_pylist() if text]


def changed_brokers(told: Judged, judged: Judged) -> Set[Broker]:
    """Return the brokers whose judgement changed."""
    return {broker for broker in told.keys() | judged.keys() if is_changed(told.get(broker), judged.get(broker))}


def write_rejected(batch: SmallBatch, opened: Open) -> None:
    """Insert the rejected records of the inventory."""
    rejected = [placed for placed in batch.of("rejected") if placed.position.topic == topics.INVENTORY]
    if rejected:
        rows = one_by_one(REJECTED_RECORDS, plain.rejected)(rejected)
        retried(f"insert into {REJECTED_RECORDS.name}", partial(insert_new, REJECTED_RECORDS, rows, opened))


def markers_of(opened: Open, deleted: Mapping[Key, int]) -> Markers:
    """Return the markers that remain after the tombstones, with their time."""
    table = opened(LOG_DIR_INVENTORY)
    rows = table.read(table.all_files(), (*LOG_DIR_INVENTORY.key, _AT_MS)).to_pylist()
    markers = {(row["cluster"], row["broker"], row["log_dir"]): row[_AT_MS] for row in rows}
    return {key: at_ms for key, at_ms in markers.items() if at_ms > deleted.get(key[:2], -1)}


def _scan(batch: SmallBatch, markers: Markers) -> _Scan:
    log_dir_parts = newer_parts(batch.of("replicas"), markers)
    topic_parts = newer_parts(batch.of("topic"), markers)
    scans = whole_scans(topic_parts, newer_parts(batch.of("scan"), markers))
    return _Scan(log_dir_parts, topic_parts, whole_log_dirs(log_dir_parts), scans)


def _merge_partitions(scan: _Scan, opened: Open) -> None:
    def decide(stored: Stored) -> Changes:
        return partition_changes(stored, scan.topic_parts, scan.scans)

    retried(f"merge into {TOPIC_STATE.name}", lambda: merge(opened(TOPIC_STATE), decide, TOPIC_STATE.names))


def _merge_replicas(
    scan: _Scan, markers: Markers, judged: Judged, only: Set[Broker] | None, opened: Open
) -> list[Numbers]:
    where = None if only is None else ds.field("broker").isin(sorted({broker for _, broker in only}))
    table = opened(TOPIC_STATE)
    rows = table.read(table.all_files()).to_pylist()
    partitions = {(row["cluster"], row["topic"], row["partition"]): row for row in rows}
    scanned = last_whole_scans(markers, scan.scans)
    known = Known(listed_replicas(scan.log_dir_parts), scan.log_dirs, partitions, judged, scanned)

    def once() -> tuple[Stored, Changes]:
        return merge(
            opened(REPLICA_STATE), lambda stored: replica_changes(stored, known, only), REPLICA_STATE.names, where
        )

    stored, changes = retried(f"merge into {REPLICA_STATE.name}", once)
    before = [stored[key] for key in changes.keys if key in stored]
    return plain_differences(before, changes.written.values())


def merge_markers(wholes: Mapping[MarkerKey, Whole], deleted: Mapping[Key, int], judged: Judged, opened: Open) -> None:
    """Merge the markers of whole scans, and remove those of removed brokers and directories."""
    rows = marker_rows(wholes)

    def decide(stored: Stored) -> Changes:
        gone = {key for key, row in stored.items() if row[_AT_MS] <= deleted.get(key[:2], -1)}
        gone |= left_log_dirs(stored.keys() - gone, judged)
        kept_ms = {key: row[_AT_MS] for key, row in stored.items() if key not in gone}
        new = {key: row for key, row in rows.items() if row[_AT_MS] > kept_ms.get(key, row[_AT_MS] - 1)}
        return Changes(new, deleted=gone - new.keys())

    retried(f"merge into {LOG_DIR_INVENTORY.name}", lambda: merge(opened(LOG_DIR_INVENTORY), decide, (_AT_MS,)))


def replica_totals(opened: Open) -> list[Numbers]:
    """Return each broker's counts of replicas."""
    table = opened(REPLICA_STATE)
    columns = ("cluster", "broker", "is_future", "status")
    return plain_totals(table.read(table.all_files(), columns).to_pylist())
