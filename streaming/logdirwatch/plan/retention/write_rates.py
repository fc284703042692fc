"""The write rate of a topic, and so how much history a number of bytes holds.

Inventories show how fast a replica grows, not how fast it is written: what retention deletes meanwhile is missing. A
log that an age limit bounds was written within that limit, which gives a lower bound of its write rate.
"""

import math
from collections.abc import Iterable

from logdirwatch.plan.cluster.layout import Replica, Topic
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import Policy

KEPT_UNKNOWN_RATIO = 0.5
"""Share of its bytes, so of its history, that a replica keeps at least if its write rate is unknown."""


def wanted_ms(topic: Topic, policy: Policy) -> int:
    """Return the minimum history of a topic in milliseconds: its owner's, else the general one."""
    of_owner = policy.limits.topic_rule(topic.name).min_retention_ms
    return policy.limits.min_retention_ms if of_owner is None else of_owner


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


def floor_bytes(
    replicas: Iterable[Replica], limit: str | None, history_ms: int, snapshot: ClusterSnapshot, *, unknown_ratio: float
) -> int:
    """Return the bytes that hold a history in every replica; a share of its size for one with an unknown write rate."""
    floors = (floor_of_replica(r, limit, history_ms, snapshot, unknown_ratio=unknown_ratio) for r in replicas)
    return max(floors, default=0)


def floor_of_replica(
    replica: Replica,
    limit: str | None,
    history_ms: int,
    snapshot: ClusterSnapshot,
    *,
    unknown_ratio: float = KEPT_UNKNOWN_RATIO,
) -> int:
    """Return the same of one replica."""
    rate = written_per_s(replica, limit, snapshot)
    if rate is None:
        return math.ceil((replica.size_bytes or 0) * unknown_ratio)
    return math.ceil(rate * history_ms / 1000)
