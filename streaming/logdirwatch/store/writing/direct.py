"""How ``store`` writes a small batch without Spark: the same rows as ``history``, by the same rules.

Every step is idempotent and complete in itself, so Spark can repeat all of it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from logdirwatch.store.direct.arrow import Row, arrow_rows, keys
from logdirwatch.store.direct.merge import Key, rewrite
from logdirwatch.store.direct.newest import DataFile, NotDirectError
from logdirwatch.store.direct.table import DirectTable
from logdirwatch.store.rows import plain, plain_columns
from logdirwatch.store.rows.brokers import OF_CONFIGS
from logdirwatch.store.rows.state_changes import broker_changes, broker_of, log_dir_changes
from logdirwatch.store.rows.thin import Placed
from logdirwatch.store.schema.definitions import (
    ACTIONS,
    ALERTS,
    BROKER_STATE,
    EXECUTIONS,
    LOG_DIR_SAMPLES,
    LOG_DIR_STATE,
    REJECTED_RECORDS,
    TRANSITIONS,
    Table,
)
from logdirwatch.store.tables import Span, retried
from logdirwatch.store.writing.batch import joined
from logdirwatch.store.writing.small_batch import SmallBatch

Open = Callable[[Table], DirectTable]
Rows = Callable[[Sequence[Placed]], pa.Table]


def one_by_one(table: Table, read: Callable[[Placed], Iterable[Row]]) -> Rows:
    """Return the reader of many records whose rows are made one by one."""
    return lambda placed: arrow_rows(table, [row for each in placed for row in read(each)])


HISTORIES: tuple[tuple[Table, Mapping[str, Rows]], ...] = (
    (REJECTED_RECORDS, {"rejected": one_by_one(REJECTED_RECORDS, plain.rejected)}),
    (
        LOG_DIR_SAMPLES,
        {
            "metrics": plain_columns.polls,
            "event": one_by_one(LOG_DIR_SAMPLES, plain.events),
            "host": plain_columns.hosts,
        },
    ),
    (TRANSITIONS, {"transition": one_by_one(TRANSITIONS, plain.transitions)}),
    (ALERTS, {"alert": one_by_one(ALERTS, plain.alerts)}),
    (ACTIONS, {"action": one_by_one(ACTIONS, plain.actions)}),
    (EXECUTIONS, {"execution": one_by_one(EXECUTIONS, plain.executions)}),
)
KINDS = {"state", "configs"}.union(*(readers for _, readers in HISTORIES))
"""The kinds of thin rows that are written here. Decisions and tombstones are rare, and left to Spark."""


def write_small(batch: SmallBatch, opened: Open) -> bool:
    """Write a batch, and return True.

    Raises NotDirectError if Spark has to write it, which may find a part of it written.
    """
    if others := batch.by_kind.keys() - KINDS:
        raise NotDirectError(f"it has {', '.join(sorted(others))}")
    for table, readers in HISTORIES:
        rows = [read(placed) for kind, read in readers.items() if (placed := batch.of(kind))]
        if rows:
            retried(f"insert into {table.name}", partial(insert_new, table, pa.concat_tables(rows), opened))
    _write_brokers(batch, opened)
    return True


def insert_new(table: Table, rows: pa.Table, opened: Open) -> None:
    """Append the rows whose key is not stored yet; files whose time is outside that of the rows are not read."""
    target, time_column = opened(table), table.time
    assert time_column is not None
    spans = joined((at_ms, at_ms) for at_ms in pc.unique(rows.column(time_column)).to_pylist())
    near = [file for file in target.files() if _may_have(file, spans)]
    new = _without(target.read(near, table.key, _within(time_column, spans)), rows, table)
    if new.num_rows:
        target.commit([new])


def _without(stored: pa.Table, rows: pa.Table, table: Table) -> pa.Table:
    """Return the rows whose key is not stored."""
    if not stored.num_rows:
        return rows
    known = set(keys(stored, table.key))
    if table.time not in table.key:
        return rows.filter(_are_new(rows, known, table))
    # Of the rows of a time that no stored row has, no key has to be compared: that is nearly all of them.
    may_be_known = pc.is_in(rows.column(table.time), stored.column(table.time))
    some = rows.filter(may_be_known)
    return pa.concat_tables([rows.filter(pc.invert(may_be_known)), some.filter(_are_new(some, known, table))])


def _are_new(rows: pa.Table, known: Set[Key], table: Table) -> pa.Array:
    return pa.array([key not in known for key in keys(rows, table.key)], pa.bool_())


def _may_have(file: DataFile, spans: Iterable[Span]) -> bool:
    if file.from_ms is None or file.to_ms is None:
        return True
    return any(file.from_ms <= high and low <= file.to_ms for low, high in spans)


def _within(column: str, spans: Iterable[Span]) -> ds.Expression:
    times = ds.field(column)
    found = ds.scalar(False)
    for low, high in spans:
        found |= (times >= low) & (times <= high)
    return found


def _write_brokers(batch: SmallBatch, opened: Open) -> None:
    """Merge states and configurations. ``broker_state`` comes last: its sequence proves the rest of a state record."""
    states, configs = batch.of("state"), batch.of("configs")
    if not states and not configs:
        return
    fresh = _fresh(states, opened(BROKER_STATE))
    if fresh:
        log_dirs = log_dir_changes(fresh)
        retried(f"merge into {LOG_DIR_STATE.name}", lambda: rewrite(opened(LOG_DIR_STATE), log_dirs, ("sequence",)))
    brokers, columns = broker_changes(fresh, configs), ("sequence", *OF_CONFIGS)
    retried(f"merge into {BROKER_STATE.name}", lambda: rewrite(opened(BROKER_STATE), brokers, columns))


def _fresh(states: Iterable[Placed], stored: DirectTable) -> list[Placed]:
    """Return the states that are newer than the stored rows."""
    columns = (*BROKER_STATE.key, "sequence")
    known = {key[:-1]: key[-1] for key in keys(stored.read(stored.all_files(), columns), columns)}
    return [state for state in states if _is_fresh(state, known.get(broker_of(state)))]


def _is_fresh(state: Placed, known_sequence: int | None) -> bool:
    return known_sequence is None or state.thin.rank > known_sequence
