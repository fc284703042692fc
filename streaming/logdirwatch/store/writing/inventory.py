"""How ``store_inventory`` writes a batch: without Spark if it is small and the tables allow it, as ``store`` does.

Every step is idempotent; the markers come last.
"""

from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import nullcontext
from functools import partial, reduce
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.model import topics
from logdirwatch.store.direct.newest import NotDirectError
from logdirwatch.store.rows import brokers, partitions, placements, replicas, scans
from logdirwatch.store.rows.history import rejected
from logdirwatch.store.rows.plain_judgements import Judged
from logdirwatch.store.rows.plain_scans import is_recognized
from logdirwatch.store.rows.thin import Placed
from logdirwatch.store.schema.definitions import (
    BROKER_STATE,
    LOG_DIR_INVENTORY,
    REJECTED_RECORDS,
    REPLICA_STATE,
    TOPIC_STATE,
    Table,
)
from logdirwatch.store.tables import Tables, same_key
from logdirwatch.store.writing.batch import Batch, computed, cut_off, held, looked_over, release
from logdirwatch.store.writing.direct_inventory import (
    SCANNED,
    Written,
    changed_brokers,
    replica_totals,
    write_small,
)
from logdirwatch.store.writing.intake import SCHEMA, Belief, as_placed, as_table, take_in
from logdirwatch.store.writing.large_inventory import still_recognized, write_large
from logdirwatch.store.writing.recognition import recognized
from logdirwatch.store.writing.rejects import Note, forget, rejected_rows
from logdirwatch.store.writing.small_batch import SmallBatch, collected, fetched
from logdirwatch.store.writing.tally import Numbers, Tally, differences, totals
from logdirwatch.store.writing.trust import MOST_TABLE_BYTES, Trust, Versions, trust, versions
from logdirwatch.store.writing.unless_for_spark import unless_for_spark

WRITTEN = (REPLICA_STATE, TOPIC_STATE, LOG_DIR_INVENTORY, REJECTED_RECORDS)
READ = (BROKER_STATE,)
MOST_BROKERS_NAMED = 100
SIZED = ("body", "record", "key", "value")
"""The columns of thin rows that may be large."""

Places: TypeAlias = Set[tuple[str, int]]
Kept: TypeAlias = DataFrame | list[Placed]
"""The rows kept for the next batch: a frame if Spark wrote the last one."""


class InventoryWriter:
    """Writes batches of inventory and state, and keeps incomplete scans and unstored states for the next batch.

    ``store`` writes states independently: until it has, they are kept here, or replicas would revert to an older
    status. Kept data is lost with the process; then the next scan, and ``store``, provide it again. The judgements from
    which replicas were last derived are kept too: a batch without a scan only handles brokers whose judgement changed.
    ``tally`` counts the replicas by status.
    """

    def __init__(self, believed: Belief, note: Note = forget, tally: Tally | None = None) -> None:
        self._believed, self._note, self._tally = believed, note, tally
        self._kept: Kept = []
        self._told: Judged | None = None
        self._trust: Trust | None = None

    def write(self, records: DataFrame, tables: Tables) -> None:
        """Write one batch of Kafka rows."""
        before = self._kept
        if not self._is_written_directly(records, tables):
            self._write_by_spark(records, tables)
        if isinstance(before, DataFrame):
            release(before)

    def _is_written_directly(self, records: DataFrame, tables: Tables) -> bool:
        """Write a batch without Spark if that is possible, and return whether it was."""
        if not tables.are_direct():
            return False
        # Until the batch is written, another one would not find the tables as it has to.
        trusted, told, self._trust = self._trust, self._told, None
        if trusted is not None and told is not None:
            is_done = self._is_done(
                lambda: self._written_large(records, trusted, told, tables), tables, totals_by_spark
            )
            self._trust = trusted if is_done else None
            return is_done
        small = self._small(records)
        return small is not None and self._is_done(
            lambda: self._noted(small, write_small(small, self._told, tables.direct)), tables, totals_directly
        )

    def _small(self, records: DataFrame) -> SmallBatch | None:
        """Return the batch with the rows kept for it, or None if it is not small."""
        batch = collected(records, self._believed)
        kept = None if batch is None else _as_rows(self._kept)
        return None if batch is None or kept is None else batch.joined(kept)

    def _written_large(self, records: DataFrame, trusted: Trust, told: Judged, tables: Tables) -> Written:
        """Write a batch into large tables. Raises NotDirectError if too much of it is new."""
        opened = partial(tables.direct, most_bytes=MOST_TABLE_BYTES)
        known = trusted.known(opened)
        found, kept = recognized(records, self._believed, known), _as_rows(self._kept)
        if found is None or kept is None:
            raise NotDirectError("much of it is new")
        trusted.remember(found.records)
        batch = found.batch.joined(still_recognized(kept, known))
        return self._noted(batch, write_large(batch, told, known, trusted, opened))

    def _noted(self, batch: SmallBatch, written: Written) -> Written:
        self._note(batch.rejected(topics.INVENTORY))
        return written

    def _is_done(
        self, write: Callable[[], Written], tables: Tables, count: Callable[[Tables], Iterable[Numbers]]
    ) -> bool:
        done = unless_for_spark(write)
        if done is None:
            if self._tally is not None:
                self._tally.start_again()  # the driver may have written replicas that Spark finds unchanged
            return False
        self._kept, self._told = done.kept, done.judged
        if self._tally is not None:
            self._tally.note(lambda: count(tables), done.differences)
        return True

    def _write_by_spark(self, records: DataFrame, tables: Tables) -> None:
        before = _versions(tables)
        rows = take_in(records, self._believed).unionByName(_as_frame(self._kept, records.sparkSession))
        with held(rows) as thin, computed(replicas.judgements(tables.read(BROKER_STATE))) as stored:
            batch = looked_over(thin)
            with computed(_judged(batch, stored)) as judged, tables.signed() as signature:
                told = replicas.collected_judgements(judged)
                changed = self._changed(batch, told)
                replaced = write_batch(batch, judged, changed, tables)
            self._told, self._trust = told, None
            if before is not None and changed is None:
                opened = partial(tables.direct, most_bytes=MOST_TABLE_BYTES)
                self._trust = unless_for_spark(lambda: trust(opened, before, signature))
            if self._tally is not None:
                self._tally.note(lambda: totals(tables.read(REPLICA_STATE)), replaced)
            self._note(rejected_rows(batch, topics.INVENTORY))
            self._kept = _kept(batch, stored, tables)

    def _changed(self, batch: Batch, told: Judged) -> Places | None:
        """Return the brokers whose replicas this batch may change; None for all."""
        if self._told is None or batch.has(*SCANNED):
            return None
        changed = changed_brokers(self._told, told)
        return changed if len(changed) <= MOST_BROKERS_NAMED else None


