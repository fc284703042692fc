"""The records of every topic, version 1.

JSON in UTF-8. Unknown fields are ignored, a missing required field rejects the record. Times are epoch milliseconds in
fields ending ``_ms``, sizes are bytes in fields ending ``_bytes``; ``None`` means unknown, never zero.
"""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import force_setattr

from logdirwatch.model.evidence import Evidence, evidence_of
from logdirwatch.model.evidence.stream import LostRange, RejectedRows
from logdirwatch.model.fields import (
    BrokerHost,
    BrokerRack,
    ClusterMetadataMode,
    ClusterName,
    CollectorName,
    ControllerId,
    IsCordoned,
    IsFenced,
    IsMetadataDir,
    KafkaVersion,
    LogDirPath,
    MetadataVersion,
    NodeId,
    NotReportedByRelease,
    PartitionNumber,
    PartNumber,
    ScanTime,
    StatusReason,
    StatusSince,
    TopicName,
)
from logdirwatch.model.scalars import BrokerId, Bytes, Count, EpochMs, Long, Name, Offset, Revision
from logdirwatch.model.vocabulary import (
    ActionKind,
    ActionStatus,
    AlertStatus,
    BrokerStatus,
    Cause,
    Decision,
    Lane,
    LogDirStatus,
    PollStatus,
    Rule,
    Severity,
)

Version = Annotated[Literal[1], Meta(description="Version of the record's form: 1.")]
INTERNAL = {"x-internal": True}

if TYPE_CHECKING:
    AnyEvidence = Evidence
else:
    # Its struct depends on the rule, which msgspec does not see: it decodes a mapping, and the record does the rest.
    AnyEvidence = dict[str, Any]

DEFAULT_INTERVAL_MS = 5_000


class LogDirSample(Struct, frozen=True, kw_only=True):
    """One log directory as DescribeLogDirs reported it; Kafka's -1 is ``None``."""

    path: Annotated[Name, Meta(description="Path of the log directory, as the broker reports it.")]
    error_code: Annotated[
        Annotated[int, Meta(ge=-(2**15), le=2**15 - 1)],
        Meta(description="Kafka's error code for the directory; 0: none, 56 (KAFKA_STORAGE_ERROR): offline."),
    ]
    total_bytes: Annotated[Bytes | None, Meta(description="Size of its volume in bytes; null: not reported.")] = None
    usable_bytes: Annotated[
        Bytes | None, Meta(description="Bytes of the volume that the broker can still write; null: not reported.")
    ] = None
    is_cordoned: IsCordoned = None
    is_metadata_dir: IsMetadataDir = None
    replica_count: Annotated[
        Count | None,
        Meta(
            description="Number of replicas in it at the last inventory scan, without copies in progress; null: "
            "unknown."
        ),
    ] = None
    replica_bytes: Annotated[Bytes | None, Meta(description="Bytes of these replicas; null: unknown.")] = None
    future_bytes: Annotated[Bytes | None, Meta(description="Bytes of copies in progress; null: unknown.")] = None
    incoming_bytes: Annotated[
        Bytes | None, Meta(description="Bytes that running moves will still add; null: unknown.")
    ] = None
    outgoing_bytes: Annotated[
        Bytes | None, Meta(description="Bytes that running moves will remove; null: unknown.")
    ] = None
    out_of_sync_count: Annotated[
        Count | None,
        Meta(
            description="Number of its replicas that are not in sync in a partition with a leader, without those "
            "that a reassignment is still adding; null: unknown."
        ),
    ] = None
    strays: Annotated[
        dict[str, Bytes] | None,
        Meta(
            description="Replicas in it that the metadata does not assign to the broker: the largest, by "
            "topic-partition, with their bytes; null: unknown."
        ),
    ] = None
    capacity_source: Annotated[
        str | None,
        Meta(
            description="configuration: Kafka does not report its size, which is the configured one less the bytes of "
            "its replicas; null: Kafka reports it, or nobody does."
        ),
    ] = None


class PartitionHealth(Struct, frozen=True, kw_only=True):
    """Partitions at risk that this broker hosts."""

    leaderless: Annotated[
        Count, Meta(description="Number of partitions without a leader, each counted at its preferred leader.")
    ] = 0
    under_min_isr: Annotated[
        Count, Meta(description="Number of partitions with fewer in-sync replicas than min.insync.replicas.")
    ] = 0
    at_min_isr: Annotated[
        Count, Meta(description="Number of partitions with exactly min.insync.replicas in-sync replicas.")
    ] = 0
    sole_replica: Annotated[Count, Meta(description="Number of partitions with a single in-sync replica.")] = 0
    internal_leaderless: Annotated[
        Count, Meta(description="Number of partitions of internal topics without a leader.")
    ] = 0
    examples: Annotated[list[str], Meta(description="Some of these partitions, as topic-partition.")] = []
    out_of_sync: Annotated[
        Count | None, Meta(description="Number of the broker's replicas that are not in sync; null: unknown.")
    ] = None
    hurt_topics: Annotated[
        list[str] | None,
        Meta(
            description="Up to 20 topics with a partition without a leader or under its minimum here, internal "
            "topics first; null: unknown."
        ),
    ] = None
    hurt_groups: Annotated[
        list[str] | None, Meta(description="Up to 20 consumer groups of these topics; null: unknown.")
    ] = None


