"""What listings say, apart from when: its digest is the same for a record and for the rows that the tables have of it.

A record of a directory or topic with the digest of the stored rows changes no row, whenever it was written.

Digests are computed from Arrow columns, so that it does not matter whether the rows come from a table or from a record:
two groups of rows have the same digest if they have the same rows in the same order.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from logdirwatch.model.records import Placement, TopicRecord
from logdirwatch.parse.records import LAST_MS
from logdirwatch.store.direct.arrow import arrow_array, arrow_schema, encoded
from logdirwatch.store.rows.partitions import OF_PARTITION, OF_TOPIC
from logdirwatch.store.schema.definitions import TOPIC_STATE

DIGEST_BYTES = 16


class _Stream(NamedTuple):
    """A part of a column as bytes, and where each group begins and ends in it."""

    content: memoryview
    bounds: Sequence[int]


def group_digests(rows: pa.Table, bounds: Sequence[int]) -> list[bytes]:
    """Return the digest of each group: group ``i`` has the rows from ``bounds[i]`` up to ``bounds[i + 1]``."""
    ends = np.asarray(bounds, dtype=np.int64)
    streams = [stream for column in rows.columns for stream in _streams(_whole(column), ends)]
    digests = []
    for group in range(len(bounds) - 1):
        digest = hashlib.blake2b(str(bounds[group + 1] - bounds[group]).encode(), digest_size=DIGEST_BYTES)
        for content, places in streams:
            digest.update(content[places[group] : places[group + 1]])
        digests.append(digest.digest())
    return digests


def digest_of(content: bytes) -> bytes:
    """Return the digest of some bytes."""
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()


NO_ROWS = group_digests(pa.table({}), (0, 0))[0]
"""The digest of a group without rows."""


def _whole(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    return whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole


def _streams(column: pa.Array, ends: Any) -> Iterator[_Stream]:
    """Yield the parts of a column: what they are follows from its type, the values of a null are left out."""
    if pa.types.is_string(column.type):
        yield from _texts(column, ends)
    elif pa.types.is_map(column.type):
        yield from _lengths(column, ends)
        inner = _offsets(column)[ends]
        yield from _streams(column.keys, inner)
        yield from _streams(column.items, inner)
    elif pa.types.is_list(column.type):
        yield from _lengths(column, ends)
        yield from _streams(column.values, _offsets(column)[ends])
    else:
        yield _stream(column.is_null().to_numpy(zero_copy_only=False), ends)
        plain = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
        yield _stream(pc.fill_null(plain, 0).to_numpy(zero_copy_only=False), ends)


def _texts(column: pa.Array, ends: Any) -> Iterator[_Stream]:
    yield from _lengths(column, ends)
    _, places, content = column.buffers()
    offsets = np.frombuffer(places, np.int32)[column.offset : column.offset + len(column) + 1] if places else [0]
    yield _Stream(memoryview(content or b""), np.asarray(offsets)[ends].tolist())


def _lengths(column: pa.Array, ends: Any) -> Iterator[_Stream]:
    """Yield the number of characters or items of each value, -1 for null."""
    if pa.types.is_string(column.type):
        lengths = pc.binary_length(column)
    else:
        lengths = pa.array(np.diff(_offsets(column)), mask=column.is_null().to_numpy(zero_copy_only=False))
    yield _stream(pc.fill_null(lengths.cast(pa.int32()), -1).to_numpy(zero_copy_only=False), ends)


def _offsets(column: pa.Array) -> Any:
    return column.offsets.to_numpy(zero_copy_only=False)


def _stream(values: Any, ends: Any) -> _Stream:
    content = np.ascontiguousarray(values)
    return _Stream(content.view(np.uint8).data, (ends * content.itemsize).tolist())


OF_TOPIC_STATE = ("partition", "leader", *OF_PARTITION, *OF_TOPIC)
"""The columns of ``topic_state`` that a record states; the others follow from them."""

_REPLICAS = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int64()),
        ("is_future", pa.bool_()),
        ("size_bytes", pa.int64()),
        ("offset_lag", pa.int64()),
    ]
)
OF_REPLICA = tuple(_REPLICAS.names)
"""The columns of ``replica_state`` that a record states."""

_PARTITIONS = pa.schema([arrow_schema(TOPIC_STATE).field(name) for name in OF_TOPIC_STATE])
_ORDER = attrgetter("topic", "partition", "is_future")
_TIME = re.compile(rb'"timestamp_ms":([0-9]{1,16})(?=[,}])')


class Subject(NamedTuple):
    """A directory, or a topic."""

    cluster: str
    broker: int | None = None
    log_dir: str | None = None
    topic: str | None = None


class Timeless(NamedTuple):
    """A record without its time: the digest of the other bytes, and the time."""

    digest: bytes
    at_ms: int


def timeless(key: bytes | None, value: bytes) -> Timeless | None:
    """Return a record of a scan without its time; None if it cannot be cut out safely.

    Two records with the same digest differ in nothing but the time.
    """
    found = _TIME.search(value)
    if found is None or value.count(b'"timestamp_ms"') > 1 or found[1][:1] == b"0" or int(found[1]) > LAST_MS:
        return None
    begin, end = found.span(1)
    rest = (str(len(key or b"")).encode(), b":", key or b"", value[:begin], value[end:])
    return Timeless(digest_of(b"".join(rest)), int(found[1]))


def replicas_digests(listings: Sequence[Sequence[Placement]]) -> list[bytes]:
    """Return the digest of the content of each listing of a directory."""
    placed = [placement for listing in listings for placement in sorted(listing, key=_ORDER)]
    columns = [pa.array([getattr(each, field.name) for each in placed], field.type) for field in _REPLICAS]
    return group_digests(pa.table(columns, schema=_REPLICAS), _bounds(listings))


def partitions_digests(topics: Sequence[TopicRecord]) -> list[bytes]:
    """Return the digest of the content of each topic."""
    listings = [sorted(topic.partitions, key=attrgetter("partition")) for topic in topics]
    infos = [info for listing in listings for info in listing]
    owner = pa.array(np.repeat(np.arange(len(topics)), [len(listing) for listing in listings]))
    values = {name: [getattr(info, name) for info in infos] for name in ("partition", "leader", *OF_PARTITION)}
    values["leader"] = [leader if leader is not None and leader >= 0 else None for leader in values["leader"]]
    columns = {name: pa.array(each, _PARTITIONS.field(name).type) for name, each in values.items()}
    for name in OF_TOPIC:
        each = [getattr(topic, name) for topic in topics]
        columns[name] = arrow_array(each, _PARTITIONS.field(name).type).take(owner)
    return group_digests(pa.table([columns[name] for name in OF_TOPIC_STATE], schema=_PARTITIONS), _bounds(listings))


def _bounds(groups: Sequence[Sequence[Any]]) -> list[int]:
    return [0, *np.cumsum([len(group) for group in groups], dtype=np.int64).tolist()]


def stored_replicas(rows: pa.Table) -> dict[Subject, bytes]:
    """Return the digest of each directory's rows; ``rows`` are those of ``replica_state``."""
    if not rows.num_rows:
        return {}
    codes = {name: _ranks(rows.column(name)) for name in ("cluster", "log_dir", "topic")}
    broker, partition = (rows.column(name).to_numpy().astype(np.int64) for name in ("broker", "partition"))
    future = rows.column("is_future").to_numpy()
    order = np.lexsort((future, partition, codes["topic"], codes["log_dir"], broker, codes["cluster"]))
    order = order[codes["log_dir"][order] >= 0]
    place = np.stack([codes["cluster"][order], broker[order], codes["log_dir"][order]])
    bounds = _changes(place)
    content = rows.select(OF_REPLICA).take(pa.array(order))
    columns = [content.column(field.name).cast(field.type) for field in _REPLICAS if field.name != "topic"]
    digests = group_digests(pa.table([content.column("topic"), *columns], names=OF_REPLICA), bounds)
    firsts = rows.select(("cluster", "broker", "log_dir")).take(pa.array(order[bounds[:-1]])).to_pylist()
    return {Subject(**first): digest for first, digest in zip(firsts, digests, strict=True)}


