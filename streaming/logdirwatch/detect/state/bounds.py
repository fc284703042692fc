"""How much a broker's memory holds of what others name: whoever writes to the topics may name anything."""

from collections.abc import Mapping

CHARACTERS = 1_000
"""What is told of a failure in one line, and some more; collectors send less."""
NAMES = 1_000
"""More partitions than a broker's alert is read for; its memory is written down with every change."""


def newest(held: Mapping[str, int]) -> dict[str, int]:
    """Return the names that were told last, each with its time."""
    kept = set(sorted(held, key=lambda name: (held[name], name))[-NAMES:])
    return {name: at_ms for name, at_ms in held.items() if name in kept}


def clipped(text: str | None) -> str | None:
    """Return the beginning of a text; the rest of a longer one says nothing more to anybody."""
    return None if text is None else text[:CHARACTERS]
