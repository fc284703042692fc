"""Digests of groups of rows: two groups have the same digest if they have the same rows in the same order.

They are computed from Arrow columns, so that it does not matter whether the rows come from a table or from a record.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
