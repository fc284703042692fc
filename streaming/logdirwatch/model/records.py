"""The records of every topic, version 1.

JSON in UTF-8. Unknown fields are ignored, a missing required field rejects the record. Times are epoch milliseconds in
fields ending ``_ms``, sizes are bytes in fields ending ``_bytes``; ``None`` means unknown, never zero.
"""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import force_setattr

from logdirwatch.model.evidence import Evidence, evidence_of
from logdirwatch.model.evidence.stream import LostRange, RejectedRows
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
    MetadataMode,
    PollStatus,
    Rule,
    Severity,
)

Version = Literal[1]
if TYPE_CHECKING:
    AnyEvidence = Evidence
else:
    # Its struct depends on the rule, which msgspec does not see: it decodes a mapping, and the record does the rest.
    AnyEvidence = dict[str, Any]

DEFAULT_INTERVAL_MS = 5_000


class LogDirSample(Struct, frozen=True, kw_only=True):
    """One log directory as DescribeLogDirs reported it; Kafka's -1 is ``None``.

    Its replica counts are from the last inventory scan; ``out_of_sync_count`` are those that are not in sync in a
    partition with a leader, without replicas that a reassignment is still adding. ``strays`` are replicas in it that
    the metadata does not assign to the broker: the largest, by name, with their bytes.
    """

    path: Name
    error_code: Annotated[int, Meta(ge=-(2**15), le=2**15 - 1)]
    total_bytes: Bytes | None = None
    usable_bytes: Bytes | None = None
    is_cordoned: bool | None = None
    is_metadata_dir: bool | None = None
    replica_count: Count | None = None
    replica_bytes: Bytes | None = None
    future_bytes: Bytes | None = None
    incoming_bytes: Bytes | None = None
    outgoing_bytes: Bytes | None = None
    out_of_sync_count: Count | None = None
    strays: dict[str, Bytes] | None = None


class PartitionHealth(Struct, frozen=True, kw_only=True):
    """Partitions at risk that this broker hosts; a leaderless one counts at its preferred leader.

    ``out_of_sync`` are the broker's replicas that are not in sync. ``hurt_topics`` have a partition without a leader or
    under its minimum here, ``hurt_groups`` are consumer groups of these: up to 20 names each, internal topics first.
    """

    leaderless: Count = 0
    under_min_isr: Count = 0
    at_min_isr: Count = 0
    sole_replica: Count = 0
    internal_leaderless: Count = 0
    examples: list[str] = []
    out_of_sync: Count | None = None
    hurt_topics: list[str] | None = None
    hurt_groups: list[str] | None = None


class ReplicaMoves(Struct, frozen=True, kw_only=True):
    """Running moves and the throttles set for them, from the inventory scan at ``at_ms``.

    ``reassignments`` are partitions of the whole cluster that are being reassigned, ``copies`` this broker's copies to
    another of its directories. ``throttles`` are the rates in bytes per second that are set on this broker itself, by
    their key; ``throttled_replicas`` its replicas in the topics' lists. ``copies_begun`` is the number of copies that
    have bytes, ``waiting_bytes`` by directory the bytes that the others will add; ``copy_threads`` is the broker's
    configured number of concurrent copies, ``None`` for Kafka's default.
    """

    at_ms: EpochMs
    reassignments: Count | None = None
    copies: Count | None = None
    throttles: dict[str, Offset] | None = None
    throttled_replicas: Count | None = None
    copies_begun: Count | None = None
    waiting_bytes: dict[str, Bytes] | None = None
    copy_threads: Count | None = None


class MetricsRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="metrics"):
    """``logdir.metrics``: one record per broker and poll, whatever the answer.

    ``not_reported`` is what the broker's release cannot report (``vocabulary.NotReported``); None, like the metadata
    mode, while it is unknown and in records of older releases.
    """

    version: Version
    cluster: Name
    broker: BrokerId
    timestamp_ms: EpochMs
    status: PollStatus
    error: str | None = None
    collector: str = ""
    interval_ms: Annotated[int, Meta(gt=0, le=2**31 - 1)] = DEFAULT_INTERVAL_MS
    host: str | None = None
    rack: str | None = None
    is_fenced: bool | None = None
    is_registered: bool | None = None
    controller_id: Long | None = None
    controller_at_ms: EpochMs | None = None
    kafka_version: str | None = None
    metadata_version: str | None = None
    metadata_mode: MetadataMode | None = None
    not_reported: list[str] | None = None
    log_dirs: list[LogDirSample] = []
    partitions: PartitionHealth | None = None
    metrics: dict[str, float | None] = {}
    configs: dict[str, str | None] | None = None
    moves: ReplicaMoves | None = None


class HeartbeatRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="heartbeat"):
    """``logdir.metrics``: a collector's heartbeat, which ``detect`` passes on to the alert topic."""

    version: Version
    cluster: Name
    timestamp_ms: EpochMs
    collector: str = ""
    interval_ms: Annotated[int, Meta(gt=0, le=2**31 - 1)] = 10_000


class PipelineRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="pipeline"):
    """``logdir.metrics``, key ``pipeline/query``: the progress of one query, as the stream itself sees it.

    It is written often while there is a problem, otherwise once per ``interval_ms``. ``lag_ms`` is how long ago the
    query had read everything, ``behind`` the unread records by topic; both are ``None`` when unknown. ``away_ms`` is
    how long the stream had been down, reported once by one query if it then found something unread. ``read_rows``,
    ``rejected`` and ``lost`` count from the previous record. ``quality`` are the results of ``validate``: the
    expectations that are not met, by table; empty if all are met.
    """

    version: Version
    query: Name
    timestamp_ms: EpochMs
    interval_ms: Annotated[int, Meta(gt=0, le=2**31 - 1)] = 600_000
    trigger_ms: Offset = 0
    is_active: bool = True
    lag_ms: Offset | None = None
    away_ms: Offset | None = None
    behind: dict[str, Offset] | None = None
    read_rows: Offset | None = None
    rejected: list[RejectedRows] = []
    lost: list[LostRange] = []
    quality: dict[str, list[str]] | None = None

    @property
    def key(self) -> str:
        """The record's key on the topic."""
        return f"pipeline/{self.query}"


class EventRecord(Struct, frozen=True, kw_only=True):
    """``logdir.events``: KIP-112's form (version, broker, event) and ours, which adds the rest.

    ``full_by`` says what ran out if ``cause`` is ``full`` (``space``, ``quota``, ``inodes``), ``device`` the block
    device in the line. ``reason`` is set for some events: of ``BrokerFailure`` one of
    ``BrokerFailureReason``, of ``PartitionFailed`` ``coordinator_load``.
    """

    version: Version
    broker: BrokerId
    event: str | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
    cluster: Name | None = None
    log_dir: Name | None = None
    cause: str | None = None
    timestamp_ms: EpochMs | None = None
    detail: str | None = None
    collector: str | None = None
    topic: Name | None = None
    partition: Count | None = None
    full_by: str | None = None
    device: str | None = None
    reason: str | None = None


class KernelNews(Struct, frozen=True, kw_only=True):
    """A line of the kernel's log: the trouble (``KernelTrouble``) that it reports, or its end."""

    trouble: str
    text: str
    device: str | None = None
    is_over: bool = False


class HostLogDir(Struct, frozen=True, kw_only=True):
    """One log directory as seen on the host, and the probe: 4 KiB written, synced, read back and compared.

    ``volume`` is the name of its file system; two directories with the same name share its space. ``probe_error`` is
    ``None`` when the probe passed, and ``probe_ms`` when there was none. ``is_reserve_there``: whether the configured
    reserve file has its size; ``None`` if none is configured, or it could not be checked.

    ``kernel_error`` is a line of the kernel's log about the block device ``device`` under the directory, and
    ``kernel_cause`` the cause of a failure that it is evidence of: ``failed`` for an I/O error of the device,
    ``file_system``, ``read_only``, ``remount``, ``full``; both are of the worst of ``kernel``, which has all that was
    read since the last record. ``full_by`` says what ran out where the look or the probe says so (``space``, ``quota``,
    ``inodes``). ``config_error``: why the source cannot look there at all, which says nothing of the directory.
    """

    path: Name
    total_bytes: Bytes | None = None
    usable_bytes: Bytes | None = None
    total_inodes: Bytes | None = None
    free_inodes: Bytes | None = None
    volume: Name | None = None
    is_read_only: bool | None = None
    is_root_volume: bool | None = None
    probe_ms: Annotated[float, Meta(ge=0)] | None = None
    probe_error: str | None = None
    is_reserve_there: bool | None = None
    device: str | None = None
    kernel_error: str | None = None
    kernel_cause: str | None = None
    full_by: str | None = None
    kernel: list[KernelNews] = []
    config_error: str | None = None


class HostRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="host"):
    """``logdir.metrics``: the observations of the source on the broker's own host; ``errors`` belong to no directory.

    ``collector`` is the host source's own name, never that of a collector that polls. ``log_entries`` are
    what was read of the broker's log since the source started, ``log_lines_not_understood`` its lines in which a
    failure would not have been seen; both are ``None`` when no log is read.
    ``kernel`` are those of the errors that concern the broker whatever directory they are of: tasks that hang.
    """

    version: Version
    cluster: Name
    broker: BrokerId
    timestamp_ms: EpochMs
    collector: Name
    interval_ms: Annotated[int, Meta(gt=0, le=2**31 - 1)] = 10_000
    host: str | None = None
    log_dirs: list[HostLogDir] = []
    errors: list[str] = []
    log_entries: Count | None = None
    log_lines_not_understood: Count | None = None
    kernel: list[KernelNews] = []


class Placement(Struct, frozen=True, kw_only=True):
    """One replica in one log directory."""

    topic: Name
    partition: Count
    size_bytes: Bytes | None = None
    offset_lag: Long | None = None
    is_future: bool = False


class ReplicasRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="replicas"):
    """``logdir.inventory``: the replicas of one directory at one scan, in ``parts`` records of one timestamp."""

    version: Version
    cluster: Name
    broker: BrokerId
    log_dir: Name
    timestamp_ms: EpochMs
    replicas: list[Placement]
    collector: str = ""
    part: Count = 0
    parts: Annotated[int, Meta(ge=1, le=2**31 - 1)] = 1


class PartitionInfo(Struct, frozen=True, kw_only=True):
    """One partition as metadata describes it; ``leader`` is ``None`` when there is none.

    ``adding`` and ``removing`` are the brokers of a running reassignment, empty without one, ``None`` when unknown.
    ``groups`` is how many consumer groups committed an offset, ``unread_ratio`` the share of the offsets that the
    slowest of them has not read, in steps of 0.05; ``None`` when unknown, or without a group.
    """

    partition: Count
    leader: Annotated[int, Meta(ge=-1, le=2**31 - 1)] | None
    replicas: list[BrokerId]
    isr: list[BrokerId]
    offline_replicas: list[BrokerId] = []
    elr: list[BrokerId] | None = None
    last_known_elr: list[BrokerId] | None = None
    adding: list[BrokerId] | None = None
    removing: list[BrokerId] | None = None
    groups: Count | None = None
    slowest_group: str | None = None
    unread_ratio: Annotated[float, Meta(ge=0, le=1)] | None = None


class TopicRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="topic"):
    """``logdir.inventory``: one topic's partitions and effective configuration at one scan.

    ``overridden`` names the keys of ``configs`` that are set on the topic itself, the rest is inherited.
    """

    version: Version
    cluster: Name
    topic: Name
    partitions: list[PartitionInfo]
    timestamp_ms: EpochMs = 0
    configs: dict[str, str | None] = {}
    overridden: list[str] | None = None
    is_internal: bool = False
    collector: str = ""
    part: Count = 0
    parts: Annotated[int, Meta(ge=1, le=2**31 - 1)] = 1


class ScanRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="scan"):
    """``logdir.inventory``: the end of a scan; topics that a complete scan did not list were deleted."""

    version: Version
    cluster: Name
    timestamp_ms: EpochMs
    topics: Count
    is_complete: bool
    collector: str = ""


