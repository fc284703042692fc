"""One topic's lower limit: what it frees and where, how long that takes, and what stays under any limit."""

from dataclasses import dataclass

from logdirwatch.plan.capacity.timing import DELETE_DELAY_MS, delete_delay_ms
from logdirwatch.plan.cluster.layout import LogDirId, Topic
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import Veto
from logdirwatch.plan.retention.limits import RetentionLimit, freed_bytes, segment_bytes

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


def floor_bytes(cut: RetentionCut, place: LogDirId, snapshot: ClusterSnapshot) -> int:
    """Return what stays of a topic in a directory under any limit: the active segments, and one more."""
    here = [replica for replica in snapshot.replicas_in(place) if replica.topic == cut.topic.name]
    segment = segment_bytes(cut.topic)
    return sum((r.size_bytes or 0) - freed_bytes(r.size_bytes or 0, 0, segment) for r in here)
