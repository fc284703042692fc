"""Topics and replicas of one cluster, and where the replicas are."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from logdirwatch.model.vocabulary import COPY_THREADS, LOG_DIR_THROTTLE, REPLICATION_THROTTLES

Key = TypeVar("Key")
Value = TypeVar("Value")
TopicPartition = tuple[str, int]
LogDirId = tuple[int, str]
"""A broker's id and the path of one of its log directories."""


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica in one directory; one that moves between directories has a second row, the future replica."""

    broker: int
    log_dir: str
    topic: str
    partition: int
    size_bytes: int | None = None
    is_future: bool = False

    @property
    def key(self) -> TopicPartition:
        """Topic and partition."""
        return self.topic, self.partition

    @property
    def place(self) -> LogDirId:
        """Where it is."""
        return self.broker, self.log_dir


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition; ``replicas`` are in the order of the assignment, the first is the preferred leader.

    ``elr`` and ``last_known_elr`` may lead when no replica is in sync (KIP-966); ``adding`` and ``removing`` are the
    brokers of a running reassignment. ``unread_ratio`` is the share of its offsets that the slowest of ``groups`` has
    not read yet. None: unknown.
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

    @classmethod
    def of(cls, topic: str, told: Callable[[str], Any]) -> "Partition":
        """Return a partition of what is told of it by field; of the changing lists None is unknown."""
        names = ("partition", "leader", "groups", "slowest_group", "unread_ratio")
        found: dict[str, Any] = {name: told(name) for name in names}
        found |= {name: tuple(told(name) or ()) for name in ("replicas", "isr", "offline_replicas")}
        for name in ("elr", "last_known_elr", "adding", "removing"):
            found[name] = None if told(name) is None else tuple(told(name))
        return cls(topic=topic, is_reassigned=bool(found["adding"] or found["removing"]), **found)

    @property
    def is_unread_known(self) -> bool:
        """Whether it is known what consumer groups have not read yet."""
        return self.groups == 0 or self.unread_ratio is not None

    @property
    def key(self) -> TopicPartition:
        """Topic and partition."""
        return self.topic, self.partition

    @property
    def label(self) -> str:
        """Its name as Kafka's tools print it."""
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic; ``configs`` are the effective values, ``overridden`` the keys set on the topic itself.

    A missing key is unknown, and so are all overrides if ``overridden`` is None. ``remote_copy_lag_bytes`` are the
    bytes that remote storage lacks (``RemoteCopyLagBytes``, KIP-963); None: unknown. ``id`` tells it from another topic
    of its name (KIP-516).
    """

    name: str
    partitions: tuple[Partition, ...]
    configs: Mapping[str, str | None] = field(default_factory=dict)
    overridden: frozenset[str] | None = None
    is_internal: bool = False
    remote_copy_lag_bytes: int | None = None
    id: str | None = None

    @property
    def is_tiered(self) -> bool:
        """Whether remote storage is enabled for it (KIP-405)."""
        return self.configs.get("remote.storage.enable") == "true"

    @property
    def is_compacted(self) -> bool:
        """Whether the log cleaner keeps the last value of every key, unless something else deletes it."""
        return "compact" in (self.configs.get("cleanup.policy") or "").split(",")

    @property
    def has_known_readers(self) -> bool:
        """Whether groups commit their offsets for it, and those of every partition are known."""
        partitions = self.partitions
        return all(one.is_unread_known for one in partitions) and any(one.groups for one in partitions)

    def with_copy_lag(self, lags: Mapping[int, int | None]) -> "Topic":
        """Return it with an upper bound of the bytes that remote storage lacks, from the brokers' lags.

        Leaders copy (KIP-405), and a broker reports all topics together: at worst all of it belongs to this topic. The
        lag of one leader that is not known leaves it unknown.
        """
        if not self.is_tiered:
            return self
        known = [None if leader is None else lags.get(leader) for leader in {p.leader for p in self.partitions}]
        told = [lag for lag in known if lag is not None]
        return replace(self, remote_copy_lag_bytes=sum(told)) if told and len(told) == len(known) else self

    def number(self, key: str, default: int) -> int:
        """Return a configuration value as a number; ``default`` is Kafka's default."""
        value = self.configs.get(key)
        return default if value is None else int(value)


