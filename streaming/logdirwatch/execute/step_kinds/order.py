"""Reordering the same replicas: the first becomes the preferred leader, and no data moves."""

from collections.abc import Mapping
from dataclasses import dataclass

from logdirwatch.execute.calls import Do, Next, Reached, Reassign, Stuck, not_shown
from logdirwatch.execute.seen import Seen
from logdirwatch.plan.cluster.layout import TopicPartition


@dataclass(frozen=True)
class Order:
    """The replicas of partitions in their new and in their previous order."""

    there: Mapping[TopicPartition, tuple[int, ...]]
    here: Mapping[TopicPartition, tuple[int, ...]]

    def __str__(self) -> str:
        lines = (f"{topic}-{number} {list(replicas)}" for (topic, number), replicas in self.there.items())
        return f"order the replicas of {', '.join(lines)}"

    @property
    def keys(self) -> tuple[TopicPartition, ...]:
        """Its partitions."""
        return tuple(self.there)

    @property
    def brokers(self) -> frozenset[int]:
        """Empty: the directories of no broker matter."""
        return frozenset()


def decide(step: Order, seen: Seen) -> Next:
    """Return what to do: Kafka reorders at once, so a running reassignment belongs to somebody else."""
    wanted: dict[TopicPartition, tuple[int, ...] | None] = {}
    for key, replicas in step.there.items():
        label, partition = f"{key[0]}-{key[1]}", seen.partitions.get(key)
        if partition is None:
            return Stuck(not_shown(label))
        if partition.adding or partition.removing:
            return Stuck(f"somebody else reassigns {label} to {list(partition.goal)}")
        if partition.replicas not in {replicas, step.here.get(key)}:
            return Stuck(f"the replicas of {label} are {list(partition.replicas)}: somebody else changed them")
        if partition.replicas != replicas:
            wanted[key] = replicas
    return Do((Reassign(wanted),)) if wanted else Reached()
