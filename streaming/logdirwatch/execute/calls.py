"""The calls that change a cluster, and the outcomes of deciding a step: calls, a wait, its end, or a person."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from logdirwatch.execute.seen import Held
from logdirwatch.plan.cluster.layout import TopicPartition
from logdirwatch.plan.commands.throttles import Limit


@dataclass(frozen=True)
class ChangeConfig:
    """A call: set one value of an entity, or delete it (None)."""

    entity: str
    name: str
    key: str
    value: str | None


@dataclass(frozen=True)
class PlaceReplicas:
    """A call: AlterReplicaLogDirs.

    For a replica that does not exist yet Kafka answers error 9, and still creates it there later.
    """

    paths: Mapping[Held, str]


@dataclass(frozen=True)
class Reassign:
    """A call: AlterPartitionReassignments; None cancels a running one.

    Unless it ``changes_factor``, the controller refuses it where somebody changed the number of replicas (KIP-860).
    """

    replicas: Mapping[TopicPartition, tuple[int, ...] | None]
    changes_factor: bool = False


@dataclass(frozen=True)
class ElectLeaders:
    """A call: ElectLeaders for preferred replicas, never unclean."""

    partitions: tuple[TopicPartition, ...]


Call = ChangeConfig | PlaceReplicas | Reassign | ElectLeaders


@dataclass(frozen=True)
class Progress:
    """The bytes of a step's copies, and its partitions that have reached their place."""

    copied_bytes: int
    total_bytes: int
    reached: int
    of: int
    running: Mapping[Held, int] = field(default_factory=dict)
    """The bytes of each replica that has not reached its place yet."""

    @property
    def done(self) -> Mapping[object, int]:
        """What only progress raises: a leader that is written to raises none of it."""
        return {**dict[object, int](self.running.items()), None: self.reached}


@dataclass(frozen=True)
class Do:
    """Make these calls in order; ``limits`` are the throttles that they set."""

    calls: tuple[Call, ...]
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True)
class Wait:
    """Observe again later; ``progress`` None: nothing is copied."""

    progress: Progress | None
    why: str | None = None


@dataclass(frozen=True)
class Reached:
    """The step is done; ``told`` are lines for people."""

    told: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stuck:
    """Nothing may be done; a person has to decide. What is not certain has to be seen twice in a row."""

    reason: str
    is_certain: bool = True


Next = Do | Wait | Reached | Stuck


def not_shown(partition: str) -> str:
    """Say that Kafka does not list a partition: it reports those that a user may not describe as unknown."""
    return f"{partition} does not exist any more, or the ACL Describe on its topic is missing"
