"""Running reassignments, whoever started them: which ones can no longer complete, and how to cancel them.

KIP-113 (notes): a move between directories stops when its source or destination goes offline; the broker forgets it, so
there is nothing to cancel. A reassignment waits forever for a new replica that cannot be created (Kafka 4.3.1
``PartitionReassignmentReplicas``), and as long as it runs the partition cannot be repaired otherwise.
"""

from typing import NamedTuple

from logdirwatch.plan.availability import leadership as leaders
from logdirwatch.plan.cluster.layout import Partition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import Veto


class DeadEnd(NamedTuple):
    """A reassignment that cannot complete, and why."""

    partition: Partition
    why: Veto


def dead_ends(snapshot: ClusterSnapshot) -> list[DeadEnd]:
    """Return the running reassignments that cannot complete in the present state."""
    running = (partition for partition in snapshot.partitions.values() if partition.adding or partition.removing)
    found = ((partition, dead_end(partition, snapshot)) for partition in running)
    return sorted((DeadEnd(p, why) for p, why in found if why is not None), key=lambda one: one.partition.key)


def dead_end(partition: Partition, snapshot: ClusterSnapshot) -> Veto | None:
    """Return why a partition's reassignment cannot complete; None if it can, or its new replicas are unknown."""
    adding = set(partition.adding or ())
    gone = sorted(broker for broker in adding if snapshot.is_gone(broker))
    if gone:
        return Veto("destination_gone", f"broker {', '.join(map(str, gone))} that it adds is offline")
    lost = sorted(adding & _on_dead_disks(partition, snapshot))
    if lost:
        return Veto("destination_offline", f"the disk of the new replica on broker {', '.join(map(str, lost))} is lost")
    if adding and not (leaders.live_replicas(partition, snapshot) & set(partition.isr)) - adding:
        return Veto("no_live_source", f"no in-sync replica of {partition.label} is alive to copy from")
    return None


def drops_last_copy(partition: Partition, snapshot: ClusterSnapshot) -> bool:
    """Tell whether a partition is in sync only on the added replicas, which cancelling would remove.

    Kafka refuses that or, if unclean elections are allowed, loses the records that only they have (KAFKA-14424).
    """
    in_sync = leaders.live_replicas(partition, snapshot) & set(partition.isr)
    return bool(in_sync) and in_sync <= set(partition.adding or ())


def _on_dead_disks(partition: Partition, snapshot: ClusterSnapshot) -> set[int]:
    """Return the live brokers whose replica is offline because its disk is (``KRaftMetadataCache``)."""
    live = leaders.live_replicas(partition, snapshot)
    return {broker for broker in partition.replicas if snapshot.is_alive(broker) and broker not in live}