def totals_directly(tables: Tables) -> Iterable[Numbers]:
    """Return each broker's counts of replicas, in small tables."""
    return replica_totals(tables.direct)


def totals_by_spark(tables: Tables) -> Iterable[Numbers]:
    """Return each broker's counts of replicas."""
    return totals(tables.read(REPLICA_STATE))


def _versions(tables: Tables) -> Versions | None:
    """Return the versions of tables that the driver can write."""
    if not tables.are_direct():
        return None
    return unless_for_spark(lambda: versions(tables.direct))


def _as_frame(kept: Kept, spark: SparkSession) -> DataFrame:
    """Return the kept rows; the content of recognized listings is not among them, so they are left out."""
    if isinstance(kept, DataFrame):
        return kept
    return spark.createDataFrame(as_table(each for each in kept if not is_recognized(each.thin)), SCHEMA)


def _as_rows(kept: Kept) -> list[Placed] | None:
    """Return the kept rows, or None if they are not small."""
    if not isinstance(kept, DataFrame):
        return kept
    rows = fetched(kept, SIZED)
    return None if rows is None else as_placed(rows)


def _judged(batch: Batch, stored: DataFrame) -> DataFrame:
    states = brokers.after_tombstones(batch.of("state"), batch.of("deleted"))
    return replicas.judged_brokers(stored.unionByName(replicas.judgements(states)))


def _kept(batch: Batch, stored: DataFrame, tables: Tables) -> Kept:
    parts = []
    if batch.has(*SCANNED):
        parts.append(scans.unfinished(batch.thin, tables.read(LOG_DIR_INVENTORY)))
    if batch.has("state"):
        states = brokers.unstored_states(batch.of("state"), stored, batch.of("deleted"))
        parts.append(replicas.essence(states))
    if not parts:
        return []
    return cut_off(reduce(DataFrame.unionByName, parts))


def write_batch(batch: Batch, judged: DataFrame, changed: Places | None, tables: Tables) -> Sequence[Numbers]:
    """Write a batch of inventory and state; ``store`` keeps the rejected records of the state topic.

    Returns by how much it changed the numbers of replicas (``tally.differences``).

    ``judged`` are ``replicas.judged_brokers``, ``changed`` the brokers whose replicas to look at, None for all.
    The content of a scan is computed once and used several times: each use would be a plan, a listing of a table's
    files, and a parse of the JSON of a whole fleet.
    """
    of_scan = computed if batch.has(*SCANNED) else nullcontext
    replaced: Sequence[Numbers] = ()
    if batch.has("rejected"):
        _write_rejected(batch, tables)
    if batch.has("deleted"):
        _delete_markers(batch, tables)
    with (
        of_scan(tables.read(LOG_DIR_INVENTORY)) as markers,
        of_scan(scans.replicas_parts(batch.of("replicas"), markers)) as log_dir_parts,
        of_scan(scans.topic_parts(batch.of("topic"), markers)) as topic_parts,
        of_scan(scans.whole_log_dirs(log_dir_parts)) as log_dirs,
        of_scan(scans.whole_scans(topic_parts, scans.scan_ends(batch.of("scan"), markers))) as whole_scans,
    ):
        if batch.has("topic", "scan"):
            _merge_partitions(topic_parts, whole_scans, tables)
        if changed is None or changed:
            listed, scanned = placements.listed_replicas(log_dir_parts), scans.last_whole_scans(markers, whole_scans)
            only = None if changed is None else _frame(changed, judged)
            replaced = _merge_replicas(listed, log_dirs, scanned, judged, only, tables)
            _delete_left_markers(scans.left_log_dirs(markers, judged), tables)
        if batch.has("replicas", "scan"):
            _merge_markers(scans.marker_rows(log_dirs, whole_scans), tables)
    return replaced


