"""Preferred leader elections; a replica that is not in sync never becomes leader."""

from collections.abc import Mapping
from dataclasses import dataclass

from logdirwatch.execute.calls import Do, ElectLeaders, Next, Reached, Stuck, not_shown
from logdirwatch.execute.seen import Seen
from logdirwatch.plan.cluster.layout import TopicPartition


@dataclass(frozen=True)
class Elect:
    """Partitions, each with the broker that should lead it; None: its preferred one."""

    leaders: Mapping[TopicPartition, int | None]

    def __str__(self) -> str:
        return f"elect the preferred leaders of {', '.join(f'{topic}-{number}' for topic, number in self.leaders)}"

    @property
    def keys(self) -> tuple[TopicPartition, ...]:
        """Its partitions."""
        return tuple(self.leaders)

    @property
    def brokers(self) -> frozenset[int]:
        """Empty: the directories of no broker matter."""
        return frozenset()


def decide(step: Elect, seen: Seen) -> Next:
    """Return what to do: elect those that can be elected, then report those that cannot."""
    wanted: list[TopicPartition] = []
    lagging: list[str] = []
    for key, leader in step.leaders.items():
        label, partition = f"{key[0]}-{key[1]}", seen.partitions.get(key)
        if partition is None or not partition.replicas:
            return Stuck(not_shown(label))
        first = partition.replicas[0]
        if leader not in {None, first}:
            return Stuck(f"the replicas of {label} are {list(partition.replicas)}: somebody else changed them")
        if partition.leader == first:
            continue
        if first in partition.isr:
            wanted.append(key)
        else:
            lagging.append(f"broker {first}, the preferred leader of {label}, is not in sync")
    if wanted:
        return Do((ElectLeaders(tuple(wanted)),))
    return Stuck(lagging[0]) if lagging else Reached()
