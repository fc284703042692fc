"""``logdir.metrics``: polls of brokers, heartbeats, what hosts report, and the progress of the stream."""

from typing import Annotated

from msgspec import Meta, Struct

from logdirwatch.model.evidence.stream import LostRange, RejectedRows
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
    LogDirPath,
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


class KernelNews(Struct, frozen=True, kw_only=True):
    """A line of the kernel's log: the trouble (``KernelTrouble``) that it reports, or its end."""

    trouble: Annotated[str, "The kind of trouble (KernelTrouble)."]
    text: Annotated[str, "The line."]
    device: Annotated[str | None, "The block device that it names; null: none."] = None
    is_over: Annotated[bool, "Whether the line reports the end of the trouble."] = False


class HostLogDir(Struct, frozen=True, kw_only=True):
    """One log directory as seen on the host, and the probe: 4 KiB written, synced, read back and compared."""

    path: LogDirPath
    total_bytes: Annotated[Bytes | None, "Size of its file system in bytes; null: unknown."] = None
    usable_bytes: Annotated[
        Bytes | None, "Bytes of the file system that the broker can still write; null: unknown."
    ] = None
    total_inodes: Annotated[Bytes | None, "Number of inodes of the file system; null: unknown."] = None
    free_inodes: Annotated[Bytes | None, "Number of its free inodes; null: unknown."] = None
    volume: Annotated[
        Name | None, "Name of its file system; two directories with the same name share its space; null: unknown."
    ] = None
    is_read_only: Annotated[bool | None, "Whether it is mounted read-only; null: unknown."] = None
    is_root_volume: Annotated[bool | None, "Whether it is on the root file system; null: unknown."] = None
    probe_ms: Annotated[
        Annotated[float, Meta(ge=0)] | None, "Duration of the probe in milliseconds; null: there was none."
    ] = None
    probe_error: Annotated[str | None, "Why the probe failed; null: it passed, or there was none."] = None
    is_reserve_there: Annotated[
        bool | None,
        "Whether the configured reserve file has its size; null: none is configured, or it could not be checked.",
    ] = None
    device: Annotated[str | None, "The block device under the directory; null: unknown."] = None
    kernel_error: Annotated[str | None, "The worst line of kernel; null: none."] = None
    kernel_cause: Annotated[
        str | None,
        "The cause of a failure that this line is evidence for: failed for an I/O error of the device, file_system, "
        "read_only, remount or full; null: none.",
    ] = None
    full_by: Annotated[
        str | None, "What ran out, where the host or the probe shows it: space, quota or inodes; null: nothing."
    ] = None
    kernel: Annotated[list[KernelNews], "Lines of the kernel's log about the device since the last record."] = []
    config_error: Annotated[
        str | None,
        "Why the host source cannot observe it at all, which says nothing about the directory; null: it can.",
    ] = None


class HostRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="host"):
    """``logdir.metrics``: the observations of the source on the broker's own host."""

    version: Version
    cluster: ClusterName
    broker: NodeId
    timestamp_ms: Annotated[EpochMs, "When the host source observed the directories, in milliseconds since the epoch."]
    collector: Annotated[Name, "Name of the host source, never that of a collector that polls."]
    interval_ms: Annotated[int, Meta(gt=0, le=2**31 - 1), "Time between two records, in milliseconds."] = 10_000
    host: Annotated[str | None, "Host name; null: unknown."] = None
    log_dirs: Annotated[list[HostLogDir], "The log directories on the host."] = []
    errors: Annotated[list[str], "Errors of the host source that belong to no directory."] = []
    log_entries: Annotated[
        Count | None, "Number of entries of the broker's log read since the host source started; null: no log is read."
    ] = None
    log_lines_not_understood: Annotated[
        Count | None, "Number of its lines in which a failure would not have been seen; null: no log is read."
    ] = None
    kernel: Annotated[
        list[KernelNews], "Lines of the kernel's log that concern the broker whatever the directory: tasks that hang."
    ] = []
    broker_started_ms: Annotated[
        EpochMs | None,
        "When the host source read in the broker's log that it started, in milliseconds since the epoch; null: it "
        "has read no start yet.",
    ] = None


class PipelineRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="pipeline"):
    """``logdir.metrics``, key ``pipeline/query``: the progress of one query, as the stream itself sees it.

    It is written often while there is a problem, otherwise once per ``interval_ms``.
    """

    version: Version
    query: Annotated[Name, "Name of the query."]
    timestamp_ms: Annotated[EpochMs, "When the stream wrote it, in milliseconds since the epoch."]
    interval_ms: Annotated[int, Meta(gt=0, le=2**31 - 1), "Longest time between two records, in milliseconds."] = (
        600_000
    )
    trigger_ms: Annotated[Offset, "How often the query is meant to run, in milliseconds; 0: without a pause."] = 0
    is_active: Annotated[bool, "Whether the query runs."] = True
    lag_ms: Annotated[
        Offset | None, "Time since the query had last read everything, in milliseconds; null: unknown."
    ] = None
    away_ms: Annotated[
        Offset | None,
        "How long the stream had been down, in milliseconds, reported once by one query if it then found something "
        "unread; null: otherwise.",
    ] = None
    behind: Annotated[dict[str, Offset] | None, "Number of unread records by topic; null: unknown."] = None
    read_rows: Annotated[Offset | None, "Number of records read since the previous record; null: unknown."] = None
    rejected: Annotated[list[RejectedRows], "Records rejected since the previous record, by topic and reason."] = []
    lost: Annotated[
        list[LostRange], "Records that Kafka deleted before they were read, since the previous record."
    ] = []
    quality: Annotated[
        dict[str, list[str]] | None,
        "Results of validate: the expectations that are not met, by table, empty if all are met; null: not a result "
        "of validate.",
    ] = None

    @property
    def key(self) -> str:
        """The record's key on the topic."""
        return f"pipeline/{self.query}"
