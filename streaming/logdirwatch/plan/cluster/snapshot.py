"""The snapshot a plan stands on: one cluster's brokers, directories, replicas and topics as last seen.

Plain values, loaded from the tables by ``cluster.from_tables`` or built by hand: a plan can be tried on any snapshot.
``None`` means that nobody knows.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from logdirwatch.model.vocabulary import BrokerStatus, Cause, LogDirStatus
from logdirwatch.plan.operator_decisions import OperatorDecisions

Key = TypeVar("Key")
Value = TypeVar("Value")

TopicPartition = tuple[str, int]
LogDirId = tuple[int, str]
"""A broker's id and the path of one of its log directories."""


@dataclass(frozen=True, slots=True)
class Broker:
    """One broker; ``configs`` are those that the collector's inventory scan reports.

    ``is_suspect``: an open alert holds something against one of its disks, and does not know which.
    """

    id: int
    status: BrokerStatus
    rack: str | None = None
    is_fenced: bool | None = None
    configs: Mapping[str, str | None] = field(default_factory=dict)
    is_suspect: bool = False

    @property
    def is_alive(self) -> bool:
        """Whether the cluster's metadata lists it: Kafka's tool refuses a reassignment that names any other."""
        return self.status in {BrokerStatus.ONLINE, BrokerStatus.DEGRADED} and self.is_fenced is not True


@dataclass(frozen=True, slots=True)
class LogDir:
    """One log directory. The numbers are those of the last sample that had them, also when it is offline now.

    ``unaccounted_bytes`` are used and explained by no replica: deleted segments not yet gone, files not Kafka's.
    ``is_suspect``: an open alert holds something against its disk. ``is_marked``: the configuration says that no plan
    puts anything there; Kafka knows nothing of it. ``volume``: directories of a broker with one name share its space;
    None where nobody told and no samples that moved together have shown it. ``relief_bytes`` are those that steps under
    way free there before it is full. ``strays`` are replicas that it reported and that the metadata does not assign to
    its broker, by name with their bytes.
    """

    broker: int
    path: str
    status: LogDirStatus
    cause: Cause | None = None
    total_bytes: int | None = None
    usable_bytes: int | None = None
    growth_bytes_per_s: float | None = None
    replica_count: int | None = None
    unaccounted_bytes: int | None = None
    incoming_bytes: int | None = None
    is_cordoned: bool | None = None
    is_metadata_dir: bool | None = None
    sample_at_ms: int | None = None
    state_at_ms: int | None = None
    is_suspect: bool = False
    is_marked: bool = False
    volume: str | None = None
    relief_bytes: int = 0
    strays: Mapping[str, int] | None = None

    @property
    def place(self) -> LogDirId:
        """Where it is."""
        return self.broker, self.path

    @property
    def is_serving(self) -> bool:
        """Whether Kafka is believed to read and write there."""
        return self.status not in {LogDirStatus.OFFLINE, LogDirStatus.UNKNOWN}

    @property
    def used_bytes(self) -> int | None:
        """Bytes that the broker cannot write any more."""
        if self.total_bytes is None or self.usable_bytes is None:
            return None
        return self.total_bytes - self.usable_bytes


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica in one directory; a replica that moves between directories has a second row, the future one.

    ``same_since_ms`` is the scan that first found it where it is and as large as it is.
    """

    broker: int
    log_dir: str
    topic: str
    partition: int
    size_bytes: int | None = None
    is_future: bool = False
    same_since_ms: int | None = None

    @property
    def key(self) -> TopicPartition:
        """Its partition."""
        return self.topic, self.partition

    @property
    def place(self) -> LogDirId:
        """Where it is."""
        return self.broker, self.log_dir


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition; ``replicas`` are in the order of the assignment, the first is the preferred leader.

    ``elr`` and ``last_known_elr`` may lead once nobody is in sync (KIP-966); ``adding`` and ``removing`` are the
    brokers of a running reassignment. ``unread_ratio`` is the share of its offsets that the slowest of ``groups`` has
    still to read. None where nobody told.
    """

    topic: str
    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()
    is_reassigned: bool = False
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    adding: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None
    groups: int | None = None
    slowest_group: str | None = None
    unread_ratio: float | None = None

    @property
    def is_unread_known(self) -> bool:
        """Whether it is known what consumer groups have still to read."""
        return self.groups == 0 or self.unread_ratio is not None

    @property
    def key(self) -> TopicPartition:
        """Its name."""
        return self.topic, self.partition

    @property
    def label(self) -> str:
        """Its name as Kafka's tools print it."""
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic; ``configs`` holds the values in force, ``overridden`` the keys that are set on the topic itself.

    A key that is missing is not known; so is what is overridden where ``overridden`` is None, and what remote storage
    has not got yet where ``remote_copy_lag_bytes`` is (``RemoteCopyLagBytes``, KIP-963).
    """

    name: str
    partitions: tuple[Partition, ...]
    configs: Mapping[str, str | None] = field(default_factory=dict)
    overridden: frozenset[str] | None = None
    is_internal: bool = False
    remote_copy_lag_bytes: int | None = None

    @property
    def is_tiered(self) -> bool:
        """Whether its history lies in remote storage (KIP-405)."""
        return self.configs.get("remote.storage.enable") == "true"

    def number(self, key: str, default: int) -> int:
        """Return a configuration value as a number; ``default`` is Kafka's own."""
        value = self.configs.get(key)
        return default if value is None else int(value)


