"""What an alert or a partition affects, as text, and what an action changes in a directory. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from logdirwatch.text.units import human_bytes, human_ratio
from logdirwatch.text.words import counted

_PARTITIONS = {
    "leaderless": "without a leader",
    "internal_leaderless": "of internal topics without a leader",
    "under_min_isr": "under min ISR: writes with acks=all fail",
    "at_min_isr": "at min ISR: the next failure stops writes",
    "sole_replica": "with a single in-sync replica: the next failure loses data",
}
_DANGERS = {
    "is_leaderless": "It has no leader: nobody can read or write",
    "is_under_min_isr": "It is under min ISR: writes with acks=all fail",
    "is_at_min_isr": "It is at min ISR: the next failure stops writes",
    "is_sole_replica": "A single replica is in sync: the next failure loses data",
}
DANGERS = {name.removeprefix("is_"): name for name in _DANGERS}
"""Each danger of a partition and its column in ``topic_state``, the worst first."""


class Link(NamedTuple):
    """A topic, or one of its partitions, and its label."""

    text: str
    topic: str
    partition: int | None = None


def affected_lines(affected: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what an alert affects as a term and its text; without what is empty or unknown."""
    partitions = [
        f"{counted(affected[name], 'partition')} {words}" for name, words in _PARTITIONS.items() if affected.get(name)
    ]
    if partitions:
        yield "Partitions", "; ".join(partitions)
    if affected.get("replica_count"):
        size = affected.get("replica_bytes")
        yield "Replicas there", f"{affected['replica_count']}" + (f", {human_bytes(size)}" if size else "")
    if affected.get("hurt_groups"):
        yield "Consumer groups", ", ".join(map(str, affected["hurt_groups"]))


def affected_links(affected: Mapping[str, Any]) -> Iterator[tuple[str, list[Link]]]:
    """Yield the topics, and examples of partitions, that an alert affects, each as a term and its links."""
    if topics := affected.get("hurt_topics"):
        yield "Topics", [Link(topic, topic) for topic in topics]
    if examples := affected.get("examples"):
        yield "Examples", [_partition(example) for example in examples]


def hurt(partition: Mapping[str, Any]) -> list[str]:
    """Return who is affected by the state of a partition, as sentences, the worst first; empty if nobody is.

    ``partition`` is its row of ``topic_state``.
    """
    found = [words for column, words in _DANGERS.items() if partition[column]]
    group, unread = partition["slowest_group"], partition["unread_ratio"]
    if found and group is not None:
        behind = f" and has not read {human_ratio(unread)} of it" if unread else ""
        found.append(f"Consumer group {group} reads it{behind}")
    return found


def _partition(name: str) -> Link:
    topic, _, number = name.rpartition("-")
    return Link(name, topic, int(number)) if topic and number.isdecimal() else Link(name, name)


class Touched(NamedTuple):
    """A directory; ``frees_bytes`` is negative if space is used, ratios are None if the size is unknown."""

    broker: int
    log_dir: str
    frees_bytes: int
    before_ratio: float | None
    after_ratio: float | None


def touched(expected: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> list[Touched]:
    """Return the directories of an action's ``expected``, by the present ``rows`` of log_dir_state."""
    known = {(row["broker"], row["log_dir"]): row for row in rows}
    changes = expected.get("on")
    return [
        _touched(change, known.get((change.get("broker"), change.get("log_dir"))))
        for change in (changes if isinstance(changes, list) else [])
        if isinstance(change.get("bytes"), int)
    ]


def _touched(change: Mapping[str, Any], row: Mapping[str, Any] | None) -> Touched:
    frees = change["bytes"]
    if row is None or not row["total_bytes"] or row["usable_bytes"] is None:
        return Touched(change["broker"], change["log_dir"], frees, None, None)
    total, usable = row["total_bytes"], row["usable_bytes"]
    return Touched(change["broker"], change["log_dir"], frees, _used(usable, total), _used(usable + frees, total))


def _used(usable_bytes: int, total_bytes: int) -> float:
    return min(1.0, max(0.0, 1 - usable_bytes / total_bytes))
