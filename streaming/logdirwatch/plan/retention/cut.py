"""One topic's lower limit: what it frees where, how long that takes, and what stays whatever the limit is."""

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
    """One topic's lower limit, and what it frees; ``keeps_ms`` is the history that stays at least."""

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
        """The value in force before."""
        return self.topic.configs.get(self.way.key)

    @property
    def is_overridden(self) -> bool:
        """Whether the old value stands on the topic itself, so that undoing means setting it again."""
        overridden = self.topic.overridden
        return self.old_value is not None and (overridden is None or self.way.key in overridden)

    @property
    def spares_unread(self) -> bool:
        """Whether all stays that a consumer group has still to read."""
        return self.new_value >= self.way.unread

    def frees_at(self, place: LogDirId) -> int:
        """Return the bytes that one directory gains."""
        return self.frees.get(place, 0)


@dataclass(frozen=True)
class RetentionCuts:
    """The cuts that free a directory; ``vetoes`` say why there are not more, where they free less than asked for."""

    cuts: tuple[RetentionCut, ...] = ()
    vetoes: tuple[Veto, ...] = ()


def effective_after_ms(topic: Topic, snapshot: ClusterSnapshot) -> int:
    """Return how long a cut takes at most: the slowest broker's next check, then the deletion's delay.

    What is not known of a broker is Kafka's default.
    """
    hosts = {broker for partition in topic.partitions for broker in partition.replicas}
    checks = [_check_interval_ms(broker, snapshot) for broker in hosts]
    delays = [delete_delay_ms(broker, snapshot) for broker in hosts]
    delay = topic.number("file.delete.delay.ms", max(delays, default=DELETE_DELAY_MS))
    return max(checks, default=CHECK_INTERVAL_MS) + delay


def floor_bytes(cut: RetentionCut, place: LogDirId, snapshot: ClusterSnapshot) -> int:
    """Return what stays of a topic in a directory whatever its limit: the segments that are written, and one more."""
    here = [replica for replica in snapshot.replicas_in(place) if replica.topic == cut.topic.name]
    segment = segment_bytes(cut.topic)
    return sum((r.size_bytes or 0) - freed_bytes(r.size_bytes or 0, 0, segment) for r in here)


def _check_interval_ms(broker: int, snapshot: ClusterSnapshot) -> int:
    found = snapshot.brokers[broker].configs.get(CHECK_INTERVAL) if broker in snapshot.brokers else None
    return CHECK_INTERVAL_MS if found is None else int(found)
