"""The ways to cut a topic's history: by bytes, whose effect the sizes tell, or by age, whose effect is an estimate.

``retention.bytes`` is a limit per replica whose effect follows from the sizes alone, whatever the age of the data.
Kafka deletes the oldest segments as long as at least the limit remains (Kafka 4.3.1 ``UnifiedLog.deletableSegments``),
so what remains is less than the limit and one segment; that the newest one stays is our own floor. ``retention.ms``
keeps what is younger, to the letter, but how much that is depends on how the data came: it is told from the size and
the write rate. A tiered topic keeps its history in remote storage; ``local.retention.*`` cut the local copy only
(KIP-405; -2 stands for the value of ``retention.*``).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from logdirwatch.plan.draft import Policy
from logdirwatch.plan.facts import Facts, Partition, Replica, Topic
from logdirwatch.plan.rates import write_rate

RETENTION_BYTES = "retention.bytes"
RETENTION_MS = "retention.ms"
LOCAL = "local."
UNLIMITED = "-1"
AS_REMOTE = "-2"
SEGMENT_BYTES = 1 << 30
"""Kafka's default (``LogConfig``), used where the collector could not read the value."""


@dataclass(frozen=True)
class Way:
    """One configuration key of a topic, and the limits that may be set: from ``lowest`` to ``highest``.

    ``history_ms`` is how far back each replica goes, for a limit of age.
    """

    topic: Topic
    key: str
    lowest: int
    highest: int
    history_ms: Mapping[Replica, int] = field(default_factory=dict)

    @property
    def is_estimate(self) -> bool:
        """Whether the freed bytes are told from a write rate, not from sizes alone."""
        return self.key.endswith(RETENTION_MS)

    @property
    def loses_data(self) -> bool:
        """Whether what goes is gone: a local copy is still in remote storage."""
        return not self.key.startswith(LOCAL)

    def freed(self, replica: Replica, limit: int) -> int:
        """Return the bytes that go from a replica under a limit."""
        size = replica.size_bytes or 0
        kept = size * limit // max(1, self.history_ms.get(replica, 1)) if self.is_estimate else limit
        return freed_bytes(size, kept, segment_bytes(self.topic))

    def keeps_ms(self, limit: int, replicas: Iterable[Replica], facts: Facts) -> int | None:
        """Return the history that every replica keeps at least; at worst all growth of its directory is its own."""
        if self.is_estimate:
            return limit
        rates = [write_rate(replica, facts) for replica in replicas if replica.size_bytes]
        known = [rate for rate in rates if rate is not None and rate > 0]
        return int(limit / max(known) * 1000) if known and None not in rates else None


def freed_bytes(size_bytes: int, limit_bytes: int, segment_bytes: int) -> int:
    """Return the bytes that surely go from a replica under a limit; a replica keeps one segment at least.

    What remains lies between the limit and the limit plus one segment. Segments are rolled before they are full, so
    how many whole ones fit into the surplus cannot be told from the sizes; at most one segment more than this goes.
    """
    return max(0, size_bytes - max(limit_bytes, segment_bytes) - segment_bytes)


def segment_bytes(topic: Topic) -> int:
    """Return how large a segment of the topic grows."""
    return topic.number("segment.bytes", SEGMENT_BYTES)


def is_tiered(topic: Topic) -> bool:
    """Whether a topic's history lies in remote storage (KIP-405)."""
    return topic.configs.get("remote.storage.enable") == "true"


def unread_bytes(topic: Topic, facts: Facts) -> int:
    """Return the bytes of the partition of which a consumer group has most to read, as far as that is known."""
    return max((unread_of(partition, facts) for partition in topic.partitions), default=0)


def unread_of(partition: Partition, facts: Facts) -> int:
    """Return the bytes of a partition that the slowest group has still to read: records count as equally large."""
    return math.ceil((partition.unread_ratio or 0.0) * (facts.layout.size_of(partition.key) or 0))


def _unread_ms(topic: Topic, history_ms: Mapping[Replica, int]) -> int:
    """Return how far back the slowest group still reads, as if records had come at an even pace."""
    ratios = {partition.key: partition.unread_ratio or 0.0 for partition in topic.partitions}
    return math.ceil(max((ratios[replica.key] * age for replica, age in history_ms.items()), default=0.0))


def ways_of(topic: Topic, here: Sequence[Replica], facts: Facts, policy: Policy) -> list[Way]:
    """Return the ways that lower a topic's limit and leave what the configuration asks for; the surest first.

    ``here`` are its replicas in the directory that needs room.
    """
    prefix = LOCAL if is_tiered(topic) else ""
    found = [_by_bytes(topic, prefix, here, facts, policy), _by_age(topic, prefix, facts, policy)]
    return [way for way in found if way is not None and way.lowest < way.highest]


def effective(topic: Topic, key: str) -> str | None:
    """Return the limit that holds: a local one may follow the remote one."""
    value = topic.configs.get(key)
    return topic.configs.get(key.removeprefix(LOCAL)) if value == AS_REMOTE else value


def _by_bytes(topic: Topic, prefix: str, here: Sequence[Replica], facts: Facts, policy: Policy) -> Way:
    rule = policy.limits.topic_rule(topic.name)
    lowest = max(
        segment_bytes(topic),
        rule.min_retention_bytes or 0,
        _bytes_of(rule.min_retention_ms, here, facts),
        unread_bytes(topic, facts) if policy.limits.spare_unread and not prefix else 0,
    )
    largest = max((replica.size_bytes or 0 for replica in here), default=0)
    return Way(topic, prefix + RETENTION_BYTES, lowest, _below(largest, effective(topic, prefix + RETENTION_BYTES)))


def _by_age(topic: Topic, prefix: str, facts: Facts, policy: Policy) -> Way | None:
    """Return the limit of age; None while the age of any replica's data is not known."""
    old = effective(topic, prefix + RETENTION_MS)
    if old is None:
        return None
    replicas = [r for partition in topic.partitions for r in facts.replicas_of(partition.key) if r.size_bytes]
    history = {replica: _history_ms(replica, old, facts) for replica in replicas}
    known = {replica: age for replica, age in history.items() if age is not None}
    if not known or len(known) < len(history):
        return None
    wanted = policy.limits.topic_rule(topic.name).min_retention_ms
    unread = _unread_ms(topic, known) if policy.limits.spare_unread and not prefix else 0
    lowest = max(1, unread, policy.limits.min_retention_ms if wanted is None else wanted)
    return Way(topic, prefix + RETENTION_MS, lowest, _below(max(known.values()), old), known)


def _history_ms(replica: Replica, limit: str, facts: Facts) -> int | None:
    """Return how far back a replica goes at least: as long as it took to write at its rate, or the limit in force."""
    rate = facts.growth_of(replica)
    limited = None if limit == UNLIMITED else int(limit)
    if rate is None:
        return None
    written = None if rate <= 0 else int((replica.size_bytes or 0) / rate * 1000)
    return min((age for age in (written, limited) if age is not None), default=None)


def _below(largest: int, old: str | None) -> int:
    """Return the highest limit that may be set: a limit is only ever lowered."""
    return largest if old is None or int(old) < 0 else min(largest, int(old) - 1)


def _bytes_of(history_ms: int | None, here: Sequence[Replica], facts: Facts) -> int:
    """Return the bytes that a history takes in the replica that grows fastest; 0 where nobody knows."""
    rates = [facts.growth_of(replica) for replica in here]
    if history_ms is None or None in rates:
        return 0
    return int(max((rate for rate in rates if rate is not None), default=0.0) * history_ms / 1000)
