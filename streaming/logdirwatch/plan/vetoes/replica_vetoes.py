"""Vetoes on replicas, destinations and retention: each has a name and a reason, or is None.

Sources: KIP-112, KIP-113, KIP-928; Kafka 4.3.1's ``LogManager``, ``ReplicaManager``, ``ReassignPartitionsCommand``.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.plan.availability import leadership
from logdirwatch.plan.cluster.layout import Partition, Topic
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Veto
from logdirwatch.plan.settings import PlanSettings

_WAITS = "a retention cut of {} waits for its effect"
_FILE_NAME_MAX = 255
_FUTURE_SUFFIX = len(".") + 32 + len("-future")


def first(vetoes: Iterable[Veto | None]) -> Veto | None:
    """Return the first veto that is not None."""
    return next((veto for veto in vetoes if veto is not None), None)


def broker_not_alive(snapshot: ClusterSnapshot, broker: int) -> Veto | None:
    """Veto what needs a broker that is not alive."""
    if snapshot.is_alive(broker):
        return None
    return Veto("broker_not_alive", f"broker {broker} is not known to be alive", (broker,))


def log_dir_offline(snapshot: ClusterSnapshot, broker: int) -> Veto | None:
    """Veto moves while a directory is offline: the broker creates no future log (``LogManager.getOrCreateLog``)."""
    paths = [d.path for d in snapshot.directories_of.get(broker, ()) if d.status is LogDirStatus.OFFLINE]
    if not paths:
        return None
    return Veto(
        "log_dir_offline",
        f"{', '.join(paths)} of broker {broker} is offline; Kafka refuses moves inside a broker until it is back",
        (broker,),
    )


def log_dir_unknown(snapshot: ClusterSnapshot, broker: int) -> Veto | None:
    """Veto moves while a directory is unknown: it may be offline, and Kafka then fails half way through."""
    paths = snapshot.unknown_in(broker)
    if not paths:
        return None
    return Veto("log_dir_unknown", f"the state of {', '.join(paths)} on broker {broker} is not known", (broker,))


def destination_not_serving(directory: LogDir) -> Veto | None:
    """Veto a directory that is offline or unknown."""
    if directory.is_serving:
        return None
    return Veto("destination_not_serving", f"{directory.path} on broker {directory.broker} is {directory.status}")


def destination_closed(directory: LogDir) -> Veto | None:
    """Veto a directory that must take nothing: cordoned in Kafka, excluded by configuration, or suspect."""
    where = f"{directory.path} on broker {directory.broker}"
    if directory.is_cordoned:  # it takes no new replica (KIP-1066; INVALID_REPLICA_ASSIGNMENT in 4.3.1)
        return Veto("destination_cordoned", f"{where} is cordoned")
    if directory.is_marked:
        return Veto("destination_marked", f"plan.log_dirs says that {where} is no destination")
    return Veto("destination_suspect", f"{where} is suspect") if directory.is_suspect else None


def marked_may_be_chosen(snapshot: ClusterSnapshot, broker: int) -> Veto | None:
    """Veto letting Kafka choose the directory if it may choose an excluded one, which it does not know."""
    paths = [
        d.path for d in snapshot.directories_of.get(broker, ()) if d.is_serving and d.is_marked and not d.is_cordoned
    ]
    if not paths:
        return None
    return Veto(
        "destination_marked",
        f"Kafka itself may choose {', '.join(paths)} on broker {broker}, which plan.log_dirs says is no destination: "
        "cordon it first",
    )


def rack_spread_lost(snapshot: ClusterSnapshot, before: Iterable[int], after: Iterable[int]) -> Veto | None:
    """Veto leaving a partition on fewer racks than before."""
    racks_before, racks_after = _racks(snapshot, before), _racks(snapshot, after)
    if len(racks_after) >= len(racks_before):
        return None
    return Veto("rack_spread_lost", f"racks would shrink from {_listed(racks_before)} to {_listed(racks_after)}")


def no_live_source(snapshot: ClusterSnapshot, partition: Partition, without: int | None) -> Veto | None:
    """Veto a reassignment without a live in-sync replica on a healthy disk to copy from: it never completes.

    ``without`` is the broker whose replica is lost; None if none is.
    """
    if leadership.in_sync(partition, snapshot) - {without}:
        return None
    return Veto("no_live_source", f"no other in-sync replica of {partition.label} is alive to copy from")


def size_unknown(snapshot: ClusterSnapshot, partition: Partition) -> Veto | None:
    """Veto placing a replica of unknown size."""
    if snapshot.layout.size_of(partition.key) is not None:
        return None
    return Veto("size_unknown", f"the size of {partition.label} is not known")


def partition_moving(snapshot: ClusterSnapshot, partition: Partition) -> Veto | None:
    """Veto partitions that are being moved (KIP-18); retention and cleaning do not run on them either.

    A copy between directories has ended if its source or destination went offline (KIP-113, notes).
    """
    if partition.key not in snapshot.layout.moving or not (partition.is_reassigned or _is_copied(snapshot, partition)):
        return None
    how = "reassigned" if partition.is_reassigned else "moved between directories"
    return Veto("partition_moving", f"{partition.label} is being {how} already")


def partition_claimed(snapshot: ClusterSnapshot, partition: Partition) -> Veto | None:
    """Veto a second reassignment of a partition: each names the complete list of replicas and undoes the other."""
    if partition.key not in snapshot.claimed:
        return None
    return Veto("partition_claimed", f"an open action of another alert reassigns {partition.label}")


def retention_waits(snapshot: ClusterSnapshot, topic: str) -> Veto | None:
    """Veto moving a topic with a pending retention cut: retention does not run on a moving replica."""
    if topic not in snapshot.decisions.cutting:
        return cut_elsewhere(snapshot, topic)
    return Veto("retention_waits", _WAITS.format(topic))


def cut_elsewhere(snapshot: ClusterSnapshot, topic: str) -> Veto | None:
    """Veto cutting a topic again that an action of another alert cuts."""
    return Veto("retention_waits", _WAITS.format(topic)) if topic in snapshot.cutting else None


def never_touch(topic: str, limits: PlanSettings) -> Veto | None:
    """Veto topics that the configuration excludes from every recommendation."""
    if not _matches(topic, limits.never_touch) and not limits.topic_rule(topic).never_touch:
        return None
    return Veto("never_touch", f"the configuration says that {topic} is never touched")


def internal_topic(topic: Topic, limits: PlanSettings) -> Veto | None:
    """Veto internal topics, for retention and for balance."""
    if not topic.is_internal and not _matches(topic.name, limits.internal_topics):
        return None
    return Veto("internal_topic", f"{topic.name} is an internal topic")


def name_too_long(topic: str, partition: int) -> Veto | None:
    """Veto names too long for ``topic-partition.<32 digits>-future``, a file name of at most 255 bytes."""
    if len(f"{topic}-{partition}") + _FUTURE_SUFFIX <= _FILE_NAME_MAX:
        return None
    return Veto("name_too_long", f"the name {topic} is too long for Kafka to move it between directories")


def slower_than_writes(rate: int, growth_bytes_per_s: float | None) -> Veto | None:
    """Veto a copy that is slower than the writes: it never completes."""
    if growth_bytes_per_s is None or growth_bytes_per_s < rate:
        return None
    return Veto("slower_than_writes", f"the throttle of {rate} bytes/s is below the write rate of its copies")


def _is_copied(snapshot: ClusterSnapshot, partition: Partition) -> bool:
    copies = snapshot.layout.copies_of.get(partition.key, ())
    offline = {d.place for d in snapshot.directories.values() if d.status is LogDirStatus.OFFLINE} if copies else set()
    homes = {replica.broker: replica.place for replica in snapshot.replicas_of(partition.key)}
    return any(copy.place not in offline and homes.get(copy.broker) not in offline for copy in copies)


def _racks(snapshot: ClusterSnapshot, brokers: Iterable[int]) -> set[str]:
    return {
        rack for broker in brokers if broker in snapshot.brokers and (rack := snapshot.brokers[broker].rack) is not None
    }


def _matches(topic: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(topic, pattern) for pattern in patterns)


def _listed(racks: set[str]) -> str:
    return ", ".join(sorted(racks)) or "none"
