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
