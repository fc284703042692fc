"""``logdir.metrics``: a poll of a broker, and a collector's heartbeat."""

from typing import Annotated

from msgspec import Meta, Struct

from logdirwatch.model.scalars import (
    BrokerHost,
    BrokerRack,
    Bytes,
    ClusterMetadataMode,
    ClusterName,
    CollectorName,
    ControllerId,
    Count,
    EpochMs,
    IsCordoned,
    IsFenced,
    IsMetadataDir,
    KafkaVersion,
    MetadataVersion,
    Name,
    NodeId,
    NotReportedByRelease,
    Offset,
    Version,
)
from logdirwatch.model.vocabulary import PollStatus

DEFAULT_INTERVAL_MS = 5_000


class LogDirSample(Struct, frozen=True, kw_only=True):
    """One log directory as DescribeLogDirs reported it; Kafka's -1 is ``None``."""

    path: Annotated[Name, "Path of the log directory, as the broker reports it."]
    error_code: Annotated[
        int,
        Meta(ge=-(2**15), le=2**15 - 1),
        "Kafka's error code for the directory; 0: none, 56 (KAFKA_STORAGE_ERROR): offline.",
    ]
    total_bytes: Annotated[Bytes | None, "Size of its volume in bytes; null: not reported."] = None
    usable_bytes: Annotated[
        Bytes | None, "Bytes of the volume that the broker can still write; null: not reported."
    ] = None
    is_cordoned: IsCordoned = None
    is_metadata_dir: IsMetadataDir = None
    replica_count: Annotated[
        Count | None, "Number of replicas in it at the last inventory scan, without copies in progress; null: unknown."
    ] = None
    replica_bytes: Annotated[Bytes | None, "Bytes of these replicas and of copies in progress; null: unknown."] = None
    future_bytes: Annotated[Bytes | None, "Bytes of copies in progress; null: unknown."] = None
    incoming_bytes: Annotated[Bytes | None, "Bytes that running moves will still add; null: unknown."] = None
    outgoing_bytes: Annotated[Bytes | None, "Bytes that running moves will remove; null: unknown."] = None
    out_of_sync_count: Annotated[
        Count | None,
        "Number of its replicas that are not in sync in a partition with a leader, without those that a "
        "reassignment is still adding; null: unknown.",
    ] = None
    strays: Annotated[
        dict[str, Bytes] | None,
        "Replicas in it that the metadata does not assign to the broker: the largest, by topic-partition, with "
        "their bytes; null: unknown.",
    ] = None
    capacity_source: Annotated[
        str | None,
        "configuration: Kafka does not report its size, which is the configured one less the bytes of its replicas; "
        "null: Kafka reports it, or nobody does.",
    ] = None


class PartitionHealth(Struct, frozen=True, kw_only=True):
    """Partitions at risk that this broker hosts."""

    leaderless: Annotated[Count, "Number of partitions without a leader, each counted at its preferred leader."] = 0
    under_min_isr: Annotated[Count, "Number of partitions with fewer in-sync replicas than min.insync.replicas."] = 0
    at_min_isr: Annotated[Count, "Number of partitions with exactly min.insync.replicas in-sync replicas."] = 0
    sole_replica: Annotated[Count, "Number of partitions with a single in-sync replica."] = 0
    internal_leaderless: Annotated[Count, "Number of partitions of internal topics without a leader."] = 0
    examples: Annotated[list[str], "Some of these partitions, as topic-partition."] = []
    out_of_sync: Annotated[Count | None, "Number of the broker's replicas that are not in sync; null: unknown."] = None
    hurt_topics: Annotated[
        list[str] | None,
        "Up to 20 topics with a partition without a leader or under its minimum here, internal topics first; null: "
        "unknown.",
    ] = None
    hurt_groups: Annotated[list[str] | None, "Up to 20 consumer groups of these topics; null: unknown."] = None


