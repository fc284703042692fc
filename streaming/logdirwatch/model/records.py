"""The records of every topic, version 1.

JSON in UTF-8. Unknown fields are ignored, a missing required field rejects the record. Times are epoch milliseconds in
fields ending ``_ms``, sizes are bytes in fields ending ``_bytes``; ``None`` means that nobody knows, never zero.
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

    What is counted of its replicas is of the last inventory scan; ``out_of_sync_count`` are those that are not among
    the in-sync replicas of a partition that has a leader, what a reassignment is still adding left out. ``strays`` are
    replicas that lie there though the metadata does not assign them to the broker: the largest, by name, with bytes.
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
    """Partitions in danger that this broker hosts; a leaderless one counts at its preferred leader.

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
    """Running moves and the throttles set for them, as the inventory scan at ``at_ms`` saw them.

    ``reassignments`` are partitions of the whole cluster that are being reassigned, ``copies`` this broker's copies to
    another of its directories. ``throttles`` are the rates in bytes per second that are set on this broker itself, by
    their key; ``throttled_replicas`` its replicas that the lists of topics name. ``copies_begun`` of the copies have a
    byte, ``waiting_bytes`` is by directory what those bring that have none yet; ``copy_threads`` is what the broker's
    configuration says of how many run at once, ``None`` where it leaves that to Kafka.
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
    """``logdir.metrics``: one record a broker and poll, whatever the answer was.

    ``not_reported`` is what the broker's release cannot report (``vocabulary.NotReported``), None while that, as the
    metadata mode, is not known and in records of older releases.
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
    """``logdir.metrics``: a collector's sign of life, carried through ``detect`` to the alert topic."""

    version: Version
    cluster: Name
    timestamp_ms: EpochMs
    collector: str = ""
    interval_ms: Annotated[int, Meta(gt=0, le=2**31 - 1)] = 10_000


class PipelineRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="pipeline"):
    """``logdir.metrics``, key ``pipeline/query``: how one query of the stream fares, as the stream itself sees it.

    One is written while there is something to tell, else one in ``interval_ms``. ``lag_ms`` is how long ago the query
    had read all that there was, ``behind`` what it has not read, by topic; both are ``None`` when nobody knows.
    ``away_ms`` is how long the stream had been away, told once by one query if it then found something unread.
    ``read_rows``, ``rejected`` and ``lost`` count from the record before. ``quality`` is what ``validate`` says of the
    tables: the expectations that are not met, by table; empty when all are.
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

    ``full_by`` says what ran out where ``cause`` is ``full`` (``space``, ``quota``, ``inodes``), ``device`` which block
    device the line names. ``reason`` is why, where the event has one: of ``BrokerFailure`` one of
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
    """A line of the kernel's log: the trouble (``KernelTrouble``) that it tells of, or that this is over."""

    trouble: str
    text: str
    device: str | None = None
    is_over: bool = False


class HostLogDir(Struct, frozen=True, kw_only=True):
    """One log directory as the host sees it, and the probe: 4 KiB written, synced, read back and compared.

    ``volume`` names the file system it lies on; two directories with one name share its space. ``probe_error`` is
    ``None`` when the probe passed, and ``probe_ms`` when there was none. ``is_reserve_there``: whether the reserve file
    that the configuration names takes its space; ``None`` when it names none, or nobody could look.

    ``kernel_error`` is a line of the kernel's log about the block device ``device`` that the directory lies on, and
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
    """``logdir.metrics``: what the source on the broker's own host sees of its disks; ``errors`` cannot be placed.

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

    ``adding`` and ``removing`` are the brokers of a running reassignment, empty without one, ``None`` when not known.
    ``groups`` is how many consumer groups committed an offset, ``unread_ratio`` the share of the offsets that the
    slowest of them has still to read, in steps of 0.05; ``None`` when not known, or when there is no group.
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
    """``logdir.inventory``: the end of a scan; topics that a complete scan did not list are gone."""

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
    """A change of status, kept for good: what of, from, to, why and when."""

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
    """``logdir.state``, key ``cluster/broker``: what ``detect`` now believes; the highest ``sequence`` holds.

    ``machine`` is the state machine's own memory, from which ``detect`` starts again when its checkpoint is lost;
    ``positions`` are the input offsets (``topic/partition``) up to which the record holds. ``maintenance_until_ms`` is
    set while a maintenance runs, ``recovering_logs`` while the broker recovers its logs before it serves. ``flush_ms``
    is how long flushing a log took last (99th percentile), while the broker answers and its gauges are read.
    ``absence_alerts`` are the open alerts that the broker is away, rule and ``alert_id``; None where an older release
    wrote the record. ``remote_copy_lag_bytes`` is what the tiered topics that it leads have still to copy to remote
    storage, while its gauges are read. ``is_silent``: whether no collector reports the broker; None where release 0.1.0
    wrote the record. ``metadata_mode`` and ``not_reported`` are as in the metrics record.
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

    ``position`` is its place among the actions of its alert: the gentlest comes first, what wins time and what keeps
    the rest right after. ``content_hash`` stands for what it would do, whatever its texts say: an acceptance holds for
    the content that was seen.
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
    """The alerts that a silence is about, besides one by its id; ``log_dir`` is a shell pattern, null matches all."""

    cluster: Name | None = None
    rule: Rule | None = None
    broker: BrokerId | None = None
    log_dir: Name | None = None


class DecisionRecord(Struct, frozen=True, kw_only=True):
    """``logdir.decisions``: what a person said of an alert, an action or a broker.

    Of one decision about one ``id`` that of the highest ``at_ms`` holds; what ends at its ``at_ms`` ends what was said
    before. ``id`` is that of the alert or action; of a maintenance it is ``cluster/broker``, and ``cluster`` and
    ``broker`` are required; so they are of the word that the disk of ``log_dir`` is healthy (null: of no directory in
    particular). ``severity`` is the loudest that an acknowledgement or silence covers (null: all), counted from the
    alert's ``revision`` on. An acceptance or rejection names the action's ``revision``, and in
    ``content_hash`` what that revision would do: an acceptance holds for nothing else.
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
    """``logdir.notifications``, key ``receiver/route/group``: what a receiver was told of the alerts of one group.

    ``told`` are the alerts that it takes for firing, by ``alert_id`` with the severity told; ``quiet`` those of them
    that were silenced since; ``owed`` those that it could not be told of yet. ``sent_at_ms`` is when the last message
    reached it.
    """

    version: Version
    receiver: Name
    route: str
    group: dict[str, str]
    told: dict[str, Severity]
    owed: list[str] = []
    quiet: list[str] = []
    sent_at_ms: EpochMs | None = None