def stored_partitions(rows: pa.Table) -> dict[Subject, bytes]:
    """Return the digest of each topic's rows; ``rows`` are those of ``topic_state``."""
    if not rows.num_rows:
        return {}
    cluster, topic = _ranks(rows.column("cluster")), _ranks(rows.column("topic"))
    order = np.lexsort((rows.column("partition").to_numpy(), topic, cluster))
    bounds = _changes(np.stack([cluster[order], topic[order]]))
    content = rows.select(OF_TOPIC_STATE).take(pa.array(order)).cast(_PARTITIONS)
    digests = group_digests(content, bounds)
    firsts = rows.select(("cluster", "topic")).take(pa.array(order[bounds[:-1]])).to_pylist()
    return {Subject(**first): digest for first, digest in zip(firsts, digests, strict=True)}


def _ranks(column: pa.ChunkedArray) -> Any:
    """Return the place of each text among the sorted texts, -1 for null."""
    whole = encoded(column)
    names = whole.dictionary.to_pylist()
    ranks = np.full(len(names) + 1, -1)
    ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return ranks[whole.indices.fill_null(-1).to_numpy()]


def _changes(places: Any) -> Any:
    """Return where the columns of ``places`` change, with both ends; without columns there is one end."""
    if not places.shape[1]:
        return np.zeros(1, dtype=np.int64)
    inner = np.flatnonzero(np.any(places[:, 1:] != places[:, :-1], axis=0)) + 1
    return np.concatenate(([0], inner, [places.shape[1]])).astype(np.int64)
