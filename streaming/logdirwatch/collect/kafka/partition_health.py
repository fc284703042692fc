"""Partitions in danger, by broker, from one snapshot of the metadata. Pure."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from logdirwatch.collect.kafka.answers import Topic
from logdirwatch.model.records import PartitionHealth, PartitionInfo

MAX_EXAMPLES = 20
MAX_HURT = 20
KINDS = ("leaderless", "under_min_isr", "sole_replica", "at_min_isr")


def partition_health(
    topics: Iterable[Topic],
    min_isr: Mapping[str, int],
    brokers: Iterable[int],
    readers: Mapping[str, Sequence[str]] | None = None,
) -> dict[int, PartitionHealth]:
    """Return the health of the partitions of each of ``brokers``.

    ``min_isr`` is ``min.insync.replicas`` by topic; a topic without one is judged by its leader alone. ``readers`` are
    consumer groups by topic, None if unknown.

    - leaderless: counts once, at the preferred leader (the first replica).
    - under_min_isr: fewer live in-sync replicas than the minimum; counts at every broker that has a replica of it, for
      any of them may be the cause. A leaderless partition is one of these too.
    - at_min_isr: just the minimum is left; counts likewise.
    - sole_replica: one live in-sync replica is left; counts at its broker.

    The minimum is never more than the number of replicas (Kafka ``Partition.effectiveMinIsr``). A partition made with
    one replica has nothing to lose that its owner expects, so it is never at_min_isr or sole_replica.
    """
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    examples: dict[int, list[tuple[int, bool, str]]] = defaultdict(list)
    hurt: dict[int, set[tuple[bool, str]]] = defaultdict(set)
    for topic in topics:
        for partition in topic.partitions:
            for broker in out_of_sync(partition):
                counts[broker]["out_of_sync"] += 1
            for broker, kind in _dangers(partition, min_isr.get(topic.name)):
                counts[broker][kind] += 1
                counts[broker]["internal_leaderless"] += kind == "leaderless" and topic.is_internal
                name = f"{topic.name}-{partition.partition}"
                examples[broker].append((KINDS.index(kind), not topic.is_internal, name))
                if kind == "under_min_isr":
                    hurt[broker].add((not topic.is_internal, topic.name))
    return {broker: _health(counts[broker], examples[broker], hurt[broker], readers) for broker in brokers}


def out_of_sync(partition: PartitionInfo) -> Collection[int]:
    """Return the brokers with an out-of-sync replica; usually none, which ends the check early."""
    if len(partition.isr) == len(partition.replicas):
        return ()
    return set(partition.replicas).difference(partition.isr)


def _dangers(partition: PartitionInfo, min_isr: int | None) -> Iterable[tuple[int, str]]:
    """Yield (broker, kind) for everything wrong with one partition."""
    live = set(partition.isr) - set(partition.offline_replicas)
    needed = min(min_isr, len(partition.replicas)) if min_isr is not None else None
    if partition.leader is None and partition.replicas:
        yield partition.replicas[0], "leaderless"
    if partition.leader is None or (needed is not None and len(live) < needed):
        yield from ((broker, "under_min_isr") for broker in partition.replicas)
    elif len(partition.replicas) > 1 and len(live) == needed:
        yield from ((broker, "at_min_isr") for broker in partition.replicas)
    if len(partition.replicas) > 1 and len(live) == 1:
        yield from ((broker, "sole_replica") for broker in live)


def _health(
    counts: Mapping[str, int],
    examples: list[tuple[int, bool, str]],
    hurt: set[tuple[bool, str]],
    readers: Mapping[str, Sequence[str]] | None,
) -> PartitionHealth:
    """Return the health with the worst partitions first, internal topics before others, each named once."""
    names = dict.fromkeys(name for _, _, name in sorted(examples))
    return PartitionHealth(
        leaderless=counts.get("leaderless", 0),
        under_min_isr=counts.get("under_min_isr", 0),
        at_min_isr=counts.get("at_min_isr", 0),
        sole_replica=counts.get("sole_replica", 0),
        internal_leaderless=counts.get("internal_leaderless", 0),
        examples=list(names)[:MAX_EXAMPLES],
        out_of_sync=counts.get("out_of_sync", 0),
        hurt_topics=[topic for _, topic in sorted(hurt)[:MAX_HURT]],
        hurt_groups=None if readers is None else _groups_of((topic for _, topic in hurt), readers),
    )


def _groups_of(topics: Iterable[str], readers: Mapping[str, Sequence[str]]) -> list[str]:
    return sorted({group for topic in topics for group in readers.get(topic, ())})[:MAX_HURT]