@dataclass(frozen=True)
class Layout:
    """Topics and replicas of one cluster. Built once, shared by every view of the snapshot."""

    topics: Mapping[str, Topic]
    replicas: tuple[Replica, ...]

    @cached_property
    def partitions(self) -> dict[TopicPartition, Partition]:
        """Every partition by topic and number."""
        return {partition.key: partition for topic in self.topics.values() for partition in topic.partitions}

    @cached_property
    def uses_elr(self) -> bool:
        """Whether the cluster is seen to use eligible leader replicas; brokers report none until one is needed."""
        return any(partition.elr or partition.last_known_elr for partition in self.partitions.values())

    @cached_property
    def assigned(self) -> tuple[Replica, ...]:
        """The replicas that the metadata assigns to their broker, without strays."""
        return tuple(replica for replica in self.replicas if self._is_assigned(replica))

    @cached_property
    def strays_in(self) -> dict[LogDirId, tuple[Replica, ...]]:
        """By directory: strays, which a broker lists and the metadata does not assign to it (KAFKA-13972)."""
        return grouped((replica.place, replica) for replica in self.replicas if not self._is_assigned(replica))

    def _is_assigned(self, replica: Replica) -> bool:
        """Tell whether the metadata assigns a replica to its broker; True if no topic is known."""
        partition = self.partitions.get(replica.key)
        if partition is None:
            return not self.topics
        return replica.broker in partition.replicas or replica.broker in (partition.adding or ())

    @cached_property
    def replicas_in(self) -> dict[LogDirId, tuple[Replica, ...]]:
        """By directory: its replicas, without copies in progress (future replicas)."""
        return grouped((replica.place, replica) for replica in self.assigned if not replica.is_future)

    @cached_property
    def replicas_of(self) -> dict[TopicPartition, tuple[Replica, ...]]:
        """By partition: its replicas, without copies in progress."""
        return grouped((replica.key, replica) for replica in self.assigned if not replica.is_future)

    @cached_property
    def copies_of(self) -> dict[TopicPartition, tuple[Replica, ...]]:
        """By partition: its copies in progress between directories of one broker."""
        return grouped((replica.key, replica) for replica in self.assigned if replica.is_future)

    @cached_property
    def reassigned(self) -> tuple[str, ...]:
        """Partitions with a running reassignment, as Kafka's tools print them."""
        return tuple(sorted(partition.label for partition in self.partitions.values() if partition.is_reassigned))

    @cached_property
    def moving(self) -> frozenset[TopicPartition]:
        """Partitions with a replica on its way to another directory of its broker, or to another broker."""
        named = {key for key, partition in self.partitions.items() if partition.is_reassigned}
        return frozenset(named | {replica.key for replica in self.assigned if replica.is_future})

    @cached_property
    def catching_up(self) -> tuple[tuple[LogDirId, int], ...]:
        """The directories with running copies and the bytes still to be written: future and out-of-sync replicas."""
        found = []
        for replica in self.assigned:
            partition = self.partitions.get(replica.key)
            if replica.is_future or (partition is not None and replica.broker not in partition.isr):
                missing = (self.size_of(replica.key) or 0) - (replica.size_bytes or 0)
                found.append((replica.place, max(0, missing)))
        return tuple(found)

    def size_of(self, key: TopicPartition) -> int | None:
        """Return the bytes of a full copy of a partition: the leader's replica, else the largest known."""
        sizes = {r.broker: r.size_bytes for r in self.replicas_of.get(key, ()) if r.size_bytes is not None}
        leader = self.partitions[key].leader if key in self.partitions else None
        return sizes[leader] if leader in sizes else max(sizes.values(), default=None)

    def topic_bytes(self, place: LogDirId, topic: str) -> int:
        """Return the bytes of a topic in a directory, without copies in progress."""
        return sum(replica.size_bytes or 0 for replica in self.replicas_in.get(place, ()) if replica.topic == topic)


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, tuple[Value, ...]]:
    """Return values grouped by their key, in their order."""
    groups: defaultdict[Key, list[Value]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return {key: tuple(values) for key, values in groups.items()}


MOST_MS = 100 * 365 * 86_400_000
"""A time beyond a century counts as never."""


@dataclass(frozen=True, slots=True)
class Ramp:
    """Growth in bytes per second, until ``until_ms`` from now, of a ``topic`` where one is known.

    ``deleted_bytes_per_s`` is what it is written beyond that, and deleted meanwhile.
    """

    bytes_per_s: float
    until_ms: int
    topic: str = ""
    deleted_bytes_per_s: float = 0.0

    def shared(self, share: float) -> "Ramp":
        """Return it with only a share of its growth left by deletion."""
        kept = self.bytes_per_s * share
        return replace(self, bytes_per_s=kept, deleted_bytes_per_s=self.bytes_per_s - kept)


def grown_bytes(growth_bytes_per_s: float, ramps: Iterable[Ramp], within_ms: int) -> float:
    """Return the bytes that steady growth and ramps add within a time."""
    ending = sum(ramp.bytes_per_s * min(ramp.until_ms, within_ms) for ramp in ramps)
    return (growth_bytes_per_s * within_ms + ending) / 1000


def full_in_ms(left_bytes: float, growth_bytes_per_s: float, ramps: Iterable[Ramp] = ()) -> int | None:
    """Return when ``left_bytes`` are used up, at steady growth plus that of each ramp while it lasts.

    None: never. Negative growth never fills a directory.
    """
    left, at_ms = float(left_bytes), 0
    open_ramps = sorted(ramps, key=lambda ramp: ramp.until_ms)
    while left > 0:
        rate = growth_bytes_per_s + sum(ramp.bytes_per_s for ramp in open_ramps)
        ends_ms = open_ramps[0].until_ms if open_ramps else MOST_MS
        lasts_ms = left * 1000 / rate if rate > 0 else float("inf")
        if at_ms + lasts_ms <= ends_ms:
            return int(at_ms + lasts_ms)
        if not open_ramps:
            return None
        left -= rate * (ends_ms - at_ms) / 1000
        at_ms = ends_ms
        open_ramps.pop(0)
    return at_ms


NUMBERS = frozenset(
    {
        "retention.ms",
        "retention.bytes",
        "local.retention.ms",
        "local.retention.bytes",
        "remote.copy.lag.ms",
        "remote.copy.lag.bytes",
        "segment.bytes",
        "min.insync.replicas",
        "file.delete.delay.ms",
        "log.segment.delete.delay.ms",
        "log.retention.check.interval.ms",
        COPY_THREADS,
        LOG_DIR_THROTTLE,
        *REPLICATION_THROTTLES,
    }
)
"""The keys that the planner reads as numbers."""
_NUMBER = re.compile(r"-?[0-9]{1,19}")


def known(configs: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the values that are valid for their key."""
    return {key: value for key, value in configs.items() if key not in NUMBERS or value is None or is_number(value)}


def is_number(text: str) -> bool:
    """Tell whether a text is a number in ASCII digits that Kafka itself could hold."""
    return _NUMBER.fullmatch(text) is not None
