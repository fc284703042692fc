"""A cluster at one moment as numpy arrays, which the planner of whole clusters works on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from logdirwatch.plan.capacity.timing import DELETE_DELAY_MS
from logdirwatch.plan.cluster.layout import LogDirId, TopicPartition

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Ratios = npt.NDArray[np.float64]


class Placed(NamedTuple):
    """One replica of a model: its partition, its directory and size, and whether it leads."""

    key: TopicPartition
    place: LogDirId
    size_bytes: int
    leads: bool


@dataclass(frozen=True, eq=False)
class ClusterModel:
    """Brokers, their directories and the replicas in them, each identified by its index in these arrays.

    Replicas are in the order in which they were read, which is the order of preference within a partition.
    """

    broker_ids: Numbers
    """By broker, ascending."""
    racks: tuple[str, ...]
    """The racks' names; the empty one stands for brokers without a rack."""
    broker_rack: Numbers
    """By broker: its rack."""
    directory_paths: tuple[str, ...]
    """By directory; directories are sorted by broker and path."""
    directory_broker: Numbers
    """By directory: its broker."""
    capacity_bytes: Numbers
    """By directory, positive."""
    topics: tuple[str, ...]
    """The topics' names."""
    partition_topic: Numbers
    """By partition: its topic."""
    partition_numbers: Numbers
    """By partition: its number within the topic."""
    replica_partition: Numbers
    """By replica: its partition."""
    replica_directory: Numbers
    """By replica: its directory."""
    replica_bytes: Numbers
    """By replica: its size."""
    is_leader: Flags
    """By replica: whether it leads its partition now."""
    other_bytes: Numbers
    """By directory: bytes there, or on their way there, besides the replicas."""
    growing_bytes: Numbers
    """By directory: bytes by which it grows by itself, which no replica may take."""
    is_open: Flags
    """By directory: whether it takes part, so that something may be moved there."""
    is_free: Flags
    """By replica: whether nothing requires it to stay where it is."""
    is_in_sync: Flags
    """By replica: whether it is in sync."""
    delete_delay_ms: int = DELETE_DELAY_MS
    """How long the files of a replica that has moved away stay."""

    @classmethod
    def of(
        cls, racks: Mapping[int, str], capacity: Mapping[LogDirId, int], replicas: Sequence[Placed], **more: Any
    ) -> "ClusterModel":
        """Return the model of brokers with their racks, of directories with their sizes, and of replicas.

        ``more`` are fields; by default nothing else is in the directories, all take part, and every replica is in sync
        and may move.
        """
        brokers, names, places = sorted(racks), sorted(set(racks.values())), sorted(capacity)
        topics = sorted({topic for (topic, _), *_ in replicas})
        partitions = sorted({key for key, *_ in replicas})
        broker_of, topic_of = ({name: at for at, name in enumerate(found)} for found in (brokers, topics))
        place_of, partition_of = ({name: at for at, name in enumerate(found)} for found in (places, partitions))
        everywhere, every = np.ones(len(places), dtype=np.bool_), np.ones(len(replicas), dtype=np.bool_)
        fields = {
            "other_bytes": np.zeros(len(places), dtype=np.int64),
            "growing_bytes": np.zeros(len(places), dtype=np.int64),
            "is_open": everywhere,
            "is_free": every,
            "is_in_sync": every,
        }
        return cls(
            broker_ids=numbers(brokers),
            racks=tuple(names),
            broker_rack=numbers(names.index(racks[broker]) for broker in brokers),
            directory_paths=tuple(path for _, path in places),
            directory_broker=numbers(broker_of[broker] for broker, _ in places),
            capacity_bytes=numbers(capacity[place] for place in places),
            topics=tuple(topics),
            partition_topic=numbers(topic_of[topic] for topic, _ in partitions),
            partition_numbers=numbers(number for _, number in partitions),
            replica_partition=numbers(partition_of[one.key] for one in replicas),
            replica_directory=numbers(place_of[one.place] for one in replicas),
            replica_bytes=numbers(one.size_bytes for one in replicas),
            is_leader=flags(one.leads for one in replicas),
            **{**fields, **more},
        )

    @cached_property
    def replicas_bytes(self) -> Numbers:
        """By directory: the sum of its replicas."""
        return sums(self.replica_directory, self.replica_bytes, len(self.capacity_bytes))

    @cached_property
    def used_bytes(self) -> Numbers:
        """By directory: its replicas and everything else in it."""
        return self.replicas_bytes + self.other_bytes

    @cached_property
    def used_ratios(self) -> Ratios:
        """By directory: its fill ratio."""
        return self.used_bytes / self.capacity_bytes

    @cached_property
    def broker_used_bytes(self) -> Numbers:
        """By broker: the bytes in those of its directories that take part."""
        return sums(self.directory_broker, self.used_bytes * self.is_open, len(self.broker_ids))

    @cached_property
    def broker_capacity_bytes(self) -> Numbers:
        """By broker: the capacity of those of its directories that take part."""
        return sums(self.directory_broker, self.capacity_bytes * self.is_open, len(self.broker_ids))

    @cached_property
    def broker_ratios(self) -> Ratios:
        """By broker: the fill ratio of these directories together; 0 if none takes part."""
        return self.broker_used_bytes / np.maximum(1, self.broker_capacity_bytes)

    @cached_property
    def mean_ratio(self) -> float:
        """The fill ratio of all directories that take part."""
        capacity = self.broker_capacity_bytes.sum(dtype=np.float64)
        return float(self.broker_used_bytes.sum(dtype=np.float64) / capacity) if capacity else 0.0

    @cached_property
    def replica_broker(self) -> Numbers:
        """By replica: the broker it is on."""
        return self.directory_broker[self.replica_directory]

    @cached_property
    def by_partition(self) -> Numbers:
        """The replicas sorted by partition, those of one partition in the order of preference."""
        return np.argsort(self.replica_partition, kind="stable")

    @cached_property
    def partition_starts(self) -> Numbers:
        """By partition, and one more: where its replicas begin in :attr:`by_partition`."""
        return np.searchsorted(self.replica_partition[self.by_partition], np.arange(len(self.partition_topic) + 1))

    @cached_property
    def is_preferred(self) -> Flags:
        """By replica: whether it is the first of its partition."""
        found = np.zeros(len(self.replica_bytes), dtype=np.bool_)
        found[self.by_partition[self.partition_starts[:-1]]] = True
        return found

    @cached_property
    def is_last(self) -> Flags:
        """By replica: whether no other one of its partition is in sync."""
        count = sums(self.replica_partition, self.is_in_sync.astype(np.int64), len(self.partition_topic))
        found: Flags = self.is_in_sync & (count[self.replica_partition] == 1)
        return found

    def limits_bytes(self, ratio: float) -> Numbers:
        """Return by directory the bytes that it may hold at any moment: what it does now, or fills it to ``ratio``."""
        most = (ratio * self.capacity_bytes).astype(np.int64)
        found: Numbers = np.maximum(most - self.growing_bytes, self.used_bytes)
        return found

    def replicas_of(self, partition: int) -> list[int]:
        """Return a partition's replicas in the order of preference."""
        start, end = self.partition_starts[partition], self.partition_starts[partition + 1]
        found: list[int] = self.by_partition[start:end].tolist()
        return found

    def partition_name(self, partition: int) -> tuple[str, int]:
        """Return a partition's topic and number."""
        return self.topics[self.partition_topic[partition]], int(self.partition_numbers[partition])

    def directory_name(self, directory: int) -> tuple[int, str]:
        """Return a directory's broker id and path."""
        return int(self.broker_ids[self.directory_broker[directory]]), self.directory_paths[directory]

    def moved(self, replica_directory: Numbers) -> "ClusterModel":
        """Return the same cluster with its replicas in other directories."""
        return replace(self, replica_directory=replica_directory)


def sums(owners: Numbers, amounts: Numbers, count: int) -> Numbers:
    """Return the sum of ``amounts`` by owner; exact, unlike ``np.bincount`` with weights."""
    found = np.zeros(count, dtype=np.int64)
    np.add.at(found, owners, amounts)
    return found


def by_owner(owners: Numbers, count: int) -> list[Numbers]:
    """Return for each of ``count`` owners what it owns, in order."""
    order = np.argsort(owners, kind="stable")
    return np.split(order, np.searchsorted(owners[order], np.arange(1, count)))


def numbers(values: Iterable[int]) -> Numbers:
    """Return whole numbers as an array."""
    return np.array(list(values), dtype=np.int64)


def flags(values: Iterable[bool]) -> Flags:
    """Return truth values as an array."""
    return np.array(list(values), dtype=np.bool_)
