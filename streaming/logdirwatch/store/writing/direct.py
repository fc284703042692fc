"""How ``store`` writes a small batch without Spark: the same rows as ``history``, by the same rules.

Every step is idempotent and complete in itself, so Spark can repeat all of it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import pyarrow.dataset as ds

from logdirwatch.store.direct.arrow import Row, arrow_rows, keys
from logdirwatch.store.direct.merge import Key, merge
from logdirwatch.store.direct.table import DataFile, DirectTable, NotDirectError
from logdirwatch.store.rows import plain
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
Rows = Callable[[Placed], Iterable[Row]]

HISTORIES: tuple[tuple[Table, Mapping[str, Rows]], ...] = (
    (REJECTED_RECORDS, {"rejected": plain.rejected}),
    (LOG_DIR_SAMPLES, {"metrics": plain.polls, "event": plain.events, "host": plain.hosts}),
    (TRANSITIONS, {"transition": plain.transitions}),
    (ALERTS, {"alert": plain.alerts}),
    (ACTIONS, {"action": plain.actions}),
    (EXECUTIONS, {"execution": plain.executions}),
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
        rows = [row for kind, read in readers.items() for placed in batch.of(kind) for row in read(placed)]
        if rows:
            retried(f"insert into {table.name}", partial(insert_new, table, rows, opened))
    _write_brokers(batch, opened)
    return True


def insert_new(table: Table, rows: Sequence[Row], opened: Open) -> None:
    """Append the rows whose key is not stored yet; files whose time is outside that of the rows are not read."""
    target, time_column = opened(table), table.time
    assert time_column is not None
    spans = joined({(row[time_column], row[time_column]) for row in rows})
    near = [file for file in target.files() if _may_have(file, spans)]
    known = set(keys(target.read(near, table.key, _within(time_column, spans)), table.key))
    new = [row for row in rows if _key(table, row) not in known]
    if new:
        target.commit(arrow_rows(table, new))


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


def _key(table: Table, row: Row) -> Key:
    return tuple(row.get(name) for name in table.key)


def _write_brokers(batch: SmallBatch, opened: Open) -> None:
    """Merge states and configurations. ``broker_state`` comes last: its sequence proves the rest of a state record."""
    states, configs = batch.of("state"), batch.of("configs")
    if not states and not configs:
        return
    fresh = _fresh(states, opened(BROKER_STATE))
    if fresh:
        log_dirs = log_dir_changes(fresh)
        retried(f"merge into {LOG_DIR_STATE.name}", lambda: merge(opened(LOG_DIR_STATE), log_dirs, ("sequence",)))
    brokers = broker_changes(fresh, configs)
    retried(f"merge into {BROKER_STATE.name}", lambda: merge(opened(BROKER_STATE), brokers, ("sequence", *OF_CONFIGS)))


def _fresh(states: Iterable[Placed], stored: DirectTable) -> list[Placed]:
    """Return the states that are newer than the stored rows."""
    columns = (*BROKER_STATE.key, "sequence")
    known = {key[:-1]: key[-1] for key in keys(stored.read(stored.all_files(), columns), columns)}
    return [state for state in states if _is_fresh(state, known.get(broker_of(state)))]


def _is_fresh(state: Placed, known_sequence: int | None) -> bool:
    return known_sequence is None or state.thin.rank > known_sequence