class ReplicaMoves(Struct, frozen=True, kw_only=True):
    """Running moves and the throttles set for them, from an inventory scan."""

    at_ms: Annotated[EpochMs, Meta(description="Time of the inventory scan, in milliseconds since the epoch.")]
    reassignments: Annotated[
        Count | None,
        Meta(description="Number of partitions of the whole cluster that are being reassigned; null: unknown."),
    ] = None
    copies: Annotated[
        Count | None, Meta(description="Number of this broker's copies to another of its directories; null: unknown.")
    ] = None
    throttles: Annotated[
        dict[str, Offset] | None,
        Meta(
            description="Rates in bytes per second that are set on this broker itself, by Kafka configuration "
            "key; null: unknown."
        ),
    ] = None
    throttled_replicas: Annotated[
        Count | None,
        Meta(description="Number of its replicas in the topics' lists of throttled replicas; null: unknown."),
    ] = None
    copies_begun: Annotated[
        Count | None, Meta(description="Number of these copies that have bytes; null: unknown.")
    ] = None
    waiting_bytes: Annotated[
        dict[str, Bytes] | None,
        Meta(description="Bytes that copies which have not begun will add, by path of the directory; null: unknown."),
    ] = None
    copy_threads: Annotated[
        Count | None, Meta(description="The broker's configured number of concurrent copies; null: Kafka's default.")
    ] = None


class MetricsRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="metrics"):
    """``logdir.metrics``: one record per broker and poll, whatever the answer."""

    version: Version
    cluster: ClusterName
    broker: NodeId
    timestamp_ms: Annotated[EpochMs, Meta(description="Time of the poll, in milliseconds since the epoch.")]
    status: Annotated[PollStatus, Meta(description="How the poll ended.")]
    error: Annotated[str | None, Meta(description="Why the broker did not answer; null: it answered.")] = None
    collector: CollectorName = ""
    interval_ms: Annotated[
        Annotated[int, Meta(gt=0, le=2**31 - 1)], Meta(description="Time between two polls, in milliseconds.")
    ] = DEFAULT_INTERVAL_MS
    host: BrokerHost = None
    rack: BrokerRack = None
    is_fenced: IsFenced = None
    is_registered: Annotated[bool | None, Meta(description="Whether the metadata lists the broker; null: unknown.")] = (
        None
    )
    controller_id: ControllerId = None
    controller_at_ms: Annotated[
        EpochMs | None,
        Meta(description="When the controller was read, in milliseconds since the epoch; null: it was not."),
    ] = None
    kafka_version: KafkaVersion = None
    metadata_version: MetadataVersion = None
    metadata_mode: ClusterMetadataMode = None
    not_reported: NotReportedByRelease = None
    log_dirs: Annotated[
        list[LogDirSample], Meta(description="The broker's log directories; empty where it did not answer.")
    ] = []
    partitions: Annotated[
        PartitionHealth | None, Meta(description="Partitions at risk that the broker hosts; null: unknown.")
    ] = None
    metrics: Annotated[
        dict[str, float | None],
        Meta(
            description="Values of the broker's JMX exporter by name, null where one has no value; empty without "
            "an exporter."
        ),
    ] = {}
    configs: Annotated[
        dict[str, str | None] | None,
        Meta(
            description="The broker's configuration in effect, as far as it is read, by Kafka configuration key; "
            "null: unknown."
        ),
    ] = None
    moves: Annotated[
        ReplicaMoves | None, Meta(description="Running moves and throttles at the last inventory scan; null: unknown.")
    ] = None


class HeartbeatRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="heartbeat"):
    """``logdir.metrics``: a collector's heartbeat, which ``detect`` passes on to the alert topic."""

    version: Version
    cluster: ClusterName
    timestamp_ms: Annotated[EpochMs, Meta(description="When the collector wrote it, in milliseconds since the epoch.")]
    collector: CollectorName = ""
    interval_ms: Annotated[
        Annotated[int, Meta(gt=0, le=2**31 - 1)], Meta(description="Time between two heartbeats, in milliseconds.")
    ] = 10_000


class PipelineRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="pipeline"):
    """``logdir.metrics``, key ``pipeline/query``: the progress of one query, as the stream itself sees it.

    It is written often while there is a problem, otherwise once per ``interval_ms``.
    """

    version: Version
    query: Annotated[Name, Meta(description="Name of the query.")]
    timestamp_ms: Annotated[EpochMs, Meta(description="When the stream wrote it, in milliseconds since the epoch.")]
    interval_ms: Annotated[
        Annotated[int, Meta(gt=0, le=2**31 - 1)], Meta(description="Longest time between two records, in milliseconds.")
    ] = 600_000
    trigger_ms: Annotated[
        Offset, Meta(description="How often the query is meant to run, in milliseconds; 0: without a pause.")
    ] = 0
    is_active: Annotated[bool, Meta(description="Whether the query runs.")] = True
    lag_ms: Annotated[
        Offset | None,
        Meta(description="Time since the query had last read everything, in milliseconds; null: unknown."),
    ] = None
    away_ms: Annotated[
        Offset | None,
        Meta(
            description="How long the stream had been down, in milliseconds, reported once by one query if it "
            "then found something unread; null: otherwise."
        ),
    ] = None
    behind: Annotated[
        dict[str, Offset] | None, Meta(description="Number of unread records by topic; null: unknown.")
    ] = None
    read_rows: Annotated[
        Offset | None, Meta(description="Number of records read since the previous record; null: unknown.")
    ] = None
    rejected: Annotated[
        list[RejectedRows], Meta(description="Records rejected since the previous record, by topic and reason.")
    ] = []
    lost: Annotated[
        list[LostRange],
        Meta(description="Records that Kafka deleted before they were read, since the previous record."),
    ] = []
    quality: Annotated[
        dict[str, list[str]] | None,
        Meta(
            description="Results of validate: the expectations that are not met, by table, empty if all are met; "
            "null: not a result of validate."
        ),
    ] = None

    @property
    def key(self) -> str:
        """The record's key on the topic."""
        return f"pipeline/{self.query}"


class EventRecord(Struct, frozen=True, kw_only=True):
    """``logdir.events``: KIP-112's form (version, broker, event) and ours, which adds the rest."""

    version: Version
    broker: NodeId
    event: Annotated[
        str | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)],
        Meta(description="Name of the event, or its number in KIP-112's form."),
    ]
    cluster: Annotated[
        Name | None,
        Meta(description="Kafka cluster, by its name in the configuration; null: the only one that is configured."),
    ] = None
    log_dir: Annotated[
        Name | None, Meta(description="Path of the log directory; null: the event does not name one.")
    ] = None
    cause: Annotated[str | None, Meta(description="Why it is offline; null: unknown.")] = None
    timestamp_ms: Annotated[
        EpochMs | None,
        Meta(
            description="When it happened, in milliseconds since the epoch; null: at the Kafka timestamp of the record."
        ),
    ] = None
    detail: Annotated[str | None, Meta(description="The log line or the observation behind it; null: none.")] = None
    collector: Annotated[
        str | None, Meta(description="Name of the collector or host source that wrote it; null: a broker wrote it.")
    ] = None
    topic: Annotated[Name | None, Meta(description="The topic; null: the event is not about a partition.")] = None
    partition: Annotated[
        Count | None, Meta(description="Number of the partition; null: the event is not about a partition.")
    ] = None
    full_by: Annotated[
        str | None,
        Meta(description="What ran out if the cause is full: space, quota or inodes; null: unknown, or another cause."),
    ] = None
    device: Annotated[str | None, Meta(description="The block device in the line; null: none is named.")] = None
    reason: Annotated[
        str | None,
        Meta(
            description="The reason of some events: of BrokerFailure one of BrokerFailureReason, of "
            "PartitionFailed coordinator_load; null: none."
        ),
    ] = None


class KernelNews(Struct, frozen=True, kw_only=True):
    """A line of the kernel's log: the trouble (``KernelTrouble``) that it reports, or its end."""

    trouble: Annotated[str, Meta(description="The kind of trouble (KernelTrouble).")]
    text: Annotated[str, Meta(description="The line.")]
    device: Annotated[str | None, Meta(description="The block device that it names; null: none.")] = None
    is_over: Annotated[bool, Meta(description="Whether the line reports the end of the trouble.")] = False


