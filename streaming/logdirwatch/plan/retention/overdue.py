"""Replicas that are not deleted from, or not compacted, on their broker, though they are elsewhere.

All in-sync replicas of a partition end with the same records. Each broker deletes the oldest segments of its own by
the same limits (Kafka 4.3.1 ``UnifiedLog.deleteOldSegments``), and cleans its own log once a configured share of it is
dirty (``LogCleanerManager.grabFilthiestCompactedLog``). A replica that holds clearly more than that allows and than
another one in sync is not reached there. Known causes: a cancelled copy between the broker's directories (KAFKA-19458,
below Kafka 4.2), a retention task that fails, a partition that the cleaner gave up, a thread that died.
"""

import math
from dataclasses import dataclass

from logdirwatch.model.broker_tasks import DEAD_CLEANER, RETENTION, UNCLEANABLE
from logdirwatch.plan.capacity.growth_by_topic import BOTH, COMPACT, DELETE, policy_of
from logdirwatch.plan.cluster.layout import Partition, Replica, Topic
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.retention.limits import (
    RETENTION_BYTES,
    RETENTION_MS,
    effective,
    effective_after_ms,
    kept_ms,
    outgrown_ms,
    segment_bytes,
)

TIMES = 1.5
"""A replica in balance holds up to a segment more than its limit, and what was written since the last check."""
_CHECKS = 2
_SEGMENTS = 2
DIRTY_RATIO = 0.5
"""Kafka's default of ``min.cleanable.dirty.ratio`` (``LogConfig``)."""


@dataclass(frozen=True)
class OverdueReplica:
    """A replica with more bytes than its limit and its siblings allow; ``limit_bytes`` None: it has no such limit."""

    replica: Replica
    siblings: tuple[Replica, ...]
    limit_bytes: int | None
    is_compacted: bool = False

    @property
    def allowed_bytes(self) -> int:
        """What it may hold. Without a limit in bytes the largest sibling counts, not the smallest."""
        sizes = [sibling.size_bytes or 0 for sibling in self.siblings]
        return max(sizes) if self.limit_bytes is None else max(self.limit_bytes, min(sizes))

    @property
    def overdue_bytes(self) -> int:
        """The bytes that should be gone."""
        return (self.replica.size_bytes or 0) - self.allowed_bytes


def overdue_in(directory: LogDir, snapshot: ClusterSnapshot) -> list[OverdueReplica]:
    """Return the overdue replicas of a directory, those with most overdue bytes first."""
    found = [one for replica in snapshot.replicas_in(directory.place) if (one := overdue(replica, snapshot))]
    return sorted(found, key=lambda one: (-one.overdue_bytes, one.replica.key))


def overdue(replica: Replica, snapshot: ClusterSnapshot) -> OverdueReplica | None:
    """Return a replica with the evidence that its broker does not delete or compact it; None: none, or a doubt.

    A cleaner that is disabled is no evidence but a setting.
    """
    topic, partition = snapshot.topics.get(replica.topic), snapshot.partitions.get(replica.key)
    if topic is None or partition is None or not replica.size_bytes:
        return None
    is_compacted = policy_of(topic) in {COMPACT, BOTH}
    if not (snapshot.has_cleaner(replica.broker) if is_compacted else _is_deleted(topic, replica.broker, snapshot)):
        return None
    siblings = [
        other
        for other in snapshot.replicas_of(replica.key)
        if other.broker != replica.broker and other.size_bytes is not None and _is_complete(other, partition, snapshot)
    ]
    if not siblings or not _is_complete(replica, partition, snapshot) or _is_pending(replica, snapshot):
        return None
    limit = -1 if is_compacted else int(effective(topic, RETENTION_BYTES) or -1)
    found = OverdueReplica(replica, tuple(siblings), limit if limit >= 0 else None, is_compacted)
    # What is written to a compacted log before the cleaner is due is in its dirty share.
    written = 0 if is_compacted else _written_bytes(replica, topic, snapshot)
    times = TIMES * (_dirty_times(topic) if is_compacted else 1.0)
    if written is None or replica.size_bytes <= times * found.allowed_bytes:
        return None
    return found if found.overdue_bytes > _SEGMENTS * segment_bytes(topic) + written else None