@dataclass(frozen=True)
class Layout:
    """Topics and replicas of one cluster: what is where. Built once, shared by every view of the snapshot."""

    topics: Mapping[str, Topic]
    replicas: tuple[Replica, ...]

    @cached_property
    def partitions(self) -> dict[TopicPartition, Partition]:
        """Every partition by name."""
        return {partition.key: partition for topic in self.topics.values() for partition in topic.partitions}

    @cached_property
    def uses_elr(self) -> bool:
        """Whether the cluster is seen to use eligible leader replicas; no broker says so while none is needed."""
        return any(partition.elr or partition.last_known_elr for partition in self.partitions.values())

    @cached_property
    def assigned(self) -> tuple[Replica, ...]:
        """The replicas that count: those that the metadata assigns to their broker, strays left out."""
        return tuple(replica for replica in self.replicas if self._is_assigned(replica))

    @cached_property
    def strays_in(self) -> dict[LogDirId, tuple[Replica, ...]]:
        """Every directory's strays: a broker lists them, and the metadata does not assign them to it (KAFKA-13972)."""
        return _grouped((replica.place, replica) for replica in self.replicas if not self._is_assigned(replica))

    def _is_assigned(self, replica: Replica) -> bool:
        """Tell whether the metadata assigns a replica to its broker; where no topic is known nobody can tell."""
        partition = self.partitions.get(replica.key)
        if partition is None:
            return not self.topics
        return replica.broker in partition.replicas or replica.broker in (partition.adding or ())

    @cached_property
    def replicas_in(self) -> dict[LogDirId, tuple[Replica, ...]]:
        """Every directory's replicas, copies in progress (future ones) left out."""
        return _grouped((replica.place, replica) for replica in self.assigned if not replica.is_future)

    @cached_property
    def replicas_of(self) -> dict[TopicPartition, tuple[Replica, ...]]:
        """Every partition's replicas, copies in progress left out."""
        return _grouped((replica.key, replica) for replica in self.assigned if not replica.is_future)

    @cached_property
    def copies_of(self) -> dict[TopicPartition, tuple[Replica, ...]]:
        """Every partition's copies in progress between directories of one broker."""
        return _grouped((replica.key, replica) for replica in self.assigned if replica.is_future)

    @cached_property
    def reassigned(self) -> tuple[str, ...]:
        """Partitions with a reassignment under way, as Kafka's tools print them."""
        return tuple(sorted(partition.label for partition in self.partitions.values() if partition.is_reassigned))

    @cached_property
    def moving(self) -> frozenset[TopicPartition]:
        """Partitions with a replica on its way to another directory of its broker, or to another broker."""
        named = {key for key, partition in self.partitions.items() if partition.is_reassigned}
        return frozenset(named | {replica.key for replica in self.assigned if replica.is_future})

    @cached_property
    def catching_up(self) -> tuple[tuple[LogDirId, int], ...]:
        """Where copies run, with the bytes that they have still to write: future replicas, and those out of sync."""
        found = []
        for replica in self.assigned:
            partition = self.partitions.get(replica.key)
            if replica.is_future or (partition is not None and replica.broker not in partition.isr):
                missing = (self.size_of(replica.key) or 0) - (replica.size_bytes or 0)
                found.append((replica.place, max(0, missing)))
        return tuple(found)

    def size_of(self, key: TopicPartition) -> int | None:
        """Return how many bytes a full copy of a partition takes: the leader's replica, else the largest known."""
        sizes = {r.broker: r.size_bytes for r in self.replicas_of.get(key, ()) if r.size_bytes is not None}
        leader = self.partitions[key].leader if key in self.partitions else None
        return sizes[leader] if leader in sizes else max(sizes.values(), default=None)

    def topic_bytes(self, place: LogDirId, topic: str) -> int:
        """Return the bytes of a topic in a directory, copies in progress left out."""
        return sum(replica.size_bytes or 0 for replica in self.replicas_in.get(place, ()) if replica.topic == topic)


