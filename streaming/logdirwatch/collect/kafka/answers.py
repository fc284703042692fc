"""The answers of brokers as plain values.

A failed request is an answer too, with its status and error (see :class:`LogDirsAnswer`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from msgspec import structs

from logdirwatch.model.capabilities import CapacitySource
from logdirwatch.model.records import PartitionInfo, Placement
from logdirwatch.model.vocabulary import PollStatus


@dataclass(frozen=True)
class Node:
    """One broker as DescribeCluster lists it; ``is_fenced`` is None if the answering broker does not report it."""

    broker: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool | None = None


@dataclass(frozen=True)
class Topology:
    """The registered brokers, according to one broker's metadata at ``at_ms``."""

    nodes: Mapping[int, Node]
    lists_fenced: bool
    at_ms: int


@dataclass(frozen=True)
class LogDirAnswer:
    """One log directory of one broker; Kafka's -1 is None.

    ``replicas`` is empty if only the capacity was requested. ``capacity_source`` says who else reported its size.
    """

    path: str
    error_code: int
    total_bytes: int | None = None
    usable_bytes: int | None = None
    is_cordoned: bool | None = None
    replicas: tuple[Placement, ...] = ()
    capacity_source: CapacitySource | None = None


@dataclass(frozen=True)
class LogDirsAnswer:
    """A broker's answer to DescribeLogDirs, or why there is none."""

    status: PollStatus
    error: str | None = None
    log_dirs: tuple[LogDirAnswer, ...] = ()


@dataclass(frozen=True)
class Topic:
    """One topic's partitions as DescribeTopicPartitions lists them.

    ``readers`` are consumer groups that committed an offset, the first few by name; None if unknown. ``id`` tells it
    from another topic of its name (KIP-516); a release before 2.8 has none.
    """

    name: str
    is_internal: bool
    partitions: tuple[PartitionInfo, ...]
    readers: tuple[str, ...] | None = None
    id: str | None = None


@dataclass(frozen=True)
class Reassignment:
    """One partition being reassigned, as ListPartitionReassignments lists it."""

    adding: tuple[int, ...]
    removing: tuple[int, ...]


@dataclass(frozen=True)
class Quorum:
    """The controllers' quorum: its leader, and whether each voter has what is committed; None if not reported.

    ``leader_at_ms`` is the leader's own time when it answered.
    """

    leader: int | None
    caught_up: Mapping[int, bool | None]
    leader_at_ms: int | None = None


def with_reassignments(
    topics: Iterable[Topic], reassignments: Mapping[tuple[str, int], Reassignment]
) -> tuple[Topic, ...]:
    """Return the topics with the running reassignment of each partition; none if it is not listed."""
    nothing = Reassignment((), ())

    def told(topic: Topic, partition: PartitionInfo) -> PartitionInfo:
        move = reassignments.get((topic.name, partition.partition), nothing)
        return structs.replace(partition, adding=list(move.adding), removing=list(move.removing))

    return tuple(
        replace(topic, partitions=tuple(told(topic, partition) for partition in topic.partitions)) for topic in topics
    )


@dataclass(frozen=True)
class TopicPage:
    """One page of DescribeTopicPartitions; ``cursor`` is the start of the next one, None at the end."""

    topics: tuple[Topic, ...]
    cursor: tuple[str, int] | None = None


class Groups(NamedTuple):
    """The groups that a broker coordinates: those that commit offsets, and share groups, which have start offsets."""

    committing: tuple[str, ...]
    sharing: tuple[str, ...] = ()


Committed = Mapping[str, Mapping[tuple[str, int], int]]
"""The offsets up to which groups have read, by group and partition; negative: it reads there, from where is unknown."""

Bounds = Mapping[tuple[str, int], tuple[int, int]]
"""The first offset of partitions, and the next one after the last."""


@dataclass(frozen=True)
class Configs:
    """Effective configuration by broker or topic name.

    ``overridden`` are the keys set on the topic or broker itself and not inherited; ``failed`` holds the errors.
    """

    values: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    overridden: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)


def unlisted_topics(log_dirs: Iterable[LogDirAnswer], listed: Iterable[str]) -> list[str]:
    """Return the topics on the disks that are not ``listed``: hidden from the user, or deleted meanwhile."""
    on_disk = {replica.topic for log_dir in log_dirs for replica in log_dir.replicas}
    return sorted(on_disk.difference(listed))


_ACLS = {
    "configs of broker": "DescribeConfigs on the cluster",
    "topic configs": "DescribeConfigs on topics",
    "configs of some topics": "DescribeConfigs on topics",
    "consumer groups": "Describe on groups",
    "reassignments": "Describe on the cluster",
    "quorum": "Describe on the cluster",
    "some topics": "Describe on topics",
    "broker": "Describe on the cluster",
}


def with_acl(what: str, error: str) -> str:
    """Return an error with the missing ACL, if that is its cause; ``what`` is what was requested."""
    acl = next((acl for asked, acl in _ACLS.items() if what.startswith(asked)), None)
    return f"{error}: the user lacks the ACL {acl}" if acl and "AuthorizationFailed" in error else error