InventoryRecord = ReplicasRecord | TopicRecord | ScanRecord


class LogDirView(Struct, frozen=True, kw_only=True):
    """One directory in a state record."""

    path: str
    status: LogDirStatus
    cause: Cause | None = None
    reason: str | None = None
    since_ms: Long
    sample_at_ms: Long | None = None
    last_seen_ms: Long | None = None
    last_status: LogDirStatus | None = None
    last_proof_ms: Long | None = None
    error_code: Long | None = None
    total_bytes: Long | None = None
    usable_bytes: Long | None = None
    used_ratio: float | None = None
    replica_count: Long | None = None
    replica_bytes: Long | None = None
    future_bytes: Long | None = None
    incoming_bytes: Long | None = None
    outgoing_bytes: Long | None = None
    unaccounted_bytes: Long | None = None
    growth_bytes_per_s: float | None = None
    full_at_ms: Long | None = None
    forecast_confidence: float | None = None
    volume: str | None = None
    is_cordoned: bool | None = None
    is_metadata_dir: bool | None = None
    strays: dict[str, Long] | None = None


class Transition(Struct, frozen=True, kw_only=True):
    """A change of status: subject, from, to, reason and time."""

    transition_id: str
    cluster: str
    broker: BrokerId
    log_dir: str | None
    from_status: str | None = field(name="from")
    to_status: str = field(name="to")
    cause: Cause | None = None
    reason: str
    at_ms: Long
    origin: str


SILENT = "silent: "
"""How the reason begins of a broker that no collector reports: for people, and in records of 0.1.0 the only sign."""


class StateRecord(Struct, frozen=True, kw_only=True):
    """``logdir.state``, key ``cluster/broker``: the state according to ``detect``; the highest ``sequence`` counts.

    ``machine`` is the state machine's own memory, from which ``detect`` restarts if its checkpoint is lost;
    ``positions`` are the input offsets (``topic/partition``) that the record covers. ``maintenance_until_ms`` is set
    during maintenance, ``recovering_logs`` while the broker recovers its logs at startup. ``flush_ms`` is how long
    flushing a log took last (99th percentile), while the broker answers and its gauges are read. ``absence_alerts`` are
    the open alerts about the broker's absence, by rule, with ``alert_id``; None in records of an older release.
    ``remote_copy_lag_bytes`` are the bytes of the tiered topics that it leads and has still to copy to remote storage,
    while its gauges are read. ``is_silent``: whether no collector reports the broker; None where release 0.1.0 wrote
    the record. ``metadata_mode`` and ``not_reported`` are as in the metrics record.
    """

    version: Version
    cluster: Name
    broker: BrokerId
    sequence: Long
    at_ms: Long
    status: BrokerStatus
    reason: str | None = None
    since_ms: Long
    last_seen_ms: Long | None = None
    collector: str | None = None
    host: str | None = None
    rack: str | None = None
    is_fenced: bool | None = None
    kafka_version: str | None = None
    metadata_version: str | None = None
    metadata_mode: MetadataMode | None = None
    not_reported: list[str] | None = None
    controller_id: Long | None = None
    log_dirs: list[LogDirView]
    partitions: PartitionHealth | None = None
    transitions: list[Transition] = []
    positions: dict[str, int] = {}
    maintenance_until_ms: Long | None = None
    maintenance_by: str | None = None
    maintenance_reason: str | None = None
    recovering_logs: Long | None = None
    flush_ms: float | None = None
    absence_alerts: dict[str, str] | None = None
    remote_copy_lag_bytes: Long | None = None
    is_silent: bool | None = None
    machine: str

    @property
    def is_reported(self) -> bool:
        """Whether a collector reports the broker. Release 0.1.0 said so in the reason only; its states end with it."""
        if self.is_silent is not None:
            return not self.is_silent
        return not (self.reason or "").startswith(SILENT)


