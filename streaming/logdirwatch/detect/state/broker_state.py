"""What the state machine remembers of one broker, and how it is stored.

Spark keeps it as one value ``struct<version:int, body:string>``; the same body is in ``logdir.state`` records, so
that a lost checkpoint can be restored from the topic.

Names and texts from outside are bounded: writers to the topics may send anything.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from logdirwatch.detect.state.forecast import Peaks
from logdirwatch.model.evidence import NO_EVIDENCE, Evidence, evidence_of
from logdirwatch.model.records import AlertRecord, AnyEvidence, PartitionHealth
from logdirwatch.model.times import WriterClock
from logdirwatch.model.vocabulary import (
    BrokerStatus,
    Cause,
    FullBy,
    LogDirStatus,
    MetadataMode,
    PollStatus,
    Rule,
    Severity,
)
from logdirwatch.state.codec import StateCodec

CHARACTERS = 1_000
"""Enough for one line about a failure; collectors send less."""
NAMES = 1_000
"""More partitions than anyone reads in an alert; the memory is written with every change."""


def newest(held: Mapping[str, int]) -> dict[str, int]:
    """Return the most recent names, each with its time."""
    kept = set(sorted(held, key=lambda name: (held[name], name))[-NAMES:])
    return {name: at_ms for name, at_ms in held.items() if name in kept}


def clipped(text: str | None) -> str | None:
    """Return the beginning of a text."""
    return None if text is None else text[:CHARACTERS]


MEMORY_VERSION = 1


class OpenAlert(Struct, kw_only=True, omit_defaults=True):
    """A firing alert, as far as its next revision needs it.

    ``said_ms`` is the time of the last revision, 0 if an older release wrote it; ``calm_since_ms`` is since when its
    evidence is good. ``told`` are digests of what the last revisions said, and when; ``wanted`` is that of what is so
    now, and since when, if it says something else.
    """

    alert_id: str
    revision: int
    severity: Severity
    opened_at_ms: int
    from_status: str | None
    to_status: str | None
    cause: Cause | None = None
    evidence: AnyEvidence = NO_EVIDENCE
    affected: dict[str, Any] = {}
    summary: str = ""
    stale_since_ms: int | None = None
    calm_since_ms: int | None = None
    said_ms: int = 0
    told: list[tuple[int, int]] = []
    wanted: tuple[int, int] | None = None


def read_evidence(alerts: Mapping[Rule, OpenAlert]) -> None:
    """Read the evidence of alerts as their rules say that it is: the body of a memory does not."""
    for rule, alert in alerts.items():
        if not isinstance(alert.evidence, Evidence):
            alert.evidence = evidence_of(rule, alert.evidence)


def reopened(alert: AlertRecord) -> OpenAlert:
    """Return a firing alert from its last revision."""
    return OpenAlert(
        alert_id=alert.alert_id,
        revision=alert.revision,
        severity=alert.severity,
        opened_at_ms=alert.opened_at_ms,
        from_status=alert.from_status,
        to_status=alert.to_status,
        evidence=alert.evidence,
        affected=alert.affected,
        summary=alert.summary,
        stale_since_ms=alert.stale_since_ms,
        said_ms=alert.at_ms,
    )


class PendingEvent(Struct, kw_only=True):
    """A LogDirFailure without a directory: its fast alert waits for a directory to go offline."""

    alert_id: str
    at_ms: int
    deadline_ms: int


class CollectorView(Struct, kw_only=True, omit_defaults=True):
    """The last report of one collector about the broker.

    ``taken_ms`` is the time of its last sample as evidence. ``said_ms`` and ``ok_ms`` are the newest time of any
    collector by then: clocks differ a little, so only those can be compared between collectors.
    """

    taken_ms: int
    interval_ms: int
    status: PollStatus
    ok_ms: int | None = None
    failures: int = 0
    said_ms: int = 0


class Pace(Struct, kw_only=True, omit_defaults=True):
    """The usual duration of something in milliseconds, the number of samples, and the number of slow ones in a row."""

    usual_ms: float = 0.0
    samples: int = 0
    slow_samples: int = 0


class Rise(Struct, kw_only=True, omit_defaults=True):
    """The recent rise of a directory's own use: its start, the next start, and the last sample.

    ``steps`` counts samples higher than the previous one, up to a few; ``risen_ms`` is the time of the last one.
    """

    from_ms: int
    from_bytes: int
    next_ms: int
    next_bytes: int
    last_ms: int
    last_bytes: int
    risen_ms: int = 0
    steps: int = 0


class Change(Struct, kw_only=True):
    """A changed size, volume or content of a directory: since when, and the previous one.

    ``replica_bytes`` are those before it came back empty; ``is_behind``: many of its replicas are out of sync.
    """

    why: str
    at_ms: int
    total_bytes: int
    volume: str | None
    replica_bytes: int | None = None
    is_behind: bool = False


class Left(Struct, kw_only=True, omit_defaults=True, frozen=True):
    """A directory that is not reported: since when, and what was held then.

    By all of the broker's directories if this one left its report, by this one if the broker does not answer. None: not
    known.
    """

    at_ms: int
    replica_count: int | None = None
    replica_bytes: int | None = None


class Trouble(Struct, kw_only=True, omit_defaults=True):
    """The last line about one kind of trouble (``KernelTrouble``) of one device: the kernel's, or the broker's."""

    kind: str
    text: str
    at_ms: int
    device: str | None = None
    is_by_broker: bool = False


class Maintenance(Struct, kw_only=True, omit_defaults=True):
    """The last maintenance decision about a broker: it may be away until then."""

    at_ms: int
    until_ms: int
    by: str
    reason: str
    is_over: bool = False


class Recovery(Struct, kw_only=True):
    """A broker that recovers its logs: since when, the last progress, and the fewest logs left by directory.

    ``total`` are all logs by directory, where the broker's log counts them.
    """

    began_ms: int
    progress_ms: int
    seen_ms: int
    left: dict[str, int]
    total: dict[str, int] = {}


class Episode(Struct, kw_only=True, omit_defaults=True):
    """A time in which the broker did not answer; ``until_ms`` is None while it goes on.

    ``is_fenced``: the controller confirmed the absence. ``reason`` (``BrokerFailureReason``) and ``text`` are those of
    the log that says why the broker ended.
    """

    since_ms: int
    until_ms: int | None = None
    is_fenced: bool = False
    reason: str | None = None
    text: str | None = None


class Move(Struct, kw_only=True, omit_defaults=True):
    """Moves to a directory: since when, the last progress, and the rate over the last span."""

    since_ms: int
    progress_ms: int
    remaining_bytes: int
    copied_bytes: int
    span_ms: int
    span_bytes: int
    bytes_per_s: float | None = None
    slow_spans: int = 0


class Verdict(Struct, kw_only=True, omit_defaults=True, frozen=True):
    """Why a directory is offline, and which step decided; ``said`` is the line or observation behind it."""

    cause: Cause
    decided_by: str
    full_by: FullBy | None = None
    device: str | None = None
    said: str | None = None


class RemoteCopies(Struct, kw_only=True, omit_defaults=True, frozen=True):
    """Failing copies to remote storage: since when, the last failure, and the lag at the beginning."""

    since_ms: int
    failed_ms: int
    text: str | None = None
    lag_bytes: int | None = None


class TaskFailure(Struct, kw_only=True, omit_defaults=True, frozen=True):
    """A failing task or a dead thread of the broker: since when, the last failure, and its line."""

    since_ms: int
    failed_ms: int
    text: str | None = None


class BrokerLogFinding(Struct, kw_only=True, omit_defaults=True, frozen=True):
    """Why a broker ended, according to its own log; ``reason`` is one of ``BrokerFailureReason``."""

    at_ms: int
    reason: str
    text: str


class KernelFinding(Struct, kw_only=True, omit_defaults=True, frozen=True):
    """The last kernel line about the device of a directory."""

    at_ms: int
    cause: Cause
    text: str
    device: str | None = None


class HostFinding(Struct, kw_only=True, omit_defaults=True, frozen=True):
    """The finding of the host's last observation that would explain a failure."""

    at_ms: int
    verdict: Verdict


