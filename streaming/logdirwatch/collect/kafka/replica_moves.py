"""Running moves and the throttles set for them, by broker, from the answers of one scan. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from logdirwatch.collect.kafka.answers import LogDirAnswer, Reassignment, Topic
from logdirwatch.collect.kafka.log_dir_usage import Partition
from logdirwatch.model.records import ReplicaMoves
from logdirwatch.model.vocabulary import COPY_THREADS, LOG_DIR_THROTTLE, REPLICATION_THROTTLES, THROTTLED_REPLICAS

ALL_REPLICAS = "*"
_RATES = (*REPLICATION_THROTTLES, LOG_DIR_THROTTLE)

Values = Mapping[str, str | None]


def replica_moves(
    log_dirs: Mapping[int, Iterable[LogDirAnswer]],
    reassignments: Mapping[Partition, Reassignment] | None,
    throttles: Mapping[int, Mapping[str, int] | None],
    throttled: Mapping[int, int] | None,
    at_ms: int,
    threads: Mapping[int, int | None] | None = None,
) -> dict[int, ReplicaMoves]:
    """Return the moves on each broker that answered the scan at ``at_ms``; None where a request failed.

    ``throttles`` are the rates set on each broker, ``throttled`` how many replicas of each the topics' lists name,
    ``threads`` how many copies of each may run at once, as far as configured.
    """
    return {
        broker: ReplicaMoves(
            at_ms=at_ms,
            reassignments=None if reassignments is None else len(reassignments),
            throttles=_plain(throttles.get(broker)),
            throttled_replicas=None if throttled is None else throttled.get(broker, 0),
            copy_threads=(threads or {}).get(broker),
            **_copies(tuple(answers)),
        )
        for broker, answers in log_dirs.items()
    }


def _copies(answers: Sequence[LogDirAnswer]) -> dict[str, Any]:
    """Return the copies between directories of one broker: how many, how many begun, and what the others bring."""
    sizes = {
        (placement.topic, placement.partition): placement.size_bytes or 0
        for log_dir in answers
        for placement in log_dir.replicas
        if not placement.is_future
    }
    futures = [(log_dir.path, found) for log_dir in answers for found in log_dir.replicas if found.is_future]
    if not futures:
        return {"copies": 0}
    waiting: defaultdict[str, int] = defaultdict(int)
    for path, copy in futures:
        if copy.size_bytes == 0:
            waiting[path] += sizes.get((copy.topic, copy.partition), 0)
    begun = sum(copy.size_bytes != 0 for _, copy in futures)
    return {"copies": len(futures), "copies_begun": begun, "waiting_bytes": dict(waiting)}


def copy_threads(configs: Values | None) -> int | None:
    """Return how many copies between its directories a broker runs at once, if configured (KIP-113)."""
    value = (configs or {}).get(COPY_THREADS)
    return int(value) if value is not None and value.isdigit() else None


def _plain(throttles: Mapping[str, int] | None) -> dict[str, int] | None:
    return None if throttles is None else dict(throttles)


def throttles_of(configs: Values, set_on_itself: Sequence[str]) -> dict[str, int]:
    """Return the rates set dynamically on a broker itself.

    kafka-reassign-partitions sets them so; those in server.properties, or for all brokers, are meant to stay.
    """
    values = ((key, configs.get(key)) for key in _RATES if key in set_on_itself)
    return {key: int(value) for key, value in values if value is not None and value.isdigit()}


def throttled_replicas(topics: Iterable[Topic], configs: Mapping[str, Values]) -> dict[int, int]:
    """Return how many replicas of each broker the topics' lists name.

    A list contains ``partition:broker`` pairs, or is ``*`` for all (Kafka 4.3.1 ``ThrottledReplicaListValidator``).
    """
    counts: defaultdict[int, int] = defaultdict(int)
    for topic in topics:
        named = {pair for key in THROTTLED_REPLICAS for pair in _pairs(topic, configs.get(topic.name, {}).get(key))}
        for _, broker in named:
            counts[broker] += 1
    return dict(counts)


def _pairs(topic: Topic, listed: str | None) -> Iterable[tuple[int, int]]:
    if not listed:
        return ()
    if listed.strip() == ALL_REPLICAS:
        return [(partition.partition, broker) for partition in topic.partitions for broker in partition.replicas]
    pairs = (entry.strip().partition(":") for entry in listed.split(","))
    return [(int(number), int(broker)) for number, _, broker in pairs if number.isdigit() and broker.isdigit()]