class ReplicaMoves(Struct, frozen=True, kw_only=True):
    """Running moves and the throttles set for them, from an inventory scan."""

    at_ms: Annotated[EpochMs, "Time of the inventory scan, in milliseconds since the epoch."]
    reassignments: Annotated[
        Count | None, "Number of partitions of the whole cluster that are being reassigned; null: unknown."
    ] = None
    copies: Annotated[Count | None, "Number of this broker's copies to another of its directories; null: unknown."] = (
        None
    )
    throttles: Annotated[
        dict[str, Offset] | None,
        "Rates in bytes per second that are set on this broker itself, by Kafka configuration key; null: unknown.",
    ] = None
    throttled_replicas: Annotated[
        Count | None, "Number of its replicas in the topics' lists of throttled replicas; null: unknown."
    ] = None
    copies_begun: Annotated[Count | None, "Number of these copies that have bytes; null: unknown."] = None
    waiting_bytes: Annotated[
        dict[str, Bytes] | None,
        "Bytes that copies which have not begun will add, by path of the directory; null: unknown.",
    ] = None
    copy_threads: Annotated[
        Count | None, "The broker's configured number of concurrent copies; null: Kafka's default."
    ] = None


class MetricsRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="metrics"):
    """``logdir.metrics``: one record per broker and poll, whatever the answer."""

    version: Version
    cluster: ClusterName
    broker: NodeId
    timestamp_ms: Annotated[EpochMs, "Time of the poll, in milliseconds since the epoch."]
    status: Annotated[PollStatus, "How the poll ended."]
    error: Annotated[str | None, "Why the broker did not answer; null: it answered."] = None
    collector: CollectorName = ""
    interval_ms: Annotated[int, Meta(gt=0, le=2**31 - 1), "Time between two polls, in milliseconds."] = (
        DEFAULT_INTERVAL_MS
    )
    host: BrokerHost = None
    rack: BrokerRack = None
    is_fenced: IsFenced = None
    is_registered: Annotated[bool | None, "Whether the metadata lists the broker; null: unknown."] = None
    controller_id: ControllerId = None
    controller_at_ms: Annotated[
        EpochMs | None, "When the controller was read, in milliseconds since the epoch; null: it was not."
    ] = None
    kafka_version: KafkaVersion = None
    metadata_version: MetadataVersion = None
    metadata_mode: ClusterMetadataMode = None
    not_reported: NotReportedByRelease = None
    log_dirs: Annotated[list[LogDirSample], "The broker's log directories; empty where it did not answer."] = []
    partitions: Annotated[PartitionHealth | None, "Partitions at risk that the broker hosts; null: unknown."] = None
    metrics: Annotated[
        dict[str, float | None],
        "Values of the broker's JMX exporter by name, null where one has no value; empty without an exporter.",
    ] = {}
    configs: Annotated[
        dict[str, str | None] | None,
        "The broker's configuration in effect, as far as it is read, by Kafka configuration key; null: unknown.",
    ] = None
    moves: Annotated[ReplicaMoves | None, "Running moves and throttles at the last inventory scan; null: unknown."] = (
        None
    )


class HeartbeatRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="heartbeat"):
    """``logdir.metrics``: a collector's heartbeat, which ``detect`` passes on to the alert topic."""

    version: Version
    cluster: ClusterName
    timestamp_ms: Annotated[EpochMs, "When the collector wrote it, in milliseconds since the epoch."]
    collector: CollectorName = ""
    interval_ms: Annotated[int, Meta(gt=0, le=2**31 - 1), "Time between two heartbeats, in milliseconds."] = 10_000
    samples_overdue_ms: Annotated[
        Annotated[int, Meta(ge=0, le=2**53)] | None,
        "For how long a sample of the cluster has been overdue: none was acknowledged by the telemetry cluster. In "
        "milliseconds; 0: samples pass; null: written by an older release.",
    ] = None
