"""The planner's facts from what a collector wrote, without Spark and tables between."""

from collections import defaultdict

from logdirwatch.model.records import MetricsRecord, ReplicasRecord, ScanRecord, TopicRecord
from logdirwatch.model.vocabulary import KAFKA_STORAGE_ERROR, BrokerStatus, Cause, LogDirStatus, PollStatus
from logdirwatch.plan.cluster.layout import Layout, Partition, Replica, Topic
from logdirwatch.plan.cluster.snapshot import Broker, ClusterSnapshot, LogDir
from tests.kafka.collecting import Collector


def facts_after(collector: Collector, at_ms: int, holds=lambda facts: True) -> ClusterSnapshot:
    """Wait for facts whose inventory began after ``at_ms`` and for which ``holds``."""

    def found():
        facts = facts_of(collector)
        return facts if facts is not None and facts.inventory_at_ms > at_ms and holds(facts) else None

    return collector.waits_for(found, "facts of a later inventory")


def facts_of(collector: Collector) -> ClusterSnapshot | None:
    """Return the newest facts, None before the first complete scan and its metrics."""
    scans = [scan for scan in collector.inventory(ScanRecord) if scan.is_complete]
    answers = {record.broker: record for record in collector.metrics() if record.status is PollStatus.OK}
    configs = {record.broker: record.configs for record in collector.metrics() if record.configs is not None}
    if not scans or not answers or set(configs) != set(answers):
        return None
    directories = [_directory(record, sample) for record in answers.values() for sample in record.log_dirs]
    return ClusterSnapshot(
        cluster="test",
        brokers={number: _broker(record, configs[number]) for number, record in answers.items()},
        directories={directory.place: directory for directory in directories},
        layout=Layout(topics=_topics(collector, scans[-1].timestamp_ms), replicas=_replicas(collector)),
        state_at_ms=max(record.timestamp_ms for record in answers.values()),
        inventory_at_ms=scans[-1].timestamp_ms,
    )


def _broker(record: MetricsRecord, configs: dict) -> Broker:
    is_degraded = any(sample.error_code for sample in record.log_dirs)
    status = BrokerStatus.DEGRADED if is_degraded else BrokerStatus.ONLINE
    return Broker(record.broker, status, record.rack, record.is_fenced, configs, metadata_mode=record.metadata_mode)


def _directory(record: MetricsRecord, sample) -> LogDir:
    is_offline = sample.error_code == KAFKA_STORAGE_ERROR
    return LogDir(
        broker=record.broker,
        path=sample.path,
        status=LogDirStatus.OFFLINE if is_offline else LogDirStatus.ONLINE,
        cause=Cause.FAILED if is_offline else None,
        total_bytes=sample.total_bytes,
        usable_bytes=sample.usable_bytes,
        replica_count=sample.replica_count,
        incoming_bytes=sample.incoming_bytes,
        is_cordoned=sample.is_cordoned,
        is_metadata_dir=sample.is_metadata_dir,
        sample_at_ms=record.timestamp_ms,
    )


def _replicas(collector: Collector) -> tuple[Replica, ...]:
    """The last known placement of every directory; an offline one is not listed any more."""
    parts = defaultdict(dict)
    for record in collector.inventory(ReplicasRecord):
        parts[record.broker, record.log_dir].setdefault(record.timestamp_ms, []).append(record)
    return tuple(
        Replica(broker, log_dir, r.topic, r.partition, r.size_bytes, r.is_future)
        for (broker, log_dir), scans in parts.items()
        for record in scans[max(scans)]
        for r in record.replicas
    )


def _topics(collector: Collector, at_ms: int) -> dict[str, Topic]:
    partitions, first = defaultdict(list), {}
    for record in collector.inventory(TopicRecord):
        if record.timestamp_ms == at_ms:
            first[record.topic] = record
            partitions[record.topic] += record.partitions
    return {
        name: Topic(
            name,
            tuple(
                Partition(name, p.partition, p.leader, tuple(p.replicas), tuple(p.isr), tuple(p.offline_replicas))
                for p in sorted(partitions[name], key=lambda p: p.partition)
            ),
            record.configs,
            None if record.overridden is None else frozenset(record.overridden),
            record.is_internal,
        )
        for name, record in first.items()
    }
