"""The snapshot of one cluster from rows of the tables, independent of the reader. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from logdirwatch.model.vocabulary import BrokerStatus, Cause, LogDirStatus, MetadataMode
from logdirwatch.plan.cluster import layout
from logdirwatch.plan.cluster.layout import Layout, Partition, Replica, Topic
from logdirwatch.plan.cluster.snapshot import Broker, ClusterSnapshot, LogDir
from logdirwatch.store.schema.columns import Table
from logdirwatch.store.schema.definitions import (
    BROKER_STATE,
    LOG_DIR_INVENTORY,
    LOG_DIR_STATE,
    REPLICA_STATE,
    TOPIC_STATE,
)

Row = Mapping[str, Any]
Read = Callable[[Table, Sequence[str]], Iterator[Row]]
"""Reads columns of one cluster's rows."""
Status = TypeVar("Status", BrokerStatus, LogDirStatus, Cause)

_LAG = "remote_copy_lag_bytes"


def _same(record: type, table: Table) -> tuple[str, ...]:
    """Return the fields of a record that are columns of a table under the same name."""
    columns = {column.name for column in table.columns}
    return tuple(field.name for field in fields(record) if field.name in columns)


_BROKER_COLUMNS = ("broker", "metadata_version", _LAG, "at_ms", *_same(Broker, BROKER_STATE))
_NUMBERS = tuple(name for name in _same(LogDir, LOG_DIR_STATE) if name not in {"broker", "status", "cause", "strays"})
_DIRECTORY_COLUMNS = ("broker", "log_dir", "status", "cause", *_NUMBERS, "strays", "at_ms")
_REPLICA_COLUMNS = _same(Replica, REPLICA_STATE)
_PARTITION_COLUMNS = _same(Partition, TOPIC_STATE)
_TOPIC_COLUMNS = ("configs", "overridden", "is_internal", "topic_id")


def facts_from(read: Read, cluster: str) -> ClusterSnapshot | None:
    """Return the snapshot of a cluster, given a function that reads columns of its rows; None if it has no broker."""
    brokers = list(read(BROKER_STATE, _BROKER_COLUMNS))
    if not brokers:
        return None
    directories = [_directory(row) for row in read(LOG_DIR_STATE, _DIRECTORY_COLUMNS)]
    scans = read(LOG_DIR_INVENTORY, ("broker", "inventory_at_ms"))
    complete = [row["inventory_at_ms"] for row in scans if row["broker"] is None]
    rows = (row for row in read(REPLICA_STATE, _REPLICA_COLUMNS) if row["log_dir"] is not None)
    replicas = tuple(Replica(**{**row, "is_future": bool(row["is_future"])}) for row in rows)
    return ClusterSnapshot(
        cluster=cluster,
        brokers={row["broker"]: _broker(row) for row in brokers},
        directories={directory.place: directory for directory in directories},
        layout=Layout(topics=_topics(read, {row["broker"]: row[_LAG] for row in brokers}), replicas=replicas),
        state_at_ms=max((row["at_ms"] for row in brokers if row["at_ms"] is not None), default=None),
        inventory_at_ms=max(complete, default=None),
        metadata_version=_metadata_version(brokers),
    )


def _metadata_version(brokers: Sequence[Row]) -> str | None:
    """Return the cluster's metadata.version from its newest state record."""
    known = [row for row in brokers if row["metadata_version"] is not None and row["at_ms"] is not None]
    newest = max(known, key=lambda row: (row["at_ms"], row["broker"]), default=None)
    return None if newest is None else str(newest["metadata_version"])


def zip_rows(columns: Mapping[str, Sequence[Any]]) -> Iterator[Row]:
    """Yield the rows of columns of equal length."""
    names = list(columns)
    return (dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True))


def _broker(row: Row) -> Broker:
    return Broker(
        id=row["broker"],
        status=_status(BrokerStatus, row["status"], BrokerStatus.UNKNOWN),
        rack=row["rack"],
        is_fenced=row["is_fenced"],
        configs=layout.known(dict(row["configs"] or ())),
        metadata_mode=MetadataMode(row["metadata_mode"]) if row["metadata_mode"] in set(MetadataMode) else None,
        maintenance_until_ms=row["maintenance_until_ms"],
    )


def _directory(row: Row) -> LogDir:
    return LogDir(
        broker=row["broker"],
        path=row["log_dir"],
        status=_status(LogDirStatus, row["status"], LogDirStatus.UNKNOWN),
        cause=None if row["cause"] is None else _status(Cause, row["cause"], Cause.UNKNOWN),
        state_at_ms=row["at_ms"],
        strays=dict(row["strays"] or ()),
        **{name: row[name] for name in _NUMBERS},
    )


def _topics(read: Read, lags: Mapping[int, int | None]) -> dict[str, Topic]:
    partitions: defaultdict[str, list[Partition]] = defaultdict(list)
    first: dict[str, Row] = {}
    for row in read(TOPIC_STATE, (*_PARTITION_COLUMNS, *_TOPIC_COLUMNS)):
        first.setdefault(row["topic"], row)
        partitions[row["topic"]].append(Partition.of(row["topic"], row.__getitem__))
    return {name: _topic(name, first[name], found, lags) for name, found in partitions.items()}


def _topic(name: str, row: Row, partitions: list[Partition], lags: Mapping[int, int | None]) -> Topic:
    topic = Topic(
        name=name,
        partitions=tuple(sorted(partitions, key=lambda partition: partition.partition)),
        configs=layout.known(dict(row["configs"] or ())),
        overridden=None if row["overridden"] is None else frozenset(row["overridden"]),
        is_internal=bool(row["is_internal"]),
        id=row["topic_id"],
    )
    return topic.with_copy_lag(lags)


def _status(kind: type[Status], value: str | None, unknown: Status) -> Status:
    """Read a status; ``unknown`` for one that this release does not know."""
    try:
        return kind(value)
    except ValueError:
        return unknown
