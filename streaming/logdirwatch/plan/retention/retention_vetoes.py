"""Vetoes of actions that free space without a move: each has a name and a reason, or is None.

Sources: KIP-405, KIP-928, KIP-1066; Kafka 4.3.1's ``UnifiedLog``, ``Partition``, ``CordonedLogDirs``.
"""

from collections.abc import Iterable

from logdirwatch.config.section import DAY_MS
from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.plan.cluster.layout import Partition, Replica, Topic
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import NAMED, Policy, Veto
from logdirwatch.plan.retention.limits import (
    LOCAL,
    RETENTION_BYTES,
    RETENTION_MS,
    effective,
    fastest,
    freed_bytes,
    history_bytes,
    is_copy_delayed,
    segment_bytes,
    unread_of,
    wanted_ms,
)
from logdirwatch.text.units import human_bytes, human_ms, human_rate
from logdirwatch.text.words import some_of

KEEPING_UP_RATIO = 0.05
"""The collector's value for a group that keeps up: its smallest step."""
FOR_EVER_MS = 100 * 365 * DAY_MS
FOR_EVER_BYTES = 1 << 60


def high_watermark_stands(topic: Topic) -> Veto | None:
    """Veto a topic without any leader: retention waits for the high watermark.

    Kafka deletes a segment only once the high watermark has passed it (``UnifiedLog.deletableSegments``).
    """
    if any(partition.leader is not None for partition in topic.partitions):
        return None
    return Veto("high_watermark_stands", f"no partition of {topic.name} has a leader: its high watermark stands still")


def kept_for_ever(topic: Topic, here: Iterable[Replica], policy: Policy) -> Veto | None:
    """Veto a topic that its owner keeps forever on purpose: unlimited age set on the topic, and unlimited bytes.

    A broker's default without a limit is no such decision; if its source is unknown, it may be one. Compacted topics
    keep the newest record of a key forever, whatever these limits are.
    """
    no_limit = _is_beyond(topic, RETENTION_MS, FOR_EVER_MS) and _is_beyond(topic, RETENTION_BYTES, FOR_EVER_BYTES)
    if not no_limit or (topic.overridden is not None and RETENTION_MS not in topic.overridden):
        return None
    if "delete" not in (topic.configs.get("cleanup.policy") or "delete").split(","):
        return None
    size = human_bytes(sum(replica.size_bytes or 0 for replica in here))
    purpose = "on purpose" if topic.overridden is not None else "perhaps on purpose"
    owner = policy.limits.topic_rule(topic.name).owner or "its owner"
    return Veto(
        "kept_for_ever",
        f"{topic.name} keeps {size} for ever {purpose} (retention.ms={topic.configs[RETENTION_MS]}): ask {owner}",
    )


def _is_beyond(topic: Topic, key: str, most: int) -> bool:
    """Whether a limit never applies: switched off, or too large to be reached, such as ``Long.MAX_VALUE``."""
    value = topic.configs.get(key)
    return value is not None and (int(value) < 0 or int(value) >= most)


def owner_minimum(topic: Topic, policy: Policy) -> Veto | None:
    """Veto a cut because the configured minimum keeps everything."""
    rule = policy.limits.topic_rule(topic.name)
    if rule.min_retention_bytes is None and rule.min_retention_ms is None:
        return None
    return Veto("owner_minimum", f"the configuration keeps all that is known of {topic.name}")


def history_minimum(topic: Topic, here: Iterable[Replica], snapshot: ClusterSnapshot, policy: Policy) -> Veto | None:
    """Veto a cut because the general minimum of history keeps everything.

    Not if there is no segment to delete anyway.
    """
    replicas, segment = list(here), segment_bytes(topic)
    age, wanted = effective(topic, (LOCAL if topic.is_tiered else "") + RETENTION_MS), wanted_ms(topic, policy)
    has_more = any(freed_bytes(replica.size_bytes or 0, 0, segment) for replica in replicas)
    if not has_more or history_bytes(topic, replicas, snapshot, policy) <= segment:
        return None
    rate = fastest(replicas, age, snapshot)
    why = "how fast it is written is not known" if rate is None else f"{human_rate(rate)} are written to a partition"
    return Veto("min_retention", f"the last {human_ms(wanted)} of {topic.name} stay, which may be all of it: {why}")


def consumers_unread(topic: Topic, snapshot: ClusterSnapshot, policy: Policy) -> Veto | None:
    """Veto a cut, or a deeper one, because consumer groups have not read what it would delete."""
    slowest = slowest_reader(topic, snapshot)
    if slowest is None or not policy.limits.spare_unread or topic.is_tiered:
        return None
    return Veto("consumers_unread", f"{unread_text(slowest, snapshot)}, and no cut takes that: does the group run?")


def unread_goes(topic: Topic, snapshot: ClusterSnapshot, *, is_spared: bool) -> Veto | None:
    """Veto a cut that, as configured, deletes records that a consumer group has not read: a person must decide."""
    slowest = None if is_spared else slowest_reader(topic, snapshot)
    return None if slowest is None else Veto("consumers_unread", unread_text(slowest, snapshot))


def slowest_reader(topic: Topic, snapshot: ClusterSnapshot) -> Partition | None:
    """Return the partition with most bytes that a consumer group has not read; None if every group keeps up."""
    behind = [partition for partition in topic.partitions if (partition.unread_ratio or 0.0) > KEEPING_UP_RATIO]
    return max(behind, key=lambda partition: (unread_of(partition, snapshot), -partition.partition), default=None)


