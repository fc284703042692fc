"""What ``fleet`` remembers of one cluster, and how it is stored.

Spark keeps it as one value ``struct<version:int, body:string>``, rewritten with every batch: it holds only what is
judged of a broker, as arrays without field names. Fields may be added at the end of an array, with a default.
"""

from collections.abc import Iterable

from msgspec import Struct, field
from msgspec.structs import asdict

from logdirwatch.detect.state.broker_state import OpenAlert, read_evidence, reopened
from logdirwatch.model.evidence.clusters import BrokerSilentEvidence, ClusterSilentEvidence, ExecutionStoppedEvidence
from logdirwatch.model.records import AlertRecord, ExecutionRecord, PartitionHealth
from logdirwatch.model.vocabulary import AlertStatus, BrokerStatus, LogDirStatus, Rule
from logdirwatch.state.codec import StateCodec

MEMORY_VERSION = 1


class DirDigest(Struct, frozen=True, array_like=True):
    """One log directory; the numbers are those of its last good sample, None when unknown."""

    path: str
    status: LogDirStatus
    total_bytes: int | None
    usable_bytes: int | None
    full_at_ms: int | None = None
    replica_bytes: int | None = None
    is_cordoned: bool | None = None
    volume: str | None = None
    last_status: LogDirStatus | None = None


class BrokerDigest(Struct, frozen=True, array_like=True):
    """One broker's newest state record. ``silent_at_ms`` is the batch's time when its silence was first seen.

    ``away_since_ms`` is when the controller fenced it; it stays set until the broker answers again.
    ``absence_alerts`` are the open alerts of ``detect`` about its absence, by rule, with their ``alert_id``.
    """

    sequence: int
    at_ms: int
    status: BrokerStatus
    reason: str | None
    log_dirs: list[DirDigest]
    partitions: PartitionHealth | None = None
    last_seen_ms: int | None = None
    silent_at_ms: int | None = None
    maintenance_until_ms: int | None = None
    recovering_logs: int | None = None
    away_since_ms: int | None = None
    host: str | None = None
    flush_ms: float | None = None
    absence_alerts: dict[str, str] = {}

    @property
    def is_silent(self) -> bool:
        """Whether no collector reports the broker."""
        return self.silent_at_ms is not None

    @property
    def is_answering(self) -> bool:
        """Whether the broker answered when it was last reported."""
        return self.status in {BrokerStatus.ONLINE, BrokerStatus.DEGRADED}

    @property
    def is_untold(self) -> bool:
        """Whether the broker is not seen to answer and ``detect`` has no alert about that."""
        return self.is_silent or not (self.is_answering or self.absence_alerts)


class FleetAlert(OpenAlert, kw_only=True, omit_defaults=True):
    """A firing alert about the cluster or one of its brokers.

    ``figures`` are the numbers in its last revision.
    """

    rule: Rule
    broker: int | None
    figures: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Read what a decoded memory has of it."""
        read_evidence({self.rule: self})


class FleetMemory(Struct, kw_only=True, omit_defaults=True):
    """One cluster.

    ``newest_ms`` is the time of the newest evidence. ``gone`` holds the sequence and time of the last record of removed
    brokers. ``pending`` is since when the condition of a rule that has not fired yet holds. ``regather_ms`` is until
    when the alert of a silent cluster waits to see which brokers come back. ``turns`` counts how often silence changed
    from alerts about brokers to one about the cluster or back: another alert then covers the same silence. ``restarts``
    are the absences of brokers that came back in time. ``ended`` are the times at which alerts of the cluster ended
    recently. ``judged_until_ms`` is set when the checkpoint was lost: records up to then have been judged already.
    ``unfinished`` are the executions that have not ended, by action, without their operations. ``heard`` is where the
    last record of each was, and when it arrived by the batch's clock.
    """

    cluster: str
    newest_ms: int = 0
    timer_ms: int | None = None
    regather_ms: int | None = None
    turns: int = 0
    brokers: dict[int, BrokerDigest] = field(default_factory=dict)
    gone: dict[int, tuple[int, int]] = field(default_factory=dict)
    pending: dict[Rule, int] = field(default_factory=dict)
    alerts: dict[str, FleetAlert] = field(default_factory=dict)
    restarts: dict[int, tuple[int, int]] = field(default_factory=dict)
    ended: dict[Rule, list[int]] = field(default_factory=dict)
    judged_until_ms: int = 0
    unfinished: dict[str, ExecutionRecord] = field(default_factory=dict)
    heard: dict[str, tuple[str, int]] = field(default_factory=dict)


RULES = (
    Rule.PARTITIONS_AT_RISK,
    Rule.FLEET_SPACE,
    Rule.BROKER_UNKNOWN,
    Rule.BROKER_OFFLINE,
    Rule.LOG_DIR_SUSPECT,
    Rule.EXECUTION_STOPPED,
)
"""The rules for which ``fleet`` raises alerts; ``detect`` raises alerts for some of them too."""


def restored(alerts: Iterable[AlertRecord]) -> list[FleetMemory]:
    """Return a memory for each cluster with an alert of this query, from the last revisions of all alerts.

    Brokers and numbers come with the state records, which are read again from the oldest: records older than the last
    alert must neither end a firing alert nor raise a resolved one again. The first judgement may revise an alert.
    """
    memories: dict[str, FleetMemory] = {}
    for alert in filter(_is_own, alerts):
        memory = memories.setdefault(alert.cluster, FleetMemory(cluster=alert.cluster))
        if alert.rule is not Rule.EXECUTION_STOPPED:
            memory.judged_until_ms = max(memory.judged_until_ms, alert.at_ms)
        if alert.status is AlertStatus.FIRING:
            memory.alerts[alert_key(alert.rule, _subject(alert))] = _open(alert)
    return list(memories.values())


def alert_key(rule: Rule, subject: int | str | None = None) -> str:
    """Return the key of an open alert in the memory; its subject is a broker, an action, or the cluster."""
    return f"{rule}/{'*' if subject is None else subject}"


def _subject(alert: AlertRecord) -> int | str | None:
    return alert.evidence.action_id if isinstance(alert.evidence, ExecutionStoppedEvidence) else alert.broker


def _is_own(alert: AlertRecord) -> bool:
    """Tell whether an alert is one of this query, not one that ``detect`` raises about a single broker."""
    if alert.rule is Rule.BROKER_UNKNOWN:
        return isinstance(alert.evidence, (BrokerSilentEvidence, ClusterSilentEvidence))
    return alert.rule in RULES and alert.broker is None


def _open(alert: AlertRecord) -> FleetAlert:
    return FleetAlert(**asdict(reopened(alert)), rule=alert.rule, broker=alert.broker)


CODEC = StateCodec("fleet", MEMORY_VERSION, FleetMemory)
encode = CODEC.encode
decode = CODEC.decode
