"""Evidence of the rules about one broker."""

from typing import Annotated, ClassVar

from msgspec import Meta

from logdirwatch.model.evidence.base import Evidence, UsedLogDir, UsedRatio, read_as, shown_by
from logdirwatch.model.record_part import EMPTY_LIST, EMPTY_MAP, NO, NULL, RecordPart
from logdirwatch.model.vocabulary import Rule

Throttles = Annotated[
    dict[str, int],
    Meta(description="Throttle rates set on the broker, in bytes per second, by their Kafka configuration key."),
]
ByKernel = "What the kernel's log says of the device: "


class KnownLogDir(RecordPart, frozen=True, kw_only=True):
    """The last known state of one directory of a broker that is down."""

    last_status: Annotated[str | None, "Its status while the broker last answered."] = NULL
    used_ratio: UsedRatio = NULL
    is_metadata_dir: Annotated[bool | None, "Whether the KRaft metadata log is in it."] = NULL


class MaintenanceWindow(RecordPart, frozen=True, kw_only=True):
    """An active maintenance."""

    until_ms: Annotated[int, "When it ends."]
    by: Annotated[str | None, "Who announced it."] = None
    reason: Annotated[str | None, "Why, in that person's words."] = None


class BrokerAwayEvidence(Evidence, frozen=True, kw_only=True):
    """The evidence of the rules about a broker's absence."""

    NEWS: ClassVar[tuple[str, ...]] = ("why", "log_reason", "hangs")

    reason: Annotated[str | None, "Why it counts as away, for people."] = NULL
    poll_status: Annotated[str | None, "How the poll was answered that says so: timeout, unauthorized or error."] = None
    is_fenced: Annotated[bool | None, "Whether the controller has fenced the broker."] = NULL
    controller_id: Annotated[int | None, "Node id of the active controller."] = NULL
    last_seen_ms: Annotated[int | None, "Time of its last answer; null: it never answered."] = NULL
    recovering_logs: Annotated[
        int | None, "Logs that it has still to recover before it serves; null: it recovers none."
    ] = NULL
    log_dirs: Annotated[dict[str, KnownLogDir], "Its directories by path."] = EMPTY_MAP
    log_says: Annotated[str | None, "The line of its own log that says why it is away."] = None
    log_reason: Annotated[str | None, "That reason as one word (BrokerFailureReason)."] = None
    log_says_ms: Annotated[int | None, "Time of that line."] = None
    hangs: Annotated[
        list[str] | None, "Storage that does not answer, by the kernel's log of its host: the directory and the line."
    ] = None
    why: Annotated[str | None, "That maintenance runs, and until when."] = None
    maintenance: Annotated[MaintenanceWindow | None, "The maintenance that runs for it."] = None

    def is_news_after(self, before: Evidence) -> bool:
        """Tell whether it says something else; a recovery that begins or stalls does, the number of logs left not."""
        was_recovering = bool(read_as(before, BrokerAwayEvidence).recovering_logs)
        return super().is_news_after(before) or bool(self.recovering_logs) != was_recovering

    @property
    def news(self) -> tuple[object, ...]:
        """What it says, as far as a change of it is news."""
        return (*super().news, bool(self.recovering_logs))


@shown_by(Rule.BROKER_OFFLINE)
class BrokerOfflineEvidence(BrokerAwayEvidence, frozen=True, kw_only=True):
    """``broker_offline``: the controller considers the broker down (fenced, unregistered or, with ZooKeeper, gone)."""


@shown_by(Rule.BROKER_UNKNOWN)
class BrokerUnknownEvidence(BrokerAwayEvidence, frozen=True, kw_only=True):
    """``broker_unknown``: the broker does not answer, and the controller does not consider it down."""


@shown_by(Rule.BROKER_CRASH_LOOP)
class BrokerCrashLoopEvidence(BrokerAwayEvidence, frozen=True, kw_only=True):
    """``broker_crash_loop``: the broker was away and came back again and again."""

    NEWS: ClassVar[tuple[str, ...]] = ("at_least", "log_reason", "hangs")

    restarts: Annotated[int | None, "How often it was away and came back, within the last hour."] = NULL
    at_least: Annotated[
        int | None, "3, 6, 12 or more: the largest of these that its number of restarts has reached."
    ] = NULL
    since_ms: Annotated[int | None, "When the first of these absences began."] = NULL
    longest_run_ms: Annotated[int | None, "The longest time that it answered in between."] = NULL