@dataclass(frozen=True)
class ClusterSnapshot:
    """One cluster, with the times of the newest state and of the last complete inventory that it comes from.

    ``reserved`` are the bytes that open actions of other alerts will write to a directory, ``claimed`` the partitions
    that they reassign, ``cutting`` the topics whose retention is being lowered: taken up, the bytes not gone yet;
    ``cordoning`` says of directories whether they will be cordoned. ``decisions`` are about the alert's own actions.
    ``growth`` is how fast replicas grew between two inventories, in bytes per second; what is not in it is not known.
    ``copied_bytes_per_s`` is by destination how fast copies were seen to come.
    """

    cluster: str
    brokers: Mapping[int, Broker]
    directories: Mapping[LogDirId, LogDir]
    layout: Layout
    state_at_ms: int | None
    inventory_at_ms: int | None
    reserved: Mapping[LogDirId, int] = field(default_factory=dict)
    claimed: frozenset[TopicPartition] = frozenset()
    cutting: frozenset[str] = frozenset()
    cordoning: Mapping[LogDirId, bool] = field(default_factory=dict)
    decisions: OperatorDecisions = field(default_factory=OperatorDecisions)
    metadata_version: str | None = None
    growth: Mapping[tuple[LogDirId, TopicPartition], float] = field(default_factory=dict)
    copied_bytes_per_s: Mapping[LogDirId, float] = field(default_factory=dict)

    @property
    def based_on(self) -> dict[str, int | None]:
        """How old the snapshot is, as an action carries it."""
        return {"state_at_ms": self.state_at_ms, "inventory_at_ms": self.inventory_at_ms}

    @property
    def topics(self) -> Mapping[str, Topic]:
        """Every topic by name."""
        return self.layout.topics

    @property
    def partitions(self) -> dict[TopicPartition, Partition]:
        """Every partition by name."""
        return self.layout.partitions

    @cached_property
    def directories_of(self) -> dict[int, tuple[LogDir, ...]]:
        """Every broker's directories."""
        return _grouped((directory.broker, directory) for directory in self.directories.values())

    def is_alive(self, broker: int) -> bool:
        """Whether a broker is known and alive."""
        return broker in self.brokers and self.brokers[broker].is_alive

    def is_gone(self, broker: int) -> bool:
        """Whether a broker is known to be away; one that only does not answer may still run, and copy."""
        return broker not in self.brokers or self.brokers[broker].status is BrokerStatus.OFFLINE

    def all_serving(self, broker: int) -> bool:
        """Whether every directory of a broker serves; a broker without known directories is not known to."""
        directories = self.directories_of.get(broker, ())
        return bool(directories) and all(directory.is_serving for directory in directories)

    def strays_in(self, place: LogDirId) -> dict[str, int]:
        """Return the strays of a directory by name with their bytes: those listed here, else those that it reported."""
        listed = self.layout.strays_in.get(place, ())
        if listed:
            return {f"{replica.topic}-{replica.partition}": replica.size_bytes or 0 for replica in listed}
        directory = self.directories.get(place)
        return {} if directory is None else dict(directory.strays or ())

    def replicas_in(self, place: LogDirId) -> tuple[Replica, ...]:
        """Return a directory's replicas, copies in progress left out."""
        return self.layout.replicas_in.get(place, ())

    def replicas_of(self, key: TopicPartition) -> tuple[Replica, ...]:
        """Return a partition's replicas, copies in progress left out."""
        return self.layout.replicas_of.get(key, ())

    def growth_of(self, replica: Replica) -> float | None:
        """Return how fast a replica grew lately, in bytes per second; None where nobody knows."""
        return self.growth.get((replica.place, replica.key))


def _grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, tuple[Value, ...]]:
    groups: defaultdict[Key, list[Value]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return {key: tuple(values) for key, values in groups.items()}