class HostLogDir(Struct, frozen=True, kw_only=True):
    """One log directory as seen on the host, and the probe: 4 KiB written, synced, read back and compared."""

    path: LogDirPath
    total_bytes: Annotated[Bytes | None, Meta(description="Size of its file system in bytes; null: unknown.")] = None
    usable_bytes: Annotated[
        Bytes | None, Meta(description="Bytes of the file system that the broker can still write; null: unknown.")
    ] = None
    total_inodes: Annotated[Bytes | None, Meta(description="Number of inodes of the file system; null: unknown.")] = (
        None
    )
    free_inodes: Annotated[Bytes | None, Meta(description="Number of its free inodes; null: unknown.")] = None
    volume: Annotated[
        Name | None,
        Meta(description="Name of its file system; two directories with the same name share its space; null: unknown."),
    ] = None
    is_read_only: Annotated[bool | None, Meta(description="Whether it is mounted read-only; null: unknown.")] = None
    is_root_volume: Annotated[
        bool | None, Meta(description="Whether it is on the root file system; null: unknown.")
    ] = None
    probe_ms: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="Duration of the probe in milliseconds; null: there was none."),
    ] = None
    probe_error: Annotated[
        str | None, Meta(description="Why the probe failed; null: it passed, or there was none.")
    ] = None
    is_reserve_there: Annotated[
        bool | None,
        Meta(
            description="Whether the configured reserve file has its size; null: none is configured, or it could "
            "not be checked."
        ),
    ] = None
    device: Annotated[str | None, Meta(description="The block device under the directory; null: unknown.")] = None
    kernel_error: Annotated[str | None, Meta(description="The worst line of kernel; null: none.")] = None
    kernel_cause: Annotated[
        str | None,
        Meta(
            description="The cause of a failure that this line is evidence of: failed for an I/O error of the "
            "device, file_system, read_only, remount or full; null: none."
        ),
    ] = None
    full_by: Annotated[
        str | None,
        Meta(description="What ran out, where the host or the probe shows it: space, quota or inodes; null: nothing."),
    ] = None
    kernel: Annotated[
        list[KernelNews], Meta(description="Lines of the kernel's log about the device since the last record.")
    ] = []
    config_error: Annotated[
        str | None,
        Meta(
            description="Why the host source cannot look there at all, which says nothing about the directory; "
            "null: it can."
        ),
    ] = None


class HostRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="host"):
    """``logdir.metrics``: the observations of the source on the broker's own host."""

    version: Version
    cluster: ClusterName
    broker: NodeId
    timestamp_ms: Annotated[EpochMs, Meta(description="When the host source looked, in milliseconds since the epoch.")]
    collector: Annotated[Name, Meta(description="Name of the host source, never that of a collector that polls.")]
    interval_ms: Annotated[
        Annotated[int, Meta(gt=0, le=2**31 - 1)], Meta(description="Time between two records, in milliseconds.")
    ] = 10_000
    host: Annotated[str | None, Meta(description="Host name; null: unknown.")] = None
    log_dirs: Annotated[list[HostLogDir], Meta(description="The log directories on the host.")] = []
    errors: Annotated[list[str], Meta(description="Errors of the host source that belong to no directory.")] = []
    log_entries: Annotated[
        Count | None,
        Meta(
            description="Number of entries of the broker's log read since the host source started; null: no log "
            "is read."
        ),
    ] = None
    log_lines_not_understood: Annotated[
        Count | None,
        Meta(description="Number of its lines in which a failure would not have been seen; null: no log is read."),
    ] = None
    kernel: Annotated[
        list[KernelNews],
        Meta(description="Lines of the kernel's log that concern the broker whatever the directory: tasks that hang."),
    ] = []


class Placement(Struct, frozen=True, kw_only=True):
    """One replica in one log directory."""

    topic: TopicName
    partition: PartitionNumber
    size_bytes: Annotated[Bytes | None, Meta(description="Bytes of its live segments; null: unknown.")] = None
    offset_lag: Annotated[
        Long | None,
        Meta(
            description="Lag in records: of a replica to the high watermark, of a copy to its original; null: unknown."
        ),
    ] = None
    is_future: Annotated[
        bool, Meta(description="Whether this is the copy in progress of a move between directories.")
    ] = False


class ReplicasRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="replicas"):
    """``logdir.inventory``: the replicas of one directory at one scan, in ``parts`` records of one timestamp."""

    version: Version
    cluster: ClusterName
    broker: NodeId
    log_dir: LogDirPath
    timestamp_ms: ScanTime
    replicas: Annotated[list[Placement], Meta(description="The replicas in the directory.")]
    collector: CollectorName = ""
    part: PartNumber = 0
    parts: Annotated[
        Annotated[int, Meta(ge=1, le=2**31 - 1)],
        Meta(description="Number of records with the replicas of the directory at this scan."),
    ] = 1


class PartitionInfo(Struct, frozen=True, kw_only=True):
    """One partition as metadata describes it."""

    partition: PartitionNumber
    leader: Annotated[
        Annotated[int, Meta(ge=-1, le=2**31 - 1)] | None,
        Meta(description="Node id of its leader; null or -1: it has none."),
    ]
    replicas: Annotated[list[BrokerId], Meta(description="Node ids of its brokers, the preferred leader first.")]
    isr: Annotated[list[BrokerId], Meta(description="Node ids of the brokers in sync.")]
    offline_replicas: Annotated[
        list[BrokerId], Meta(description="Node ids of the brokers whose replica Kafka reports as offline.")
    ] = []
    elr: Annotated[
        list[BrokerId] | None, Meta(description="Node ids of the eligible leader replicas (KIP-966); null: unknown.")
    ] = None
    last_known_elr: Annotated[
        list[BrokerId] | None, Meta(description="Node ids of the last known eligible leader replicas; null: unknown.")
    ] = None
    adding: Annotated[
        list[BrokerId] | None,
        Meta(description="Node ids of the brokers that a running reassignment adds, empty without one; null: unknown."),
    ] = None
    removing: Annotated[
        list[BrokerId] | None,
        Meta(
            description="Node ids of the brokers that a running reassignment removes, empty without one; null: unknown."
        ),
    ] = None
    groups: Annotated[
        Count | None, Meta(description="Number of consumer groups that committed an offset; null: unknown.")
    ] = None
    slowest_group: Annotated[
        str | None, Meta(description="Consumer group with the most unread records; null: unknown, or no group.")
    ] = None
    unread_ratio: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        Meta(
            description="Share of the offsets that this group has not read, from 0 to 1 in steps of 0.05; null: "
            "unknown, or no group."
        ),
    ] = None


class TopicRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="topic"):
    """``logdir.inventory``: one topic's partitions and effective configuration at one scan."""

    version: Version
    cluster: ClusterName
    topic: TopicName
    partitions: Annotated[list[PartitionInfo], Meta(description="Its partitions.")]
    timestamp_ms: ScanTime = 0
    configs: Annotated[
        dict[str, str | None],
        Meta(
            description="The topic's configuration in effect, by Kafka configuration key; null where a key has no "
            "value."
        ),
    ] = {}
    overridden: Annotated[
        list[str] | None,
        Meta(description="Keys of configs that are set on the topic itself, the others are inherited; null: unknown."),
    ] = None
    is_internal: Annotated[bool, Meta(description="Whether Kafka reports the topic as internal.")] = False
    collector: CollectorName = ""
    part: PartNumber = 0
    parts: Annotated[
        Annotated[int, Meta(ge=1, le=2**31 - 1)],
        Meta(description="Number of records with the partitions of the topic at this scan."),
    ] = 1


class ScanRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="scan"):
    """``logdir.inventory``: the end of a scan."""

    version: Version
    cluster: ClusterName
    timestamp_ms: ScanTime
    topics: Annotated[Count, Meta(description="Number of topics that it listed.")]
    is_complete: Annotated[
        bool, Meta(description="Whether it listed every topic: those that it did not list were deleted.")
    ]
    collector: CollectorName = ""


InventoryRecord = ReplicasRecord | TopicRecord | ScanRecord


class LogDirView(Struct, frozen=True, kw_only=True):
    """One directory in a state record."""

    path: Annotated[str, Meta(description="Path of the log directory.")]
    status: Annotated[LogDirStatus, Meta(description="Its status.")]
    cause: Annotated[Cause | None, Meta(description="Why it is offline; null: it is not.")] = None
    reason: StatusReason = None
    since_ms: StatusSince
    sample_at_ms: Annotated[
        Long | None,
        Meta(description="Time of the last sample with its space, in milliseconds since the epoch; null: none yet."),
    ] = None
    last_seen_ms: Annotated[
        Long | None,
        Meta(
            description="When the broker last listed it without an error, in milliseconds since the epoch; null: never."
        ),
    ] = None
    last_status: Annotated[LogDirStatus | None, Meta(description="Status before it became unknown; null: none.")] = None
    last_proof_ms: Annotated[
        Long | None,
        Meta(description="Time of the last successful write seen, in milliseconds since the epoch; null: none."),
    ] = None
    error_code: Annotated[
        Long | None, Meta(description="Kafka's error code of the last DescribeLogDirs answer; null: no answer yet.")
    ] = None
    total_bytes: Annotated[Long | None, Meta(description="Size of its volume in bytes; null: unknown.")] = None
    usable_bytes: Annotated[
        Long | None, Meta(description="Bytes of the volume that the broker can still write; null: unknown.")
    ] = None
    used_ratio: Annotated[float | None, Meta(description="Used share of the volume, from 0 to 1; null: unknown.")] = (
        None
    )
    replica_count: Annotated[
        Long | None, Meta(description="Number of replicas in it, without copies in progress; null: unknown.")
    ] = None
    replica_bytes: Annotated[Long | None, Meta(description="Bytes of these replicas; null: unknown.")] = None
    future_bytes: Annotated[Long | None, Meta(description="Bytes of copies in progress; null: unknown.")] = None
    incoming_bytes: Annotated[
        Long | None, Meta(description="Bytes that running moves will still add; null: unknown.")
    ] = None
    outgoing_bytes: Annotated[Long | None, Meta(description="Bytes that running moves will remove; null: unknown.")] = (
        None
    )
    unaccounted_bytes: Annotated[
        Long | None, Meta(description="Used bytes that no replica explains; null: unknown.")
    ] = None
    growth_bytes_per_s: Annotated[
        float | None,
        Meta(description="Growth of the used bytes in bytes per second, without moved replicas; null: unknown."),
    ] = None
    full_at_ms: Annotated[
        Long | None,
        Meta(
            description="When it will be full according to the forecast, in milliseconds since the epoch; null: "
            "not within a week."
        ),
    ] = None
    forecast_confidence: Annotated[
        float | None, Meta(description="Confidence of the forecast, from 0 to 1; null: no forecast.")
    ] = None
    volume: Annotated[
        str | None, Meta(description="Name of its file system, which directories may share; null: unknown.")
    ] = None
    is_cordoned: IsCordoned = None
    is_metadata_dir: IsMetadataDir = None
    strays: Annotated[
        dict[str, Long] | None,
        Meta(
            description="Replicas in it that the metadata does not assign to the broker: the largest, by "
            "topic-partition, with their bytes; null: unknown."
        ),
    ] = None
    capacity_source: Annotated[
        str | None,
        Meta(description="host or configuration: who told its size where Kafka does not; null: Kafka, or nobody."),
    ] = None


