"""Why a topic keeps what it has, however much room is needed: each veto has a name and a reason.

Sources: KIP-18, KIP-405, KIP-928; Kafka 4.3.1's ``UnifiedLog``, ``LogCleaner``, ``LogConfig``.
"""

from collections.abc import Iterable, Iterator, Sequence

from logdirwatch.config.section import DAY_MS
from logdirwatch.plan.cluster.layout import Partition, Replica, Topic
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import NAMED, Policy, Veto, vetoes_of
from logdirwatch.plan.retention.limits import (
    LOCAL,
    RETENTION_BYTES,
    RETENTION_MS,
    effective,
    fastest,
    freed_bytes,
    history_bytes,
    is_copy_delayed,
    is_deleted,
    kept_bytes,
    segment_bytes,
    unread_of,
    wanted_ms,
)
from logdirwatch.plan.vetoes import replica_vetoes
from logdirwatch.text.units import human_bytes, human_ms, human_rate
from logdirwatch.text.words import counted, some_of

KEEPING_UP_RATIO = 0.05
"""The collector's value for a group that keeps up: its smallest step."""
FOR_EVER_MS = 100 * 365 * DAY_MS
FOR_EVER_BYTES = 1 << 60


def against_loss(topic: Topic, here: Iterable[Replica], snapshot: ClusterSnapshot, policy: Policy) -> Iterator[Veto]:
    """Yield why a topic may lose nothing now, by a lower limit or otherwise; ``here`` are replicas that should shrink.

    Retention applies wherever the cleanup policy contains ``delete``: the retention task deletes old segments, in logs
    that are compacted too the log cleaner (``LogCleanerManager.deletableLogs``).
    """
    yield from of_topic(topic, here, policy, snapshot)
    yield from vetoes_of(*(replica_vetoes.partition_moving(snapshot, partition) for partition in topic.partitions))
    yield from vetoes_of(*(replica_vetoes.partition_claimed(snapshot, partition) for partition in topic.partitions))
    yield from vetoes_of(replica_vetoes.cut_elsewhere(snapshot, topic.name))


def of_topic(topic: Topic, here: Iterable[Replica], policy: Policy, snapshot: ClusterSnapshot) -> Iterator[Veto]:
    """Yield why a topic may lose nothing, whatever else is done to it: its configuration, and the owner's."""
    limits, name = policy.limits, topic.name
    yield from vetoes_of(replica_vetoes.internal_topic(topic, limits), replica_vetoes.never_touch(name, limits))
    if not is_deleted(topic):
        cleanup = topic.configs.get("cleanup.policy")
        known = "is not known" if cleanup is None else f"is {cleanup}"
        yield Veto("not_deleted_by_retention", f"the cleanup policy of {name} {known}")
    yield from _of_tiered(topic, snapshot) if topic.is_tiered else vetoes_of(kept_for_ever(topic, here, policy))


def only_by_limits(topic: Topic, policy: Policy) -> Veto | None:
    """Veto deleting records where only a limit keeps a configured minimum of history, or the remote copy (KIP-405)."""
    rule = policy.limits.topic_rule(topic.name)
    if not topic.is_tiered and rule.min_retention_bytes is None and rule.min_retention_ms is None:
        return None
    what = "the remote copy" if topic.is_tiered else "the history that the configuration keeps"
    return Veto("only_by_limits", f"deleting records of {topic.name} may delete {what}; a lower limit does not")


def _of_tiered(topic: Topic, snapshot: ClusterSnapshot) -> Iterator[Veto]:
    """Yield why nothing local may go: nothing is deleted before it was copied (KIP-405)."""
    hosts = {broker for partition in topic.partitions for broker in partition.replicas if broker in snapshot.brokers}
    off = [b for b in sorted(hosts) if snapshot.brokers[b].configs.get("remote.log.storage.system.enable") == "false"]
    if off:
        text = f"{topic.name} is tiered, but broker {off[0]} has remote storage switched off"
        yield Veto("tiered_storage_off", text)
    # Later records exist nowhere else, and the local limit must equal the other one (KIP-950; LogConfig.validate).
    if topic.configs.get("remote.log.copy.disable") == "true":
        text = f"copies of {topic.name} to remote storage are switched off (remote.log.copy.disable)"
        yield Veto("remote_copies_off", f"{text}: the data here exists nowhere else, and no local limit can be set")
    # Only a leader copies to remote storage (KIP-928).
    if without := [partition.label for partition in topic.partitions if partition.leader is None]:
        text = f"{some_of(without, NAMED)} has no leader, so nothing of it is archived: until it has one only deleting "
        yield Veto("leaderless_archives_nothing", f"{text}the topic frees its bytes")


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


def nothing_to_give(topic: Topic, here: Sequence[Replica], snapshot: ClusterSnapshot, policy: Policy) -> Iterator[Veto]:
    """Yield which floor leaves nothing to cut in a topic, and which readers."""
    name, rule = topic.name, policy.limits.topic_rule(topic.name)
    if rule.min_retention_bytes is not None or rule.min_retention_ms is not None:
        yield Veto("owner_minimum", f"the configuration keeps all that is known of {name}")
    yield from vetoes_of(consumers_unread(topic, snapshot, policy))
    if topic.is_tiered and topic.remote_copy_lag_bytes:
        lag = human_bytes(topic.remote_copy_lag_bytes)
        delayed = " (their copies are delayed by remote.copy.lag.*)" if is_copy_delayed(topic) else ""
        text = f"{lag} of {name} are not in remote storage yet{delayed}: local retention keeps them"
        yield Veto("remote_copy_lags", text)
    yield from vetoes_of(_segments_stay(topic, here))
    segment = segment_bytes(topic)
    has_more = any(freed_bytes(replica.size_bytes or 0, 0, segment) for replica in here)
    if has_more and history_bytes(topic, here, snapshot, policy) > segment:
        rate = fastest(here, effective(topic, (LOCAL if topic.is_tiered else "") + RETENTION_MS), snapshot)
        why = "how fast it is written is not known"
        if rate is not None:
            why = f"{human_rate(rate)} are written to a partition"
        text = f"the last {human_ms(wanted_ms(topic, policy))} of {name} stay, which may be all of it: {why}"
        yield Veto("min_retention", text)


def _segments_stay(topic: Topic, here: Sequence[Replica]) -> Veto | None:
    """Say what a topic keeps as no limit deletes the newest segments of a replica; None if a replica has more."""
    name, segment = topic.name, segment_bytes(topic)
    sizes = [replica.size_bytes for replica in here if replica.size_bytes is not None]
    if len(sizes) < len(here):
        unknown = counted(len(here) - len(sizes), "replica", "replicas")
        return Veto("sizes_unknown", f"the size of {unknown} of {name} is not known")
    limit = kept_bytes(topic)
    if any(freed_bytes(size, 0, segment) for size in sizes) and (limit is None or limit > segment):
        return None
    kept = f"{counted(len(here), 'replica keeps', 'replicas keep')} {human_bytes(sum(sizes))}"
    return Veto(
        "one_segment_left",
        f"{name} has no more than one segment a replica to give; its {kept}: smaller segments (segment.bytes, now "
        f"{human_bytes(segment)}), or fewer partitions, would make it possible",
    )


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
