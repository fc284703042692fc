"""Growth that ends by itself: that of a topic younger than its retention, and of replicas that catch up.

Kafka deletes whole closed segments, an age after their newest record, at the next check (Kafka 4.3.1
``UnifiedLog.deleteOldSegments``); their files go after ``file.delete.delay.ms``. So a replica in balance grows up to
its limit, one segment, and what is written until the check and the deletion, and falls back.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from logdirwatch.plan.capacity.timing import with_growth
from logdirwatch.plan.cluster.layout import Ramp, Replica, Topic, TopicPartition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.retention.limits import (
    effective_on_ms,
    is_deleted,
    kept_bytes,
    kept_ms,
    outgrown_ms,
    segment_bytes,
)
from logdirwatch.text.units import human_ms

LONGER = 1.25
"""A replica was perhaps written more slowly before; the time until its growth ends is taken as so much longer."""


def with_plateau(
    directory: LogDir, snapshot: ClusterSnapshot, gone: Collection[TopicPartition] = frozenset()
) -> LogDir:
    """Return a directory with the part of its growth that ends, as far as its replicas' growth is known.

    What is deleted meanwhile makes it less than its replicas' growth, of which the part that nothing ends comes first.
    Replicas that are ``gone`` take their share of the growth with them.
    """
    here = [replica for replica in snapshot.replicas_in(directory.place) if replica.key not in gone]
    if gone:
        directory = with_growth(directory, (directory.outlook_bytes_per_s or 0.0) * _share(directory, here, snapshot))
    growth = directory.outlook_bytes_per_s
    if growth is None or growth <= 0:
        return replace(directory, ramps=())
    found = [ramp for replica in here if (ramp := ramp_of(replica, snapshot))]
    total = sum(ramp.bytes_per_s for ramp in found)
    endless = _grown(here, snapshot) - total
    share = max(0.0, min(1.0, (growth - endless) / total)) if found else 0.0
    ramps = [ramp.shared(share) for ramp in found]
    return replace(directory, ramps=(*ramps, *_catching_up(directory, growth, here, snapshot)))


def _catching_up(
    directory: LogDir, growth_bytes_per_s: float, here: Iterable[Replica], snapshot: ClusterSnapshot
) -> list[Ramp]:
    """Return the growth beyond all writes while replicas fetch what they lack; empty if the writes are not known.

    What a reassignment brings is not in the outlook.
    """
    missing = sum(left for place, left in snapshot.layout.catching_up if place == directory.place)
    left = missing - (directory.incoming_bytes or 0)
    written = [snapshot.growth_of_partitions.get(one.key) for one in here]
    fetched = growth_bytes_per_s - sum(max(0.0, rate or 0.0) for rate in written)
    if left <= 0 or fetched <= 0 or None in written:
        return []
    return [Ramp(fetched, int(left / fetched * 1000))]


def _share(directory: LogDir, here: Iterable[Replica], snapshot: ClusterSnapshot) -> float:
    total = _grown(snapshot.replicas_in(directory.place), snapshot)
    return _grown(here, snapshot) / total if total > 0 else 1.0


def _grown(replicas: Iterable[Replica], snapshot: ClusterSnapshot) -> float:
    return sum(max(0.0, snapshot.growth_of(replica) or 0.0) for replica in replicas)


def ramp_of(replica: Replica, snapshot: ClusterSnapshot) -> Ramp | None:
    """Return the growth of a replica and its end; None if it does not grow, or nothing is known to end it."""
    rate, topic, size = snapshot.growth_of(replica), snapshot.topics.get(replica.topic), replica.size_bytes
    if not rate or rate <= 0 or topic is None or size is None or not is_deleted(topic):
        return None
    known = [left for left in (_by_age_ms(size, rate, topic), until_size_ms(size, rate, topic)) if left is not None]
    delay_ms = effective_on_ms(topic, replica.broker, snapshot)
    # What is past its limit for longer than a deletion takes, and grows all the same, is not ended by it.
    left_ms = min((left for left in known if left + delay_ms > 0), default=None)
    # Retention stands still for a replica that is copied between directories (KIP-113).
    copies = snapshot.layout.copies_of.get(replica.key, ())
    if left_ms is None or any(copy.broker == replica.broker for copy in copies):
        return None
    return Ramp(rate, int(LONGER * max(0.0, left_ms)) + delay_ms, topic.name)


def _by_age_ms(size_bytes: int, bytes_per_s: float, topic: Topic) -> float | None:
    limit_ms = kept_ms(topic)
    if limit_ms is None:
        return None
    segment_ms = min(segment_bytes(topic) / bytes_per_s * 1000, topic.number("segment.ms", limit_ms))
    return limit_ms + segment_ms - size_bytes / bytes_per_s * 1000


def until_size_ms(size_bytes: int, bytes_per_s: float, topic: Topic) -> float | None:
    """Return when a replica that grows reaches its limit in bytes, and one segment; None without such a limit."""
    limit = kept_bytes(topic)
    return None if limit is None else (limit + segment_bytes(topic) - size_bytes) / bytes_per_s * 1000


def ends_ms(replica: Replica, bytes_per_s: float, by_age_ms: int, topic: Topic) -> int:
    """Return when more bytes per second end: after ``by_age_ms``, or as soon as the limit in bytes is reached."""
    left_ms = until_size_ms(replica.size_bytes or 0, bytes_per_s, topic) if bytes_per_s > 0 else None
    return by_age_ms if left_ms is None else min(by_age_ms, max(0, int(left_ms)))


def doubts(directory: LogDir, snapshot: ClusterSnapshot) -> str:
    """Say which topic's limit by age perhaps deletes nothing, the one with most bytes; empty if none is in doubt."""
    here = snapshot.replicas_in(directory.place)
    found = [(replica.size_bytes or 0, replica) for replica in here if outgrown_ms(replica, snapshot)]
    if not found:
        return ""
    _, replica = max(found, key=lambda pair: (pair[0], pair[1].key))
    grown_ms, limit_ms = outgrown_ms(replica, snapshot) or 0, kept_ms(snapshot.topics[replica.topic])
    return (
        f"; {replica.topic} holds {human_ms(grown_ms)} of its growth under a limit of {human_ms(limit_ms or 0)}: "
        "deletion may be stuck, or it has timestamps in the future"
    )
