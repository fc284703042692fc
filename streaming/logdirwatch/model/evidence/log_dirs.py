"""Evidence of the rules about one log directory."""

from typing import Annotated, ClassVar

from msgspec import Meta

from logdirwatch.model.evidence.base import (
    Evidence,
    ForecastConfidence,
    FullAtMs,
    GrowthBytesPerS,
    IsMetadataDir,
    LastingGrowthBytesPerS,
    LogDirEvidence,
    SampleAtMs,
    TotalBytes,
    UsableBytes,
    UsedRatio,
    read_as,
    shown_by,
)
from logdirwatch.model.evidence.brokers import BrokerSuspectEvidence, BrokerUncleanableEvidence
from logdirwatch.model.record_part import EMPTY_LIST, NULL, RecordPart
from logdirwatch.model.vocabulary import Rule

UsedInodesRatio = Annotated[float | None, Meta(description="Share of the file system's inodes in use, from 0 to 1.")]
ContradictedMs = Annotated[
    int | None,
    Meta(
        description="Since when DescribeLogDirs calls it online although the broker's log says that it failed: Kafka "
        "did not act on it; null: it does not."
    ),
]
EventDetail = Annotated[str | None, Meta(description="The line or text of the LogDirFailure event.")]
FullByText = Annotated[str | None, Meta(description="What ran out, if the cause is full: space, quota or inodes.")]
Device = Annotated[str | None, Meta(description="The block device that failed, where the evidence names it.")]
Said = Annotated[str | None, Meta(description="The line or observation behind the cause.")]
DecidedBy = Annotated[str | None, Meta(description="Which observation decided the cause.")]


@shown_by(Rule.LOG_DIR_SPACE)
class LogDirSpaceEvidence(LogDirEvidence, frozen=True, kw_only=True):
    """``log_dir_space``: a directory is filling, critical or saturated."""

    NEWS: ClassVar[tuple[str, ...]] = ("keeps_growing",)

    decided_by: Annotated[
        str | None, "What decided the level: ratio, forecast, inodes or another of the rule's tests."
    ] = None
    used_inodes_ratio: UsedInodesRatio = NULL
    time_to_full_ms: Annotated[int | None, "Time until it is full, by the forecast or by how its use rises now."] = NULL
    can_wait: Annotated[bool | None, "Whether the alert can wait until morning."] = None
    shares_volume_with: Annotated[list[str], "Paths of the broker's other directories on the same volume."] = EMPTY_LIST
    halts_broker: Annotated[
        str | None,
        "Why the broker halts when this directory fails: metadata_dir, last_dir or migration; null: it does not.",
    ] = NULL
    takes_new_replicas: Annotated[bool | None, "Whether Kafka may put the broker's next new replica here."] = NULL
    dead_cleaner_threads: Annotated[int | None, "How many threads of the broker's log cleaner are dead."] = NULL
    uncleanable_bytes: Annotated[int | None, "Bytes of the partitions here that the log cleaner gave up on."] = NULL
    strays: Annotated[
        dict[str, int] | None,
        "Bytes of replicas here that the metadata does not assign to the broker, by topic-partition.",
    ] = NULL
    remote_copy_lag_bytes: Annotated[
        int | None, "Bytes of tiered topics on the broker that remote storage does not have yet."
    ] = NULL
    keeps_growing: Annotated[
        list[str] | None,
        "What fills it whatever producers do: dead_cleaner, remote_copies, uncleanable, or a task of the broker "
        "that fails; null: none.",
    ] = NULL

    def is_news_after(self, before: Evidence) -> bool:
        """Tell whether it says something else; an older release did not say whether the alert can wait."""
        could_wait = read_as(before, LogDirSpaceEvidence).can_wait
        return super().is_news_after(before) or could_wait not in {None, self.can_wait}

    @property
    def news(self) -> tuple[object, ...]:
        """What it says, as far as a change of it is news."""
        return (*super().news, self.can_wait)


class OfflineLogDir(RecordPart, frozen=True, kw_only=True):
    """One of several directories of an alert."""

    last_status: Annotated[str | None, "Its status before it went offline."] = NULL
    replica_count: Annotated[int | None, "Replicas in it at the last scan."] = NULL
    used_ratio: UsedRatio = NULL
    event_detail: EventDetail = NULL
    cause: Annotated[str | None, "Why it is offline, as in the alert's cause."] = NULL
    decided_by: DecidedBy = NULL
    full_by: FullByText = NULL
    device: Device = NULL
    said: Said = NULL
    contradicted_ms: ContradictedMs = None