class Transition(Struct, frozen=True, kw_only=True):
    """A change of status: subject, from, to, reason and time."""

    transition_id: Annotated[str, Meta(description="Identity of the change: the same whenever it is written again.")]
    cluster: Annotated[str, Meta(description="Kafka cluster, by its name in the configuration.")]
    broker: NodeId
    log_dir: Annotated[str | None, Meta(description="Path of the log directory; null: the broker's own status.")]
    from_status: Annotated[str | None, Meta(description="Status before; null: it had none.")] = field(name="from")
    to_status: Annotated[str, Meta(description="Status after.")] = field(name="to")
    cause: Annotated[Cause | None, Meta(description="Why the directory is offline; null: it is not.")] = None
    reason: Annotated[str, Meta(description="Reason of the change, for people.")]
    at_ms: Annotated[Long, Meta(description="When it happened, in milliseconds since the epoch.")]
    origin: Annotated[
        str, Meta(description="The Kafka record behind it, as topic/partition/offset, or what else made it known.")
    ]


SILENT = "silent: "
"""How the reason begins of a broker that no collector reports: for people, and in records of 0.1.0 the only sign."""


class StateRecord(Struct, frozen=True, kw_only=True):
    """``logdir.state``, key ``cluster/broker``: the state of one broker according to ``detect``."""

    version: Version
    cluster: ClusterName
    broker: NodeId
    sequence: Annotated[Long, Meta(description="Number of the record; the highest one of a broker counts.")]
    at_ms: Annotated[Long, Meta(description="Time of the state, in milliseconds since the epoch.")]
    status: Annotated[BrokerStatus, Meta(description="Status of the broker.")]
    reason: StatusReason = None
    since_ms: StatusSince
    last_seen_ms: Annotated[
        Long | None, Meta(description="When the broker last answered, in milliseconds since the epoch; null: never.")
    ] = None
    collector: Annotated[
        str | None, Meta(description="Name of the collector that last reported the broker; null: unknown.")
    ] = None
    host: BrokerHost = None
    rack: BrokerRack = None
    is_fenced: IsFenced = None
    kafka_version: KafkaVersion = None
    metadata_version: MetadataVersion = None
    metadata_mode: ClusterMetadataMode = None
    not_reported: NotReportedByRelease = None
    controller_id: ControllerId = None
    log_dirs: Annotated[list[LogDirView], Meta(description="The broker's log directories.")]
    partitions: Annotated[
        PartitionHealth | None, Meta(description="Partitions at risk that the broker hosts; null: unknown.")
    ] = None
    transitions: Annotated[list[Transition], Meta(description="Changes of status since the previous record.")] = []
    positions: Annotated[
        dict[str, int], Meta(description="The input offsets that the record covers, by topic/partition.")
    ] = {}
    maintenance_until_ms: Annotated[
        Long | None,
        Meta(description="When the maintenance ends, in milliseconds since the epoch; null: no maintenance."),
    ] = None
    maintenance_by: Annotated[str | None, Meta(description="Who decided on the maintenance; null: no maintenance.")] = (
        None
    )
    maintenance_reason: Annotated[
        str | None, Meta(description="Why, in that person's words; null: no maintenance.")
    ] = None
    recovering_logs: Annotated[
        Long | None,
        Meta(description="Number of logs that the broker still has to recover at startup; null: it does not recover."),
    ] = None
    flush_ms: Annotated[
        float | None,
        Meta(
            description="Last duration of a log flush (99th percentile), in milliseconds; null: the broker does "
            "not answer, or its gauges are not read."
        ),
    ] = None
    absence_alerts: Annotated[
        dict[str, str] | None,
        Meta(
            description="alert_id of the open alerts about the broker's absence, by rule; null: a record of an "
            "older release."
        ),
    ] = None
    remote_copy_lag_bytes: Annotated[
        Long | None,
        Meta(
            description="Bytes of the tiered topics that the broker leads and has still to copy to remote "
            "storage; null: its gauges are not read."
        ),
    ] = None
    is_silent: Annotated[
        bool | None, Meta(description="Whether no collector reports the broker; null: a record of release 0.1.0.")
    ] = None
    machine: Annotated[
        str,
        Meta(
            description="Internal: the state machine's memory, from which detect restarts if its checkpoint is lost.",
            extra_json_schema=INTERNAL,
        ),
    ]

    @property
    def is_reported(self) -> bool:
        """Whether a collector reports the broker. Release 0.1.0 said so in the reason only; its states end with it."""
        if self.is_silent is not None:
            return not self.is_silent
        return not (self.reason or "").startswith(SILENT)


