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

    path: Annotated[str, "Path of the log directory."]
    status: Annotated[LogDirStatus, "Its status."]
    cause: Annotated[Cause | None, "Why it is offline; null: it is not."] = None
    reason: StatusReason = None
    since_ms: StatusSince
    sample_at_ms: Annotated[
        Long | None, "Time of the last sample with its space, in milliseconds since the epoch; null: none yet."
    ] = None
    last_seen_ms: Annotated[
        Long | None, "When the broker last listed it without an error, in milliseconds since the epoch; null: never."
    ] = None
    last_status: Annotated[LogDirStatus | None, "Status before it became unknown; null: none."] = None
    last_proof_ms: Annotated[
        Long | None, "Time of the last successful write seen, in milliseconds since the epoch; null: none."
    ] = None
    error_code: Annotated[
        Long | None, "Kafka's error code of the last DescribeLogDirs answer; null: no answer yet."
    ] = None
    total_bytes: Annotated[Long | None, "Size of its volume in bytes; null: unknown."] = None
    usable_bytes: Annotated[Long | None, "Bytes of the volume that the broker can still write; null: unknown."] = None
    used_ratio: Annotated[float | None, "Used share of the volume, from 0 to 1; null: unknown."] = None
    replica_count: Annotated[Long | None, "Number of replicas in it, without copies in progress; null: unknown."] = None
    replica_bytes: Annotated[Long | None, "Bytes of these replicas and of copies in progress; null: unknown."] = None
    future_bytes: Annotated[Long | None, "Bytes of copies in progress; null: unknown."] = None
    incoming_bytes: Annotated[Long | None, "Bytes that running moves will still add; null: unknown."] = None
    outgoing_bytes: Annotated[Long | None, "Bytes that running moves will remove; null: unknown."] = None
    unaccounted_bytes: Annotated[Long | None, "Used bytes that no replica explains; null: unknown."] = None
    growth_bytes_per_s: Annotated[
        float | None, "Growth of the used bytes in bytes per second, without moved replicas; null: unknown."
    ] = None
    lasting_growth_bytes_per_s: Annotated[
        float | None,
        "Growth that lasts, in bytes per second: what neither retention nor the pattern of days and weeks explains; "
        "null: not watched for long enough.",
    ] = None
    full_at_ms: Annotated[
        Long | None,
        "When it will be full according to the forecast, in milliseconds since the epoch; null: not within a week.",
    ] = None
    forecast_confidence: Annotated[float | None, "Confidence of the forecast, from 0 to 1; null: no forecast."] = None
    volume: Annotated[str | None, "Name of its file system, which directories may share; null: unknown."] = None
    is_cordoned: IsCordoned = None
    is_metadata_dir: IsMetadataDir = None
    strays: Annotated[
        dict[str, Long] | None,
        "Replicas in it that the metadata does not assign to the broker: the largest, by topic-partition, with "
        "their bytes; null: unknown.",
    ] = None
    capacity_source: Annotated[
        str | None, "host or configuration: the source of its size if Kafka reports none; null: Kafka, or none."
    ] = None


class Transition(Struct, frozen=True, kw_only=True):
    """A change of status: subject, from, to, reason and time."""

    transition_id: Annotated[str, "Identity of the change: the same whenever it is written again."]
    cluster: Annotated[str, "Kafka cluster, by its name in the configuration."]
    broker: NodeId
    log_dir: Annotated[str | None, "Path of the log directory; null: the broker's own status."]
    from_status: Annotated[str | None, "Status before; null: it had none."] = field(name="from")
    to_status: Annotated[str, "Status after."] = field(name="to")
    cause: Annotated[Cause | None, "Why the directory is offline; null: it is not."] = None
    reason: Annotated[str, "Reason of the change, for people."]
    at_ms: Annotated[Long, "When it happened, in milliseconds since the epoch."]
    origin: Annotated[str, "The Kafka record behind it, as topic/partition/offset, or what else made it known."]


SILENT = "silent: "
"""How the reason begins of a broker that no collector reports: for people, and in records of 0.2.0 the only sign."""
ADVANCES_NOT = "their time does not advance"
"""In the reason of a silent broker whose samples arrive, but none of them is newer than the last."""


class StateRecord(Struct, frozen=True, kw_only=True):
    """``logdir.state``, key ``cluster/broker``: the state of one broker according to ``detect``."""

    version: Version
    cluster: ClusterName
    broker: NodeId
    sequence: Annotated[Long, "Number of the record; the highest one of a broker counts."]
    at_ms: Annotated[Long, "Time of the state, in milliseconds since the epoch."]
    status: Annotated[BrokerStatus, "Status of the broker."]
    reason: StatusReason = None
    since_ms: StatusSince
    last_seen_ms: Annotated[
        Long | None, "When the broker last answered, in milliseconds since the epoch; null: never."
    ] = None
    collector: Annotated[str | None, "Name of the collector that last reported the broker; null: unknown."] = None
    host: BrokerHost = None
    rack: BrokerRack = None
    is_fenced: IsFenced = None
    kafka_version: KafkaVersion = None
    metadata_version: MetadataVersion = None
    metadata_mode: ClusterMetadataMode = None
    not_reported: NotReportedByRelease = None
    controller_id: ControllerId = None
    log_dirs: Annotated[list[LogDirView], "The broker's log directories."]
    partitions: Annotated[PartitionHealth | None, "Partitions at risk that the broker hosts; null: unknown."] = None
    transitions: Annotated[list[Transition], "Changes of status since the previous record."] = []
    positions: Annotated[dict[str, int], "The input offsets that the record covers, by topic/partition."] = {}
    maintenance_until_ms: Annotated[
        Long | None, "When the maintenance ends, in milliseconds since the epoch; null: no maintenance."
    ] = None
    maintenance_by: Annotated[str | None, "Who decided on the maintenance; null: no maintenance."] = None
    maintenance_reason: Annotated[str | None, "Why, in that person's words; null: no maintenance."] = None
    recovering_logs: Annotated[
        Long | None, "Number of logs that the broker still has to recover at startup; null: it does not recover."
    ] = None
    flush_ms: Annotated[
        float | None,
        "Last duration of a log flush (99th percentile), in milliseconds; null: the broker does not answer, or its "
        "gauges are not read.",
    ] = None
    absence_alerts: Annotated[
        dict[str, str] | None,
        "alert_id of the open alerts about the broker's absence, by rule; null: a record of an older release.",
    ] = None
    remote_copy_lag_bytes: Annotated[
        Long | None,
        "Bytes of the tiered topics that the broker leads and has still to copy to remote storage; null: its gauges "
        "are not read.",
    ] = None
    is_silent: Annotated[bool | None, "Whether no collector reports the broker; null: a record of release 0.2.0."] = (
        None
    )
    is_crash_looping: Annotated[
        bool, "Whether broker_crash_loop fires: its restarts are not those of a rolling restart."
    ] = False
    machine: Annotated[
        str,
        Meta(extra_json_schema=INTERNAL),
        "Internal: the state machine's memory, from which detect restarts if its checkpoint is lost.",
    ]

    @property
    def is_reported(self) -> bool:
        """Whether a collector reports the broker. Release 0.2.0 said so in the reason only; its states end with it."""
        if self.is_silent is not None:
            return not self.is_silent
        return not (self.reason or "").startswith(SILENT)