def is_reached(replica: Replica, snapshot: ClusterSnapshot) -> bool:
    """Tell whether nothing shows that old segments of a replica are not deleted on its broker.

    The retention task skips compacted topics; in those that are also deleted, the log cleaner does it, except where it
    gave up (Kafka 4.3.1 ``LogManager.cleanupLogs``, ``LogCleanerManager.deletableLogs``). Lower limits and deleted
    records take effect by the same task.
    """
    topic, directory = snapshot.topics.get(replica.topic), snapshot.directories.get(replica.place)
    failing = frozenset[str]() if directory is None else directory.keeps_growing
    if topic is not None and topic.is_compacted:
        is_failing = (
            bool(failing & {DEAD_CLEANER, UNCLEANABLE})
            or outgrown_ms(replica, snapshot) is not None
            or not snapshot.has_cleaner(replica.broker)
        )
    else:
        is_failing = RETENTION in failing
    return not is_failing and not past_limit_bytes(replica, snapshot) and overdue(replica, snapshot) is None


def past_limit_bytes(replica: Replica, snapshot: ClusterSnapshot) -> int:
    """Return the bytes that a replica holds clearly beyond its own limit in bytes; 0 if none, or if that is not known.

    Either they go at the next check, since the limit was lowered just now, or deletion stands still. A still lower
    limit frees none of them.
    """
    topic = snapshot.topics.get(replica.topic)
    if topic is None or not replica.size_bytes or not _is_deleted(topic, replica.broker, snapshot):
        return 0
    limit, written = int(effective(topic, RETENTION_BYTES) or -1), _written_bytes(replica, topic, snapshot)
    if limit < 0 or written is None or _is_pending(replica, snapshot):
        return 0
    past = replica.size_bytes - limit
    return past if past > _SEGMENTS * segment_bytes(topic) + written else 0


def _is_deleted(topic: Topic, broker: int, snapshot: ClusterSnapshot) -> bool:
    """Tell whether the limits are known by which the broker deletes the topic's segments, and nothing else does."""
    limits = [effective(topic, key) for key in (RETENTION_BYTES, RETENTION_MS)]
    is_limited = int(limits[0] or -1) >= 0 or kept_ms(topic) is not None
    is_done = policy_of(topic) == DELETE or (policy_of(topic) == BOTH and snapshot.has_cleaner(broker))
    if not is_done or topic.is_tiered or limits[0] is None or not is_limited:
        return False
    configs = snapshot.configs_of(broker)
    inherited = {RETENTION_BYTES, RETENTION_MS} - (topic.overridden or frozenset())
    # What a topic does not set itself is each broker's own, and another broker was asked.
    own = {key: configs.get(f"log.{key}") for key in inherited}
    return all(value is None or value == topic.configs.get(key) for key, value in own.items())


def _dirty_times(topic: Topic) -> float:
    """Return how many times its clean part a log grows to before the cleaner is due."""
    ratio = float(topic.configs.get("min.cleanable.dirty.ratio") or DIRTY_RATIO)
    return 1 / (1 - ratio) if ratio < 1 else math.inf


def _is_complete(replica: Replica, partition: Partition, snapshot: ClusterSnapshot) -> bool:
    directory = snapshot.directories.get(replica.place)
    is_served = directory is not None and directory.is_serving and snapshot.is_alive(replica.broker)
    return is_served and replica.broker in partition.isr


def _is_pending(replica: Replica, snapshot: ClusterSnapshot) -> bool:
    """Tell whether retention stands still for a copy, or its limit was lowered just now."""
    is_cut = replica.topic in snapshot.cutting or replica.topic in snapshot.decisions.cutting
    return is_cut or replica.key in snapshot.layout.moving


def _written_bytes(replica: Replica, topic: Topic, snapshot: ClusterSnapshot) -> int | None:
    """Return at most what was written to a replica between two deletions; None if its growth is not known."""
    lasts_ms = _CHECKS * effective_after_ms(topic, snapshot)
    rate = snapshot.growth_of_partitions.get(replica.key)
    if rate is not None:
        return int(max(0.0, rate) * lasts_ms / 1000)
    # A directory that shrinks at this moment says nothing about what is written to one of its replicas.
    growth = snapshot.directories[replica.place].growth_bytes_per_s or 0.0
    return int(growth * lasts_ms / 1000) if growth > 0 else None