class AlertRecord(Struct, frozen=True, kw_only=True):
    """``logdir.alerts``: one revision of one alert. ``from``/``to`` are the statuses of the transition behind it."""

    version: Version
    alert_id: Name
    revision: Revision
    status: AlertStatus
    rule: Rule
    severity: Severity
    cluster: Name
    broker: BrokerId | None
    log_dir: str | None
    from_status: str | None = field(name="from")
    to_status: str | None = field(name="to")
    cause: Cause | None
    opened_at_ms: Long
    at_ms: Long
    lane: Lane
    evidence: AnyEvidence
    affected: dict[str, Any]
    summary: str
    reason: str | None = None
    merged_into: str | None = None
    stale_since_ms: Long | None = None

    def __post_init__(self) -> None:
        """Read the evidence as the rule says that it is."""
        if not isinstance(self.evidence, Evidence):
            force_setattr(self, "evidence", evidence_of(self.rule, self.evidence))


class ActionRecord(Struct, frozen=True, kw_only=True):
    """``logdir.actions``: one revision of one recommendation; ``commands`` are ready to paste into a POSIX shell.

    ``position`` is its position among the actions of its alert: the least invasive first, followed by those that gain
    time and those that protect other data. ``content_hash`` is a hash of what it would do, without its texts: an
    acceptance is valid only for the content that was accepted.
    """

    version: Version
    action_id: Name
    revision: Revision
    status: ActionStatus
    kind: ActionKind
    alert_id: Name
    alert: dict[str, Any]
    cluster: Name
    target: dict[str, Any]
    reason: str
    expected: dict[str, Any]
    preconditions: list[dict[str, Any]]
    vetoes: list[dict[str, Any]]
    data_loss: bool
    requires_approval: bool
    expires_at_ms: Long
    commands: list[str]
    reassignment: dict[str, Any] | None
    configs: dict[str, Any] | None
    undo: dict[str, Any]
    based_on: dict[str, Any]
    at_ms: Long
    observed: dict[str, Any] | None = None
    status_reason: str | None = None
    decision: dict[str, Any] | None = None
    position: Count | None = None
    content_hash: Name | None = None


class AlertPattern(Struct, frozen=True, kw_only=True):
    """The pattern of a silence that is not about one alert; ``log_dir`` is a shell pattern, null matches all."""

    cluster: Name | None = None
    rule: Rule | None = None
    broker: BrokerId | None = None
    log_dir: Name | None = None


class DecisionRecord(Struct, frozen=True, kw_only=True):
    """``logdir.decisions``: a decision about an alert, an action or a broker.

    Of the decisions of one kind about one ``id`` the highest ``at_ms`` counts; one that ends at its ``at_ms`` ends an
    earlier one. ``id`` is that of the alert or action; for maintenance it is ``cluster/broker``, and ``cluster`` and
    ``broker`` are required, as they are for the decision that the disk of ``log_dir`` is healthy (null: no particular
    directory). ``severity`` is the highest that an acknowledgement or silence covers (null: all), from the alert's
    ``revision`` on. An acceptance or rejection has the action's ``revision`` and its ``content_hash``: an acceptance is
    valid only for that content.
    """

    version: Version
    id: Name
    decision: Decision
    by: Name
    reason: str
    at_ms: EpochMs
    until_ms: EpochMs | None = None
    cluster: Name | None = None
    broker: BrokerId | None = None
    owner: Name | None = None
    severity: Severity | None = None
    revision: Revision | None = None
    matching: AlertPattern | None = None
    log_dir: Name | None = None
    content_hash: Name | None = None


class NotificationRecord(Struct, frozen=True, kw_only=True):
    """``logdir.notifications``, key ``receiver/route/group``: the notifications about one group of alerts.

    ``told`` are the alerts that it takes for firing, by ``alert_id`` with the severity sent; ``quiet`` those of them
    silenced since; ``owed`` those that could not be sent yet. ``sent_at_ms`` is when the last message was delivered.
    """

    version: Version
    receiver: Name
    route: str
    group: dict[str, str]
    told: dict[str, Severity]
    owed: list[str] = []
    quiet: list[str] = []
    sent_at_ms: EpochMs | None = None