class LogDirMemory(Struct, kw_only=True, omit_defaults=True):
    """One log directory; numbers are those of the last sample that had them.

    ``carrier`` is the directory whose alert covers this one too: both went offline at once. ``is_level_by_ratio``: used
    space or inodes reached the threshold of its level, and hold it until they are a step below. ``contradicted_ms``:
    since when DescribeLogDirs calls it online although the broker's own log says that it failed. ``refused_partitions``
    are under their minimum of in-sync replicas because its replicas are behind, last at ``refused_ms``. ``held`` is
    what was in it when its broker stopped answering, until it has been back for a while.
    """

    status: LogDirStatus = LogDirStatus.UNKNOWN
    since_ms: int = 0
    cause: Cause | None = None
    reason: str | None = None
    last_status: LogDirStatus | None = None
    seen_ms: int | None = None
    event_ms: int | None = None
    offline_ms: int | None = None
    decided_by: str | None = None
    sample_at_ms: int | None = None
    interval_ms: int = 0
    error_code: int | None = None
    total_bytes: int | None = None
    usable_bytes: int | None = None
    growth_bytes_per_s: float | None = None
    peaks: Peaks = field(default_factory=Peaks)
    rise: Rise | None = None
    forecast_at_ms: int | None = None
    full_at_ms: int | None = None
    forecast_confidence: float | None = None
    lasting_growth_bytes_per_s: float | None = None
    is_level_by_ratio: bool = False
    replica_count: int | None = None
    replica_bytes: int | None = None
    future_bytes: int | None = None
    incoming_bytes: int | None = None
    outgoing_bytes: int | None = None
    strays: dict[str, int] | None = None
    proof_ms: int | None = None
    is_cordoned: bool | None = None
    is_metadata_dir: bool | None = None
    volume: str | None = None
    is_volume_told: bool = False
    twin: str | None = None
    twin_samples: int = 0
    is_root_volume: bool | None = None
    is_reserve_there: bool | None = None
    change: Change | None = None
    left: Left | None = None
    held: Left | None = None
    unaccounted_since_ms: int | None = None
    used_inodes_ratio: float | None = None
    uncleanable_bytes: int | None = None
    uncleanable_count: int | None = None
    uncleanable: dict[str, int] = field(default_factory=dict)
    uncleanable_detail: str | None = None
    host_ms: int | None = None
    host_interval_ms: int = 0
    event_detail: str | None = None
    probe: Pace = field(default_factory=Pace)
    troubles: dict[str, Trouble] = field(default_factory=dict)
    suspicions: dict[str, str] = field(default_factory=dict)
    ended: dict[Rule, list[int]] = field(default_factory=dict)
    proposals: dict[str, list[LogDirStatus]] = field(default_factory=dict)
    codes: dict[str, tuple[int, int]] = field(default_factory=dict)
    alerts: dict[Rule, OpenAlert] = field(default_factory=dict)
    move: Move | None = None
    kept_up: bool = False
    lagging_scans: int = 0
    verdict: Verdict | None = None
    kernel: KernelFinding | None = None
    host_word: HostFinding | None = None
    carrier: str | None = None
    capacity_source: str | None = None
    host_total_bytes: int | None = None
    host_usable_bytes: int | None = None
    host_measured_ms: int | None = None
    contradicted_ms: int | None = None
    refused_partitions: int = 0
    refused_ms: int = 0

    @property
    def known_status(self) -> LogDirStatus:
        """Its status, or the last one that was known."""
        return (self.last_status or self.status) if self.status is LogDirStatus.UNKNOWN else self.status


