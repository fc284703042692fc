"""Which partitions lost a replica with a directory or a broker, most endangered first."""

from collections.abc import Sequence

from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.plan.availability import leadership
from logdirwatch.plan.cluster.layout import LogDirId, Partition, TopicPartition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot


def lost_partitions(place: LogDirId, snapshot: ClusterSnapshot) -> list[Partition]:
    """Return the partitions whose replica on the broker is in the directory, most endangered first.

    Replicas newer than the last inventory are known from metadata only: offline on that broker, and in no reported
    directory. They count if no other directory of the broker is offline.
    """
    return lost_together([place], snapshot)


def lost_together(
    places: Sequence[LogDirId], snapshot: ClusterSnapshot, *, with_unseen: bool = True
) -> list[Partition]:
    """Return the same for several directories of a broker; unreported replicas count if all offline ones are named."""
    if not places:
        return []
    broker = places[0][0]
    keys = {replica.key for place in places for replica in snapshot.replicas_in(place)}
    keys |= _unseen(places, snapshot) if with_unseen else set()
    assigned = (snapshot.partitions[key] for key in keys if key in snapshot.partitions)
    return sorted((p for p in assigned if broker in p.replicas), key=lambda p: urgency(p, snapshot, broker))


def _unseen(places: Sequence[LogDirId], snapshot: ClusterSnapshot) -> set[TopicPartition]:
    broker = places[0][0]
    offline = {d.place for d in snapshot.directories_of.get(broker, ()) if d.status is LogDirStatus.OFFLINE}
    if not snapshot.is_alive(broker) or offline != set(places):
        return set()
    seen = {replica.key for replica in snapshot.layout.replicas if replica.broker == broker}
    return {p.key for p in snapshot.partitions.values() if broker in p.offline_replicas} - seen


def danger(partition: Partition, snapshot: ClusterSnapshot, broker: int) -> tuple[int, bool]:
    """Sort key: fewest live in-sync replicas elsewhere first (leaderless, then sole ones), then internal topics."""
    in_sync = (leadership.live_replicas(partition, snapshot) & set(partition.isr)) - {broker}
    return len(in_sync), not snapshot.topics[partition.topic].is_internal


def urgency(partition: Partition, snapshot: ClusterSnapshot, broker: int) -> tuple[int, bool, int, TopicPartition]:
    """Sort key: by danger, then the largest first, which are the hardest to place."""
    return *danger(partition, snapshot, broker), -(snapshot.layout.size_of(partition.key) or 0), partition.key


def partitions_on(broker: int, snapshot: ClusterSnapshot) -> list[Partition]:
    """Return the partitions that have a replica on a broker, most endangered first."""
    found = [partition for partition in snapshot.partitions.values() if broker in partition.replicas]
    return sorted(found, key=lambda partition: urgency(partition, snapshot, broker))
