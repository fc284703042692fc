"""The limits of a topic's history, by bytes, with a certain effect, or by age, with an estimated one; and lower ones.

``retention.bytes`` is a limit per replica whose effect follows from the sizes alone, whatever the age of the data.
Kafka deletes the oldest segments as long as at least the limit remains (Kafka 4.3.1 ``UnifiedLog.deletableSegments``),
so what remains is less than the limit plus one segment; that the newest segment stays is our own floor.
``retention.ms`` keeps exactly the history that is younger, but how many bytes that is depends on how the data arrived:
it is estimated from the size and the write rate. A tiered topic keeps its history in remote storage;
``local.retention.*`` limits the local copy only (KIP-405; -2 stands for the value of ``retention.*``).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from logdirwatch.plan.capacity.timing import DELETE_DELAY_MS, delete_delay_ms
from logdirwatch.plan.cluster.layout import LogDirId, Partition, Replica, Topic
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import Policy, Veto

RETENTION_BYTES = "retention.bytes"
RETENTION_MS = "retention.ms"
LOCAL = "local."
UNLIMITED = "-1"
AS_REMOTE = "-2"
MIB = 1 << 20
MINUTE_MS = 60_000
OUTGROWN_TIMES = 1.5
BALANCED_TIMES = 10
SEGMENT_BYTES = 1 << 30
"""Kafka's default (``LogConfig``), used where the collector could not read the value."""


@dataclass(frozen=True)
class RetentionLimit:
    """One configuration key of a topic, and its possible limits: from ``lowest`` to ``highest`` in steps of ``unit``.

    ``history_ms`` is the age of the oldest record of each replica, for a limit by age. ``bytes_per_s`` is the write
    rate of the fastest replica, None if unknown. A limit below ``unread`` deletes records that a consumer group has not
    read.
    """

    topic: Topic
    key: str
    lowest: int
    highest: int
    history_ms: Mapping[Replica, int] = field(default_factory=dict)
    bytes_per_s: float | None = None
    unread: int = 0
    unit: int = 1

    @property
    def is_estimate(self) -> bool:
        """Whether the freed bytes are estimated from a write rate, not computed from sizes."""
        return self.key.endswith(RETENTION_MS)

    @property
    def is_history_known(self) -> bool:
        """Whether the history that a limit leaves is known."""
        return self.is_estimate or self.bytes_per_s is not None

    @property
    def loses_data(self) -> bool:
        """Whether the deleted data is lost; a local copy still exists in remote storage."""
        return not self.key.startswith(LOCAL)

    @property
    def is_held_by_readers(self) -> bool:
        """Whether what consumer groups have not read yet is what keeps it from being lowered further."""
        return self.unread > self.lowest - self.unit

    def freed(self, replicas: Sequence[Replica], limit: int) -> int:
        """Return the bytes that a limit certainly frees from replicas in one directory.

        Data that remote storage lacks stays. At worst one replica holds all of it, beyond what the limit leaves anyway:
        spread over several, each part would be within the limit.
        """
        kept = {replica: self._kept(replica, limit) for replica in replicas}
        going = sum(freed_bytes(r.size_bytes or 0, limit, segment_bytes(self.topic)) for r, limit in kept.items())
        waiting = 0 if self.loses_data else self.topic.remote_copy_lag_bytes or 0
        return max(0, going - max(0, waiting - min(kept.values(), default=0)))

    def keeps_ms(self, limit: int) -> int | None:
        """Return the minimum history of every replica in milliseconds; None: unknown, or none is written to."""
        if self.is_estimate:
            return limit
        return int(limit / self.bytes_per_s * 1000) if self.bytes_per_s else None

    def _kept(self, replica: Replica, limit: int) -> int:
        size = replica.size_bytes or 0
        kept = size * limit // max(1, self.history_ms.get(replica, 1)) if self.is_estimate else limit
        return max(kept, segment_bytes(self.topic))


def freed_bytes(size_bytes: int, limit_bytes: int, segment_bytes: int) -> int:
    """Return the bytes that a limit certainly frees from a replica, which keeps at least one segment.

    What remains is between the limit and the limit plus one segment. Segments are rolled before they are full, so the
    sizes do not tell how many whole segments fit into the surplus; at most one segment more than this is deleted.
    """
    return max(0, size_bytes - max(limit_bytes, segment_bytes) - segment_bytes)


def segment_bytes(topic: Topic) -> int:
    """Return the maximum size of the topic's segments."""
    return topic.number("segment.bytes", SEGMENT_BYTES)