@shown_by(Rule.LOG_DIR_SUSPECT)
class BrokerSuspectEvidence(Evidence, frozen=True, kw_only=True):
    """``log_dir_suspect`` of a broker: each suspicion is a field named in ``why``."""

    NEWS: ClassVar[tuple[str, ...]] = ("why", "device")

    why: Annotated[list[str], "The kinds of suspicion; a field of each name says more."] = EMPTY_LIST
    device: Annotated[str | None, "The block devices that the kernel's log names."] = NULL
    error_code: Annotated[str | None, "DescribeLogDirs answers with an error that does not call it offline."] = None
    probe: Annotated[str | None, "The host's write probe failed."] = None
    no_directory: Annotated[str | None, "The host's probe found no directory at its path, or something else there."] = (
        None
    )
    read_only: Annotated[str | None, "The file system is mounted read-only."] = None
    slow_probe: Annotated[str | None, "Writing takes much longer than usual."] = None
    slower_than_others: Annotated[str | None, "Writing takes much longer than in the broker's other directories."] = (
        None
    )
    lagging: Annotated[str | None, "Many of its replicas are out of sync."] = None
    slow_flush: Annotated[str | None, "Flushing a log takes much longer than usual."] = None
    offline_count: Annotated[str | None, "The broker's gauge of offline directories contradicts DescribeLogDirs."] = (
        None
    )
    cleaner_dead: Annotated[str | None, "Threads of the log cleaner are dead."] = None
    task_fails: Annotated[str | None, "Tasks or threads of the broker fail, according to its log."] = None
    open_files: Annotated[str | None, "The broker reached its limit of open files."] = None
    read_errors: Annotated[str | None, "Reads of a disk fail while the broker sends records to clients."] = None
    remote_copy_fails: Annotated[str | None, "Copies to remote storage fail."] = None
    medium_error: Annotated[str | None, f"{ByKernel}a medium error."] = None
    device_error: Annotated[str | None, f"{ByKernel}an error of the device."] = None
    array_degraded: Annotated[str | None, f"{ByKernel}its array lost a member, and goes on without it."] = None
    command_failed: Annotated[str | None, f"{ByKernel}a command failed."] = None
    timed_out: Annotated[str | None, f"{ByKernel}the storage did not answer commands in time."] = None
    path_lost: Annotated[str | None, f"{ByKernel}the path to it was lost."] = None
    server_not_responding: Annotated[str | None, f"{ByKernel}the storage server does not respond."] = None
    hung: Annotated[str | None, f"{ByKernel}tasks wait for it."] = None
    file_system_error: Annotated[str | None, f"{ByKernel}an error of its file system."] = None
    recorded_error: Annotated[str | None, f"{ByKernel}its file system has an earlier error on record."] = None
    remounted_read_only: Annotated[str | None, f"{ByKernel}its file system was remounted read-only."] = None
    pool_full: Annotated[str | None, f"{ByKernel}the storage pool is full."] = None
    pool_low: Annotated[str | None, f"{ByKernel}the storage pool is nearly full."] = None
    no_space: Annotated[str | None, f"{ByKernel}its file system has no space or quota left."] = None
    no_memory: Annotated[str | None, f"{ByKernel}it had no memory for the file system."] = None

    @property
    def texts(self) -> list[str]:
        """The suspicions as texts."""
        return [text for kind in self.why if isinstance(text := getattr(self, kind, None), str)]


@shown_by(Rule.LOG_DIR_IMBALANCE)
class LogDirImbalanceEvidence(Evidence, frozen=True, kw_only=True):
    """``log_dir_imbalance``: a broker's directories are filled very unequally; those on one volume count once."""

    NEWS: ClassVar[tuple[str, ...]] = ("why",)

    fullest: Annotated[UsedLogDir | None, "The fullest directory."] = None
    emptiest: Annotated[UsedLogDir | None, "The emptiest directory."] = None
    spread_ratio: Annotated[float | None, "Used ratio of the fullest minus that of the emptiest."] = None
    mean_ratio: Annotated[float | None, "Used ratio of all of them together."] = None
    move_bytes: Annotated[int | None, "Bytes that would have to move for all to be equally full."] = None
    used_ratios: Annotated[dict[str, float], "Used ratio of each directory, by path."] = EMPTY_MAP
    left_out: Annotated[list[str], "Paths that are offline, unknown or cordoned, and not compared."] = EMPTY_LIST
    why: Annotated[str | None, "The spread, for people."] = None
    since_ms: Annotated[int | None, "Since when the spread is that wide."] = NULL


