"""Retention cuts: how many bytes a lower ``retention.bytes`` frees, where, and when.

``retention.bytes`` is a limit per replica whose effect follows from the sizes alone, whatever the age of the data.
Kafka deletes the oldest segments as long as at least the limit remains (Kafka 4.3.1 ``UnifiedLog.deletableSegments``),
so what remains is less than the limit and one segment; that the newest one stays is our own floor. The cut works on
every broker that hosts the topic.
"""

from collections import Counter
from dataclasses import dataclass

from logdirwatch.plan import vetoes
from logdirwatch.plan.draft import Policy, Veto
from logdirwatch.plan.facts import Directory, Facts, Place, Replica, Topic

SEGMENT_BYTES = 1 << 30
DELETE_DELAY_MS = 60_000
CHECK_INTERVAL_MS = 300_000
"""Kafka's defaults (``LogConfig``, ``ServerLogConfigs``), used where the collector could not read the value."""

RETENTION_BYTES = "retention.bytes"
UNLIMITED = "-1"
MAX_TOPICS = 2


@dataclass(frozen=True)
class Cut:
    """One topic's lower limit, and what it frees."""

    topic: Topic
    old_value: str | None
    new_value: int
    frees: dict[Place, int]

    @property
    def is_overridden(self) -> bool:
        """Whether the old value stands on the topic itself, so that undoing means setting it again."""
        overridden = self.topic.overridden
        return self.old_value is not None and (overridden is None or RETENTION_BYTES in overridden)

    def frees_at(self, place: Place) -> int:
        """Return the bytes that one directory gains."""
        return self.frees.get(place, 0)


@dataclass(frozen=True)
class Cuts:
    """The cuts that free a directory; ``vetoes`` say why there are none."""

    cuts: tuple[Cut, ...] = ()
    vetoes: tuple[Veto, ...] = ()


def plan_cuts(source: Directory, facts: Facts, policy: Policy, needed_bytes: int) -> Cuts:
    """Cut the one or two topics that give the directory most, just as far as ``needed_bytes`` asks for."""
    standing = vetoes.first([vetoes.retention_frees_nothing(source), vetoes.no_free_bytes(source)])
    if standing is not None:
        return Cuts(vetoes=(standing,))
    refusals: Counter[Veto] = Counter()
    candidates = sorted(
        ((_possible(topic, source, facts), topic) for topic in _topics_on(source, facts, policy, refusals)),
        key=lambda item: (-item[0], item[1].name),
    )
    cuts: list[Cut] = []
    for possible, topic in candidates[:MAX_TOPICS]:
        missing = needed_bytes - sum(cut.frees_at(source.place) for cut in cuts)
        if possible > 0 and missing > 0:
            cuts.append(_cut(topic, source, facts, min(missing, possible)))
    reasons = tuple(veto for veto, _ in refusals.most_common(3))
    return Cuts(tuple(cuts), () if cuts else reasons or (_nothing(source),))


def freed_bytes(size_bytes: int, limit_bytes: int, segment_bytes: int) -> int:
    """Return the bytes that surely go from a replica under a limit; a replica keeps one segment at least.

    What remains lies between the limit and the limit plus one segment. Segments are rolled before they are full, so
    how many whole ones fit into the surplus cannot be told from the sizes; at most one segment more than this goes.
    """
    return max(0, size_bytes - max(limit_bytes, segment_bytes) - segment_bytes)


def effective_after_ms(topic: Topic, facts: Facts) -> int:
    """Return how long a cut takes at most: the slowest broker's next check, then the deletion's delay."""
    hosts = {broker for partition in topic.partitions for broker in partition.replicas}
    configs = [facts.brokers[broker].configs for broker in hosts if broker in facts.brokers]
    checks = [int(found) for config in configs if (found := config.get("log.retention.check.interval.ms")) is not None]
    delays = [int(found) for config in configs if (found := config.get("log.segment.delete.delay.ms")) is not None]
    delay = topic.number("file.delete.delay.ms", max(delays, default=DELETE_DELAY_MS))
    return max(checks, default=CHECK_INTERVAL_MS) + delay


def _topics_on(source: Directory, facts: Facts, policy: Policy, refusals: Counter[Veto]) -> list[Topic]:
    names = dict.fromkeys(replica.topic for replica in facts.replicas_in(source.place))
    found = []
    for topic in (facts.topics[name] for name in names if name in facts.topics):
        veto = vetoes.first(
            [
                vetoes.internal_topic(topic, policy.limits),
                vetoes.never_touch(topic.name, policy.limits),
                vetoes.not_deleted_by_retention(topic),
                vetoes.tiered(topic),
                *(vetoes.partition_moving(facts, partition) for partition in topic.partitions),
                *(vetoes.partition_claimed(facts, partition) for partition in topic.partitions),
                vetoes.retention_waits(facts, topic.name),
            ]
        )
        if veto is None:
            found.append(topic)
        else:
            refusals[veto] += 1
    return found


def _possible(topic: Topic, source: Directory, facts: Facts) -> int:
    return sum(_freed(replica, 0, topic) for replica in _replicas(topic, source.place, facts))


def _cut(topic: Topic, source: Directory, facts: Facts, needed_bytes: int) -> Cut:
    """Find the highest limit that frees enough in the directory: the effect never falls when the limit does."""
    here = _replicas(topic, source.place, facts)
    low, high = _segment_bytes(topic), max(replica.size_bytes or 0 for replica in here)
    old_value = topic.configs.get(RETENTION_BYTES)
    if old_value is not None and int(old_value) > low:
        high = min(high, int(old_value) - 1)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(_freed(replica, middle, topic) for replica in here) >= needed_bytes:
            low = middle
        else:
            high = middle - 1
    frees: Counter[Place] = Counter()
    for partition in topic.partitions:
        for replica in facts.replicas_of(partition.key):
            if _is_serving(facts, replica.place):
                frees[replica.place] += _freed(replica, low, topic)
    return Cut(topic, old_value, low, {place: size for place, size in frees.items() if size})


def _replicas(topic: Topic, place: Place, facts: Facts) -> list[Replica]:
    return [replica for replica in facts.replicas_in(place) if replica.topic == topic.name]


def _freed(replica: Replica, limit_bytes: int, topic: Topic) -> int:
    return freed_bytes(replica.size_bytes or 0, limit_bytes, _segment_bytes(topic))


def _segment_bytes(topic: Topic) -> int:
    return topic.number("segment.bytes", SEGMENT_BYTES)


def _is_serving(facts: Facts, place: Place) -> bool:
    return place in facts.directories and facts.directories[place].is_serving


def _nothing(source: Directory) -> Veto:
    return Veto("one_segment_left", f"no topic in {source.path} has more than one segment a replica to give")
