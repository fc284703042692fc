"""What the alerts of each rule show: the numbers behind them, one struct a rule.

An alert's ``rule`` says which struct its ``evidence`` has. Where two queries raise alerts of one rule, or the alert is
of a broker in one case and of a directory in the other, the rule has one struct for each, told apart by a field that
only one of them has (``EVIDENCE``).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from logdirwatch.model.evidence import brokers, clusters, log_dirs, stream
from logdirwatch.model.evidence.base import NO_EVIDENCE as NO_EVIDENCE
from logdirwatch.model.evidence.base import Evidence as Evidence
from logdirwatch.model.evidence.base import read_as as read_as
from logdirwatch.model.record_part import converted
from logdirwatch.model.vocabulary import Rule


class Variant(NamedTuple):
    """A struct of a rule, for evidence that has the field ``marker``."""

    marker: str
    kind: type[Evidence]


class Kinds(NamedTuple):
    """The structs of a rule: ``kind``, unless the marker of a variant is there."""

    kind: type[Evidence]
    variants: tuple[Variant, ...] = ()

    @property
    def all(self) -> tuple[type[Evidence], ...]:
        """Every struct of the rule."""
        return (self.kind, *(variant.kind for variant in self.variants))


EVIDENCE: Mapping[Rule, Kinds] = {
    Rule.LOG_DIR_SPACE: Kinds(log_dirs.LogDirSpaceEvidence),
    Rule.LOG_DIR_OFFLINE: Kinds(log_dirs.LogDirOfflineEvidence, (Variant("event", log_dirs.FailureEventEvidence),)),
    Rule.LOG_DIR_UNKNOWN: Kinds(log_dirs.LogDirUnknownEvidence),
    Rule.LOG_DIR_SUSPECT: Kinds(
        brokers.BrokerSuspectEvidence,
        (
            Variant("slow_brokers", clusters.SlowBrokersEvidence),
            Variant("sample_at_ms", log_dirs.LogDirSuspectEvidence),
        ),
    ),
    Rule.LOG_DIR_CHANGED: Kinds(log_dirs.LogDirChangedEvidence),
    Rule.LOG_DIR_IMBALANCE: Kinds(brokers.LogDirImbalanceEvidence),
    Rule.BROKER_OFFLINE: Kinds(
        brokers.BrokerOfflineEvidence, (Variant("restarted_brokers", clusters.RollingRestartEvidence),)
    ),
    Rule.BROKER_UNKNOWN: Kinds(
        brokers.BrokerUnknownEvidence,
        (
            Variant("away_before", clusters.ClusterSilentEvidence),
            Variant("silent_brokers", clusters.BrokerSilentEvidence),
        ),
    ),
    Rule.PARTITION_FAILED: Kinds(brokers.PartitionFailedEvidence),
    Rule.UNCLEANABLE_PARTITIONS: Kinds(
        brokers.BrokerUncleanableEvidence, (Variant("sample_at_ms", log_dirs.LogDirUncleanableEvidence),)
    ),
    Rule.PARTITIONS_AT_RISK: Kinds(clusters.PartitionsAtRiskEvidence),
    Rule.FLEET_SPACE: Kinds(clusters.FleetSpaceEvidence),
    Rule.UNACCOUNTED_BYTES: Kinds(log_dirs.UnaccountedBytesEvidence),
    Rule.MOVE_STALLED: Kinds(brokers.MoveStalledEvidence),
    Rule.THROTTLE_LEFT: Kinds(brokers.ThrottleLeftEvidence),
    Rule.PLACEMENT_REPORTS_STUCK: Kinds(brokers.PlacementReportsStuckEvidence),
    Rule.PIPELINE_LAGGING: Kinds(stream.PipelineLaggingEvidence),
    Rule.PIPELINE_REJECTS: Kinds(stream.PipelineRejectsEvidence),
    Rule.PIPELINE_DATA_LOSS: Kinds(stream.PipelineDataLossEvidence),
    Rule.DATA_QUALITY: Kinds(stream.DataQualityEvidence),
    Rule.HEARTBEAT: Kinds(
        stream.HeartbeatEvidence,
        (Variant("origin", stream.CanaryEvidence), Variant("clusters", stream.HeartbeatMissingEvidence)),
    ),
}


def evidence_of(rule: Rule, found: Mapping[str, Any]) -> Evidence:
    """Return the evidence of an alert of a rule, as its record has it."""
    if not found:
        return NO_EVIDENCE
    if rule is Rule.LOG_DIR_SUSPECT and isinstance(texts := found.get("why"), dict):
        # The short form of a suspicion: its texts by kind, as they are written by hand.
        found = {**found, **texts, "why": sorted(texts)}
    shown = converted(found, _kind_of(rule, found))
    # What holds no field that is known reads as it does after it was written once more.
    return shown if len(shown) else NO_EVIDENCE


def _kind_of(rule: Rule, found: Mapping[str, Any]) -> type[Evidence]:
    kinds = EVIDENCE[rule]
    return next((variant.kind for variant in kinds.variants if variant.marker in found), kinds.kind)
