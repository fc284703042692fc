"""A model of a real cluster, from the tables or from its brokers, with everything that must stay in place."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from logdirwatch.errors import UserError
from logdirwatch.plan.balance.excluded import LeftOut, grouped, is_out, left_out, placed, unsafe, why_staying
from logdirwatch.plan.balance.model.cluster import ClusterModel, Flags, Numbers
from logdirwatch.plan.balance.model.task import Mode
from logdirwatch.plan.balance.summary import About
from logdirwatch.plan.capacity.projected_use import in_flight_bytes
from logdirwatch.plan.capacity.timing import DELETE_DELAY_MS, delete_delay_ms, time_to_full_ms
from logdirwatch.plan.cluster.layout import LogDirId, Partition, Replica
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir, too_old, unusable_age
from logdirwatch.plan.proposal import Policy, Veto


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
    chosen = _partitions(snapshot, mode)
    kept = [one for one in chosen if one.veto is not None]
    model = _model(snapshot, [one for one in chosen if one.replicas], out, _lasts_ms(snapshot, mode, policy, out))
    if mode.evacuated is not None:
        out = [one for one in out if one.broker == mode.evacuated[0]]
        there = {replica.key for replica in snapshot.replicas_in(mode.evacuated)}
        kept = [one for one in kept if one.partition.key in there]
        _refuse_staying(mode, kept, snapshot)
    if mode.evacuated is None and not model.is_open.any():
        raise UserError(f"plan: no directory can take part: {'; '.join(dict.fromkeys(one.reason for one in out))}")
    about = About(
        cluster=snapshot.cluster,
        state_at_ms=snapshot.state_at_ms,
        inventory_at_ms=snapshot.inventory_at_ms,
        left_out=out,
        staying=grouped(one.veto for one in kept if one.veto is not None),
    )
    return Known(model, about)


class _Chosen(NamedTuple):
    """A partition; ``replicas`` in order of preference, empty unless all are known."""

    partition: Partition
    replicas: list[Replica]
    veto: Veto | None


def _refuse_unsafe(snapshot: ClusterSnapshot, mode: Mode, policy: Policy, now_ms: int) -> None:
    reason = too_old(snapshot, policy, now_ms)
    age = unusable_age(now_ms - (now_ms if snapshot.state_at_ms is None else snapshot.state_at_ms), policy)
    if reason is None and age is not None:
        reason = f"the newest state of a broker is {age}"
    if reason is not None:
        raise UserError(f"plan: {reason}: do logdirwatch collect and stream run? --live asks the brokers themselves")
    if any(partition.adding is None for partition in snapshot.partitions.values()):
        raise UserError("plan: whether a reassignment runs is not known, so nothing can be planned beside it")
    if mode.evacuated is not None:
        reason = unsafe(mode.evacuated, snapshot, policy, now_ms)
        if reason is not None:
            raise UserError(f"plan: {mode}: {reason}")


def _partitions(snapshot: ClusterSnapshot, mode: Mode) -> list[_Chosen]:
    is_balance = mode.evacuated is None
    return [
        _Chosen(partition, placed(partition, snapshot) or [], why_staying(partition, snapshot, is_balance=is_balance))
        for _, partition in sorted(snapshot.partitions.items())
    ]


def _refuse_staying(mode: Mode, kept: list[_Chosen], snapshot: ClusterSnapshot) -> None:
    """Raise UserError for an evacuation that would leave something behind."""
    reasons = [one.veto.reason for one in kept if one.veto is not None]
    place = mode.evacuated
    strays = snapshot.strays_in(place) if place is not None else {}
    reasons += [f"{label} is there, and the cluster's metadata does not know it" for label in strays]
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


def _model(snapshot: ClusterSnapshot, chosen: list[_Chosen], out: list[LeftOut], lasts_ms: int) -> ClusterModel:
    directories = [snapshot.directories[place] for place in sorted(snapshot.directories)]
    place_of = {directory.place: number for number, directory in enumerate(directories)}
    broker_ids = sorted({directory.broker for directory in directories})
    racks = sorted({_rack(snapshot, broker) for broker in broker_ids})
    topics = sorted({one.partition.topic for one in chosen})
    topic_of = {topic: number for number, topic in enumerate(topics)}
    rows = [(number, one, replica) for number, one in enumerate(chosen) for replica in one.replicas]
    held = Counter[LogDirId]()
    for _, _, replica in rows:
        held[replica.place] += replica.size_bytes or 0
    return ClusterModel(
        broker_ids=_numbers(broker_ids),
        racks=tuple(racks),
        broker_rack=_numbers(racks.index(_rack(snapshot, broker)) for broker in broker_ids),
        directory_paths=tuple(directory.path for directory in directories),
        directory_broker=_numbers(broker_ids.index(directory.broker) for directory in directories),
        # Nothing is planned where the size is unknown.
        capacity_bytes=_numbers(d.total_bytes or max(1, held[d.place]) for d in directories),
        topics=tuple(topics),
        partition_topic=_numbers(topic_of[one.partition.topic] for one in chosen),
        partition_numbers=_numbers(one.partition.partition for one in chosen),
        replica_partition=_numbers(number for number, _, _ in rows),
        replica_directory=_numbers(place_of[replica.place] for _, _, replica in rows),
        replica_bytes=_numbers(replica.size_bytes or 0 for _, _, replica in rows),
        is_leader=_flags(one.partition.leader == replica.broker for _, one, replica in rows),
        other_bytes=_numbers(_others(snapshot, directories, held)),
        growing_bytes=_numbers(int(max(0.0, d.outlook_bytes_per_s or 0.0) * lasts_ms / 1000) for d in directories),
        is_closed=_flags(is_out(directory.place, out) for directory in directories),
        is_held=_flags(one.veto is not None for _, one, _ in rows),
        is_lagging=_flags(replica.broker not in one.partition.isr for _, one, replica in rows),
        delete_delay_ms=max((delete_delay_ms(broker, snapshot) for broker in broker_ids), default=DELETE_DELAY_MS),
    )


def _others(snapshot: ClusterSnapshot, directories: list[LogDir], held: Counter[LogDirId]) -> Iterator[int]:
    """Yield by directory the bytes that are not replicas of the model: other files, running copies, reserved bytes."""
    coming = in_flight_bytes(snapshot)
    for directory in directories:
        place = directory.place
        unexplained = max(0, (directory.used_bytes or 0) - held[place])
        yield unexplained + coming.get(place, 0) + snapshot.reserved.get(place, 0)


def _rack(snapshot: ClusterSnapshot, broker: int) -> str:
    known_broker = snapshot.brokers.get(broker)
    return "" if known_broker is None or known_broker.rack is None else known_broker.rack


def _numbers(values: Iterator[int] | list[int]) -> Numbers:
    return np.array(list(values), dtype=np.int64)


def _flags(values: Iterator[bool]) -> Flags:
    return np.array(list(values), dtype=np.bool_)