def _write_rejected(batch: Batch, tables: Tables) -> None:
    rows = rejected(batch.of("rejected")).where(F.col("topic") == topics.INVENTORY)
    tables.insert_new(REJECTED_RECORDS, rows, batch.spans("rejected"))


def _delete_markers(batch: Batch, tables: Tables) -> None:
    """Remove the scans of removed brokers."""
    tables.merge(
        LOG_DIR_INVENTORY,
        batch.of("deleted"),
        "t.cluster = s.cluster AND t.broker = s.broker",
        lambda merge: merge.whenMatchedDelete("t.inventory_at_ms <= s.at_ms"),
    )


def _delete_left_markers(left: DataFrame, tables: Tables) -> None:
    """Remove the markers of directories that their brokers no longer have."""
    with computed(left) as rows:
        if not rows.isEmpty():
            tables.merge(LOG_DIR_INVENTORY, rows, same_key(LOG_DIR_INVENTORY), lambda merge: merge.whenMatchedDelete())


def _merge_partitions(parts: DataFrame, whole_scans: DataFrame, tables: Tables) -> None:
    stored = tables.read(TOPIC_STATE)
    changed = partitions.changed_partitions(partitions.partition_rows(parts), stored)
    gone = partitions.gone_partitions(stored, parts, whole_scans)
    with computed(_flagged(changed, gone)) as rows:
        if not rows.isEmpty():
            is_newer = "s.inventory_at_ms > t.inventory_at_ms"
            tables.merge(
                TOPIC_STATE, rows, same_key(TOPIC_STATE), lambda merge: _replaced(merge, TOPIC_STATE, is_newer)
            )


def _frame(places: Places, beside: DataFrame) -> DataFrame:
    return beside.sparkSession.createDataFrame(sorted(places), "cluster string, broker int")


def _merge_replicas(
    listed: DataFrame,
    log_dirs: DataFrame,
    scanned: DataFrame,
    judged: DataFrame,
    only: DataFrame | None,
    tables: Tables,
) -> Sequence[Numbers]:
    stored = replicas.of_brokers(tables.read(REPLICA_STATE), only)
    known, keys = placements.placements(stored, listed, log_dirs), placements.keys(stored, listed)
    derived = replicas.derive(known, keys, tables.read(TOPIC_STATE), judged, scanned, only)
    with computed(replicas.changes(derived)) as changed:
        places = differences(changed)
        if places:
            condition = f"{same_key(REPLICA_STATE)} AND {_only(places)}"
            is_no_older = "coalesce(s.inventory_at_ms, -1) >= coalesce(t.inventory_at_ms, -1)"
            tables.merge(REPLICA_STATE, changed, condition, lambda merge: _replaced(merge, REPLICA_STATE, is_no_older))
        return places


def _only(places: Sequence[Numbers]) -> str:
    """Return a condition that lets the merge skip the files of other brokers, if there are few brokers."""
    if len(places) > MOST_BROKERS_NAMED:
        return "true"
    return f"t.broker IN ({', '.join(sorted({str(place['broker']) for place in places}))})"


def _merge_markers(rows: DataFrame, tables: Tables) -> None:
    is_newer = "s.inventory_at_ms > t.inventory_at_ms"
    values = {name: f"s.`{name}`" for name in LOG_DIR_INVENTORY.names}
    tables.merge(
        LOG_DIR_INVENTORY,
        rows,
        same_key(LOG_DIR_INVENTORY),
        lambda merge: merge.whenMatchedUpdate(is_newer, values).whenNotMatchedInsert(values=values),
    )


def _flagged(changed: DataFrame, gone: DataFrame) -> DataFrame:
    """Return rows to write and keys to delete as one frame, distinguished by ``is_gone``; the newest for each key.

    A batch may have several scans: one that lists a partition, and a later one that does not.
    """
    rows = changed.withColumn("is_gone", F.lit(False)).unionByName(
        gone.withColumn("is_gone", F.lit(True)), allowMissingColumns=True
    )
    age = F.struct("inventory_at_ms", ~F.col("is_gone"))
    newest = rows.groupBy(*TOPIC_STATE.key).agg(F.max_by(F.struct("*"), age).alias("newest"))
    return newest.select("newest.*")


def _replaced(merge: Any, table: Table, is_newer: str) -> Any:
    values = {name: f"s.`{name}`" for name in table.names}
    return (
        merge.whenMatchedDelete(f"s.is_gone AND {is_newer}")
        .whenMatchedUpdate(is_newer, values)
        .whenNotMatchedInsert("NOT s.is_gone", values)
    )
