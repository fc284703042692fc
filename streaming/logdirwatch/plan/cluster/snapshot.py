"""The snapshot that a plan is based on: one cluster's brokers, directories, replicas and topics as last seen.

Plain values, loaded from the tables by ``cluster.from_tables`` or built by hand, so that a plan can be tried on any
snapshot. ``None`` means unknown.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from logdirwatch.model.vocabulary import BrokerStatus, Cause, LogDirStatus, MetadataMode
from logdirwatch.plan.cluster.layout import Layout, LogDirId, Partition, Ramp, Replica, Topic, TopicPartition, grouped
from logdirwatch.plan.operator_decisions import OperatorDecisions
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.settings import PlanSettings
from logdirwatch.text.units import human_ms


@dataclass(frozen=True, slots=True)
class Broker:
    """One broker; ``configs`` are those that the collector's inventory scan reports.

    ``is_suspect``: an open alert suspects one of its disks, and does not know which.
    """

    id: int
    status: BrokerStatus
    rack: str | None = None
    is_fenced: bool | None = None
    configs: Mapping[str, str | None] = field(default_factory=dict)
    is_suspect: bool = False
    metadata_mode: MetadataMode | None = None
    maintenance_until_ms: int | None = None

    @property
    def is_alive(self) -> bool:
        """Whether the cluster's metadata lists it: Kafka's tool refuses a reassignment that names any other."""
        return self.status in {BrokerStatus.ONLINE, BrokerStatus.DEGRADED} and self.is_fenced is not True

    @property
    def is_zookeeper(self) -> bool:
        """Whether it is known to keep its metadata in ZooKeeper: no metadata log, and no directory to format.

        During a migration brokers differ, and each shows it by its roles; the oldest releases have no such setting.
        """
        return self.metadata_mode is MetadataMode.ZOOKEEPER or self.configs.get("process.roles") == ""


@dataclass(frozen=True, slots=True)
class LogDir:
    """One log directory, with the numbers of its last sample that had them, even if it is offline now.

    ``unaccounted_bytes`` are used bytes that no replica explains: deleted segments not yet removed, files that are not
    Kafka's. ``is_suspect``: an open alert suspects its disk. ``is_marked``: the configuration excludes it as a
    destination, which Kafka does not know. ``volume``: directories of a broker with the same name share its space; None
    if it was not reported and no samples have shown it. ``relief_bytes`` are those that running steps free there before
    it is full. ``strays`` are replicas that it reported and that the metadata does not assign to its broker: bytes by
    name. ``growth_bytes_per_s`` is the growth of this moment, between two deletions the rate of writes;
    ``lasting_growth_bytes_per_s`` and ``full_at_ms`` are the outlook of ``detect``, the first unknown until the
    directory was watched for some hours. ``ramps`` are the part of that growth that retention is about to end.
    ``keeps_growing``: what of the broker does not delete, as the evidence of an alert names it.
    """

    broker: int
    path: str
    status: LogDirStatus
    cause: Cause | None = None
    total_bytes: int | None = None
    usable_bytes: int | None = None
    growth_bytes_per_s: float | None = None
    lasting_growth_bytes_per_s: float | None = None
    full_at_ms: int | None = None
    ramps: tuple[Ramp, ...] = ()
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
    keeps_growing: frozenset[str] = frozenset()

    @property
    def place(self) -> LogDirId:
        """Where it is."""
        return self.broker, self.path

    @property
    def outlook_bytes_per_s(self) -> float | None:
        """The growth that decides when it is full; that of the moment, until more is known."""
        known = self.lasting_growth_bytes_per_s
        return self.growth_bytes_per_s if known is None else known

    @property
    def endless_bytes_per_s(self) -> float:
        """The growth that nothing is known to end."""
        return max(0.0, (self.outlook_bytes_per_s or 0.0) - sum(ramp.bytes_per_s for ramp in self.ramps))

    @property
    def is_serving(self) -> bool:
        """Whether Kafka is believed to read and write there."""
        return self.status not in {LogDirStatus.OFFLINE, LogDirStatus.UNKNOWN}

    @property
    def is_urgent(self) -> bool:
        """Whether a sacrifice is justified to win time: the reserve file, the producers' rate, records."""
        return self.status in {LogDirStatus.CRITICAL, LogDirStatus.SATURATED}

    @property
    def used_bytes(self) -> int | None:
        """Bytes that are not available to the broker."""
        if self.total_bytes is None or self.usable_bytes is None:
            return None
        return self.total_bytes - self.usable_bytes

    @property
    def used_ratio(self) -> float:
        """The share of them, to compare directories by; 0 if unknown."""
        return (self.used_bytes or 0) / (self.total_bytes or 1)


