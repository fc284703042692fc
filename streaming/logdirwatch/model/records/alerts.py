"""``logdir.alerts``, and what was sent of them: ``logdir.notifications``."""

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import force_setattr

from logdirwatch.model.evidence import Evidence, evidence_of
from logdirwatch.model.evidence.log_dirs import LogDirOfflineEvidence
from logdirwatch.model.record_part import RecordPart, fitting
from logdirwatch.model.scalars import BrokerId, ClusterName, EpochMs, Long, Name, Revision, Version
from logdirwatch.model.vocabulary import AlertStatus, Cause, Lane, Rule, Severity

AtMost = "counted once for each of their replicas"


class Affected(RecordPart, frozen=True, kw_only=True):
    """What a problem of a directory, a broker or a cluster affects; empty while unknown.

    In an alert about a directory or broker the counts are those of the broker; in one about a cluster they are sums.
    """

    replica_count: Annotated[int | UnsetType | None, "Replicas in the alert's directories."] = UNSET
    replica_bytes: Annotated[int | UnsetType | None, "Bytes of these."] = UNSET
    leaderless: Annotated[int | None, "Partitions without a leader."] = None
    under_min_isr: Annotated[
        int | None, "Partitions under their minimum of in-sync replicas; of a cluster, at least."
    ] = None
    under_min_isr_at_most: Annotated[int | None, f"The same, {AtMost}."] = None
    at_min_isr: Annotated[int | None, "Partitions at their minimum of in-sync replicas; of a cluster, at least."] = None
    at_min_isr_at_most: Annotated[int | None, f"The same, {AtMost}."] = None
    sole_replica: Annotated[int | None, "Partitions with a single in-sync replica left."] = None
    internal_leaderless: Annotated[int | None, "Partitions of internal topics without a leader."] = None
    out_of_sync: Annotated[int | UnsetType | None, "Replicas of the broker that are not in sync."] = UNSET
    brokers: Annotated[int | None, "The number of affected brokers."] = None
    log_dirs: Annotated[int | None, "The number of affected directories."] = None
    examples: Annotated[list[str] | None, "Up to 20 of the partitions, brokers or directories, the worst first."] = None
    hurt_topics: Annotated[
        list[str] | UnsetType | None, "Up to 20 topics with a partition that has no leader or is under its minimum."
    ] = UNSET
    hurt_groups: Annotated[list[str] | UnsetType | None, "Up to 20 consumer groups of these topics."] = UNSET


if TYPE_CHECKING:
    AnyEvidence = Evidence
else:
    # Its struct depends on the rule, which msgspec does not see: it decodes a mapping, and the record does the rest.
    AnyEvidence = dict[str, Any]


class AlertRecord(Struct, frozen=True, kw_only=True):
    """``logdir.alerts``: one revision of one alert."""

    version: Version
    alert_id: Annotated[Name, "Identity of the alert."]
    revision: Annotated[Revision, "Revision number; the highest one of an alert is current, 0 is the fast lane's."]
    status: Annotated[AlertStatus, "Whether the alert fires or is resolved."]
    rule: Annotated[Rule, "The rule."]
    severity: Annotated[Severity, "The severity."]
    cluster: ClusterName
    broker: Annotated[
        BrokerId | None, "Node id of the broker; null: the alert is about the cluster, or about logdirwatch itself."
    ]
    log_dir: Annotated[str | None, "Path of the log directory; null: the alert is not about one."]
    from_status: Annotated[str | None, "Status before the transition behind the alert; null: there is none."] = field(
        name="from"
    )
    to_status: Annotated[str | None, "Status after that transition; null: there is none."] = field(name="to")
    cause: Annotated[Cause | None, "Why the log directory is offline; null: it is not, or the cause is unknown."]
    opened_at_ms: Annotated[Long, "Time of the evidence that opened the alert, in milliseconds since the epoch."]
    at_ms: Annotated[Long, "Time of the evidence behind this revision, in milliseconds since the epoch."]
    lane: Annotated[Lane, "Which query wrote the revision."]
    evidence: Annotated[AnyEvidence, "The numbers and log lines behind the alert, by rule."]
    affected: Annotated[dict[str, Any], "What the problem affects."]
    summary: Annotated[str, "The alert in one sentence, for people."]
    reason: Annotated[str | None, "Why the alert is resolved, for people; null: it fires."] = None
    merged_into: Annotated[str | None, "alert_id of the alert that covers this one; null: none."] = None
    stale_since_ms: Annotated[
        Long | None, "Since when the subject is not monitored, in milliseconds since the epoch; null: it is monitored."
    ] = None

    def __post_init__(self) -> None:
        """Read the evidence as the rule says that it is, and of what is affected what fits its fields."""
        if not isinstance(self.evidence, Evidence):
            force_setattr(self, "evidence", evidence_of(self.rule, self.evidence))
            force_setattr(self, "affected", fitting(self.affected, Affected))

    @property
    def log_dirs(self) -> frozenset[str]:
        """Paths of the directories that it tells of: its own, or several that failed one after the other."""
        several = self.evidence.log_dirs if isinstance(self.evidence, LogDirOfflineEvidence) else None
        return frozenset(several or [path for path in (self.log_dir,) if path is not None])

    @property
    def order(self) -> tuple[int, int, str]:
        """Where it stands among others: the most severe first, then the oldest."""
        return -self.severity.rank, self.opened_at_ms, self.alert_id


class NotificationRecord(Struct, frozen=True, kw_only=True):
    """``logdir.notifications``, key ``receiver/route/group``: the notifications about one group of alerts."""

    version: Version
    receiver: Annotated[Name, "Name of the receiver."]
    route: Annotated[str, "Name of the route."]
    group: Annotated[dict[str, str], "Labels of the group, by name."]
    told: Annotated[dict[str, Severity], "Alerts that the receiver takes for firing: the severity sent, by alert_id."]
    log_dirs: Annotated[
        dict[str, list[str]], "Paths of the log directories of which each alert in told was sent, by alert_id."
    ] = {}
    owed: Annotated[
        list[str], "alert_id of the alerts of messages that were begun and are not known to have arrived."
    ] = []
    unsure: Annotated[
        dict[str, list[Severity]], "Severities that each alert in owed had in such messages, by alert_id."
    ] = {}
    quiet: Annotated[list[str], "alert_id of the alerts in told that were silenced since."] = []
    sent_at_ms: Annotated[
        EpochMs | None, "When the last message was delivered, in milliseconds since the epoch; null: never."
    ] = None
