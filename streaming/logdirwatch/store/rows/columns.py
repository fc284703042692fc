"""Polls, host records and states as rows of the tables, as columns.

There are many of these records, with several rows each, so no row is made on its own.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, TypeVar

import pyarrow as pa
from msgspec import Struct

from logdirwatch.model.records import (
    HostLogDir,
    HostRecord,
    LogDirSample,
    LogDirView,
    MetricsRecord,
    PartitionHealth,
    StateRecord,
)
from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.parse.decoding import Decoder
from logdirwatch.store.direct.arrow import Columns, arrow_columns, repeated
from logdirwatch.store.rows.single import HOST, LOG_DIR, POLL, as_json
from logdirwatch.store.rows.thin import Placed
from logdirwatch.store.schema.columns import Table
from logdirwatch.store.schema.definitions import (
    BROKER_STATE,
    LOG_DIR_SAMPLES,
    LOG_DIR_STATE,
    OF_HOST,
    OF_POLL,
    OF_POLL_AND_LOG_DIR,
)

Content = TypeVar("Content", bound=Struct)


def _shared(record: type[Struct], table: Table) -> tuple[str, ...]:
    """Return the fields of a record that are columns of a table."""
    return tuple(name for name in record.__struct_encode_fields__ if name in table.names)


OF_CONFIGS = ("configs", "configs_at_ms")
_OF_SAMPLED = _shared(LogDirSample, LOG_DIR_SAMPLES)
_OF_SEEN = _shared(HostLogDir, LOG_DIR_SAMPLES)
_OF_BROKER = _shared(StateRecord, BROKER_STATE)
_OF_PARTITIONS = _shared(PartitionHealth, BROKER_STATE)
_OF_LOG_DIR = _shared(LogDirView, LOG_DIR_STATE)
_NO_HEALTH = dict.fromkeys((*_OF_PARTITIONS, "examples"))


def polls(placed: Sequence[Placed]) -> pa.Table:
    """Return the rows of ``log_dir_samples`` of polls: their own, and each directory's."""
    records = _contents(placed, MetricsRecord)
    common = {**_sampled(placed), **_picked(records, OF_POLL_AND_LOG_DIR)}
    texts = {name: list(map(_as_json, map(attrgetter(name), records))) for name in ("partitions", "moves")}
    own = {**common, **_picked(records, OF_POLL), **texts, "kind": [POLL] * len(records)}
    samples, numbers = _each([record.log_dirs for record in records])
    of_log_dirs = {**_picked(samples, _OF_SAMPLED), **_paths(samples), "kind": [LOG_DIR] * len(samples)}
    return _samples(own, {**repeated(LOG_DIR_SAMPLES, common, numbers), **of_log_dirs})


def hosts(placed: Sequence[Placed]) -> pa.Table:
    """Return the rows of ``log_dir_samples`` of host records: their own, and each directory's."""
    records = _contents(placed, HostRecord)
    common = {**_sampled(placed), **_picked(records, OF_HOST), "kind": [HOST] * len(records)}
    own = {**common, "error": ["; ".join(record.errors) or None for record in records]}
    seen, numbers = _each([record.log_dirs for record in records])
    of_log_dirs = {**_picked(seen, _OF_SEEN), **_paths(seen)}
    return _samples(own, {**repeated(LOG_DIR_SAMPLES, common, numbers), **of_log_dirs})


def _samples(*parts: Columns) -> pa.Table:
    return pa.concat_tables([arrow_columns(LOG_DIR_SAMPLES, part) for part in parts])


def brokers(placed: Sequence[Placed]) -> pa.Table:
    """Return the rows of ``broker_state`` of state records, without the brokers' configurations."""
    records = _contents(placed, StateRecord)
    health = [_health(record.partitions) for record in records]
    counted = [[view.status is LogDirStatus.OFFLINE for view in record.log_dirs] for record in records]
    columns = {
        **_source(placed),
        **_picked(records, _OF_BROKER),
        **{name: [found[name] for found in health] for name in _OF_PARTITIONS},
        "partition_examples": [found["examples"] for found in health],
        "log_dir_count": list(map(len, counted)),
        "offline_log_dirs": list(map(sum, counted)),
        "record": [state.thin.record for state in placed],
    }
    return arrow_columns(BROKER_STATE, columns)


def _health(partitions: PartitionHealth | None) -> dict[str, Any]:
    return _NO_HEALTH if partitions is None else {name: getattr(partitions, name) for name in _NO_HEALTH}


def log_dirs(placed: Sequence[Placed]) -> pa.Table:
    """Return the rows of ``log_dir_state`` of state records."""
    records = _contents(placed, StateRecord)
    common = {**_source(placed), **_picked(records, ("cluster", "broker", "sequence", "at_ms"))}
    views, numbers = _each([record.log_dirs for record in records])
    columns = {**_picked(views, _OF_LOG_DIR), **repeated(LOG_DIR_STATE, common, numbers), **_paths(views)}
    return arrow_columns(LOG_DIR_STATE, columns)


def _contents(placed: Iterable[Placed], record: type[Content]) -> list[Content]:
    return [_content(each, record) for each in placed]


def _content(placed: Placed, record: type[Content]) -> Content:
    content = placed.thin.content
    return content if isinstance(content, record) else Decoder(record).decode(placed.thin.body or "")


def _each(lists: Sequence[Sequence[Content]]) -> tuple[list[Content], list[int]]:
    """Return the items of lists, and for each the number of its list."""
    numbers = (number for number, items in enumerate(lists) for _ in items)
    return list(chain.from_iterable(lists)), list(numbers)


def _picked(records: Sequence[Struct], names: Iterable[str]) -> Columns:
    return {name: list(map(attrgetter(name), records)) for name in names}


def _paths(log_dirs: Sequence[Struct]) -> Columns:
    return {"log_dir": list(map(attrgetter("path"), log_dirs))}


def _source(placed: Sequence[Placed]) -> Columns:
    return {f"source_{name}": [getattr(each.position, name) for each in placed] for name in _SOURCE}


_SOURCE = ("topic", "partition", "offset")


def _sampled(placed: Sequence[Placed]) -> Columns:
    return {**_source(placed), "kafka_timestamp_ms": [each.position.kafka_timestamp_ms for each in placed]}


def _as_json(value: Struct | None) -> str | None:
    return None if value is None else as_json({name: getattr(value, name) for name in value.__struct_fields__})