def unread_of(partition: Partition, snapshot: ClusterSnapshot) -> int:
    """Return the bytes of a partition that its slowest group has not read; records count as equally large."""
    return math.ceil((partition.unread_ratio or 0.0) * (snapshot.layout.size_of(partition.key) or 0))


def limits_of(topic: Topic, here: Sequence[Replica], snapshot: ClusterSnapshot, policy: Policy) -> list[RetentionLimit]:
    """Return the limits of a topic that can be lowered within the configured minimum, the most certain first.

    ``here`` are its replicas in the directory that needs room; what must stay is computed for all replicas, because all
    are cut.
    """
    prefix = LOCAL if topic.is_tiered else ""
    everywhere = [r for partition in topic.partitions for r in snapshot.replicas_of(partition.key) if r.size_bytes]
    found = [
        _by_bytes(topic, prefix, here, everywhere, snapshot, policy),
        _by_age(topic, prefix, everywhere, snapshot, policy),
    ]
    able = [way for way in found if way is not None and way.lowest < way.highest]
    # A limit by age that perhaps deletes nothing frees nothing for certain when it is lowered.
    is_doubtful = len(able) > 1 and any(outgrown_ms(replica, snapshot) for replica in here)
    return [way for way in able if not (is_doubtful and way.is_estimate)]


def kept_ms(topic: Topic) -> int | None:
    """Return for how long a topic keeps records locally; None: unlimited, unknown, or not deleted by age."""
    return _kept(topic, RETENTION_MS)


def kept_bytes(topic: Topic) -> int | None:
    """Return how many bytes of a replica a topic keeps locally; None: unlimited, unknown, or not deleted by size."""
    return _kept(topic, RETENTION_BYTES)


def _kept(topic: Topic, key: str) -> int | None:
    limit = effective(topic, (LOCAL if topic.is_tiered else "") + key)
    return None if limit is None or int(limit) < 0 or not is_deleted(topic) else int(limit)


def bytes_kept_by_segments(replica: Replica, snapshot: ClusterSnapshot) -> int:
    """Return the bytes that a replica within its limits keeps beyond them, as Kafka deletes whole closed segments."""
    topic, size = snapshot.topics.get(replica.topic), replica.size_bytes or 0
    if topic is None or topic.is_compacted or topic.is_internal:
        return 0
    age_ms, rate = kept_ms(topic), snapshot.growth_of_partitions.get(replica.key)
    by_age = None if age_ms is None or not rate or rate <= 0 else int(rate * age_ms / 1000)
    limits = [limit for limit in (kept_bytes(topic), by_age) if limit is not None]
    beyond = size - min(limits, default=size)
    return beyond if 0 < beyond <= segment_bytes(topic) else 0


def is_deleted(topic: Topic) -> bool:
    """Whether Kafka deletes the topic's old segments by its retention."""
    return "delete" in (topic.configs.get("cleanup.policy") or "").split(",")


def outgrown_ms(replica: Replica, snapshot: ClusterSnapshot) -> int | None:
    """Return for how long a replica has grown as it does now, if that is clearly longer than its limit by age.

    Either the limit deletes nothing, as with timestamps in the future, or writes have grown within the limit; by so
    little that a replica in balance is left out. None if there is no such doubt.
    """
    topic, rate = snapshot.topics.get(replica.topic), snapshot.growth_of(replica)
    limit_ms = None if topic is None else kept_ms(topic)
    if not rate or rate <= 0 or not limit_ms:
        return None
    grown_ms = int((replica.size_bytes or 0) / rate * 1000)
    return grown_ms if OUTGROWN_TIMES * limit_ms < grown_ms < BALANCED_TIMES * limit_ms else None


def effective(topic: Topic, key: str) -> str | None:
    """Return the effective limit: a local one may follow the remote one."""
    value = topic.configs.get(key)
    return topic.configs.get(key.removeprefix(LOCAL)) if value == AS_REMOTE else value


def is_copy_delayed(topic: Topic) -> bool:
    """Whether segments wait on purpose before they are copied to remote storage, by age and by size (KIP-1241)."""
    by_age, by_size = topic.number("remote.copy.lag.ms", 0), topic.number("remote.copy.lag.bytes", -1)
    return by_age != 0 and by_size != 0