@shown_by(Rule.LOG_DIR_OFFLINE)
class LogDirOfflineEvidence(LogDirEvidence, frozen=True, kw_only=True):
    """``log_dir_offline``: one directory, or several that failed at once; numbers are those of the first."""

    NEWS: ClassVar[tuple[str, ...]] = ("why", "event_detail", "device", "error_code")

    error_code: Annotated[int | None, "What DescribeLogDirs answers for it, 56; null: not confirmed by a poll yet."] = (
        NULL
    )
    event_ms: Annotated[int | None, "Time of the LogDirFailure event; null: there was none."] = NULL
    event_detail: EventDetail = NULL
    decided_by: DecidedBy = NULL
    said: Said = NULL
    full_by: FullByText = NULL
    device: Device = NULL
    kernel_error: Annotated[str | None, "The line of the kernel's log about the device, from about the same time."] = (
        NULL
    )
    used_inodes_ratio: UsedInodesRatio = NULL
    why: Annotated[list[str], "For each directory its path, cause and what decided it."] = EMPTY_LIST
    reserve_bytes: Annotated[int | None, "Size of the reserve file that is advised for it."] = NULL
    new_replicas_go_to: Annotated[
        list[str] | None, "Paths of the directories that may get the broker's next new replica."
    ] = NULL
    contradicted_ms: ContradictedMs = None
    log_dirs: Annotated[
        dict[str, OfflineLogDir] | None,
        "Each directory that the alert tells of, by path; where it is another than its own.",
    ] = None

    @property
    def is_ignored(self) -> bool:
        """Whether Kafka did not act on the failure of some directory."""
        listed = (self.log_dirs or {}).values()
        return self.contradicted_ms is not None or any(one.contradicted_ms is not None for one in listed)


@shown_by(Rule.LOG_DIR_OFFLINE, marker="event")
class FailureEventEvidence(Evidence, frozen=True, kw_only=True):
    """``log_dir_offline`` of the fast lane: the event alone."""

    event: Annotated[str, "The event's name as it was received: LogDirFailure, or 1."]
    origin: Annotated[str | None, "The event's position in Kafka: topic/partition/offset/time."] = NULL
    detail: EventDetail = NULL
    decided_by: DecidedBy = NULL


LEFT_REPORT = "left the report"
NOT_CONFIGURED = "no longer in log.dirs"


@shown_by(Rule.LOG_DIR_UNKNOWN)
class LogDirUnknownEvidence(LogDirEvidence, frozen=True, kw_only=True):
    """``log_dir_unknown``: a directory whose state is unknown."""

    reason: Annotated[str | None, "Why it is not known, for people."] = NULL

    @property
    def has_left(self) -> bool:
        """Whether it left ``log.dirs`` with replicas that are not accounted for."""
        return self.reason == NOT_CONFIGURED


@shown_by(Rule.LOG_DIR_CHANGED)
class LogDirChangedEvidence(LogDirEvidence, frozen=True, kw_only=True):
    """``log_dir_changed``: a directory has another size or volume than before, or no reserve file."""

    NEWS: ClassVar[tuple[str, ...]] = ("why",)

    why: Annotated[str | None, "What changed: capacity, volume, root_volume, reserve or emptied."] = NULL
    total_bytes_before: Annotated[int | None, "Size of its volume before; 0: not known."] = NULL
    volume_before: Annotated[str | None, "Name of its volume before."] = NULL
    volume: Annotated[str | None, "Name of its volume now."] = NULL
    replica_bytes_before: Annotated[
        int | None, "Bytes of its replicas before it came back empty; null: it did not."
    ] = None
    replica_bytes: Annotated[int | None, "Bytes of its replicas since then; null: as above."] = None


@shown_by(Rule.UNACCOUNTED_BYTES)
class UnaccountedBytesEvidence(LogDirEvidence, frozen=True, kw_only=True):
    """``unaccounted_bytes``: a large part of the directory's volume belongs to no replica."""

    unaccounted_bytes: Annotated[int | None, "Bytes in use that no replica accounts for."] = NULL


@shown_by(Rule.LOG_DIR_SUSPECT, marker="sample_at_ms")
class LogDirSuspectEvidence(BrokerSuspectEvidence, frozen=True, kw_only=True):
    """``log_dir_suspect`` of one directory."""

    refused_partitions: Annotated[
        int | None,
        "Partitions under their minimum of in-sync replicas because its replicas are behind, so that writes to them "
        "are refused; null: none.",
    ] = None
    # The fields of LogDirEvidence, as a msgspec.Struct can have only one base that has fields.
    sample_at_ms: SampleAtMs = NULL
    total_bytes: TotalBytes = NULL
    usable_bytes: UsableBytes = NULL
    used_ratio: UsedRatio = NULL
    growth_bytes_per_s: GrowthBytesPerS = NULL
    lasting_growth_bytes_per_s: LastingGrowthBytesPerS = NULL
    full_at_ms: FullAtMs = NULL
    forecast_confidence: ForecastConfidence = NULL
    is_metadata_dir: IsMetadataDir = NULL


@shown_by(Rule.UNCLEANABLE_PARTITIONS, marker="sample_at_ms")
class LogDirUncleanableEvidence(BrokerUncleanableEvidence, frozen=True, kw_only=True):
    """``uncleanable_partitions`` of one directory."""

    # The fields of LogDirEvidence, as a msgspec.Struct can have only one base that has fields.
    sample_at_ms: SampleAtMs = NULL
    total_bytes: TotalBytes = NULL
    usable_bytes: UsableBytes = NULL
    used_ratio: UsedRatio = NULL
    growth_bytes_per_s: GrowthBytesPerS = NULL
    lasting_growth_bytes_per_s: LastingGrowthBytesPerS = NULL
    full_at_ms: FullAtMs = NULL
    forecast_confidence: ForecastConfidence = NULL
    is_metadata_dir: IsMetadataDir = NULL