class AlertRecord(Struct, frozen=True, kw_only=True):
    """``logdir.alerts``: one revision of one alert."""

    version: Version
    alert_id: Annotated[Name, Meta(description="Identity of the alert.")]
    revision: Annotated[Revision, Meta(description="Revision number; the highest one of an alert is current.")]
    status: Annotated[AlertStatus, Meta(description="Whether the alert fires or is resolved.")]
    rule: Annotated[Rule, Meta(description="The rule.")]
    severity: Annotated[Severity, Meta(description="The severity.")]
    cluster: ClusterName
    broker: Annotated[
        BrokerId | None,
        Meta(description="Node id of the broker; null: the alert is about the cluster, or about logdirwatch itself."),
    ]
    log_dir: Annotated[str | None, Meta(description="Path of the log directory; null: the alert is not about one.")]
    from_status: Annotated[
        str | None, Meta(description="Status before the transition behind the alert; null: there is none.")
    ] = field(name="from")
    to_status: Annotated[str | None, Meta(description="Status after that transition; null: there is none.")] = field(
        name="to"
    )
    cause: Annotated[
        Cause | None, Meta(description="Why the log directory is offline; null: it is not, or the cause is unknown.")
    ]
    opened_at_ms: Annotated[
        Long, Meta(description="Time of the evidence that opened the alert, in milliseconds since the epoch.")
    ]
    at_ms: Annotated[
        Long, Meta(description="Time of the evidence behind this revision, in milliseconds since the epoch.")
    ]
    lane: Annotated[Lane, Meta(description="Which query wrote the revision.")]
    evidence: Annotated[AnyEvidence, Meta(description="The numbers and log lines behind the alert, by rule.")]
    affected: Annotated[dict[str, Any], Meta(description="What the problem affects.")]
    summary: Annotated[str, Meta(description="The alert in one sentence, for people.")]
    reason: Annotated[str | None, Meta(description="Why the alert is resolved, for people; null: it fires.")] = None
    merged_into: Annotated[str | None, Meta(description="alert_id of the alert that covers this one; null: none.")] = (
        None
    )
    stale_since_ms: Annotated[
        Long | None,
        Meta(
            description="Since when the subject is not monitored, in milliseconds since the epoch; null: it is "
            "monitored."
        ),
    ] = None

    def __post_init__(self) -> None:
        """Read the evidence as the rule says that it is."""
        if not isinstance(self.evidence, Evidence):
            force_setattr(self, "evidence", evidence_of(self.rule, self.evidence))


class ActionRecord(Struct, frozen=True, kw_only=True):
    """``logdir.actions``: one revision of one recommendation."""

    version: Version
    action_id: Annotated[Name, Meta(description="Identity of the action.")]
    revision: Annotated[Revision, Meta(description="Revision number; the highest one of an action is current.")]
    status: Annotated[ActionStatus, Meta(description="Status of the action.")]
    kind: Annotated[ActionKind, Meta(description="Kind of the action.")]
    alert_id: Annotated[Name, Meta(description="alert_id of the alert that it answers.")]
    alert: Annotated[dict[str, Any], Meta(description="The alert's key facts.")]
    cluster: ClusterName
    target: Annotated[dict[str, Any], Meta(description="What the action acts on.")]
    reason: Annotated[str, Meta(description="Why it is recommended, for people.")]
    expected: Annotated[dict[str, Any], Meta(description="Its expected effect, by kind.")]
    preconditions: Annotated[list[dict[str, Any]], Meta(description="What must be true when it is carried out.")]
    vetoes: Annotated[
        list[dict[str, Any]], Meta(description="Why it must not be carried out now; empty if there is no reason.")
    ]
    data_loss: Annotated[bool, Meta(description="Whether it deletes data that is nowhere else.")]
    requires_approval: Annotated[bool, Meta(description="Whether somebody must accept it before it is carried out.")]
    expires_at_ms: Annotated[
        Long, Meta(description="When it expires unless somebody takes it up, in milliseconds since the epoch.")
    ]
    commands: Annotated[
        list[str],
        Meta(description="Commands to paste into a POSIX shell, in order; lines that begin with # are for people."),
    ]
    reassignment: Annotated[
        dict[str, Any] | None,
        Meta(description="Content of the file for kafka-reassign-partitions; null: no reassignment."),
    ]
    configs: Annotated[
        dict[str, Any] | None,
        Meta(
            description="Values of topic configurations that it sets, by topic and Kafka configuration key; null: none."
        ),
    ]
    undo: Annotated[dict[str, Any], Meta(description="How it is undone.")]
    based_on: Annotated[dict[str, Any], Meta(description="How old the data is that it was planned on.")]
    at_ms: Annotated[Long, Meta(description="Time of this revision, in milliseconds since the epoch.")]
    observed: Annotated[
        dict[str, Any] | None, Meta(description="What was observed of its execution; null: nothing yet.")
    ] = None
    status_reason: StatusReason = None
    decision: Annotated[dict[str, Any] | None, Meta(description="The decision about it; null: none.")] = None
    position: Annotated[
        Count | None,
        Meta(
            description="Position among the actions of its alert, from 0: the least invasive first, followed by "
            "those that gain time and those that protect other data; null: a record of an older "
            "release."
        ),
    ] = None
    content_hash: Annotated[
        Name | None,
        Meta(
            description="Hash of what it would do, without its texts: an acceptance is valid only for the content "
            "that was accepted; null: a record of release 0.1.0."
        ),
    ] = None