def history_bytes(topic: Topic, replicas: Iterable[Replica], snapshot: ClusterSnapshot, policy: Policy) -> int:
    """Return the limit in bytes that leaves the configured history in every replica.

    If the write rate of one is unknown, half of it stays, all of it where its owner says how much history must stay,
    and nothing if remote storage has what is deleted.
    """
    prefix = LOCAL if topic.is_tiered else ""
    age, wanted = effective(topic, prefix + RETENTION_MS), wanted_ms(topic, policy)
    is_promised = policy.limits.topic_rule(topic.name).min_retention_ms is not None
    unknown_ratio = 0.0 if prefix else 1.0 if is_promised else KEPT_UNKNOWN_RATIO
    floors = (floor_of_replica(r, age, wanted, snapshot, unknown_ratio=unknown_ratio) for r in replicas)
    return max(floors, default=0)


def copy_lag_floor(topic: Topic, unit: str) -> int:
    """Return the lowest local limit that a configured copy delay allows, in ``bytes`` or ``ms``.

    A positive delay must not exceed the effective local limit, or ``kafka-configs`` fails (KIP-1241; Kafka 4.4.0
    ``LogConfig.validateRemoteCopyLagSize``). A delay of -1 follows the limit.
    """
    return max(0, topic.number(f"remote.copy.lag.{unit}", 0)) if topic.is_tiered else 0


def _by_bytes(
    topic: Topic,
    prefix: str,
    here: Sequence[Replica],
    everywhere: Sequence[Replica],
    snapshot: ClusterSnapshot,
    policy: Policy,
) -> RetentionLimit:
    age = effective(topic, prefix + RETENTION_MS)
    unread = 0 if prefix else max((unread_of(partition, snapshot) for partition in topic.partitions), default=0)
    lowest = max(
        segment_bytes(topic),
        policy.limits.topic_rule(topic.name).min_retention_bytes or 0,
        history_bytes(topic, everywhere, snapshot, policy),
        unread if policy.limits.spare_unread else 0,
        copy_lag_floor(topic, "bytes"),
    )
    largest = max((replica.size_bytes or 0 for replica in here), default=0)
    highest = _below(largest, effective(topic, prefix + RETENTION_BYTES))
    rate = fastest(everywhere, age, snapshot)
    return _rounded(
        RetentionLimit(topic, prefix + RETENTION_BYTES, lowest, highest, bytes_per_s=rate, unread=unread), MIB
    )


def _by_age(
    topic: Topic, prefix: str, everywhere: Sequence[Replica], snapshot: ClusterSnapshot, policy: Policy
) -> RetentionLimit | None:
    """Return the limit by age; None if the age of any replica's data is unknown."""
    old = effective(topic, prefix + RETENTION_MS)
    if old is None:
        return None
    # The age of a replica's oldest record is its size divided by its write rate.
    rates = {replica: written_per_s(replica, old, snapshot) for replica in everywhere}
    known = {replica: int((replica.size_bytes or 0) / rate * 1000) for replica, rate in rates.items() if rate}
    if not known or len(known) < len(rates):
        return None
    # How far behind the slowest group reads, and what the owner wants to keep, as if records came at an even pace.
    ratios = {partition.key: partition.unread_ratio or 0.0 for partition in topic.partitions}
    unread = 0 if prefix else math.ceil(max(ratios[replica.key] * age for replica, age in known.items()))
    owned = policy.limits.topic_rule(topic.name).min_retention_bytes or 0
    owned_ms = max(age * min(1.0, owned / (replica.size_bytes or 1)) for replica, age in known.items())
    spared = unread if policy.limits.spare_unread else 0
    lowest = max(1, spared, wanted_ms(topic, policy), math.ceil(owned_ms), copy_lag_floor(topic, "ms"))
    highest = _below(max(known.values()), old)
    return _rounded(RetentionLimit(topic, prefix + RETENTION_MS, lowest, highest, known, unread=unread), MINUTE_MS)