def unread_text(partition: Partition, snapshot: ClusterSnapshot) -> str:
    """Say which group has not read what."""
    size = human_bytes(unread_of(partition, snapshot))
    return f"consumer group {partition.slowest_group} has still to read about {size} of {partition.label}"


def tiered_storage_off(topic: Topic, snapshot: ClusterSnapshot) -> Veto | None:
    """Veto a tiered topic on a broker without remote storage.

    Nothing local is deleted before it was copied (KIP-405).
    """
    hosts = {broker for partition in topic.partitions for broker in partition.replicas if broker in snapshot.brokers}
    off = [b for b in sorted(hosts) if snapshot.brokers[b].configs.get("remote.log.storage.system.enable") == "false"]
    if not off:
        return None
    return Veto("tiered_storage_off", f"{topic.name} is tiered, but broker {off[0]} has remote storage switched off")


def remote_copies_off(topic: Topic) -> Veto | None:
    """Veto a topic whose copies to remote storage are switched off: later records exist nowhere else.

    Its local limit must equal the other one (KIP-950; 4.3.1 ``LogConfig.validate``).
    """
    if topic.configs.get("remote.log.copy.disable") != "true":
        return None
    text = f"copies of {topic.name} to remote storage are switched off (remote.log.copy.disable)"
    return Veto("remote_copies_off", f"{text}: the data here exists nowhere else, and no local limit can be set")


def remote_copy_lags(topic: Topic) -> Veto | None:
    """Veto a cut because everything waits to be copied to remote storage: local retention keeps it (KIP-405)."""
    lag = topic.remote_copy_lag_bytes if topic.is_tiered else None
    if not lag:
        return None
    delayed = " (their copies are delayed by remote.copy.lag.*)" if is_copy_delayed(topic) else ""
    return Veto(
        "remote_copy_lags",
        f"{human_bytes(lag)} of {topic.name} are not in remote storage yet{delayed}: local retention keeps them",
    )


def leaderless_archives_nothing(topic: Topic) -> Veto | None:
    """Veto a tiered topic with a leaderless partition: only a leader copies to remote storage (KIP-405, KIP-928)."""
    without = [partition.label for partition in topic.partitions if partition.leader is None]
    if not without:
        return None
    return Veto(
        "leaderless_archives_nothing",
        f"{some_of(without, NAMED)} has no leader, so nothing of it is archived: until it has one only deleting the "
        "topic frees its bytes",
    )


def delete_records_frees_nothing(directory: LogDir) -> Veto | None:
    """Veto a saturated or offline directory: moving the log start offset deletes no segment there (KIP-928)."""
    if directory.is_serving and directory.status is not LogDirStatus.SATURATED:
        return None
    return Veto(
        "delete_records_frees_nothing", f"deleting records frees nothing in {directory.path}: it is {directory.status}"
    )


def policy_without_delete(topic: Topic) -> Veto | None:
    """Veto a cleanup policy without ``delete``: POLICY_VIOLATION (Kafka 4.3.1 ``deleteRecordsOnLeader``)."""
    policy = topic.configs.get("cleanup.policy")
    if policy is not None and "delete" in policy.split(","):
        return None
    known = "is not known" if policy is None else f"is {policy}"
    return Veto("policy_without_delete", f"records of {topic.name} cannot be deleted: its cleanup policy {known}")


def leaders_missing(partitions: Iterable[Partition]) -> Veto | None:
    """Veto deleting records of a partition without a leader: only the leader takes the request (KIP-107)."""
    without = [partition.label for partition in partitions if partition.leader is None]
    return Veto("leaders_missing", f"{some_of(without, NAMED)} has no leader to ask") if without else None


def cordon_not_enforced(directory: LogDir, listed: Iterable[str]) -> Veto | None:
    """Veto a path that ``log.dirs`` spells differently: Kafka accepts such a cordon and ignores it (KAFKA-20901)."""
    listed = tuple(listed)
    if not listed or directory.path in listed:
        return None
    return Veto(
        "cordon_not_enforced",
        f"log.dirs does not name {directory.path} by this absolute path, so a cordon would not hold",
    )


def path_not_expressible(path: str) -> Veto | None:
    """Veto a path that ``kafka-configs`` cannot pass on.

    It splits lists at commas and drops brackets (``ConfigCommand``).
    """
    if not any(sign in path for sign in ",[]") and path == path.strip():
        return None
    return Veto("path_not_expressible", f"kafka-configs cannot carry the path {path} in a list")


def nowhere_else(directory: LogDir, snapshot: ClusterSnapshot) -> Veto | None:
    """Veto a cordon that leaves fewer brokers for new partitions than a topic has replicas.

    Kafka then refuses new topics and partitions (``InvalidReplicationFactorException``; KIP-1066).
    """
    open_brokers = {
        d.broker
        for d in snapshot.directories.values()
        if d.is_serving and not d.is_cordoned and snapshot.is_alive(d.broker) and d.place != directory.place
    }
    wanted = max((len(partition.replicas) for partition in snapshot.partitions.values()), default=1)
    if len(open_brokers) >= wanted:
        return None
    return Veto(
        "nowhere_else",
        f"{len(open_brokers)} brokers would be left to take new partitions, topics here have {wanted} replicas",
    )


def reserve_gone(directory: LogDir, reserve_bytes: int) -> Veto | None:
    """Veto relying on a reserve file that cannot exist: too few bytes are unexplained by replicas."""
    found = directory.unaccounted_bytes
    if found is None or found >= reserve_bytes:
        return None
    return Veto(
        "reserve_gone",
        f"only {human_bytes(found)} in {directory.path} are explained by no replica: a reserve of "
        f"{human_bytes(reserve_bytes)} cannot be there",
    )
