"""Evidence of the rules about a whole cluster, and of the alerts that only a view of all brokers can raise."""

from typing import Annotated, ClassVar

from msgspec import Meta

from logdirwatch.model.evidence.base import Evidence, UsedLogDir, UsedRatio, shown_by
from logdirwatch.model.record_part import EMPTY_LIST, NULL, RecordPart
from logdirwatch.model.vocabulary import Rule

Brokers = Annotated[int | None, Meta(description="How many brokers the cluster has.")]
SilentBrokers = Annotated[int | None, Meta(description="How many of them are not reported by any collector.")]


@shown_by(Rule.PARTITIONS_AT_RISK)
class PartitionsAtRiskEvidence(Evidence, frozen=True, kw_only=True):
    """``partitions_at_risk``: partitions of a cluster without a leader, or close to it; ``affected`` counts them."""

    decided_by: Annotated[str | None, "The worst of it: leaderless, under_min_isr or sole_replica."] = None
    brokers: Brokers = None
    unknown_brokers: Annotated[int | None, "How many of them do not report their partitions."] = None
    silent_brokers: SilentBrokers = None


class LostPlace(RecordPart, frozen=True, kw_only=True):
    """The directory or broker whose loss would be worst."""

    broker: Annotated[int, "Node id of the broker."]
    log_dir: Annotated[str | None, "Path of the directory; null: the whole broker."] = NULL


class Rebuild(RecordPart, frozen=True, kw_only=True):
    """Whether lost replicas can be rebuilt on the other brokers, in the worst known case."""

    can_be_rebuilt: Annotated[bool | None, "Whether it fits; null: it does, but a worse case may be unknown."] = NULL
    worst: Annotated[LostPlace | None, "The worst known case."] = None
    needs_bytes: Annotated[int | None, "Bytes of its replicas."] = None
    room_bytes: Annotated[int | None, "Bytes that the other brokers have room for."] = None
    missing_bytes: Annotated[int | None, "Bytes that do not fit."] = None
    unknown: Annotated[int | None, "How many disks or brokers hold an unknown number of bytes."] = None


class IfLost(RecordPart, frozen=True, kw_only=True):
    """The effect of one more failure on the data."""

    log_dir: Annotated[Rebuild, "If any one directory were lost."]
    broker: Annotated[Rebuild, "If any one broker were lost."]


class FillingDisk(RecordPart, frozen=True, kw_only=True):
    """One disk that is filling; directories on one volume are one disk."""

    broker: Annotated[int, "Node id of its broker."]
    log_dirs: Annotated[list[str], "Paths of the directories on it."] = EMPTY_LIST
    used_ratio: UsedRatio = NULL
    full_at_ms: Annotated[int | None, "When it is forecast to be full; null: no end is forecast."] = NULL


@shown_by(Rule.FLEET_SPACE)
class FleetSpaceEvidence(Evidence, frozen=True, kw_only=True):
    """``fleet_space``: many directories of a cluster fill, and the others have no room for the excess."""

    brokers: Brokers = None
    filling_brokers: Annotated[int | None, "How many brokers have disks that are filling."] = None
    needed_brokers: Annotated[int | None, "How many must be filling before the alert is raised."] = None
    above_bytes: Annotated[int | None, "Bytes above the target on the disks that fill."] = None
    room_bytes: Annotated[int | None, "Bytes that the other disks can take."] = None
    missing_bytes: Annotated[int | None, "Bytes above the target that no disk can take."] = None
    first_full_at_ms: Annotated[int | None, "When the first disk is forecast to be full; null: no end is forecast."] = (
        NULL
    )
    unknown_disks: Annotated[int | None, "How many disks have unknown numbers."] = None
    fullest: Annotated[list[FillingDisk], "The fullest disks that are filling, up to 20."] = EMPTY_LIST
    if_lost: Annotated[IfLost | None, "Whether what is lost could be rebuilt."] = None