class BrokerMemory(Struct, kw_only=True, omit_defaults=True):
    """One broker with all its directories.

    ``clocks`` are those of writers whose times are not taken as they are. ``episodes`` are its last absences that
    count, the oldest first, and the one that goes on. The process that runs now, or next, started after
    ``started_ms``; None: not known.
    """

    cluster: str
    broker: int
    status: BrokerStatus = BrokerStatus.UNKNOWN
    since_ms: int = 0
    reason: str | None = None
    is_judged: bool = False
    sequence: int = 0
    newest_ms: int = 0
    emitted_ms: int = 0
    emitted_silent: bool = False
    emitted_partitions: PartitionHealth | None = None
    newest_kafka_ms: int = 0
    heard_ms: int = 0
    is_silent: bool = False
    timer_ms: int | None = None
    seen_ms: int | None = None
    episodes: list[Episode] = field(default_factory=list)
    collector: str | None = None
    host: str | None = None
    rack: str | None = None
    is_fenced: bool | None = None
    kafka_version: str | None = None
    metadata_version: str | None = None
    metadata_mode: MetadataMode | None = None
    not_reported: list[str] | None = None
    controller_id: int | None = None
    configured_dirs: list[str] | None = None
    partitions: PartitionHealth | None = None
    corrected_clocks: int = 0
    collectors: dict[str, CollectorView] = field(default_factory=dict)
    positions: dict[str, int] = field(default_factory=dict)
    log_dirs: dict[str, LogDirMemory] = field(default_factory=dict)
    alerts: dict[Rule, OpenAlert] = field(default_factory=dict)
    pending: list[PendingEvent] = field(default_factory=list)
    ended: dict[Rule, list[int]] = field(default_factory=dict)
    flush: Pace = field(default_factory=Pace)
    troubles: dict[str, Trouble] = field(default_factory=dict)
    suspicions: dict[str, str] = field(default_factory=dict)
    queued_since_ms: int | None = None
    miscounts: int = 0
    dead_cleaner_threads: int | None = None
    remote_copy_lag_bytes: int | None = None
    failed_partitions: dict[str, int] = field(default_factory=dict)
    unequal_since_ms: int | None = None
    moves_at_ms: int = 0
    throttles_since_ms: int | None = None
    maintenance: Maintenance | None = None
    emitted_maintenance_ms: int | None = None
    recovery: Recovery | None = None
    unregistered_polls: int = 0
    is_gone: bool = False
    flush_ms: float | None = None
    word: BrokerLogFinding | None = None
    failed_in: dict[str, str] = field(default_factory=dict)
    coordinators: dict[str, int] = field(default_factory=dict)
    uncleanable: dict[str, int] = field(default_factory=dict)
    uncleanable_detail: str | None = None
    remote_copies: RemoteCopies | None = None
    tasks: dict[str, TaskFailure] = field(default_factory=dict)
    remote_copy_errors: int | None = None
    log_read_ms: int | None = None
    poll_status: PollStatus | None = None
    clocks: dict[str, WriterClock] = field(default_factory=dict)
    started_ms: int | None = None

    @property
    def away_since_ms(self) -> int | None:
        """The first sign of an absence that goes on; None while the broker answers."""
        return self.episodes[-1].since_ms if self.episodes and self.episodes[-1].until_ms is None else None

    def __post_init__(self) -> None:
        """Read what a decoded memory has of its alerts, and those of its directories."""
        read_evidence(self.alerts)
        for log_dir in self.log_dirs.values():
            if log_dir.alerts:
                read_evidence(log_dir.alerts)


CODEC = StateCodec("detect", MEMORY_VERSION, BrokerMemory)
encode = CODEC.encode
decode = CODEC.decode
