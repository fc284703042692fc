"""Builds every record of the collector from answers. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from logdirwatch.collect.kafka import log_dir_usage
from logdirwatch.collect.kafka.answers import Configs, LogDirAnswer, LogDirsAnswer, Topic
from logdirwatch.collect.kafka.capabilities import is_kraft_broker, not_reported
from logdirwatch.collect.kafka.split import split
from logdirwatch.collect.rounds.facts import BrokerFacts, ClusterFacts
from logdirwatch.model.records import (
    EventRecord,
    HeartbeatRecord,
    LogDirSample,
    MetricsRecord,
    ReplicasRecord,
    ScanRecord,
    TopicRecord,
)
from logdirwatch.model.vocabulary import KAFKA_STORAGE_ERROR, EventName

# MetadataVersion of Kafka 4.3: the level a cluster has finalized, by its release.
METADATA_VERSIONS = {
    7: "3.3-IV3",
    8: "3.4-IV0",
    9: "3.5-IV0",
    10: "3.5-IV1",
    11: "3.5-IV2",
    12: "3.6-IV0",
    13: "3.6-IV1",
    14: "3.6-IV2",
    15: "3.7-IV0",
    16: "3.7-IV1",
    17: "3.7-IV2",
    18: "3.7-IV3",
    19: "3.7-IV4",
    20: "3.8-IV0",
    21: "3.9-IV0",
    22: "4.0-IV0",
    23: "4.0-IV1",
    24: "4.0-IV2",
    25: "4.0-IV3",
    26: "4.1-IV0",
    27: "4.1-IV1",
    28: "4.2-IV0",
    29: "4.2-IV1",
    30: "4.3-IV0",
}


@dataclass(frozen=True)
class Origin:
    """The source of a record: the cluster and the collector."""

    cluster: str
    collector: str
    interval_ms: int


def metadata_version(level: int) -> str:
    """Return the name of a ``metadata.version`` level, ``level N`` for one that this release does not know."""
    return METADATA_VERSIONS.get(level, f"level {level}")


def metrics_record(
    origin: Origin,
    broker: BrokerFacts,
    cluster: ClusterFacts,
    answer: LogDirsAnswer,
    at_ms: int,
    *,
    with_configs: bool,
    metrics: Mapping[str, float | None] | None = None,
    capacity_of: log_dir_usage.CapacityOf = log_dir_usage.no_capacity,
) -> MetricsRecord:
    """Return the record of one poll of one broker, whatever it answered; ``metrics`` are those of its exporter."""
    return MetricsRecord(
        version=1,
        cluster=origin.cluster,
        broker=broker.node.broker,
        timestamp_ms=at_ms,
        status=answer.status,
        error=answer.error,
        collector=origin.collector,
        interval_ms=origin.interval_ms,
        host=broker.node.host,
        rack=broker.node.rack,
        is_fenced=broker.is_fenced,
        is_registered=broker.is_registered,
        controller_id=cluster.controller_id,
        controller_at_ms=broker.controller_at_ms,
        kafka_version=broker.kafka_version,
        metadata_version=cluster.metadata_version,
        metadata_mode=broker.metadata_mode,
        not_reported=not_reported(broker.api_versions),
        log_dirs=[_sample(broker, cluster, log_dir, capacity_of) for log_dir in answer.log_dirs],
        partitions=None if cluster.partitions is None else cluster.partitions.get(broker.node.broker),
        metrics=dict(metrics or {}),
        configs=dict(broker.configs) if with_configs and broker.configs is not None else None,
        moves=cluster.moves.get(broker.node.broker),
    )


def _sample(
    broker: BrokerFacts, cluster: ClusterFacts, answer: LogDirAnswer, capacity_of: log_dir_usage.CapacityOf
) -> LogDirSample:
    known = cluster.usages.get((broker.node.broker, answer.path), log_dir_usage.DirUsage())
    log_dir = log_dir_usage.with_configured_capacity(broker.node.broker, answer, known, capacity_of)
    return LogDirSample(
        path=log_dir.path,
        error_code=log_dir.error_code,
        total_bytes=log_dir.total_bytes,
        usable_bytes=log_dir.usable_bytes,
        is_cordoned=log_dir.is_cordoned,
        is_metadata_dir=_is_metadata_dir(broker, log_dir.path),
        replica_count=known.replica_count,
        replica_bytes=known.replica_bytes,
        future_bytes=known.future_bytes,
        incoming_bytes=known.incoming_bytes,
        outgoing_bytes=known.outgoing_bytes,
        out_of_sync_count=known.out_of_sync_count,
        strays=None if known.strays is None else dict(known.strays),
        capacity_source=log_dir.capacity_source,
    )


def _is_metadata_dir(broker: BrokerFacts, path: str) -> bool | None:
    """Tell whether a directory has the metadata log; a ZooKeeper broker has none, also during a migration."""
    if is_kraft_broker(broker.api_versions, broker.configs) is False:
        return False
    configured = log_dir_usage.metadata_dir(broker.configs or {})
    return None if configured is None else log_dir_usage.is_same_dir(configured, path)


def event_record(
    origin: Origin, broker: int, event: EventName, log_dir: LogDirAnswer, at_ms: int, detail: str
) -> EventRecord:
    """Return the event of one directory; the reader finds out why it failed."""
    return EventRecord(
        version=1,
        broker=broker,
        event=event,
        cluster=origin.cluster,
        log_dir=log_dir.path,
        cause="unknown" if log_dir.error_code == KAFKA_STORAGE_ERROR else None,
        timestamp_ms=at_ms,
        detail=detail,
        collector=origin.collector,
    )


def canary_record(origin: Origin, at_ms: int) -> EventRecord:
    """Return the event that tests the fast lane; it has broker 0, because it is about no broker."""
    return EventRecord(
        version=1,
        broker=0,
        event=EventName.CANARY,
        cluster=origin.cluster,
        timestamp_ms=at_ms,
        collector=origin.collector,
    )


def heartbeat_record(
    origin: Origin, at_ms: int, interval_ms: int, samples_overdue_ms: int | None = None
) -> HeartbeatRecord:
    """Return the collector's heartbeat; the next one follows ``interval_ms`` later."""
    return HeartbeatRecord(
        version=1,
        cluster=origin.cluster,
        timestamp_ms=at_ms,
        collector=origin.collector,
        interval_ms=interval_ms,
        samples_overdue_ms=samples_overdue_ms,
    )


