"""Rows of ``log_dir_samples`` converted back to observations."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from logdirwatch.detect.observations import Event, HostView, Observation, Sample
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import (
    EventRecord,
    HostLogDir,
    HostRecord,
    LogDirSample,
    MetricsRecord,
    PartitionHealth,
    ReplicaMoves,
)
from logdirwatch.parse.decoding import Decoder
from logdirwatch.store.schema.definitions import OF_EVENT, OF_HOST, OF_POLL, OF_POLL_AND_LOG_DIR

Row = Mapping[str, Any]
_PARTITIONS, _MOVES = Decoder(PartitionHealth), Decoder(ReplicaMoves)
SOURCE = ("kafka_timestamp_ms", "source_topic", "source_partition", "source_offset")
# Fields that a poll writes as JSON or as a map are read separately.
_POLL_FIELDS = tuple(name for name in (*OF_POLL_AND_LOG_DIR, *OF_POLL) if name not in {"metrics", "configs"})


def observations(rows: Iterable[Row]) -> Iterator[Observation]:
    """Yield one broker's observations from its rows, which must be in the order of ``SOURCE``."""
    for source, group in itertools.groupby(rows, key=lambda row: tuple(row[name] for name in SOURCE)):
        at_ms, topic, partition, offset = source
        yield _observation(list(group), Origin(topic, partition, offset, at_ms))


def _observation(rows: list[Row], origin: Origin) -> Observation:
    kind = rows[0]["kind"]
    if kind == "event":
        return Event(_event(rows[0]), origin)
    whole = next((row for row in rows if row["log_dir"] is None), rows[0])
    log_dirs = sorted((row for row in rows if row["log_dir"] is not None), key=lambda row: str(row["log_dir"]))
    return HostView(_host(whole, log_dirs), origin) if kind == "host" else Sample(_poll(whole, log_dirs), origin)


def _poll(whole: Row, log_dirs: list[Row]) -> MetricsRecord:
    # A table that store has not extended yet has no moves.
    partitions, moves = whole["partitions"], whole.get("moves")
    return msgspec.convert(
        {
            **_told(whole, _POLL_FIELDS),
            "type": "metrics",
            "version": 1,
            "metrics": dict(whole["metrics"] or ()),
            "configs": None if whole["configs"] is None else dict(whole["configs"]),
            "partitions": None if partitions is None else _PARTITIONS.decode(partitions),
            "moves": None if moves is None else _MOVES.decode(moves),
            "log_dirs": [_of(LogDirSample, row) for row in log_dirs],
        },
        MetricsRecord,
    )


def _event(row: Row) -> EventRecord:
    # Older releases stored the event of a partition without naming it.
    partition = f"/{row.get('topic')}-{row.get('partition')}"
    collector = str(row["collector"]).removesuffix(partition).removesuffix(f"/{row['event']}")
    return EventRecord(version=1, collector=collector or None, **_told(row, OF_EVENT))


def _host(whole: Row, log_dirs: list[Row]) -> HostRecord:
    errors = [] if whole["error"] is None or whole["log_dir"] is not None else [str(whole["error"])]
    seen = [_of(HostLogDir, row) for row in log_dirs]
    return HostRecord(version=1, log_dirs=seen, errors=errors, **_told(whole, OF_HOST))


def _of(kind: type[Any], row: Row) -> Any:
    names = tuple(name for name in kind.__struct_fields__ if name != "path")
    return kind(path=row["log_dir"], **_told(row, names))


def _told(row: Row, names: tuple[str, ...]) -> dict[str, Any]:
    # A table that store has not extended yet lacks the newest columns.
    return {name: row[name] for name in names if row.get(name) is not None}
