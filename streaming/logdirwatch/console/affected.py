"""Who is affected by an alert, in words. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from logdirwatch.text.units import human_bytes
from logdirwatch.text.words import counted

_PARTITIONS = {
    "leaderless": "without a leader",
    "internal_leaderless": "of internal topics without a leader",
    "under_min_isr": "under min ISR: writes with acks=all fail",
    "at_min_isr": "at min ISR: the next failure stops writes",
    "sole_replica": "with a single in-sync replica: the next failure loses data",
}
_NAMES = {"hurt_topics": "Topics", "hurt_groups": "Consumer groups", "examples": "Examples"}


def affected_lines(affected: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what an alert affects as a term and its text; nothing of what is none or not known."""
    partitions = [
        f"{counted(affected[name], 'partition')} {words}" for name, words in _PARTITIONS.items() if affected.get(name)
    ]
    if partitions:
        yield "Partitions", "; ".join(partitions)
    if affected.get("replica_count"):
        size = affected.get("replica_bytes")
        yield "Replicas there", f"{affected['replica_count']}" + (f", {human_bytes(size)}" if size else "")
    for name, term in _NAMES.items():
        if affected.get(name):
            yield term, ", ".join(map(str, affected[name]))
