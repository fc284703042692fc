"""What a published cut must still leave when it is carried out: what groups have to read, and what the owner keeps."""

from collections.abc import Iterator

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.draft import Policy
from logdirwatch.plan.facts import Facts, Partition, Topic
from logdirwatch.plan.relief_vetoes import KEEPING_UP_RATIO, unread_text
from logdirwatch.plan.ways import RETENTION_MS, unread_of


def keeps_too_little(action: ActionRecord, facts: Facts, policy: Policy) -> list[str]:
    """Return why a cut leaves too little by now; empty for other actions, and for limits that are set already."""
    topic = facts.topics.get(str(action.target.get("topic")))
    if action.kind is not ActionKind.LOWER_RETENTION or topic is None:
        return []
    changes = (action.configs or {}).get(topic.name, {})
    limits = {key: int(change["to"]) for key, change in changes.items()}
    waiting = {key: limit for key, limit in limits.items() if not _is_set(topic.configs.get(key), limit)}
    return [why for key, limit in waiting.items() for why in _against(action, topic, key, limit, facts, policy)]


def _is_set(now: str | None, limit: int) -> bool:
    return now is not None and 0 <= int(now) <= limit


def _against(action: ActionRecord, topic: Topic, key: str, limit: int, facts: Facts, policy: Policy) -> Iterator[str]:
    rule, is_age = policy.limits.topic_rule(topic.name), key.endswith(RETENTION_MS)
    of_age = policy.limits.min_retention_ms if rule.min_retention_ms is None else rule.min_retention_ms
    least = of_age if is_age else rule.min_retention_bytes or 0
    if limit < least:
        yield f"{key} of {topic.name} would be {limit}: the configuration asks for {least} at least"
    if not action.data_loss or not policy.limits.spare_unread:
        return
    unread = _unread_by_age(action, topic, facts) if is_age else _unread_by_bytes(topic, limit, facts)
    if unread is not None:
        yield f"{key} of {topic.name} would be {limit}: {unread_text(unread, facts)}"


def _unread_by_bytes(topic: Topic, limit: int, facts: Facts) -> Partition | None:
    """Return the partition of which most would go unread; None where the limit keeps what is surely unread."""
    cut = [partition for partition in topic.partitions if _surely_unread(partition) * _size(partition, facts) > limit]
    return max(cut, key=lambda partition: unread_of(partition, facts), default=None)


def _unread_by_age(action: ActionRecord, topic: Topic, facts: Facts) -> Partition | None:
    """Return the same for a limit of age, of which only the bytes that it was to free are known."""
    for freed in action.expected["on"]:
        here = {r.key for r in facts.replicas_in((freed["broker"], freed["log_dir"])) if r.topic == topic.name}
        found = [partition for partition in topic.partitions if partition.key in here]
        unread = [partition for partition in found if _surely_unread(partition) > 0]
        read_bytes = sum((1 - _surely_unread(partition)) * _size(partition, facts) for partition in found)
        if unread and freed["bytes"] > read_bytes:
            return max(unread, key=lambda partition: unread_of(partition, facts))
    return None


def _surely_unread(partition: Partition) -> float:
    """Return the share that is unread at least: the collector rounds it up by a step, and sizes drift meanwhile."""
    return max(0.0, (partition.unread_ratio or 0.0) - KEEPING_UP_RATIO)


def _size(partition: Partition, facts: Facts) -> int:
    return facts.layout.size_of(partition.key) or 0