def replicas_records(
    origin: Origin, broker: int, log_dirs: Iterable[LogDirAnswer], at_ms: int, max_bytes: int
) -> list[ReplicasRecord]:
    """Return the placements of one broker; a directory with an error gets none, so its last known ones stay."""
    return [
        ReplicasRecord(
            version=1,
            cluster=origin.cluster,
            broker=broker,
            log_dir=log_dir.path,
            timestamp_ms=at_ms,
            replicas=part,
            collector=origin.collector,
            part=number,
            parts=len(parts),
        )
        for log_dir in log_dirs
        if log_dir.error_code == 0
        for parts in [split(log_dir.replicas, max_bytes)]
        for number, part in enumerate(parts)
    ]


def topic_records(
    origin: Origin, topics: Sequence[Topic], configs: Configs, at_ms: int, max_bytes: int
) -> list[TopicRecord]:
    """Return the topics of one scan with their configuration, empty if it could not be read."""
    return [
        TopicRecord(
            version=1,
            cluster=origin.cluster,
            topic=topic.name,
            partitions=part,
            timestamp_ms=at_ms,
            configs=dict(configs.values.get(topic.name, {})),
            overridden=_overridden(configs, topic.name),
            is_internal=topic.is_internal,
            topic_id=topic.id,
            collector=origin.collector,
            part=number,
            parts=len(parts),
        )
        for topic in topics
        for parts in [split(topic.partitions, max_bytes)]
        for number, part in enumerate(parts)
    ]


def _overridden(configs: Configs, topic: str) -> list[str] | None:
    keys = configs.overridden.get(topic)
    return None if keys is None else list(keys)


def scan_record(origin: Origin, topics: int, at_ms: int, *, is_complete: bool) -> ScanRecord:
    """Return the end of a scan."""
    return ScanRecord(
        version=1,
        cluster=origin.cluster,
        timestamp_ms=at_ms,
        topics=topics,
        is_complete=is_complete,
        collector=origin.collector,
    )


def min_isr_by_topic(configs: Mapping[str, Mapping[str, str | None]]) -> dict[str, int]:
    """Return ``min.insync.replicas`` of the topics whose known configuration has it."""
    values = {topic: entries.get("min.insync.replicas") for topic, entries in configs.items()}
    return {topic: int(value) for topic, value in values.items() if value is not None}
