"""The observed state of a step's entities, partitions and directories at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from logdirwatch.plan.cluster.layout import TopicPartition

Entity = tuple[str, str]
"""``topics`` or ``brokers``, and the name."""

Held = tuple[str, int, int]
"""A topic, a partition and a broker."""


class PartitionSeen(NamedTuple):
    """One partition in the metadata; ``adding`` and ``removing`` are empty without a running reassignment."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    leader: int | None = None

    @property
    def goal(self) -> tuple[int, ...]:
        """The replicas once the running reassignment is complete."""
        return tuple(broker for broker in self.replicas if broker not in self.removing)

    @property
    def can_be_cancelled(self) -> bool:
        """Whether a replica that was there before is in sync: cancelling loses nothing then."""
        return bool((set(self.replicas) - set(self.adding)) & set(self.isr))


class Copy(NamedTuple):
    """One replica's directory and its size in bytes."""

    path: str
    size_bytes: int


@dataclass(frozen=True)
class Seen:
    """The observed state.

    ``configs`` are values that are set, not defaults; ``log_dirs`` the error code of each directory. ``silent`` are
    brokers that did not answer. ``topic_ids`` tell a topic from another one of its name (KIP-516). ``stops_cleaning``:
    a cancelled copy between directories leaves retention and compaction of its replica off (Kafka before 4.2).
    """

    configs: Mapping[Entity, Mapping[str, str | None]] = field(default_factory=dict)
    partitions: Mapping[TopicPartition, PartitionSeen] = field(default_factory=dict)
    replicas: Mapping[Held, Copy] = field(default_factory=dict)
    futures: Mapping[Held, Copy] = field(default_factory=dict)
    log_dirs: Mapping[tuple[int, str], int] = field(default_factory=dict)
    silent: frozenset[int] = frozenset()
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    stops_cleaning: bool = False
