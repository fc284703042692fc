"""Cuts what does not fit into one Kafka record or one request. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

# Names, timestamps and the configuration beside the items of a record, with room to spare.
ENVELOPE_BYTES = 16_384

Item = TypeVar("Item", bound=Any)


def in_parts(items: Sequence[Item], size: int) -> Iterator[list[Item]]:
    """Yield ``items`` in lists of at most ``size``."""
    return (list(items[start : start + size]) for start in range(0, len(items), size))


def split(items: Iterable[Item], max_bytes: int) -> list[list[Item]]:
    """Return ``items`` in lists whose records stay under ``max_bytes``; at least one list, which may be empty.

    An item larger than that stands alone; no item of ours comes near it.
    """
    room = max(1, max_bytes - min(ENVELOPE_BYTES, max_bytes // 2))
    parts: list[list[Item]] = [[]]
    used = 0
    for item in items:
        size = len(msgspec.json.encode(item)) + 1
        if parts[-1] and used + size > room:
            parts.append([])
            used = 0
        parts[-1].append(item)
        used += size
    return parts
