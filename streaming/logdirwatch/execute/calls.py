"""The calls that change a cluster."""

from collections.abc import Mapping
from dataclasses import dataclass

from logdirwatch.execute.seen import Held
from logdirwatch.plan.cluster.layout import TopicPartition


@dataclass(frozen=True)
class ChangeConfig:
    """A call: set one value of an entity, or delete it (None)."""

    entity: str
    name: str
    key: str
    value: str | None


@dataclass(frozen=True)
class PlaceReplicas:
    """A call: AlterReplicaLogDirs. A replica that is not there yet is refused with 9, and born there all the same."""

    paths: Mapping[Held, str]


@dataclass(frozen=True)
class Reassign:
    """A call: AlterPartitionReassignments; None cancels what runs."""

    replicas: Mapping[TopicPartition, tuple[int, ...] | None]


@dataclass(frozen=True)
class ElectLeaders:
    """A call: ElectLeaders, of the preferred replicas and never an unclean one."""

    partitions: tuple[TopicPartition, ...]


Call = ChangeConfig | PlaceReplicas | Reassign | ElectLeaders