def _rounded(way: RetentionLimit, unit: int) -> RetentionLimit:
    """Return a limit whose values are whole units, as people write them, if there are any within its bounds."""
    lowest, highest = -(-way.lowest // unit) * unit, way.highest // unit * unit
    return replace(way, lowest=lowest, highest=highest, unit=unit) if lowest < highest else way


def _below(largest: int, old: str | None) -> int:
    """Return the highest limit that may be set: a limit is only lowered."""
    return largest if old is None or int(old) < 0 else min(largest, int(old) - 1)


KEPT_UNKNOWN_RATIO = 0.5
"""Share of its bytes, so of its history, that a replica keeps at least if its write rate is unknown."""


def wanted_ms(topic: Topic, policy: Policy) -> int:
    """Return the minimum history of a topic in milliseconds: its owner's, else the general one."""
    of_owner = policy.limits.topic_rule(topic.name).min_retention_ms
    return policy.limits.min_retention_ms if of_owner is None else of_owner


# Inventories show how fast a replica grows, not how fast it is written: what retention deletes meanwhile is missing. A
# log that an age limit bounds was written within that limit, which gives a lower bound of its write rate.
def written_per_s(replica: Replica, limit: str | None, snapshot: ClusterSnapshot) -> float | None:
    """Return the bytes per second written to a replica under an age limit; None if unknown."""
    growth = snapshot.growth_of_partitions.get(replica.key)
    if growth is None:
        return None
    bounded_ms = 0 if limit is None else int(limit)
    return max(0.0, growth, (replica.size_bytes or 0) * 1000 / bounded_ms if bounded_ms > 0 else 0.0)


def fastest(replicas: Iterable[Replica], limit: str | None, snapshot: ClusterSnapshot) -> float | None:
    """Return the write rate of the fastest of a topic's replicas; None if any is unknown."""
    rates = [written_per_s(replica, limit, snapshot) for replica in replicas]
    known = [rate for rate in rates if rate is not None]
    return max(known) if known and len(known) == len(rates) else None


def floor_of_replica(
    replica: Replica,
    limit: str | None,
    history_ms: int,
    snapshot: ClusterSnapshot,
    *,
    unknown_ratio: float = KEPT_UNKNOWN_RATIO,
) -> int:
    """Return the bytes of a replica that hold a history; a share of its size if its write rate is not known."""
    rate = written_per_s(replica, limit, snapshot)
    if rate is None:
        return math.ceil((replica.size_bytes or 0) * unknown_ratio)
    return math.ceil(rate * history_ms / 1000)


CHECK_INTERVAL = "log.retention.check.interval.ms"
CHECK_INTERVAL_MS = 300_000
"""Kafka's default of ``log.retention.check.interval.ms`` (``ServerLogConfigs``)."""


@dataclass(frozen=True)
class RetentionCut:
    """One topic's lower limit and what it frees; ``keeps_ms`` is the minimum history that stays."""

    way: RetentionLimit
    new_value: int
    frees: dict[LogDirId, int]
    keeps_ms: int | None = None

    @property
    def topic(self) -> Topic:
        """The topic."""
        return self.way.topic

    @property
    def old_value(self) -> str | None:
        """The effective value before."""
        return self.topic.configs.get(self.way.key)

    @property
    def is_overridden(self) -> bool:
        """Whether the topic overrides the value, so that undoing means setting it again."""
        overridden = self.topic.overridden
        return self.old_value is not None and (overridden is None or self.way.key in overridden)

    @property
    def spares_unread(self) -> bool:
        """Whether everything stays that a consumer group has not read yet."""
        return self.new_value >= self.way.unread

    def frees_at(self, place: LogDirId) -> int:
        """Return the bytes that one directory gains."""
        return self.frees.get(place, 0)


@dataclass(frozen=True)
class RetentionCuts:
    """The cuts that free a directory; ``vetoes`` say why there are not more, if they free less than needed."""

    cuts: tuple[RetentionCut, ...] = ()
    vetoes: tuple[Veto, ...] = ()


def effective_after_ms(topic: Topic, snapshot: ClusterSnapshot) -> int:
    """Return the longest time until a cut takes effect: the slowest broker's next check and deletion delay."""
    hosts = {broker for partition in topic.partitions for broker in partition.replicas}
    known = (effective_on_ms(topic, broker, snapshot) for broker in hosts)
    return max(known, default=CHECK_INTERVAL_MS + DELETE_DELAY_MS)


def effective_on_ms(topic: Topic, broker: int, snapshot: ClusterSnapshot) -> int:
    """Return the same for one broker; unknown values count as Kafka's defaults."""
    configs = snapshot.configs_of(broker)
    check_ms = int(configs.get(CHECK_INTERVAL) or CHECK_INTERVAL_MS)
    return check_ms + topic.number("file.delete.delay.ms", delete_delay_ms(broker, snapshot))


def bytes_under_any_limit(cut: RetentionCut, place: LogDirId, snapshot: ClusterSnapshot) -> int:
    """Return what stays of a topic in a directory under any limit: the active segments, and one more."""
    here = [replica for replica in snapshot.replicas_in(place) if replica.topic == cut.topic.name]
    segment = segment_bytes(cut.topic)
    return sum((r.size_bytes or 0) - freed_bytes(r.size_bytes or 0, 0, segment) for r in here)
