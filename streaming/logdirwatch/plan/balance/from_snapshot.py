"""A model of a real cluster, from the tables or from its brokers, with everything that must stay in place."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from logdirwatch.errors import UserError
from logdirwatch.plan.balance.model.cluster import ClusterModel, Placed, flags, numbers
from logdirwatch.plan.balance.model.task import Mode
from logdirwatch.plan.balance.summary import About, LeftOut, Staying
from logdirwatch.plan.capacity.projected_use import in_flight_bytes, volumes
from logdirwatch.plan.capacity.timing import DELETE_DELAY_MS, delete_delay_ms, time_to_full_ms
from logdirwatch.plan.cluster.layout import LogDirId, Partition, Replica, TopicPartition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir, too_old, unusable_age
from logdirwatch.plan.proposal import Policy, Veto
from logdirwatch.plan.vetoes import replica_vetoes


@dataclass(frozen=True, eq=False)
class Known:
    """A model of a real cluster, and what a plan leaves in place."""

    model: ClusterModel
    about: About


def known(snapshot: ClusterSnapshot, mode: Mode, policy: Policy, now_ms: int) -> Known:
    """Return the model of a cluster for a mode.

    Raises UserError, one line, if unknown or broken parts make every plan unsafe.
    """
    _refuse_unsafe(snapshot, mode, policy, now_ms)
    out = left_out(snapshot, policy, now_ms, mode.evacuated)
    partitions = [partition for _, partition in sorted(snapshot.partitions.items())]
    staying = {
        partition.key: veto
        for partition in partitions
        if (veto := why_staying(partition, snapshot, is_balance=mode.evacuated is None)) is not None
    }
    rows = [(partition, replica) for partition in partitions for replica in placed(partition, snapshot) or ()]
    model = _model(snapshot, rows, frozenset(staying), out, _lasts_ms(snapshot, mode, policy, out))
    if mode.evacuated is not None:
        out = [one for one in out if one.broker == mode.evacuated[0]]
        there = {replica.key for replica in snapshot.replicas_in(mode.evacuated)}
        staying = {key: veto for key, veto in staying.items() if key in there}
        _refuse_staying(mode, [veto.reason for veto in staying.values()], snapshot.strays_in(mode.evacuated))
    elif not model.is_open.any():
        raise UserError(f"plan: no directory can take part: {'; '.join(dict.fromkeys(one.reason for one in out))}")
    about = About(
        cluster=snapshot.cluster,
        state_at_ms=snapshot.state_at_ms,
        inventory_at_ms=snapshot.inventory_at_ms,
        left_out=out,
        staying=grouped(staying.values()),
    )
    return Known(model, about)


def _refuse_unsafe(snapshot: ClusterSnapshot, mode: Mode, policy: Policy, now_ms: int) -> None:
    reason = too_old(snapshot, policy, now_ms)
    age = unusable_age(now_ms - (now_ms if snapshot.state_at_ms is None else snapshot.state_at_ms), policy)
    if reason is None and age is not None:
        reason = f"the newest state of a broker is {age}"
    if reason is not None:
        raise UserError(f"plan: {reason}: do logdirwatch collect and stream run? --live asks the brokers themselves")
    if any(partition.adding is None for partition in snapshot.partitions.values()):
        raise UserError("plan: whether a reassignment runs is not known, so nothing can be planned beside it")
    reason = None if mode.evacuated is None else unsafe(mode.evacuated, snapshot, policy, now_ms)
    if reason is not None:
        raise UserError(f"plan: {mode}: {reason}")


def _refuse_staying(mode: Mode, reasons: list[str], strays: Iterable[str]) -> None:
    """Raise UserError for an evacuation that would leave something behind."""
    reasons = [*reasons, *(f"{label} is there, and the cluster's metadata does not know it" for label in strays)]
    if reasons:
        more = f" (and {len(reasons) - 1} partitions more stay there)" if len(reasons) > 1 else ""
        raise UserError(f"plan: {mode}: {reasons[0]}{more}")


def _lasts_ms(snapshot: ClusterSnapshot, mode: Mode, policy: Policy, out: list[LeftOut]) -> int:
    """Return for how long directories must have room for what they get, and for their own growth.

    For as long as an evacuation copies. Balance lasts until there is more room, or the first of them is full.
    """
    if mode.evacuated is not None:
        leaving = sum(replica.size_bytes or 0 for replica in snapshot.replicas_in(mode.evacuated))
        return leaving * 1000 // policy.limits.log_dir_throttle_bytes_per_s
    taking_part = (directory for place, directory in snapshot.directories.items() if not is_out(place, out))
    ends_ms = (ms for directory in taking_part if (ms := time_to_full_ms(directory)) is not None)
    return min([policy.limits.fleet_cuts_last_ms, *ends_ms])


def _model(
    snapshot: ClusterSnapshot,
    rows: Sequence[tuple[Partition, Replica]],
    staying: Collection[TopicPartition],
    out: list[LeftOut],
    lasts_ms: int,
) -> ClusterModel:
    directories = [snapshot.directories[place] for place in sorted(snapshot.directories)]
    brokers = sorted({directory.broker for directory in directories})
    held, coming = Counter[LogDirId](), in_flight_bytes(snapshot)
    for _, replica in rows:
        held[replica.place] += replica.size_bytes or 0
    # What is no replica of the model: other files, running copies, and bytes that are reserved.
    others = {
        d.place: max(0, (d.used_bytes or 0) - held[d.place])
        + coming.get(d.place, 0)
        + snapshot.reserved.get(d.place, 0)
        for d in directories
    }
    return ClusterModel.of(
        {broker: snapshot.rack_of(broker) or "" for broker in brokers},
        # Nothing is planned where the size is unknown.
        {d.place: d.total_bytes or max(1, held[d.place]) for d in directories},
        [Placed(one.key, one.place, one.size_bytes or 0, at.leader == one.broker) for at, one in rows],
        other_bytes=numbers(others.values()),
        growing_bytes=numbers(int(max(0.0, d.outlook_bytes_per_s or 0.0) * lasts_ms / 1000) for d in directories),
        is_open=flags(not is_out(directory.place, out) for directory in directories),
        is_free=flags(partition.key not in staying for partition, _ in rows),
        is_in_sync=flags(replica.broker in partition.isr for partition, replica in rows),
        delete_delay_ms=max((delete_delay_ms(broker, snapshot) for broker in brokers), default=DELETE_DELAY_MS),
    )


# What a plan leaves out, and why. Unknown is not healthy: nothing is planned onto a directory unless it is known that
# it serves and how full it is.
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


def grouped(vetoes: Iterable[Veto]) -> list[Staying]:
    """Return reasons by their kind, the most frequent first."""
    found = list(vetoes)
    first = {veto.name: veto.reason for veto in reversed(found)}
    counts = Counter(veto.name for veto in found)
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
