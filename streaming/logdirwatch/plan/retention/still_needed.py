"""Whether a published cut still leaves enough when it is carried out: unread records, and a minimum of history."""

from collections.abc import Iterator

from logdirwatch.kafka.config_values import number_of
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.cluster.layout import Partition, Topic
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.retention.limits import LOCAL, RETENTION_MS, effective, unread_of
from logdirwatch.plan.retention.retention_vetoes import KEEPING_UP_RATIO, kept_for_ever, unread_text
from logdirwatch.plan.retention.write_rates import fastest, wanted_ms
from logdirwatch.text.units import human_ms, human_rate

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
    changes = (action.configs or {}).get(topic.name, {})
    limits = {key: number_of(change["to"]) for key, change in changes.items()}
    return [why for key, limit in limits.items() for why in _against_limit(action, topic, key, limit, snapshot, policy)]


def _against_limit(
    action: ActionRecord, topic: Topic, key: str, limit: int | None, snapshot: ClusterSnapshot, policy: Policy
) -> Iterator[str]:
    if limit is None:
        yield f"{key} of {topic.name} would be no number"
    elif not _is_set(topic.configs.get(key), limit):
        yield from _against(action, topic, key, limit, snapshot, policy)


def _is_set(now: str | None, limit: int) -> bool:
    value = number_of(now)
    return value is not None and 0 <= value <= limit


def _against(
    action: ActionRecord, topic: Topic, key: str, limit: int, snapshot: ClusterSnapshot, policy: Policy
) -> Iterator[str]:
    is_age = key.endswith(RETENTION_MS)
    least = wanted_ms(topic, policy) if is_age else policy.limits.topic_rule(topic.name).min_retention_bytes or 0
    if limit < least:
        yield f"{key} of {topic.name} would be {limit}: the configuration asks for {least} at least"
    if not is_age:
        yield from _too_short(topic, key, limit, snapshot, policy)
    if not action.data_loss:
        return
    yield from _kept(topic, snapshot, policy)
    if not policy.limits.spare_unread:
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


def _kept(topic: Topic, snapshot: ClusterSnapshot, policy: Policy) -> Iterator[str]:
    replicas = [r for partition in topic.partitions for r in snapshot.replicas_of(partition.key)]
    veto = kept_for_ever(topic, replicas, policy)
    if veto is not None:
        yield veto.reason


def _against_deletion(action: ActionRecord, topic: Topic, snapshot: ClusterSnapshot, policy: Policy) -> Iterator[str]:
    yield from _kept(topic, snapshot, policy)
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
