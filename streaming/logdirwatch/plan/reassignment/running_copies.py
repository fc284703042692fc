"""Running moves, whoever started them: what they still copy where, and how to cancel them.

Within a broker the copy is a future replica beside the current one (KIP-113); between brokers it is an added replica
that is not in sync yet.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, NamedTuple

from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.plan.availability import leadership as leaders
from logdirwatch.plan.capacity.projected_use import Space
from logdirwatch.plan.cluster.layout import LogDirId, Partition, Replica
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Policy, Veto
from logdirwatch.text.words import some_of


class Copy(NamedTuple):
    """One running copy: the replica in its destination, and the bytes that it has and still needs."""

    replica: Replica
    copied_bytes: int
    remaining_bytes: int

    @property
    def size_bytes(self) -> int:
        """What its cancellation spares: what is still to come, and what is there already."""
        return self.copied_bytes + self.remaining_bytes

    @property
    def destination(self) -> LogDirId:
        """The directory that it is written to."""
        return self.replica.place


def not_cleaned(named: Sequence[str]) -> str:
    """Say what a cancelled copy between directories leaves behind (KAFKA-19458, fixed in Kafka 4.2)."""
    return f"before Kafka 4.2 retention and compaction of {some_of(named, 3)} stay off until a restart of the broker"


def running_copies(snapshot: ClusterSnapshot) -> list[Copy]:
    """Return every running copy in the last inventory, the one with most bytes left first."""
    layout = snapshot.layout
    named = (r for key in layout.moving for r in (*snapshot.replicas_of(key), *layout.copies_of.get(key, ())))
    found = []
    for replica in (one for one in named if _is_on_its_way(one, snapshot)):
        copied = replica.size_bytes or 0
        found.append(Copy(replica, copied, max(0, (layout.size_of(replica.key) or 0) - copied)))
    return sorted(found, key=lambda copy: (-copy.remaining_bytes, copy.replica.place, copy.replica.key))


def overflowing(directory: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> list[Copy]:
    """Return the copies to cancel so that running moves do not fill a directory: as few as keep it under the limit.

    Those that are needed go on if everything then fits. Plans that have not started do not count; cancelling frees what
    was copied already.
    """
    limit, coming = policy.limits.destination_max_ratio, copies_to([directory.place], snapshot)
    ratio = filled_to(directory, snapshot) if coming else None
    if ratio is None or ratio <= 1.0 or not directory.total_bytes:
        return []
    above = int((ratio - limit) * directory.total_bytes) + 1
    unneeded = ending(directory, snapshot, above, unneeded=True)
    fits = sum(copy.size_bytes for copy in unneeded) >= (ratio - 1.0) * directory.total_bytes
    return unneeded if fits else ending(directory, snapshot, above)


def ending(directory: LogDir, snapshot: ClusterSnapshot, spared_bytes: int, *, unneeded: bool = False) -> list[Copy]:
    """Return the copies to a directory whose cancellation spares it that many bytes and loses no last copy.

    ``unneeded``: only those that nobody needs more than the room.
    """
    chosen: list[Copy] = []
    judged = [(_is_needed(copy, directory, snapshot), copy) for copy in copies_to([directory.place], snapshot)]
    for is_needed, copy in sorted(judged, key=itemgetter(0)):
        if is_needed and unneeded:
            break
        is_harmless = not drops_last_copy(snapshot.partitions[copy.replica.key], snapshot)
        spared = sum(done.size_bytes for done in chosen)
        if is_harmless and spared < spared_bytes:
            chosen.append(copy)
    return chosen


def _is_needed(copy: Copy, directory: LogDir, snapshot: ClusterSnapshot) -> bool:
    """Tell whether a copy restores a replica that is missing, or leaves a directory that needs it to leave.

    That is one that is failing, or whose use is critical and higher.
    """
    partition = snapshot.partitions[copy.replica.key]
    added = set(partition.adding or ())
    is_complete = set(partition.replicas) - added <= leaders.in_sync(partition, snapshot)
    if not (copy.replica.is_future or is_complete):
        return True
    left_by = {copy.replica.broker} if copy.replica.is_future else set(partition.removing or ())
    places = (one.place for one in snapshot.replicas_of(copy.replica.key) if one.broker in left_by)
    sources = (snapshot.directories[place] for place in places if place in snapshot.directories)
    return any(one.is_suspect or (one.is_urgent and one.used_ratio > directory.used_ratio) for one in sources)


def without_copies(copies: Sequence[Copy], snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Return the snapshot without these copies: their bytes are free, and the rest does not arrive.

    Nothing else is planned for their partitions meanwhile.
    """
    ended = {(copy.replica.key, copy.replica.place) for copy in copies}
    kept = tuple(replica for replica in snapshot.layout.replicas if (replica.key, replica.place) not in ended)
    directories = dict(snapshot.directories)
    for copy in copies:
        found = directories.get(copy.destination)
        if found is not None:
            usable = None if found.usable_bytes is None else found.usable_bytes + copy.copied_bytes
            incoming = None if found.incoming_bytes is None else max(0, found.incoming_bytes - copy.remaining_bytes)
            directories[copy.destination] = replace(found, usable_bytes=usable, incoming_bytes=incoming)
    left = replace(snapshot, layout=replace(snapshot.layout, replicas=kept), directories=directories)
    return left.without(copy.replica.key for copy in copies)


