"""What a failure costs, the replicas lost with a directory or a broker, and how many more each topic tolerates.

A partition has at most one replica on a broker, so it tolerates as many disk failures as broker failures; a rack fails
with all its brokers. Replicas on suspect or unreported disks do not count (KIP-112, changes in operation 1).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from math import inf
from typing import Any

import msgspec

from logdirwatch.model.actions.parts import TopicEndurance
from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.plan.availability import leadership
from logdirwatch.plan.cluster.layout import LogDirId, Partition, Topic, TopicPartition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import EXAMPLES, Veto

NO_SPARE = "replication_factor_1"
NO_SLACK = "min_isr_is_replication_factor"
ONE_COPY = "min_isr_1"


def endurance(topic: Topic, snapshot: ClusterSnapshot) -> TopicEndurance | None:
    """Return the fault tolerance of a topic, which is that of its weakest partition; None for one without partitions.

    Below zero there is no complete copy now, or writes are blocked already.
    """
    counted = [(complete_copies(partition, snapshot), partition) for partition in topic.partitions]
    if not counted:
        return None
    good, weakest = min(counted, key=lambda item: (len(item[0]), item[1].partition))
    return TopicEndurance(
        topic=topic.name,
        partition=weakest.label,
        copies=len(good),
        survives=len(good) - 1,
        racks=_least(_racks(copies, snapshot) for copies, _ in counted),
        writes_survive=_least(_writes(copies, partition, snapshot) for copies, partition in counted),
        warnings=list(_warnings(topic, snapshot)),
    )


def complete_copies(partition: Partition, snapshot: ClusterSnapshot) -> frozenset[int]:
    """Return the brokers with a copy of all acknowledged records on a disk that is reported to serve."""
    complete = set(partition.isr) | set(partition.elr or ())
    doubtful = {
        replica.broker
        for replica in snapshot.replicas_of(partition.key)
        if replica.place in snapshot.directories and not snapshot.directories[replica.place].is_serving
    }
    return frozenset((leadership.live_replicas(partition, snapshot) & complete) - doubtful)


def cannot_lead(partition: Partition, snapshot: ClusterSnapshot, broker: int) -> Veto | None:
    """Veto that a broker leads a partition: its replica is out of sync, or its disk full, suspect or unknown.

    A critical directory may be led from: a follower is written as much as its leader, so leading takes no more room.
    """
    found = _directories_of(partition, snapshot, broker)
    is_well = bool(found) and not any(one.status is LogDirStatus.SATURATED or one.is_suspect for one in found)
    is_complete = broker in complete_copies(partition, snapshot) & set(partition.isr)
    text = f"broker {broker} cannot lead {partition.label}: it is out of sync, or its disk full, suspect or unknown"
    is_fit = is_complete and is_well and not snapshot.brokers[broker].is_suspect
    return None if is_fit else Veto("cannot_lead", text)


def is_short_of_room(partition: Partition, snapshot: ClusterSnapshot, broker: int) -> bool:
    """Tell whether a broker's replica is in a directory that may be full soon: others lead the partition rather."""
    return any(one.is_urgent for one in _directories_of(partition, snapshot, broker))


def _directories_of(partition: Partition, snapshot: ClusterSnapshot, broker: int) -> list[LogDir]:
    places = [one.place for one in snapshot.replicas_of(partition.key) if one.broker == broker]
    return [snapshot.directories[place] for place in places if place in snapshot.directories]


def fault_tolerance_of(partitions: Iterable[Partition], snapshot: ClusterSnapshot) -> dict[str, Any]:
    """Return the fault tolerance of the topics of these partitions, in the format of action records, weakest first."""
    names = sorted({partition.topic for partition in partitions} & set(snapshot.topics))
    found = [one for name in names if (one := endurance(snapshot.topics[name], snapshot)) is not None]
    found.sort(key=lambda one: (one.survives, -inf if one.writes_survive is None else one.writes_survive, one.topic))
    return {
        "topics": len(found),
        "without_copy": sum(one.survives < 0 for one in found),
        "next_failure_loses_data": sum(one.survives == 0 for one in found),
        "writes_stopped": sum(one.writes_survive is not None and one.writes_survive < 0 for one in found),
        "next_failure_stops_writes": sum(one.writes_survive == 0 for one in found),
        "writes_unknown": sum(one.writes_survive is None for one in found),
        "warnings": dict(sorted(Counter(warning for one in found for warning in one.warnings).items())),
        "examples": msgspec.to_builtins(found[:EXAMPLES]),
    }


def _racks(copies: Iterable[int], snapshot: ClusterSnapshot) -> int | None:
    racks = [snapshot.brokers[broker].rack for broker in copies]
    return None if None in racks else len(set(racks)) - 1


def _writes(copies: AbstractSet[int], partition: Partition, snapshot: ClusterSnapshot) -> int | None:
    needed = leadership.min_isr(partition, snapshot)
    return None if needed is None else len(copies & set(partition.isr)) - needed


def _warnings(topic: Topic, snapshot: ClusterSnapshot) -> Iterable[str]:
    """Yield weaknesses by design; one partition with the lowest replication factor stands for all."""
    lowest = min(topic.partitions, key=lambda partition: len(partition.replicas))
    factor, needed = len(lowest.replicas), leadership.min_isr(lowest, snapshot)
    if factor == 1:
        yield NO_SPARE
    elif needed == factor:
        yield NO_SLACK
    elif needed == 1:
        yield ONE_COPY


def _least(numbers: Iterable[int | None]) -> int | None:
    """Return the smallest; None if any is unknown, as it may be smaller."""
    known = list(numbers)
    return None if None in known else min((number for number in known if number is not None), default=None)


def lost_together(
    places: Sequence[LogDirId], snapshot: ClusterSnapshot, *, with_unseen: bool = True
) -> list[Partition]:
    """Return the partitions whose replica on the broker is in one of its directories, most endangered first.

    Replicas newer than the last inventory are known from metadata only: offline on that broker, and in no reported
    directory. They count if no other directory of the broker is offline.
    """
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
    return len(leadership.in_sync(partition, snapshot) - {broker}), not snapshot.topics[partition.topic].is_internal


def urgency(partition: Partition, snapshot: ClusterSnapshot, broker: int) -> tuple[int, bool, int, TopicPartition]:
    """Sort key: by danger, then the largest first, which are the hardest to place."""
    return *danger(partition, snapshot, broker), -(snapshot.layout.size_of(partition.key) or 0), partition.key


def partitions_on(broker: int, snapshot: ClusterSnapshot) -> list[Partition]:
    """Return the partitions that have a replica on a broker, most endangered first."""
    found = [partition for partition in snapshot.partitions.values() if broker in partition.replicas]
    return sorted(found, key=lambda partition: urgency(partition, snapshot, broker))
