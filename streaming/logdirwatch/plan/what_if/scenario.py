"""A hypothetical cluster: its snapshot, the growth of each replica, and what has to be copied to get there."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from msgspec import Struct

from logdirwatch.plan.cluster.layout import LogDirId, Partition, Ramp, Replica, Topic, TopicPartition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot

Key = tuple[int, str, int]
"""A replica: its broker, topic and partition."""


class Moves(Struct, frozen=True, kw_only=True):
    """What has to be copied: ``needs_ms`` at the configured rates, kinds of copies one after the other."""

    replicas: int = 0
    bytes: int = 0
    within_brokers_bytes: int = 0
    between_brokers_bytes: int = 0
    needs_ms: int = 0

    def plus(self, other: "Moves") -> "Moves":
        """Return the sum."""
        return Moves(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})


class Unplaced(Struct, frozen=True, kw_only=True):
    """Replicas without a place, the reason of the first, and partitions whose only copy is lost."""

    replicas: int = 0
    bytes: int = 0
    reason: str | None = None
    lost: list[str] = []


@dataclass(frozen=True)
class Scenario:
    """The cluster after some changes.

    ``growth`` is in bytes per second by replica, ``other_growth`` by directory for what no replica explains; missing in
    both: unknown. ``new`` are directories that do not exist yet, ``notes`` the assumptions.
    """

    snapshot: ClusterSnapshot
    growth: Mapping[Key, float]
    other_growth: Mapping[LogDirId, float]
    ramps: Mapping[Key, Ramp] = field(default_factory=dict)
    new: frozenset[LogDirId] = frozenset()
    moves: Moves = field(default_factory=Moves)
    unplaced: Unplaced = field(default_factory=Unplaced)
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, snapshot: ClusterSnapshot) -> "Scenario":
        """Return the cluster as it is.

        The growth of a directory is that of its replicas; what is not known of them is spread over the others by size.
        """
        growth: dict[Key, float] = {}
        others: dict[LogDirId, float] = {}
        for place, directory in snapshot.directories.items():
            rate, replicas = directory.outlook_bytes_per_s, snapshot.replicas_in(place)
            if rate is None:
                continue
            known = {one: max(0.0, grows) for one in replicas if (grows := snapshot.growth_of(one)) is not None}
            told = sum(known.values())
            share = min(1.0, rate / told) if told else 0.0
            rest, held = rate - share * told, sum(one.size_bytes or 0 for one in replicas if one not in known)
            for one in replicas:
                growth[key_of(one)] = share * known[one] if one in known else rest * (one.size_bytes or 0) / (held or 1)
            others[place] = 0.0 if held else rest
        return cls(snapshot, growth, others)

    def moved(self, to: Mapping[Key, LogDirId], moves: Moves) -> "Scenario":
        """Return it with replicas in other directories, to which their bytes and growth move as well."""
        bytes_by_place: defaultdict[LogDirId, int] = defaultdict(int)
        keys: dict[Key, Key] = {}
        replicas = []
        for replica in self.snapshot.layout.replicas:
            place = None if replica.is_future else to.get(key_of(replica))
            if place is None:
                replicas.append(replica)
                continue
            there = replace(replica, broker=place[0], log_dir=place[1])
            keys[key_of(replica)] = key_of(there)
            bytes_by_place[replica.place] += replica.size_bytes or 0
            bytes_by_place[place] -= replica.size_bytes or 0
            replicas.append(there)
        snapshot = with_replicas(self.snapshot, replicas, bytes_by_place)
        layout = replace(snapshot.layout, topics=_reassigned(snapshot.topics, keys))
        return replace(
            self,
            snapshot=replace(snapshot, layout=layout),
            growth={keys.get(key, key): rate for key, rate in self.growth.items()},
            ramps={keys.get(key, key): ramp for key, ramp in self.ramps.items()},
            moves=self.moves.plus(moves),
        )


def _reassigned(topics: Mapping[str, Topic], keys: Mapping[Key, Key]) -> dict[str, Topic]:
    """Return the topics with new brokers in place of their replicas' old ones."""
    named: defaultdict[TopicPartition, dict[int, int]] = defaultdict(dict)
    for (broker, topic, number), (there, _, _) in keys.items():
        if broker != there:
            named[topic, number][broker] = there
    touched = {topic for topic, _ in named}
    return {
        name: topic
        if name not in touched
        else replace(topic, partitions=tuple(_on(partition, named[partition.key]) for partition in topic.partitions))
        for name, topic in topics.items()
    }


def _on(partition: Partition, brokers: Mapping[int, int]) -> Partition:
    leader = partition.leader
    return replace(
        partition,
        leader=None if leader is None else brokers.get(leader, leader),
        replicas=tuple(brokers.get(broker, broker) for broker in partition.replicas),
        isr=tuple(brokers.get(broker, broker) for broker in partition.isr),
        offline_replicas=tuple(broker for broker in partition.offline_replicas if broker not in brokers),
    )


def key_of(replica: Replica) -> Key:
    """Return the name of a replica."""
    return replica.broker, replica.topic, replica.partition


def with_replicas(
    snapshot: ClusterSnapshot, replicas: Iterable[Replica], freed_bytes: Mapping[LogDirId, int]
) -> ClusterSnapshot:
    """Return the snapshot with other replicas; ``freed_bytes`` by directory, negative if bytes are added."""
    directories = dict(snapshot.directories)
    for place, freed in freed_bytes.items():
        directory = directories.get(place)
        if directory is not None and directory.usable_bytes is not None:
            directories[place] = replace(directory, usable_bytes=directory.usable_bytes + freed)
    layout = replace(snapshot.layout, replicas=tuple(replicas))
    return replace(snapshot, directories=directories, layout=layout)