@dataclass(frozen=True)
class ClusterSnapshot:
    """One cluster, with the times of its newest state and of the last complete inventory.

    ``reserved`` are the bytes that open actions of other alerts will write to a directory, ``claimed`` the partitions
    that they reassign, and ``cutting`` the topics whose retention cut was accepted and has not freed its bytes yet;
    ``set_aside`` are the partitions that another action of the same plan takes, or that this one leaves for later;
    ``cordoning`` says whether directories will be cordoned, ``own_cordons`` which ones an accepted action cordoned
    because they were filling, ``stopping`` which brokers an accepted one takes away for a while, ``may_stop`` those
    that a proposed one would. ``decisions`` are about the alert's own actions. ``growth`` is the growth of replicas
    between two inventories, in bytes per second; replicas not in it are unknown. ``copied_bytes_per_s`` is the observed
    copy rate by destination.
    """

    cluster: str
    brokers: Mapping[int, Broker]
    directories: Mapping[LogDirId, LogDir]
    layout: Layout
    state_at_ms: int | None
    inventory_at_ms: int | None
    reserved: Mapping[LogDirId, int] = field(default_factory=dict)
    claimed: frozenset[TopicPartition] = frozenset()
    set_aside: frozenset[TopicPartition] = frozenset()
    cutting: frozenset[str] = frozenset()
    cordoning: Mapping[LogDirId, bool] = field(default_factory=dict)
    own_cordons: frozenset[LogDirId] = frozenset()
    stopping: frozenset[int] = frozenset()
    may_stop: frozenset[int] = frozenset()
    decisions: OperatorDecisions = field(default_factory=OperatorDecisions)
    metadata_version: str | None = None
    growth: Mapping[tuple[LogDirId, TopicPartition], float] = field(default_factory=dict)
    copied_bytes_per_s: Mapping[LogDirId, float] = field(default_factory=dict)

    @property
    def based_on(self) -> dict[str, int | None]:
        """The age of the snapshot, as an action carries it."""
        return {"state_at_ms": self.state_at_ms, "inventory_at_ms": self.inventory_at_ms}

    @property
    def topics(self) -> Mapping[str, Topic]:
        """Every topic by name."""
        return self.layout.topics

    @property
    def partitions(self) -> dict[TopicPartition, Partition]:
        """Every partition by topic and number."""
        return self.layout.partitions

    @cached_property
    def directories_of(self) -> dict[int, tuple[LogDir, ...]]:
        """Every broker's directories."""
        return grouped((directory.broker, directory) for directory in self.directories.values())

    def with_directories(self, changed: Iterable[LogDir]) -> "ClusterSnapshot":
        """Return it with some directories as they are to be, or more of them."""
        return replace(self, directories={**self.directories, **{one.place: one for one in changed}})

    def without(self, keys: Iterable[TopicPartition]) -> "ClusterSnapshot":
        """Return it for an action that leaves these partitions alone: they are no reason why it does not do more."""
        return replace(self, set_aside=self.set_aside.union(keys))

    def leaves_alone(self, topic: Topic) -> bool:
        """Whether any partition of a topic is set aside."""
        return not self.set_aside.isdisjoint(partition.key for partition in topic.partitions)

    def is_alive(self, broker: int) -> bool:
        """Whether a broker is known and alive."""
        return broker in self.brokers and self.brokers[broker].is_alive

    def is_leaving(self, broker: int) -> bool:
        """Whether a living broker is about to be stopped for a while: by an action, or in its planned maintenance."""
        return self.is_in_maintenance(broker) or broker in self.stopping | self.may_stop

    def is_in_maintenance(self, broker: int) -> bool:
        """Whether somebody planned that a broker is stopped now, and comes back."""
        return broker in self.brokers and self.brokers[broker].maintenance_until_ms is not None

    def rack_of(self, broker: int) -> str | None:
        """Return the rack of a broker; None if it has none, or is not known."""
        return self.brokers[broker].rack if broker in self.brokers else None

    def is_zookeeper(self, broker: int) -> bool:
        """Whether a broker is known to keep its metadata in ZooKeeper."""
        return broker in self.brokers and self.brokers[broker].is_zookeeper

    @property
    def has_zookeeper(self) -> bool:
        """Whether the cluster is known to keep its metadata in ZooKeeper; one under migration has a quorum."""
        modes = {broker.metadata_mode for broker in self.brokers.values()}
        is_kraft = bool(modes & {MetadataMode.KRAFT, MetadataMode.MIGRATING})
        return not is_kraft and any(broker.is_zookeeper for broker in self.brokers.values())

    def is_gone(self, broker: int) -> bool:
        """Whether a broker is known to be down; one that only does not answer may still run, and copy."""
        return broker not in self.brokers or self.brokers[broker].status is BrokerStatus.OFFLINE

    def listed_dirs(self, broker: int) -> list[str]:
        """Return the log directories as the broker's configuration spells them; empty if unknown."""
        configs = self.configs_of(broker)
        return parted(configs.get("log.dirs") or configs.get("log.dir") or "")

    def is_configured(self, directory: LogDir) -> bool | None:
        """Whether the ``log.dirs`` of its broker has a directory; None if its configuration is unknown."""
        listed = self.listed_dirs(directory.broker)
        return directory.path in listed if listed else None

    def unknown_in(self, broker: int) -> list[str]:
        """Return the directories of a broker whose state is unknown; one that left ``log.dirs`` hinders nothing."""
        directories = self.directories_of.get(broker, ())
        unknown = [directory for directory in directories if directory.status is LogDirStatus.UNKNOWN]
        return [directory.path for directory in unknown if self.is_configured(directory) is not False]

    def all_serving(self, broker: int) -> bool:
        """Whether every directory of a broker serves; False for a broker without known directories."""
        directories = self.directories_of.get(broker, ())
        return bool(directories) and all(directory.is_serving for directory in directories)

    def strays_in(self, place: LogDirId) -> dict[str, int]:
        """Return the strays of a directory, bytes by name: those in the inventory, else those that it reported."""
        listed = self.layout.strays_in.get(place, ())
        if listed:
            return {f"{replica.topic}-{replica.partition}": replica.size_bytes or 0 for replica in listed}
        directory = self.directories.get(place)
        return {} if directory is None else dict(directory.strays or ())

    def replicas_in(self, place: LogDirId) -> tuple[Replica, ...]:
        """Return a directory's replicas, without copies in progress."""
        return self.layout.replicas_in.get(place, ())

    def replicas_of(self, key: TopicPartition) -> tuple[Replica, ...]:
        """Return a partition's replicas, without copies in progress."""
        return self.layout.replicas_of.get(key, ())

    @cached_property
    def _on_disk_ratios(self) -> dict[tuple[int, str], float]:
        """What a replica's bytes take on the disk: below 1 by volume, where the sizes exceed what is used."""
        sizes: Counter[tuple[int, str]] = Counter()
        for replica in self.layout.replicas:
            if replica.place in self.directories:
                sizes[self._volume_of(replica.place)] += replica.size_bytes or 0
        used = {self._volume_of(place): directory.used_bytes for place, directory in self.directories.items()}
        return {volume: known / sizes[volume] for volume, known in used.items() if known and known < sizes[volume]}

    def _volume_of(self, place: LogDirId) -> tuple[int, str]:
        return place[0], self.directories[place].volume or place[1]

    def has_cleaner(self, broker: int) -> bool:
        """Tell whether a broker runs a log cleaner, which compacts, and deletes from what is compacted as well.

        One that is not known does, as nearly all do.
        """
        return self.configs_of(broker).get("log.cleaner.enable") != "false"

    def configs_of(self, broker: int) -> Mapping[str, str | None]:
        """Return the configuration of a broker; empty if the broker is not known."""
        return self.brokers[broker].configs if broker in self.brokers else {}

    def on_disk_ratio(self, place: LogDirId) -> float:
        """Return the share of its size that a replica takes in a directory: below 1 if its file system compresses.

        What it would take elsewhere is not known: there it counts with its size.
        """
        return self._on_disk_ratios.get(self._volume_of(place), 1.0) if place in self.directories else 1.0

    def on_disk_bytes(self, place: LogDirId, size_bytes: int) -> int:
        """Return the bytes that come free in a directory when replicas of this size leave it."""
        return int(size_bytes * self.on_disk_ratio(place))

    @cached_property
    def growth_of_partitions(self) -> dict[TopicPartition, float]:
        """How fast a partition grew lately in any place: all its replicas are written alike."""
        found: dict[TopicPartition, float] = {}
        for key, replicas in self.layout.replicas_of.items():
            known = [rate for replica in replicas if (rate := self.growth_of(replica)) is not None]
            if known:
                found[key] = max(known)
        return found

    def growth_of(self, replica: Replica) -> float | None:
        """Return the recent growth of a replica in bytes per second; None if unknown."""
        return self.growth.get((replica.place, replica.key))


