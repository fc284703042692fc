"""The snapshot of one cluster from its brokers' present answers, without the tables. Pure."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial

from logdirwatch.collect.kafka.answers import LogDirAnswer, LogDirsAnswer, Topic
from logdirwatch.collect.kafka.capabilities import is_kraft_broker, metadata_mode, not_reported
from logdirwatch.collect.kafka.live import LiveCluster
from logdirwatch.collect.kafka.log_dir_usage import (
    CapacityOf,
    DirUsage,
    is_same_dir,
    metadata_dir,
    no_capacity,
    usages,
    with_configured_capacity,
)
from logdirwatch.detect import predicates
from logdirwatch.detect.settings import Thresholds
from logdirwatch.model.vocabulary import KAFKA_STORAGE_ERROR, BrokerStatus, Cause, LogDirStatus, NotReported, PollStatus
from logdirwatch.plan.cluster import layout as model
from logdirwatch.plan.cluster.layout import Layout, LogDirId, Partition, Replica
from logdirwatch.plan.cluster.snapshot import Broker, ClusterSnapshot, LogDir

ThresholdsOf = Callable[[str], Thresholds]


def live_facts(
    cluster: str,
    seen: LiveCluster,
    thresholds_of: ThresholdsOf,
    causes: Mapping[LogDirId, Cause],
    capacity_of: CapacityOf = no_capacity,
) -> ClusterSnapshot:
    """Return the snapshot of a cluster; ``capacity_of`` returns sizes that its Kafka release does not report.

    ``causes`` are the causes of offline directories that an action recorded: brokers do not report them.
    """
    answers = {number: answer.log_dirs for number, answer in seen.log_dirs.items() if answer.status is PollStatus.OK}
    used = usages(answers, seen.reassignments, seen.topics)
    directories = [
        _directory(seen, number, with_configured_capacity(number, answer, known, capacity_of), known, thresholds_of)
        for number, listed in answers.items()
        for answer in listed
        for known in [used.get((number, answer.path), DirUsage())]
    ]
    return ClusterSnapshot(
        cluster=cluster,
        brokers={number: _broker(seen, number) for number in seen.nodes},
        directories={one.place: replace(one, cause=_cause(one, causes)) for one in directories},
        layout=Layout(
            topics={topic.name: _topic(topic, seen) for topic in seen.topics or ()}, replicas=tuple(_replicas(answers))
        ),
        state_at_ms=seen.at_ms,
        inventory_at_ms=None if seen.topics is None else seen.at_ms,
    )


def _broker(seen: LiveCluster, number: int) -> Broker:
    node = seen.nodes[number]
    return Broker(
        id=number,
        status=BrokerStatus.OFFLINE if node.is_fenced else _status(seen.log_dirs[number]),
        rack=node.rack,
        is_fenced=node.is_fenced,
        configs=seen.broker_configs.get(number, {}),
        metadata_mode=metadata_mode(seen.api_versions.get(number), seen.broker_configs.get(number)),
    )


def _status(answer: LogDirsAnswer) -> BrokerStatus:
    if answer.status is not PollStatus.OK:
        return BrokerStatus.UNKNOWN
    is_degraded = any(log_dir.error_code == KAFKA_STORAGE_ERROR for log_dir in answer.log_dirs)
    return BrokerStatus.DEGRADED if is_degraded else BrokerStatus.ONLINE


def _cause(directory: LogDir, causes: Mapping[LogDirId, Cause]) -> Cause | None:
    return causes.get(directory.place) if directory.status is LogDirStatus.OFFLINE else None


def _directory(
    seen: LiveCluster, broker: int, answer: LogDirAnswer, known: DirUsage, thresholds_of: ThresholdsOf
) -> LogDir:
    configs = seen.broker_configs.get(broker, {})
    metadata = metadata_dir(configs)
    is_metadata_dir = None if metadata is None else is_same_dir(metadata, answer.path)
    return LogDir(
        broker=broker,
        path=answer.path,
        status=_level(answer, thresholds_of(answer.path), not_reported(seen.api_versions.get(broker)) or ()),
        total_bytes=answer.total_bytes,
        usable_bytes=answer.usable_bytes,
        replica_count=known.replica_count,
        incoming_bytes=known.incoming_bytes,
        is_cordoned=answer.is_cordoned,
        is_metadata_dir=False if is_kraft_broker(seen.api_versions.get(broker), configs) is False else is_metadata_dir,
        sample_at_ms=seen.at_ms,
        state_at_ms=seen.at_ms,
        strays=known.strays,
    )


def _level(answer: LogDirAnswer, thresholds: Thresholds, missing: Collection[str]) -> LogDirStatus:
    if answer.error_code == KAFKA_STORAGE_ERROR:
        return LogDirStatus.OFFLINE
    if answer.error_code:
        return LogDirStatus.UNKNOWN
    if not answer.total_bytes or answer.usable_bytes is None:
        return LogDirStatus.ONLINE if NotReported.CAPACITY in missing else LogDirStatus.UNKNOWN
    return predicates.level(thresholds, answer.total_bytes, answer.usable_bytes)


def _replicas(answers: Mapping[int, tuple[LogDirAnswer, ...]]) -> Iterator[Replica]:
    for broker, listed in answers.items():
        for log_dir in listed:
            for placed in log_dir.replicas:
                key = placed.topic, placed.partition
                yield Replica(broker, log_dir.path, *key, size_bytes=placed.size_bytes, is_future=placed.is_future)


def _topic(topic: Topic, seen: LiveCluster) -> model.Topic:
    overridden = seen.topic_configs.overridden.get(topic.name)
    partitions = (Partition.of(topic.name, partial(getattr, told)) for told in topic.partitions)
    return model.Topic(
        name=topic.name,
        partitions=tuple(sorted(partitions, key=lambda partition: partition.partition)),
        configs=seen.topic_configs.values.get(topic.name, {}),
        overridden=None if overridden is None else frozenset(overridden),
        is_internal=topic.is_internal,
        id=topic.id,
    )
