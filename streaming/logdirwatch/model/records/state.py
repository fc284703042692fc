"""``logdir.state``: the judged state of a broker and its log directories."""

from typing import Annotated

from msgspec import Meta, Struct, field

from logdirwatch.model.records.metrics import PartitionHealth
from logdirwatch.model.scalars import (
    BrokerHost,
    BrokerRack,
    ClusterMetadataMode,
    ClusterName,
    ControllerId,
    IsCordoned,
    IsFenced,
    IsMetadataDir,
    KafkaVersion,
    Long,
    MetadataVersion,
    NodeId,
    NotReportedByRelease,
    StatusReason,
    StatusSince,
    Version,
)
from logdirwatch.model.vocabulary import BrokerStatus, Cause, LogDirStatus

INTERNAL = {"x-internal": True}


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
    replica_bytes: Annotated[
        Long | None, Meta(description="Bytes of these replicas and of copies in progress; null: unknown.")
    ] = None
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
    lasting_growth_bytes_per_s: Annotated[
        float | None,
        Meta(
            description="Growth that lasts, in bytes per second: what neither retention nor the pattern of days and "
            "weeks explains; null: not watched for long enough."
        ),
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
        Meta(description="host or configuration: the source of its size if Kafka reports none; null: Kafka, or none."),
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
"""How the reason begins of a broker that no collector reports: for people, and in records of 0.2.0 the only sign."""
ADVANCES_NOT = "their time does not advance"
"""In the reason of a silent broker whose samples arrive, but none of them is newer than the last."""


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
        bool | None, Meta(description="Whether no collector reports the broker; null: a record of release 0.2.0.")
    ] = None
    is_crash_looping: Annotated[
        bool, Meta(description="Whether broker_crash_loop fires: its restarts are not those of a rolling restart.")
    ] = False
    machine: Annotated[
        str,
        Meta(
            description="Internal: the state machine's memory, from which detect restarts if its checkpoint is lost.",
            extra_json_schema=INTERNAL,
        ),
    ]

    @property
    def is_reported(self) -> bool:
        """Whether a collector reports the broker. Release 0.2.0 said so in the reason only; its states end with it."""
        if self.is_silent is not None:
            return not self.is_silent
        return not (self.reason or "").startswith(SILENT)