def parted(value: str) -> list[str]:
    """Return the entries of a list in a configuration."""
    return [entry.strip() for entry in value.split(",") if entry.strip()]


def unusable(snapshot: ClusterSnapshot | None, policy: Policy, now_ms: int) -> str | None:
    """Return why the snapshot cannot be planned on now; None if it can."""
    why = too_old(snapshot, policy, now_ms)
    return None if why is None else f"{why}; the full action follows"


def too_old(snapshot: ClusterSnapshot | None, policy: Policy, now_ms: int) -> str | None:
    """Return why a snapshot is too old to plan on; None if it is not."""
    if snapshot is None:
        return "nothing is known of the cluster's replicas yet"
    if snapshot.inventory_at_ms is None:
        return "no inventory of the cluster has been seen yet"
    age = unusable_age(now_ms - snapshot.inventory_at_ms, policy)
    return None if age is None else f"the last inventory is {age}"


def unusable_age(age_ms: int, policy: Policy) -> str | None:
    """Say how old facts are, or how far ahead of the clock, if that is too much to plan on them."""
    if abs(age_ms) <= policy.facts_max_age_ms:
        return None
    return f"{human_ms(age_ms)} old" if age_ms > 0 else f"{human_ms(-age_ms)} ahead of the clock"


def with_excluded_log_dirs(snapshot: ClusterSnapshot, limits: PlanSettings) -> ClusterSnapshot:
    """Return the snapshot with the directories marked that ``plan.log_dirs`` excludes as destinations."""
    marked = [d for place, d in snapshot.directories.items() if not limits.log_dir_rule(*place).destination]
    return snapshot.with_directories(replace(d, is_marked=True) for d in marked) if marked else snapshot
