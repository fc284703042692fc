"""Splits what does not fit into one Kafka record or one request. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

# Names, timestamps and configuration in a record besides its items, with room to spare.
ENVELOPE_BYTES = 16_384

Item = TypeVar("Item", bound=Any)


def in_parts(items: Sequence[Item], size: int) -> Iterator[list[Item]]:
    """Yield ``items`` in lists of at most ``size``."""
    return (list(items[start : start + size]) for start in range(0, len(items), size))


def by_weight(weights: Mapping[str, int], limit: int) -> Iterator[list[str]]:
    """Yield names in lists with a total weight of at most ``limit``; a heavier one has its own list."""
    part: list[str] = []
    weight = 0
    for name, own in weights.items():
        if part and weight + own > limit:
            yield part
            part, weight = [], 0
        part.append(name)
        weight += own
    if part:
        yield part


def split(items: Iterable[Item], max_bytes: int) -> list[list[Item]]:
    """Return ``items`` in lists whose records stay under ``max_bytes``; at least one list, which may be empty.

    A larger item has its own list; none of ours comes near the limit.
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
