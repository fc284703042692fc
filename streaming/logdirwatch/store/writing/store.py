"""How ``store`` writes a batch. Every step is idempotent and complete in itself."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from logdirwatch.model.evidence.stream import RejectedRows
from logdirwatch.store.direct.arrow import Row, arrow_rows, keys
from logdirwatch.store.rows import columns, single
from logdirwatch.store.rows.columns import OF_CONFIGS
from logdirwatch.store.rows.judgements import after_tombstones
from logdirwatch.store.rows.state_changes import EARLIER, broker_changes, broker_of, log_dir_changes, removals
from logdirwatch.store.rows.thin import Placed
from logdirwatch.store.schema.columns import Table
from logdirwatch.store.schema.definitions import (
    ACTIONS,
    ALERTS,
    BROKER_STATE,
    DECISIONS,
    EXECUTIONS,
    LOG_DIR_SAMPLES,
    LOG_DIR_STATE,
    QUALITY_RESULTS,
    REJECTED_RECORDS,
    TRANSITIONS,
)
from logdirwatch.store.tables import Tables
from logdirwatch.store.writing.engine import Among, Change, Engine, Target
from logdirwatch.store.writing.intake import Belief
from logdirwatch.store.writing.small_batch import SmallBatch, batches

Rows = Callable[[Sequence[Placed]], pa.Table]


def one_by_one(table: Table, read: Callable[[Placed], Iterable[Row]]) -> Rows:
    """Return the reader of many records whose rows are made one by one."""
    return lambda placed: arrow_rows(table, [row for each in placed for row in read(each)])


HISTORIES: tuple[tuple[Table, Mapping[str, Rows]], ...] = (
    (REJECTED_RECORDS, {"rejected": one_by_one(REJECTED_RECORDS, single.rejected)}),
    (
        LOG_DIR_SAMPLES,
        {"metrics": columns.polls, "event": one_by_one(LOG_DIR_SAMPLES, single.events), "host": columns.hosts},
    ),
    (TRANSITIONS, {"transition": one_by_one(TRANSITIONS, single.transitions)}),
    (ALERTS, {"alert": one_by_one(ALERTS, single.alerts)}),
    (ACTIONS, {"action": one_by_one(ACTIONS, single.actions)}),
    (EXECUTIONS, {"execution": one_by_one(EXECUTIONS, single.executions)}),
)
WRITTEN = (*(table for table, _ in HISTORIES), DECISIONS, LOG_DIR_STATE, BROKER_STATE, QUALITY_RESULTS)


def write_records(records: DataFrame, believed: Belief, tables: Tables) -> list[RejectedRows]:
    """Write Kafka rows; return the rejected ones."""
    rejected: list[RejectedRows] = []
    decisions: list[Placed] = []
    change = Engine(tables)
    for batch in batches(records, believed):
        write_batch(batch, change)
        decisions += batch.of("decision")
        rejected += batch.rejected()
    # After all alerts and actions: theirs are the clusters that decisions leave out.
    _write_decisions(decisions, change)
    return rejected


def write_batch(batch: SmallBatch, change: Change) -> None:
    """Write the records of a batch but its decisions."""
    for table, readers in HISTORIES:
        rows = [read(placed) for kind, read in readers.items() if (placed := batch.of(kind))]
        if rows:
            _insert_new(table, pa.concat_tables(rows), change)
    _write_brokers(batch, change)


def _insert_new(table: Table, rows: pa.Table, change: Change) -> None:
    change(table, lambda target: target.insert_new(rows))


def _write_decisions(placed: Sequence[Placed], change: Change) -> None:
    if not placed:
        return
    ids, clusters = {single.decoded(each)["id"] for each in placed}, dict[str, str]()
    for table, name in ((ALERTS, "alert_id"), (ACTIONS, "action_id")):
        found = change(table, lambda target, name=name: target.read((name, "cluster"), Among(name, ids)))  # type: ignore[misc]
        clusters |= dict(keys(found, (name, "cluster")))
    _insert_new(DECISIONS, one_by_one(DECISIONS, lambda each: single.decisions(each, clusters))(placed), change)


def _write_brokers(batch: SmallBatch, change: Change) -> None:
    """Merge states and configurations. ``broker_state`` comes last: its sequence proves the rest of a state record."""
    states, configs, deleted = batch.of("state"), batch.of("configs"), batch.of("deleted")
    for table in (LOG_DIR_STATE, BROKER_STATE) if deleted else ():
        gone = removals(table, deleted)
        change(table, lambda target, gone=gone: target.rewrite(gone, EARLIER))  # type: ignore[misc]
    fresh = change(BROKER_STATE, lambda target: _fresh(after_tombstones(states, deleted), target)) if states else []
    if fresh:
        log_dirs = log_dir_changes(fresh)
        change(LOG_DIR_STATE, lambda target: target.rewrite(log_dirs, ("sequence",)))
    if fresh or configs:
        brokers = broker_changes(fresh, configs)
        change(BROKER_STATE, lambda target: target.rewrite(brokers, ("sequence", *OF_CONFIGS)))


def _fresh(states: Iterable[Placed], stored: Target) -> list[Placed]:
    """Return the states that are newer than the stored rows."""
    columns = (*BROKER_STATE.key, "sequence")
    known = {key[:-1]: key[-1] for key in keys(stored.read(columns), columns)}
    return [state for state in states if _is_fresh(state, known.get(broker_of(state)))]


def _is_fresh(state: Placed, known_sequence: int | None) -> bool:
    return known_sequence is None or state.thin.rank > known_sequence