def filled_to(directory: LogDir, snapshot: ClusterSnapshot) -> float | None:
    """Return the fill of a directory after everything on its way has arrived."""
    return Space(replace(snapshot, reserved={})).ratio(directory.place)


def copies_to(places: Iterable[LogDirId], snapshot: ClusterSnapshot) -> list[Copy]:
    """Return the running copies to any of the directories."""
    wanted = set(places)
    return [copy for copy in running_copies(snapshot) if copy.destination in wanted]


def are_running(copies: Iterable[Mapping[str, Any]], snapshot: ClusterSnapshot) -> int:
    """Return how many of the copies, in the format of action records, are still running."""
    running = {(*copy.replica.key, *copy.destination) for copy in running_copies(snapshot)}
    return len(running & {(one["topic"], one["partition"], one["broker"], one["log_dir"]) for one in copies})


def _is_on_its_way(replica: Replica, snapshot: ClusterSnapshot) -> bool:
    partition = snapshot.partitions.get(replica.key)
    if partition is None or _is_ended(replica, snapshot):
        return False
    added = set(partition.replicas) if partition.adding is None else set(partition.adding)
    return replica.is_future or (partition.is_reassigned and replica.broker in added - set(partition.isr))


def _is_ended(replica: Replica, snapshot: ClusterSnapshot) -> bool:
    """Tell whether a copy cannot be running: it ends with its source or destination (KIP-113, notes)."""
    homes = [home.place for home in snapshot.replicas_of(replica.key) if home.broker == replica.broker]
    places = [replica.place, *(homes if replica.is_future else ())]
    return any(
        d.status is LogDirStatus.OFFLINE for place in places if (d := snapshot.directories.get(place)) is not None
    )


# KIP-113 (notes): a move between directories stops when its source or destination goes offline; the broker forgets it,
# so there is nothing to cancel. A reassignment waits forever for a new replica that cannot be created (Kafka 4.3.1
# PartitionReassignmentReplicas), and as long as it runs the partition cannot be repaired otherwise.
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
    live = leaders.live_replicas(partition, snapshot)
    # On a live broker a replica is offline because its disk is (KRaftMetadataCache).
    lost = sorted(broker for broker in adding - live if broker in partition.replicas and snapshot.is_alive(broker))
    if lost:
        return Veto("destination_offline", f"the disk of the new replica on broker {', '.join(map(str, lost))} is lost")
    if adding and not leaders.in_sync(partition, snapshot) - adding:
        return Veto("no_live_source", f"no in-sync replica of {partition.label} is alive to copy from")
    return None


def drops_last_copy(partition: Partition, snapshot: ClusterSnapshot) -> bool:
    """Tell whether a partition is in sync only on the added replicas, which cancelling would remove.

    Kafka refuses that or, if unclean elections are allowed, loses the records that only they have (KAFKA-14424).
    """
    in_sync = leaders.in_sync(partition, snapshot)
    return bool(in_sync) and in_sync <= set(partition.adding or ())
