"""Preconditions and vetoes of a cut, and whether a published one still leaves enough history."""

from collections.abc import Iterator

from logdirwatch.collect.kafka.answers import Quorum
from logdirwatch.kafka.config_values import number_of
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.cluster.layout import Partition, Topic
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import NAMED, Policy, Precondition, Veto, owner_of, vetoes_of
from logdirwatch.plan.retention.limits import (
    LOCAL,
    RETENTION_MS,
    RetentionCut,
    effective,
    fastest,
    is_copy_delayed,
    unread_of,
    wanted_ms,
)
from logdirwatch.plan.retention.retention_vetoes import (
    KEEPING_UP_RATIO,
    of_topic,
    only_by_limits,
    slowest_reader,
    unread_goes,
    unread_text,
)
from logdirwatch.plan.vetoes import replica_vetoes
from logdirwatch.text.units import human_bytes, human_ms, human_rate
from logdirwatch.text.words import some_of


def cut_preconditions(
    cut: RetentionCut, snapshot: ClusterSnapshot, policy: Policy, *, is_moving: bool
) -> tuple[Precondition, ...]:
    """Return the preconditions of a cut: consumers, owner, minimum history, no segments held back."""
    topic = cut.topic.name
    moves = f"no replica of {topic} is moved meanwhile: its retention would stand still"
    agrees = Precondition("owner_agrees", f"{owner_of(topic, policy)} agrees to lose it", None)
    consumers = consumers_done(cut.topic, snapshot, spared=cut.spares_unread)
    return (
        *((consumers, agrees) if cut.way.loses_data else (_remote_copied(cut.topic),)),
        _min_retention(cut, policy),
        *last_values(cut.topic),
        Precondition("no_move", moves, None if is_moving else True),
        *_held_back(cut),
    )


def cut_vetoes(cut: RetentionCut, snapshot: ClusterSnapshot, policy: Policy) -> tuple[Veto, ...]:
    """Veto a cut that by its own numbers leaves too little; none is planned here unless configured."""
    history = _min_retention(cut, policy)
    too_little = Veto("min_retention", f"of {cut.topic.name}, {history.text}") if history.holds is False else None
    return vetoes_of(too_little, unread_goes(cut.topic, snapshot, is_spared=cut.spares_unread))


def last_values(topic: Topic) -> tuple[Precondition, ...]:
    """Say what a topic that is also compacted loses, which only a person can decide (KIP-71); empty for others."""
    if not topic.is_compacted:
        return ()
    text = (
        f"nobody needs the last values of keys of {topic.name} that were not written since: its cleanup policy is "
        f"{topic.configs['cleanup.policy']}, so what is deleted may be the only record of a key"
    )
    return (Precondition("last_values_go", text, None),)


def consumers_done(topic: Topic, snapshot: ClusterSnapshot, *, spared: bool) -> Precondition:
    """Return the precondition that no consumer loses unread records, as far as committed offsets show.

    ``spared``: the deleted records do not include any that groups have not read. That no group commits offsets of a
    partition proves nothing: MirrorMaker 2, Flink and Spark keep their offsets elsewhere.
    """
    text = f"no consumer of {topic.name} still needs the deleted records"
    if not all(partition.is_unread_known for partition in topic.partitions):
        return Precondition("consumers_done", f"{text}; the progress of its groups is not known", None)
    slowest = slowest_reader(topic, snapshot)
    if slowest is not None and not spared:
        return Precondition("consumers_done", f"{text}; {unread_text(slowest, snapshot)}", False)
    held = [one for one in topic.partitions if snapshot.layout.size_of(one.key)] or topic.partitions
    alone = [one.label for one in held if not one.groups]
    if alone:
        of = "it" if len(alone) == len(held) else some_of(alone, NAMED)
        who = f"no consumer group commits offsets for {of}; who reads without committing them is not seen"
        return Precondition("consumers_done", f"{text}; {who}", None)
    return Precondition("consumers_done", f"{text}; every group has read it", True)


