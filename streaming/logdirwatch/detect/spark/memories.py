"""All that a shard remembers as one value of Spark's state: its brokers' memories, and whose timer fires when.

Compressed together: the memories of brokers resemble each other, and what Spark reads and writes for a batch is then a
fraction of what it was with an entry for each broker (docs/decisions/0062-one-value-a-shard.md).
"""

import msgspec
import pyarrow as pa
from msgspec import Struct, field

from logdirwatch.state.codec import refused, unreadable

VERSION = 1
_CODEC = "zstd"

Value = tuple[int, str]
"""One memory: the version of its form, and the memory as JSON."""


class Memories(Struct):
    """The memories of a shard by broker, and the brokers whose timer fires at a time."""

    values: dict[int, Value] = field(default_factory=dict)
    due: dict[int, list[int]] = field(default_factory=dict)


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
    if version != VERSION:
        raise refused("detect", version, VERSION)
    try:
        return _DECODER.decode(pa.decompress(body, decompressed_size=length_bytes, codec=_CODEC, asbytes=True))
    except (msgspec.MsgspecError, OSError, ValueError) as error:
        raise unreadable("detect", error) from None
