"""What states, configurations and tombstones change in ``log_dir_state`` and ``broker_state``."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import pyarrow as pa

from logdirwatch.store.direct.arrow import arrow_array, arrow_rows, keys
from logdirwatch.store.direct.merge import Decide, Key, Rewrite
from logdirwatch.store.rows import columns, single
from logdirwatch.store.rows.columns import OF_CONFIGS
from logdirwatch.store.rows.thin import Placed
from logdirwatch.store.schema.columns import Table
from logdirwatch.store.schema.definitions import BROKER_STATE, LOG_DIR_STATE

Configs: TypeAlias = tuple[Mapping[str, str | None], int]
"""The configuration of a broker, and its time."""

EARLIER = ("source_partition", "source_offset")
# Everything is newer than no row, and nothing than a row without a sequence.
_NO_ROW, _NO_SEQUENCE = -(2**63) - 1, 2**63


def broker_of(placed: Placed) -> Key:
    """Return the key of ``broker_state``."""
    return placed.thin.cluster, placed.thin.broker


def removals(table: Table, deleted: Iterable[Placed]) -> Decide:
    """Decide about brokers with tombstones: rows of earlier records go; needs the columns of ``EARLIER``."""
    tombstones = {broker_of(each): (each.position.partition, each.position.offset) for each in deleted}

    def decide(stored: pa.Table) -> Rewrite:
        gone = set()
        for key, (partition, offset) in zip(keys(stored, table.key), keys(stored, EARLIER), strict=True):
            tombstone = tombstones.get(key[:2])
            if tombstone is not None and tombstone[0] == partition and offset < tombstone[1]:
                gone.add(key)
        return Rewrite(arrow_rows(table, []), gone)

    return decide


def log_dir_changes(fresh: Sequence[Placed]) -> Decide:
    """Decide about directories: those in new state records are written, those no longer listed deleted."""
    sequences = {broker_of(state): state.thin.rank for state in fresh}
    rows = columns.log_dirs(fresh)
    listed = keys(rows, LOG_DIR_STATE.key)

    def decide(stored: pa.Table) -> Rewrite:
        known = _sequences(stored, LOG_DIR_STATE.key)
        is_new = [sequences[key[:-1]] > known.get(key, _NO_ROW) for key in listed]
        left = {key for key in known.keys() - set(listed) if sequences.get(key[:-1], _NO_ROW) > known[key]}
        replaced = {key for key, new in zip(listed, is_new, strict=True) if new}
        return Rewrite(rows.filter(pa.array(is_new, pa.bool_())), replaced | left)

    return decide


def broker_changes(fresh: Sequence[Placed], configs: Iterable[Placed]) -> Decide:
    """Decide about brokers: state and configuration change independently; a configuration alone creates no row."""
    rows, brokers = columns.brokers(fresh), [broker_of(state) for state in fresh]
    said = {broker_of(placed): (single.configs(placed), placed.thin.at_ms) for placed in configs}

    def decide(stored: pa.Table) -> Rewrite:
        known = _sequences(stored, BROKER_STATE.key)
        told = _newer(said, stored)
        is_new = [state.thin.rank > known.get(broker, _NO_ROW) for broker, state in zip(brokers, fresh, strict=True)]
        new = [broker for broker, is_one in zip(brokers, is_new, strict=True) if is_one]
        written = rows.filter(pa.array(is_new, pa.bool_()))
        patched = {
            broker: dict(zip(OF_CONFIGS, told[broker], strict=True))
            for broker in (told.keys() & known.keys()).difference(new)
        }
        return Rewrite(_with_configs(written, new, told, stored), set(new), patched)

    return decide


def _sequences(stored: pa.Table, key: Sequence[str]) -> dict[Key, int]:
    """Return the sequence of each stored row by its key."""
    sequences = [_NO_SEQUENCE if each is None else each for each in stored.column("sequence").to_pylist()]
    return dict(zip(keys(stored, key), sequences, strict=True))


def _newer(said: Mapping[Key, Configs], stored: pa.Table) -> dict[Key, Configs]:
    """Return the configurations that are newer than the stored ones."""
    known = dict(zip(keys(stored, BROKER_STATE.key), stored.column("configs_at_ms").to_pylist(), strict=True))
    return {broker: each for broker, each in said.items() if each[1] > _at_ms(known.get(broker))}


def _at_ms(known: int | None) -> int:
    return -1 if known is None else known


def _with_configs(rows: pa.Table, brokers: Sequence[Key], told: Mapping[Key, Configs], stored: pa.Table) -> pa.Table:
    """Return rows of these brokers with their new configuration, or else the stored one."""
    places = {broker: place for place, broker in enumerate((*told, *keys(stored, BROKER_STATE.key)))}
    places |= {broker: place for place, broker in enumerate(told)}
    taken = pa.array([places.get(broker) for broker in brokers], pa.int32())
    for name, new in zip(OF_CONFIGS, zip(*told.values(), strict=True) if told else ((), ()), strict=True):
        at = rows.schema.get_field_index(name)
        field = rows.schema.field(at)
        values = pa.chunked_array([arrow_array(new, field.type), *stored.column(name).chunks])
        rows = rows.set_column(at, field, values.take(taken))
    return rows