@shown_by(Rule.PARTITION_FAILED)
class PartitionFailedEvidence(Evidence, frozen=True, kw_only=True):
    """``partition_failed``: partitions that failed according to the broker's log."""

    NEWS: ClassVar[tuple[str, ...]] = ("why", "coordinators")

    why: Annotated[list[str], "The partitions, up to 20, as topic-partition."] = EMPTY_LIST
    partitions: Annotated[int | None, "How many partitions are called bad."] = None
    coordinators: Annotated[list[str] | None, "Those whose groups or transactions have no coordinator; null: none."] = (
        NULL
    )
    log_dirs: Annotated[dict[str, str], "Path of the directory of each partition, as far as it is known."] = EMPTY_MAP
    detail: Annotated[str | None, "The last line of the broker's log about one of them."] = NULL


@shown_by(Rule.UNCLEANABLE_PARTITIONS)
class BrokerUncleanableEvidence(Evidence, frozen=True, kw_only=True):
    """``uncleanable_partitions`` of a broker: partitions whose directory its log does not name."""

    NEWS: ClassVar[tuple[str, ...]] = ("why", "uncleanable_partitions")

    why: Annotated[list[str], "Partitions that the log names, up to 20."] = EMPTY_LIST
    uncleanable_partitions: Annotated[int | None, "How many partitions the log cleaner gave up on."] = NULL
    uncleanable_bytes: Annotated[int | None, "Bytes that these have to be cleaned of."] = NULL
    detail: Annotated[str | None, "The last line of the broker's log about one of them."] = NULL


class StalledMoves(RecordPart, frozen=True, kw_only=True):
    """The moves to one directory."""

    verdict: Annotated[str, "stands_still, too_slow or queued."]
    remaining_bytes: Annotated[int | None, "Bytes still to copy."] = NULL
    since_ms: Annotated[int | None, "Since when replicas move there."] = NULL
    progress_ms: Annotated[int | None, "When something was copied last."] = NULL
    bytes_per_s: Annotated[float | None, "How fast it went over the last span; negative: more is left than before."] = (
        NULL
    )
    ends_in_ms: Annotated[int | None, "Time left at that pace; null: it never ends."] = NULL
    throttle: Annotated[str | None, "The Kafka configuration that limits it; null: none."] = NULL
    throttle_bytes_per_s: Annotated[int | None, "The value of that limit."] = NULL
    is_throttled_below_writes: Annotated[
        bool, "Whether more is written than the limit lets through, so that it never ends."
    ] = NO


@shown_by(Rule.MOVE_STALLED)
class MoveStalledEvidence(Evidence, frozen=True, kw_only=True):
    """``move_stalled``: moves to directories of this broker make no progress."""

    NEWS: ClassVar[tuple[str, ...]] = ("why",)

    why: Annotated[list[str], "For each directory its path and verdict."] = EMPTY_LIST
    moves: Annotated[dict[str, StalledMoves], "What is on its way, by the path it goes to."] = EMPTY_MAP
    throttles: Throttles = EMPTY_MAP
    copies_begun: Annotated[int | None, "Copies within the broker that have begun."] = None
    copy_threads: Annotated[int | None, "How many copies within the broker run at once."] = None
    is_copy_threads_default: Annotated[
        bool | None, "Whether that number is Kafka's default, one thread a directory."
    ] = None


@shown_by(Rule.THROTTLE_LEFT)
class ThrottleLeftEvidence(Evidence, frozen=True, kw_only=True):
    """``throttle_left``: throttles are still set although nothing moves."""

    NEWS: ClassVar[tuple[str, ...]] = ("why",)

    why: Annotated[list[str], "The limits by their configuration key."] = EMPTY_LIST
    throttles: Throttles = EMPTY_MAP
    throttled_replicas: Annotated[
        int | None, "How many of its replicas the topics' lists of throttled replicas name."
    ] = None
    since_ms: Annotated[int | None, "Since when no move needs them."] = NULL


@shown_by(Rule.PLACEMENT_REPORTS_STUCK)
class PlacementReportsStuckEvidence(Evidence, frozen=True, kw_only=True):
    """``placement_reports_stuck``: the broker cannot report the places of new replicas to the controller."""

    queued: Annotated[float | None, "How many reports wait."] = None
    since_ms: Annotated[int | None, "Since when reports wait."] = None