@shown_by(Rule.BROKER_UNKNOWN, marker="away_before")
class ClusterSilentEvidence(Evidence, frozen=True, kw_only=True):
    """``broker_unknown`` of a cluster of which no collector reports any broker."""

    reason: Annotated[str | None, "What is known of it, for people."] = NULL
    last_seen_ms: Annotated[int | None, "Time of the last report of any broker."] = NULL
    brokers: Brokers = None
    silent_brokers: SilentBrokers = None
    away_before: Annotated[list[int], "Node ids, up to 20, of brokers that did not answer before that."] = EMPTY_LIST


@shown_by(Rule.BROKER_UNKNOWN, marker="silent_brokers")
class BrokerSilentEvidence(Evidence, frozen=True, kw_only=True):
    """``broker_unknown`` of one broker that no collector reports, while others are reported."""

    reason: Annotated[str | None, "What is known of it, for people."] = NULL
    last_seen_ms: Annotated[int | None, "Time of its last answer."] = NULL
    brokers: Brokers = None
    silent_brokers: SilentBrokers = None
    maintenance_until_ms: Annotated[int | None, "Until when maintenance runs; null: none runs."] = NULL
    fullest: Annotated[UsedLogDir | None, "Its fullest directory as it was last seen."] = NULL


class SlowBroker(RecordPart, frozen=True, kw_only=True):
    """A broker whose disks are slow compared with those of all others."""

    broker: Annotated[int, "Its node id."]
    flush_ms: Annotated[float, "How long it takes to flush a log, 99th percentile."]
    others_ms: Annotated[float, "The median of that of all other brokers."]
    log_dirs: Annotated[list[str], "Paths of its directories."] = EMPTY_LIST


@shown_by(Rule.LOG_DIR_SUSPECT, marker="slow_brokers")
class SlowBrokersEvidence(Evidence, frozen=True, kw_only=True):
    """``log_dir_suspect`` of a cluster: brokers that flush much more slowly than all others."""

    NEWS: ClassVar[tuple[str, ...]] = ("why",)

    why: Annotated[list[str], "slow."] = EMPTY_LIST
    compared_brokers: Annotated[int | None, "How many brokers were compared."] = None
    slow_brokers: Annotated[list[SlowBroker], "The slow ones, the slowest first, up to 20."] = EMPTY_LIST


@shown_by(Rule.BROKER_OFFLINE, marker="restarted_brokers")
class RollingRestartEvidence(Evidence, frozen=True, kw_only=True):
    """``broker_offline`` of a cluster: brokers that were down one after the other and are back."""

    restarted_brokers: Annotated[int | None, "How many brokers were away and are back."] = None
    brokers: Brokers = None
    away_brokers: Annotated[int | None, "How many brokers are away now."] = None
    since_ms: Annotated[int | None, "When the first of them went away."] = None
    longest_away_ms: Annotated[int | None, "The longest time that one of them was away."] = None
    grace_ms: Annotated[int | None, "How long a broker may be away before it has an alert of its own."] = None
    at_once_brokers: Annotated[
        int | None, "How many of them were away at the same time, without those in maintenance."
    ] = None


@shown_by(Rule.EXECUTION_STOPPED)
class ExecutionStoppedEvidence(Evidence, frozen=True, kw_only=True):
    """``execution_stopped``: an execution of ``apply`` or ``autopilot`` that a person has to decide about."""

    action_id: Annotated[str | None, "action_id of the action."] = NULL
    execution_id: Annotated[str | None, "Identity of its last execution."] = NULL
    kind: Annotated[str | None, "Kind of the action."] = NULL
    state: Annotated[str | None, "State of the execution."] = NULL
    is_undo: Annotated[bool | None, "Whether the action is being undone."] = NULL
    by: Annotated[str | None, "Who carries it out."] = NULL
    reason: Annotated[str | None, "Why it stopped; null: its process writes nothing any more."] = NULL
    throttles: Annotated[list[str], "Throttles of it that may be set, up to 20."] = EMPTY_LIST
    commands: Annotated[list[str], "Commands that resume it, undo it, or release it as it is."] = EMPTY_LIST
