"""All that a shard remembers as one value of Spark's state: its brokers' memories, and whose timer fires when.

Compressed together: the memories of brokers resemble each other, and what Spark reads and writes for a batch is then a
fraction of what it was with an entry for each broker (docs/decisions/0062-one-value-a-shard.md).
"""

import msgspec
import pyarrow as pa
from msgspec import Struct, field

from logdirwatch.detect.columns.table import StoredRows
from logdirwatch.state.codec import refused, unreadable

VERSION = 2
_READ = (1, VERSION)
"""In version 1 each memory has all of its numbers."""
_CODEC = "zstd"

Value = tuple[int, str]
"""One memory: the version of its form, and the memory as JSON."""


class Memories(Struct):
    """The memories of a shard by broker, and the brokers whose timer fires at a time.

    Of brokers at rest the numbers are in ``at_rest``, newer than those in their memories. ``judged_by`` tells by which
    settings they were found to be so.
    """

    values: dict[int, Value] = field(default_factory=dict)
    due: dict[int, list[int]] = field(default_factory=dict)
    at_rest: list[StoredRows] = field(default_factory=list)
    judged_by: bytes = b""


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Memories)


def packed(memories: Memories) -> tuple[int, int, bytes]:
    """Return the value that is stored: version, length and body."""
    body = _ENCODER.encode(memories)
    return VERSION, len(body), pa.compress(body, codec=_CODEC, asbytes=True)


def unpacked(version: int, length_bytes: int, body: bytes) -> Memories:
    """Return the memories in a stored value.

    Raises UserError when another release wrote it, or when it cannot be read.
    """
    if version not in _READ:
        raise refused("detect", version, VERSION)
    try:
        return _DECODER.decode(pa.decompress(body, decompressed_size=length_bytes, codec=_CODEC, asbytes=True))
    except (msgspec.MsgspecError, OSError, ValueError) as error:
        raise unreadable("detect", error) from None