def _remote_copied(topic: Topic) -> Precondition:
    """Return the precondition that remote storage has what is deleted; the lag says how much can be deleted.

    Kafka deletes nothing else. A lag of 0 proves nothing before Kafka 4.3: the gauge may be stuck while copies fail
    (KAFKA-19995).
    """
    text = f"remote storage has what is deleted of {topic.name} locally"
    lag = topic.remote_copy_lag_bytes
    if lag is None:
        return Precondition("remote_copied", f"{text}: RemoteCopyLagBytes is not known; waiting segments stay", None)
    if is_copy_delayed(topic):
        why = "copies are delayed by remote.copy.lag.*; waiting segments stay"
        return Precondition("remote_copied", f"{text}: {why}", None)
    waits = f"{human_bytes(lag)} wait for their copy and stay" if lag else "nothing waits for its copy"
    waits = f"{waits}; before Kafka 4.3 it may be more, if copies fail"
    return Precondition("remote_copied", f"{text}: {waits}", True)


def _held_back(cut: RetentionCut) -> list[Precondition]:
    """Return why Kafka may keep segments that the limit would delete; empty if there is no reason.

    Kafka waits for the high watermark, and uses a segment's largest timestamp (``UnifiedLog.deletableSegments``).
    """
    found = []
    needed = cut.topic.number("min.insync.replicas", 1)
    stuck = [p.label for p in cut.topic.partitions if p.leader is None or len(p.isr) < needed]
    if stuck:
        text = (
            f"the high watermark of {', '.join(stuck[:5])} moves on: it may wait for a leader, or for replicas in sync"
        )
        found.append(Precondition("high_watermark_moves", text, None))
    if cut.way.is_estimate:
        is_logged = cut.topic.configs.get("message.timestamp.type") == "LogAppendTime"
        text = f"no record of {cut.topic.name} has a time in the future: it would hold its segment"
        found.append(Precondition("timestamps", text, True if is_logged else None))
    return found


def _min_retention(cut: RetentionCut, policy: Policy) -> Precondition:
    """Return the precondition that enough history stays; known if the topic's write rate is."""
    kept, wanted = cut.keeps_ms, wanted_ms(cut.topic, policy)
    text = f"{human_ms(wanted)} of history should stay; "
    if not cut.way.is_history_known:
        return Precondition("min_retention", f"{text}whether it does is not known, nor how fast it is written", None)
    if kept is None:
        return Precondition("min_retention", f"{text}nothing is written now, so it does", True)
    return Precondition("min_retention", f"{text}at least {human_ms(kept)} does", kept >= wanted)


SURELY_LESS = 0.8
"""Rates differ from one inventory to the next: what is this share of the history that must stay is near enough."""
_PERCENT = 100


def keeps_too_little(action: ActionRecord, snapshot: ClusterSnapshot, policy: Policy) -> list[str]:
    """Return why a cut or a deletion leaves too little by now; empty for other kinds, and for limits already set."""
    topic = snapshot.topics.get(str(action.target.get("topic")))
    if topic is None:
        return []
    if action.kind is ActionKind.DELETE_RECORDS:
        return list(_against_deletion(action, topic, snapshot, policy))
    if action.kind is not ActionKind.LOWER_RETENTION:
        return []
    found: list[str] = []
    for key, change in (action.configs or {}).get(topic.name, {}).items():
        limit, now = number_of(change["to"]), number_of(topic.configs.get(key))
        if limit is None:
            found.append(f"{key} of {topic.name} would be no number")
        elif now is None or not 0 <= now <= limit:
            found += _against(action, topic, key, limit, snapshot, policy)
    return found


def is_moved(action: ActionRecord, snapshot: ClusterSnapshot, _quorum: Quorum | None) -> Iterator[str]:
    """Yield that the topic moves: retention does not run on moving replicas."""
    topic = snapshot.topics.get(str(action.target.get("topic")))
    for partition in () if topic is None else topic.partitions:
        if (veto := replica_vetoes.partition_moving(snapshot, partition)) is not None:
            yield veto.reason


