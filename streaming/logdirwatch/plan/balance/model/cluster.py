"""A cluster at one moment as numpy arrays, which the planner of whole clusters works on."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from logdirwatch.plan.capacity.timing import DELETE_DELAY_MS

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Ratios = npt.NDArray[np.float64]


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
    other_bytes: Numbers | None = None
    """By directory: bytes there, or on their way there, besides the replicas; None: none."""
    growing_bytes: Numbers | None = None
    """By directory: bytes by which it grows by itself, which no replica may take; None: none."""
    is_closed: Flags | None = None
    """By directory: whether it takes no part, so that nothing is moved there; None: all take part."""
    is_held: Flags | None = None
    """By replica: whether it must stay where it is; None: none must."""
    is_lagging: Flags | None = None
    """By replica: whether it is out of sync; None: none is."""
    delete_delay_ms: int = DELETE_DELAY_MS
    """How long the files of a replica that has moved away stay."""

    @cached_property
    def is_open(self) -> Flags:
        """By directory: whether it takes part."""
        return np.ones(len(self.capacity_bytes), dtype=np.bool_) if self.is_closed is None else ~self.is_closed

    @cached_property
    def is_free(self) -> Flags:
        """By replica: whether nothing requires it to stay where it is."""
        return np.ones(len(self.replica_bytes), dtype=np.bool_) if self.is_held is None else ~self.is_held

    @cached_property
    def replicas_bytes(self) -> Numbers:
        """By directory: the sum of its replicas."""
        return sums(self.replica_directory, self.replica_bytes, len(self.capacity_bytes))

    @cached_property
    def used_bytes(self) -> Numbers:
        """By directory: its replicas and everything else in it."""
        return self.replicas_bytes if self.other_bytes is None else self.replicas_bytes + self.other_bytes

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
        in_sync = np.ones(len(self.replica_bytes), dtype=np.bool_) if self.is_lagging is None else ~self.is_lagging
        count = sums(self.replica_partition, in_sync.astype(np.int64), len(self.partition_topic))
        found: Flags = in_sync & (count[self.replica_partition] == 1)
        return found

    def limits_bytes(self, ratio: float) -> Numbers:
        """Return by directory the bytes that it may hold at any moment: what it does now, or fills it to ``ratio``."""
        most = (ratio * self.capacity_bytes).astype(np.int64)
        return np.maximum(most if self.growing_bytes is None else most - self.growing_bytes, self.used_bytes)

    def replicas_of(self, partition: int) -> list[int]:
        """Return a partition's replicas in the order of preference."""
        start, end = self.partition_starts[partition], self.partition_starts[partition + 1]
        return [int(replica) for replica in self.by_partition[start:end]]

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
