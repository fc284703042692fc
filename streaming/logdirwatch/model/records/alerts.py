"""``logdir.alerts``: a revision of an alert."""

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct, field
from msgspec.structs import force_setattr

from logdirwatch.model.evidence import Evidence, evidence_of
from logdirwatch.model.evidence.log_dirs import LogDirOfflineEvidence
from logdirwatch.model.scalars import BrokerId, ClusterName, Long, Name, Revision, Version
from logdirwatch.model.vocabulary import AlertStatus, Cause, Lane, Rule, Severity

if TYPE_CHECKING:
    AnyEvidence = Evidence
else:
    # Its struct depends on the rule, which msgspec does not see: it decodes a mapping, and the record does the rest.
    AnyEvidence = dict[str, Any]


class AlertRecord(Struct, frozen=True, kw_only=True):
    """``logdir.alerts``: one revision of one alert."""

    version: Version
    alert_id: Annotated[Name, "Identity of the alert."]
    revision: Annotated[Revision, "Revision number; the highest one of an alert is current."]
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
        """Read the evidence as the rule says that it is."""
        if not isinstance(self.evidence, Evidence):
            force_setattr(self, "evidence", evidence_of(self.rule, self.evidence))

    @property
    def log_dirs(self) -> frozenset[str]:
        """Paths of the directories that it tells of: its own, or several that failed one after the other."""
        several = self.evidence.log_dirs if isinstance(self.evidence, LogDirOfflineEvidence) else None
        return frozenset(several or [path for path in (self.log_dir,) if path is not None])

    @property
    def order(self) -> tuple[int, int, str]:
        """Where it stands among others: the most severe first, then the oldest."""
        return -self.severity.rank, self.opened_at_ms, self.alert_id