def _against(
    action: ActionRecord, topic: Topic, key: str, limit: int, snapshot: ClusterSnapshot, policy: Policy
) -> Iterator[str]:
    is_age = key.endswith(RETENTION_MS)
    least = wanted_ms(topic, policy) if is_age else policy.limits.topic_rule(topic.name).min_retention_bytes or 0
    if limit < least:
        yield f"{key} of {topic.name} would be {limit}: the configuration asks for {least} at least"
    if not is_age:
        yield from _too_short(topic, key, limit, snapshot, policy)
    yield from _of_topic(topic, snapshot, policy)
    if not action.data_loss or not policy.limits.spare_unread:
        return
    unread = _unread_by_age(action, topic, snapshot) if is_age else _unread_by_bytes(topic, limit, snapshot)
    if unread is not None:
        yield f"{key} of {topic.name} would be {limit}: {unread_text(unread, snapshot)}"


def _too_short(topic: Topic, key: str, limit: int, snapshot: ClusterSnapshot, policy: Policy) -> Iterator[str]:
    """Yield that a limit in bytes holds too little history by now, because the topic is written faster."""
    prefix = LOCAL if key.startswith(LOCAL) else ""
    replicas = [r for partition in topic.partitions for r in snapshot.replicas_of(partition.key) if r.size_bytes]
    rate, wanted = fastest(replicas, effective(topic, prefix + RETENTION_MS), snapshot), wanted_ms(topic, policy)
    if rate and limit / rate * 1000 < SURELY_LESS * wanted:
        kept = f"at {human_rate(rate)} that is {human_ms(limit / rate * 1000)} of history"
        yield f"{key} of {topic.name} would be {limit}: {kept}, {human_ms(wanted)} should stay"


def _of_topic(topic: Topic, snapshot: ClusterSnapshot, policy: Policy) -> Iterator[str]:
    replicas = [r for partition in topic.partitions for r in snapshot.replicas_of(partition.key)]
    yield from (veto.reason for veto in of_topic(topic, replicas, policy, snapshot))


def _against_deletion(action: ActionRecord, topic: Topic, snapshot: ClusterSnapshot, policy: Policy) -> Iterator[str]:
    yield from _of_topic(topic, snapshot, policy)
    yield from (veto.reason for veto in vetoes_of(only_by_limits(topic, policy)))
    percent = action.expected.get("deletes_percent")
    if percent is None or not policy.limits.spare_unread:
        return
    cut = [p for p in topic.partitions if _surely_unread(p) > 1 - percent / _PERCENT]
    unread = max(cut, key=lambda partition: unread_of(partition, snapshot), default=None)
    if unread is not None:
        yield f"the oldest {percent} % of {topic.name} would go: {unread_text(unread, snapshot)}"


def _unread_by_bytes(topic: Topic, limit: int, snapshot: ClusterSnapshot) -> Partition | None:
    """Return the partition that loses most unread bytes; None if the limit keeps what is certainly unread."""
    cut = [
        partition for partition in topic.partitions if _surely_unread(partition) * _size(partition, snapshot) > limit
    ]
    return max(cut, key=lambda partition: unread_of(partition, snapshot), default=None)


def _unread_by_age(action: ActionRecord, topic: Topic, snapshot: ClusterSnapshot) -> Partition | None:
    """Return the same for a limit by age, of which only the bytes that it was to free are known."""
    for freed in action.expected["on"]:
        here = {r.key for r in snapshot.replicas_in((freed["broker"], freed["log_dir"])) if r.topic == topic.name}
        found = [partition for partition in topic.partitions if partition.key in here]
        unread = [partition for partition in found if _surely_unread(partition) > 0]
        read_bytes = sum((1 - _surely_unread(partition)) * _size(partition, snapshot) for partition in found)
        if unread and freed["bytes"] > read_bytes:
            return max(unread, key=lambda partition: unread_of(partition, snapshot))
    return None


def _surely_unread(partition: Partition) -> float:
    """Return the share that is certainly unread: the collector rounds it up by a step, and sizes change meanwhile."""
    return max(0.0, (partition.unread_ratio or 0.0) - KEEPING_UP_RATIO)


def _size(partition: Partition, snapshot: ClusterSnapshot) -> int:
    return snapshot.layout.size_of(partition.key) or 0