class AlertPattern(Struct, frozen=True, kw_only=True):
    """The pattern of a silence that is not about one alert."""

    cluster: Annotated[Name | None, Meta(description="Kafka cluster, by its name in the configuration; null: all.")] = (
        None
    )
    rule: Annotated[Rule | None, Meta(description="Rule of the alerts; null: all.")] = None
    broker: Annotated[BrokerId | None, Meta(description="Node id of the broker; null: all.")] = None
    log_dir: Annotated[Name | None, Meta(description="Path of the log directory, as a shell pattern; null: all.")] = (
        None
    )


class DecisionRecord(Struct, frozen=True, kw_only=True):
    """``logdir.decisions``: a decision about an alert, an action or a broker.

    A decision that ends at its ``at_ms`` ends an earlier one. ``cluster`` and ``broker`` are required for maintenance
    and for the decision that a disk is healthy.
    """

    version: Version
    id: Annotated[
        Name,
        Meta(
            description="alert_id or action_id; cluster/broker for maintenance and for the decision that a disk "
            "is healthy."
        ),
    ]
    decision: Annotated[Decision, Meta(description="The decision.")]
    by: Annotated[Name, Meta(description="Who decided.")]
    reason: Annotated[str, Meta(description="Why, in that person's words.")]
    at_ms: Annotated[
        EpochMs,
        Meta(
            description="When, in milliseconds since the epoch; of the decisions of one kind about one id the "
            "highest counts."
        ),
    ]
    until_ms: Annotated[
        EpochMs | None,
        Meta(description="When the decision ends, in milliseconds since the epoch; null: it has no end."),
    ] = None
    cluster: Annotated[
        Name | None, Meta(description="Kafka cluster, by its name in the configuration; null: the id says enough.")
    ] = None
    broker: Annotated[BrokerId | None, Meta(description="Node id of the broker; null: the id says enough.")] = None
    owner: Annotated[Name | None, Meta(description="Who takes care of it; null: nobody was named.")] = None
    severity: Annotated[
        Severity | None, Meta(description="Highest severity that an acknowledgement or silence covers; null: all.")
    ] = None
    revision: Annotated[
        Revision | None, Meta(description="Revision of the alert or action that the person saw; null: unknown.")
    ] = None
    matching: Annotated[
        AlertPattern | None,
        Meta(description="Pattern of a silence that is not about one alert; null: it is about one."),
    ] = None
    log_dir: Annotated[
        Name | None, Meta(description="Path of the log directory whose disk is healthy; null: no particular one.")
    ] = None
    content_hash: Annotated[
        Name | None,
        Meta(
            description="content_hash of the action that was accepted or rejected; null: a decision about an "
            "alert or broker, or a record of release 0.1.0."
        ),
    ] = None


class NotificationRecord(Struct, frozen=True, kw_only=True):
    """``logdir.notifications``, key ``receiver/route/group``: the notifications about one group of alerts."""

    version: Version
    receiver: Annotated[Name, Meta(description="Name of the receiver.")]
    route: Annotated[str, Meta(description="Name of the route.")]
    group: Annotated[dict[str, str], Meta(description="Labels of the group, by name.")]
    told: Annotated[
        dict[str, Severity],
        Meta(description="Alerts that the receiver takes for firing: the severity sent, by alert_id."),
    ]
    owed: Annotated[list[str], Meta(description="alert_id of the alerts that could not be sent yet.")] = []
    quiet: Annotated[list[str], Meta(description="alert_id of the alerts in told that were silenced since.")] = []
    sent_at_ms: Annotated[
        EpochMs | None,
        Meta(description="When the last message was delivered, in milliseconds since the epoch; null: never."),
    ] = None
