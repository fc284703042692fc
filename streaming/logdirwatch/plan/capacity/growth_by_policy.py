"""The growth of a directory by cleanup policy: compacted topics rarely fill a disk (KIP-928)."""

from collections import defaultdict
from typing import Any

from logdirwatch.plan.cluster.layout import Topic
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir

DELETE, COMPACT, BOTH, UNKNOWN = "delete", "compact", "compact,delete", "unknown"


def growth_by_policy(directory: LogDir, snapshot: ClusterSnapshot) -> dict[str, Any] | None:
    """Return the growth of replicas by cleanup policy, in bytes per second; None if none is known.

    A replica that shrank between two inventories keeps its previous rate, so no share is negative.
    """
    here = snapshot.replicas_in(directory.place)
    known = [(replica, rate) for replica in here if (rate := snapshot.growth_of(replica)) is not None]
    if not known:
        return None
    rates: defaultdict[str, float] = defaultdict(float)
    for replica, rate in known:
        rates[policy_of(snapshot.topics.get(replica.topic))] += max(0.0, rate)
    return {"bytes_per_s": dict(rates), "replicas": len(here), "replicas_known": len(known)}


def policy_of(topic: Topic | None) -> str:
    """Return a topic's cleanup policy, its parts in a fixed order."""
    value = None if topic is None else topic.configs.get("cleanup.policy")
    parts = {part.strip() for part in (value or "").split(",")} - {""}
    known = {frozenset({DELETE}): DELETE, frozenset({COMPACT}): COMPACT, frozenset({DELETE, COMPACT}): BOTH}
    return known.get(frozenset(parts), UNKNOWN)
