"""Limits on names and texts from outside in a broker's memory: writers to the topics may send anything."""

from collections.abc import Mapping

CHARACTERS = 1_000
"""Enough for one line about a failure; collectors send less."""
NAMES = 1_000
"""More partitions than anyone reads in an alert; the memory is written with every change."""


def newest(held: Mapping[str, int]) -> dict[str, int]:
    """Return the most recent names, each with its time."""
    kept = set(sorted(held, key=lambda name: (held[name], name))[-NAMES:])
    return {name: at_ms for name, at_ms in held.items() if name in kept}


def clipped(text: str | None) -> str | None:
    """Return the beginning of a text."""
    return None if text is None else text[:CHARACTERS]
