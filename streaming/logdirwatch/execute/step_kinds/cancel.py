"""Cancelling moves of others: each partition keeps the replicas that it had, or nothing is done about it."""

from collections.abc import Mapping
from dataclasses import dataclass

from logdirwatch.execute.calls import Call, Do, Next, PlaceReplicas, Reached, Reassign, Stuck, Wait, not_shown
from logdirwatch.execute.seen import Held, PartitionSeen, Seen
from logdirwatch.plan.cluster.assignment import Assignment
from logdirwatch.plan.cluster.layout import TopicPartition


@dataclass(frozen=True)
class Cancel:
    """The moves, with the destination directories of copies within brokers.

    ``goals`` are the replicas that the moves lead to; ``here`` are the replicas that each partition had before, and
    keeps.
    """

    moves: tuple[Assignment, ...]
    goals: Mapping[TopicPartition, tuple[int, ...]]
    here: Mapping[TopicPartition, tuple[int, ...]]

    def __str__(self) -> str:
        return f"cancel the moves of {', '.join(one.label for one in self.moves)}"

    @property
    def keys(self) -> tuple[TopicPartition, ...]:
        """Its partitions."""
        return tuple(one.key for one in self.moves)

    @property
    def brokers(self) -> frozenset[int]:
        """Brokers with copies between their directories."""
        return frozenset(broker for one in self.moves for broker, _ in one.chosen)


def decide(step: Cancel, seen: Seen) -> Next:
    """Return what to do; a move that has completed is reported and left as it is."""
    silent = sorted(step.brokers & seen.silent)
    if silent:
        return Wait(None, f"broker {silent[0]} does not answer")
    paths: dict[Held, str] = {}
    replicas: dict[TopicPartition, tuple[int, ...] | None] = {}
    told: list[str] = []
    for one in step.moves:
        partition = seen.partitions.get(one.key)
        if partition is None:
            told.append(not_shown(one.label))
            continue
        if partition.adding or partition.removing:
            if (reason := _reason_against(one, step, partition)) is not None:
                return Stuck(reason)
            replicas[one.key] = None
        elif step.goals[one.key] != step.here[one.key] and set(partition.replicas) == set(step.goals[one.key]):
            told.append(f"the move of {one.label} came to its end before it was cancelled")
        paths.update(_copies(one, seen))
    calls: tuple[Call, ...] = (
        *([PlaceReplicas(paths)] if paths else []),
        *([Reassign(replicas)] if replicas else []),
    )
    return Do(calls) if calls else Reached(tuple(told))


def _reason_against(one: Assignment, step: Cancel, partition: PartitionSeen) -> str | None:
    """Return why a reassignment must not be cancelled: it is a different one, or only its new copies are in sync."""
    goal, here = step.goals[one.key], step.here[one.key]
    if set(partition.goal) != set(goal) or set(goal) == set(here):
        return f"somebody else reassigns {one.label} to {list(partition.goal)}"
    if not partition.can_be_cancelled:
        return f"none of the replicas that {one.label} had is in sync: cancelling would lose what only new ones have"
    return None


def _copies(one: Assignment, seen: Seen) -> dict[Held, str]:
    """Return the running copies within brokers, each with its source directory."""
    found: dict[Held, str] = {}
    for broker, path in one.chosen:
        held = (*one.key, broker)
        copy, future = seen.replicas.get(held), seen.futures.get(held)
        if copy is not None and future is not None and future.path == path != copy.path:
            found[held] = copy.path
    return found
