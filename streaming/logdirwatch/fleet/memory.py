"""What ``fleet`` remembers of one cluster, and how it is written down.

Spark keeps it as one value ``struct<version:int, body:string>``, written anew with every batch: of a broker it holds
only what is judged, and as arrays without names. Fields may be added at the end of an array, with a default.
"""

from collections.abc import Iterable

from msgspec import Struct, field
from msgspec.structs import asdict

from logdirwatch.detect.state.broker_state import OpenAlert, read_evidence, reopened
from logdirwatch.model.evidence.clusters import BrokerSilentEvidence, ClusterSilentEvidence
from logdirwatch.model.records import AlertRecord, PartitionHealth
from logdirwatch.model.vocabulary import AlertStatus, BrokerStatus, LogDirStatus, Rule
from logdirwatch.state.codec import StateCodec

MEMORY_VERSION = 1


class DirDigest(Struct, frozen=True, array_like=True):
    """One log directory; the numbers are those of its last good sample, None where nobody knows."""

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

    ``away_since_ms`` is since when the controller has given it up, whatever it was since, until it answers again.
    ``absence_alerts`` are what ``detect`` has open of its absence, rule and ``alert_id``.
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
        """Whether no collector reports the broker any more."""
        return self.silent_at_ms is not None

    @property
    def is_answering(self) -> bool:
        """Whether the broker answered when it was last reported."""
        return self.status in {BrokerStatus.ONLINE, BrokerStatus.DEGRADED}

    @property
    def is_untold(self) -> bool:
        """Whether nobody sees the broker answer and ``detect`` has no alert of that."""
        return self.is_silent or not (self.is_answering or self.absence_alerts)


class FleetAlert(OpenAlert, kw_only=True, omit_defaults=True):
    """An alert that fires, of the cluster or of one broker.

    ``figures`` are the numbers that its last revision told.
    """

    rule: Rule
    broker: int | None
    figures: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Read what a decoded memory has of it."""
        read_evidence({self.rule: self})


class FleetMemory(Struct, kw_only=True, omit_defaults=True):
    """One cluster.

    ``newest_ms`` is the time of the newest evidence; ``gone`` holds sequence and time of the last record of brokers
    that were taken away; ``pending`` since when a rule's condition holds that has not fired yet; ``regather_ms`` until
    when the alert of a silent cluster waits to see who comes back; ``turns`` how often silence went from being told of
    brokers to being told of the cluster, or back: the same silence is then told by another alert; ``restarts`` from
    when until when brokers were away that came back in time. ``ended`` says when alerts of the cluster ended of late.
    ``judged_until_ms`` is set where the checkpoint was lost:
    what the records up to then say has been judged, and is told.
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


RULES = (
    Rule.PARTITIONS_AT_RISK,
    Rule.FLEET_SPACE,
    Rule.BROKER_UNKNOWN,
    Rule.BROKER_OFFLINE,
    Rule.LOG_DIR_SUSPECT,
)
"""The rules of which ``fleet`` raises alerts, some of them beside ``detect``."""


def restored(alerts: Iterable[AlertRecord]) -> list[FleetMemory]:
    """Return a memory for each cluster of which this query ever told, by the last revisions of all alerts.

    Brokers and numbers come with the state records, which are read anew from the oldest on: what is older than the last
    alert must neither end what fires now nor raise again what ended. The first judgement may revise an alert.
    """
    memories: dict[str, FleetMemory] = {}
    for alert in filter(_is_own, alerts):
        memory = memories.setdefault(alert.cluster, FleetMemory(cluster=alert.cluster))
        memory.judged_until_ms = max(memory.judged_until_ms, alert.at_ms)
        if alert.status is AlertStatus.FIRING:
            memory.alerts[alert_key(alert.rule, alert.broker)] = _open(alert)
    return list(memories.values())


def alert_key(rule: Rule, broker: int | None = None) -> str:
    """Return the name under which an open alert is remembered."""
    return f"{rule}/{'*' if broker is None else broker}"


def _is_own(alert: AlertRecord) -> bool:
    """Tell the alerts of this query from those that ``detect`` raises of single brokers."""
    if alert.rule is Rule.BROKER_UNKNOWN:
        return isinstance(alert.evidence, (BrokerSilentEvidence, ClusterSilentEvidence))
    return alert.rule in RULES and alert.broker is None


def _open(alert: AlertRecord) -> FleetAlert:
    return FleetAlert(**asdict(reopened(alert)), rule=alert.rule, broker=alert.broker)


CODEC = StateCodec("fleet", MEMORY_VERSION, FleetMemory)
encode = CODEC.encode
decode = CODEC.decode
