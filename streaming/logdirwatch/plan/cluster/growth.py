"""The growth of replicas between two inventories: Kafka reports sizes, not rates.

A replica that shrank was cut or cleaned, and one that is being copied grows by the copy; neither shows the write rate,
so the previous growth stays.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from logdirwatch.plan.cluster.layout import LogDirId, Replica, TopicPartition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot

Sizes = Mapping[tuple[LogDirId, TopicPartition], int]
Rates = Mapping[tuple[LogDirId, TopicPartition], float]

SMOOTHING = 0.5
"""The weight of the newest pair of inventories against all before."""


@dataclass(frozen=True)
class Seen:
    """The sizes of one inventory, and the growth known by then."""

    inventory_at_ms: int
    sizes: Sizes
    rates: Rates


class Growth:
    """Keeps the last inventory of each cluster."""

    def __init__(self) -> None:
        self._seen: dict[str, Seen] = {}

    def taught(self, snapshot: ClusterSnapshot) -> ClusterSnapshot:
        """Return the snapshot with the growth of every replica that is in two inventories."""
        at_ms = snapshot.inventory_at_ms
        if at_ms is None:
            return snapshot
        seen = self._seen.get(snapshot.cluster)
        if seen is None or at_ms > seen.inventory_at_ms:
            seen = self._seen[snapshot.cluster] = after(seen, snapshot, at_ms)
        return replace(snapshot, growth=seen.rates)


def after(before: Seen | None, snapshot: ClusterSnapshot, at_ms: int) -> Seen:
    """Return the growth after one more inventory."""
    sizes = {
        (replica.place, replica.key): replica.size_bytes
        for replica in snapshot.layout.replicas
        if replica.size_bytes is not None and not replica.is_future and _is_in_sync(replica, snapshot)
    }
    if before is None:
        return Seen(at_ms, sizes, {})
    seconds = (at_ms - before.inventory_at_ms) / 1000
    rates = {key: rate for key, rate in before.rates.items() if key in sizes}
    for key, size in sizes.items():
        if key in before.sizes and size >= before.sizes[key]:
            rate = (size - before.sizes[key]) / seconds
            rates[key] = rate if key not in rates else SMOOTHING * rate + (1 - SMOOTHING) * rates[key]
    return Seen(at_ms, sizes, rates)


def _is_in_sync(replica: Replica, snapshot: ClusterSnapshot) -> bool:
    partition = snapshot.partitions.get(replica.key)
    return partition is not None and replica.broker in partition.isr
