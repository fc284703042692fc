"""What a plan for a real cluster leaves out, and why: broken, cordoned, down, moving or unknown.

Unknown is not healthy: nothing is planned onto a directory unless it is known that it serves and how full it is.
"""

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from logdirwatch.plan.capacity.projected_use import volumes
from logdirwatch.plan.cluster.layout import LogDirId, Partition, Replica
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir, unusable_age
from logdirwatch.plan.proposal import Policy, Veto
from logdirwatch.plan.vetoes import replica_vetoes


class LeftOut(Struct, frozen=True, kw_only=True):
    """A directory, or a whole broker (``log_dir`` null), that nothing is moved to or from, and why."""

    broker: int
    log_dir: str | None
    reason: str


class Staying(Struct, frozen=True, kw_only=True):
    """Partitions that stay where they are for one kind of reason (``why``), with the full reason of the first."""

    why: str
    partitions: int
    reason: str


def left_out(snapshot: ClusterSnapshot, policy: Policy, now_ms: int, emptied: LogDirId | None) -> list[LeftOut]:
    """Return the directories and brokers left out; ``emptied``, the directory to evacuate, may be cordoned."""
    found: list[LeftOut] = []
    for number in sorted({*snapshot.brokers, *snapshot.directories_of}):
        reason = _broker_out(number, snapshot)
        if reason is not None:
            found.append(LeftOut(broker=number, log_dir=None, reason=reason))
        else:
            found += _directories_out(number, snapshot, policy, now_ms, emptied)
    return found


def is_out(place: LogDirId, out: list[LeftOut]) -> bool:
    """Whether a directory is left out, itself or with its broker."""
    return any(one.broker == place[0] and one.log_dir in {None, place[1]} for one in out)


def unsafe(place: LogDirId, snapshot: ClusterSnapshot, policy: Policy, now_ms: int) -> str | None:
    """Return why a directory cannot be evacuated on this snapshot; None if nothing here prevents it."""
    directory = snapshot.directories.get(place)
    if directory is None:
        return None
    reason = _broker_out(place[0], snapshot) or _too_old(directory, policy, now_ms)
    slow = replica_vetoes.slower_than_writes(policy.limits.log_dir_throttle_bytes_per_s, directory.growth_bytes_per_s)
    return reason or (None if slow is None else slow.reason)


def why_staying(partition: Partition, snapshot: ClusterSnapshot, *, is_balance: bool) -> Veto | None:
    """Return why a partition's replicas must stay where they are; an evacuation has fewer reasons than balance."""
    return replica_vetoes.first(
        [
            replica_vetoes.partition_moving(snapshot, partition),
            replica_vetoes.partition_claimed(snapshot, partition),
            replica_vetoes.retention_waits(snapshot, partition.topic),
            *(replica_vetoes.broker_not_alive(snapshot, broker) for broker in partition.replicas),
            _incomplete(partition, snapshot),
            _offline_replica(partition, snapshot) if is_balance else None,
        ]
    )


def placed(partition: Partition, snapshot: ClusterSnapshot) -> list[Replica] | None:
    """Return a partition's replicas in order of preference; None if the place or size of one is unknown."""
    by_broker = {replica.broker: replica for replica in snapshot.replicas_of(partition.key)}
    found = [by_broker.get(broker) for broker in partition.replicas]
    known = [r for r in found if r is not None and r.size_bytes is not None and r.place in snapshot.directories]
    return known if len(known) == len(partition.replicas) else None


def grouped(reasons: Iterator[Veto]) -> list[Staying]:
    """Return reasons by their kind, the most frequent first."""
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    for veto in reasons:
        counts[veto.name] += 1
        first.setdefault(veto.name, veto.reason)
    return [Staying(why=name, partitions=count, reason=first[name]) for name, count in counts.most_common()]


def _broker_out(number: int, snapshot: ClusterSnapshot) -> str | None:
    broker = snapshot.brokers.get(number)
    if broker is None:
        return f"nothing is known of broker {number}"
    if not broker.is_alive:
        return f"broker {number} is {'fenced' if broker.is_fenced and not broker.is_zookeeper else broker.status}"
    if broker.is_suspect:
        return f"one of the disks of broker {number} is suspect, and nobody knows which"
    veto = replica_vetoes.log_dir_offline(snapshot, number) or replica_vetoes.log_dir_unknown(snapshot, number)
    return None if veto is None else veto.reason


def _directories_out(
    broker: int, snapshot: ClusterSnapshot, policy: Policy, now_ms: int, emptied: LogDirId | None
) -> Iterator[LeftOut]:
    sharing = volumes(snapshot, broker)
    for directory in sorted(snapshot.directories_of.get(broker, ()), key=lambda d: d.path):
        if directory.place == emptied:
            continue
        twins = sharing[directory.place]
        if directory.is_cordoned:
            reason: str | None = "it is cordoned: it takes no new replica"
        elif directory.is_marked:
            reason = "plan.log_dirs says that it is no destination"
        elif emptied in twins:
            reason = "it lies on the volume that is to be emptied"
        elif min(twins) != directory.place:
            reason = f"it is on one volume with {min(twins)[1]}, which counts for both"
        else:
            reason = _too_old(directory, policy, now_ms)
        if reason is not None:
            yield LeftOut(broker=broker, log_dir=directory.path, reason=reason)


def _too_old(directory: LogDir, policy: Policy, now_ms: int) -> str | None:
    if directory.used_bytes is None or not directory.total_bytes:
        return f"the free space of {directory.path} is not known"
    if directory.sample_at_ms is None:
        return f"nobody knows how old the numbers of {directory.path} are"
    age = unusable_age(now_ms - directory.sample_at_ms, policy)
    return None if age is None else f"the numbers of {directory.path} are {age}"


def _incomplete(partition: Partition, snapshot: ClusterSnapshot) -> Veto | None:
    if placed(partition, snapshot) is not None:
        return None
    return Veto(
        "placement_unknown", f"where all replicas of {partition.label} lie, and how large they are, is not known"
    )


def _offline_replica(partition: Partition, snapshot: ClusterSnapshot) -> Veto | None:
    here = snapshot.replicas_of(partition.key)
    lost = [r.broker for r in here if r.place in snapshot.directories and not snapshot.directories[r.place].is_serving]
    lost += partition.offline_replicas
    if not lost:
        return None
    return Veto(
        "replica_offline", f"the replica of {partition.label} on broker {lost[0]} is offline: repair comes first"
    )
