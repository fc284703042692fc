"""Statuses, causes, rules and kinds, as the records have them."""

from enum import Enum


class StrEnum(str, Enum):
    """A string enum that prints its value (``enum.StrEnum`` needs Python 3.11)."""

    __str__ = str.__str__


class LogDirStatus(StrEnum):
    """The status of a log directory; ``rank`` orders them from good to bad."""

    ONLINE = "online"
    FILLING = "filling"
    CRITICAL = "critical"
    SATURATED = "saturated"
    OFFLINE = "offline"
    UNKNOWN = "unknown"

    @property
    def rank(self) -> int:
        """Position from good (0) to bad; ``unknown`` is neither better nor worse than another, so it is -1."""
        return _LOG_DIR_RANK[self]


_LOG_DIR_RANK = {
    LogDirStatus.UNKNOWN: -1,
    LogDirStatus.ONLINE: 0,
    LogDirStatus.FILLING: 1,
    LogDirStatus.CRITICAL: 2,
    LogDirStatus.SATURATED: 3,
    LogDirStatus.OFFLINE: 4,
}

SPACE_STATUSES = (LogDirStatus.ONLINE, LogDirStatus.FILLING, LogDirStatus.CRITICAL, LogDirStatus.SATURATED)


class BrokerStatus(StrEnum):
    """The status of a broker."""

    ONLINE = "online"
    DEGRADED = "degraded"
    OFFLINE = "offline"
    UNKNOWN = "unknown"


class Departure(StrEnum):
    """Not a status: the target of a transition whose subject was removed.

    A directory that is no longer configured, or a broker that was unregistered.
    """

    REMOVED = "removed"


class ReplicaStatus(StrEnum):
    """The status of a replica; derived from its directory, its broker and the metadata."""

    ONLINE = "online"
    SATURATED = "saturated"
    OFFLINE = "offline"
    MOVING = "moving"
    UNKNOWN = "unknown"


class ReplicaCause(StrEnum):
    """Why a replica is not online: its directory, its broker, not in any directory, or unknown.

    ``never_listed``: no directory has listed it yet. ``lost``: one did, and a later complete listing did not.
    """

    DIRECTORY = "directory"
    BROKER = "broker"
    NEVER_LISTED = "never_listed"
    LOST = "lost"
    UNKNOWN = "unknown"


class Cause(StrEnum):
    """Why a log directory is offline.

    ``failed`` is only used for I/O errors of the device. ``remount``: the mount or the path to the storage was lost or
    is stale, and the data is presumably intact. ``file_system``: the file system reports corruption or shut itself
    down. ``rename_refused``: a rename of what the broker wrote itself, as on a share with open files.
    ``damaged_file``: a small file of Kafka's own cannot be parsed.
    """

    FULL = "full"
    FAILED = "failed"
    LIMIT = "limit"
    READ_ONLY = "read_only"
    PERMISSION = "permission"
    REMOUNT = "remount"
    FILE_SYSTEM = "file_system"
    RENAME_REFUSED = "rename_refused"
    DAMAGED_FILE = "damaged_file"
    UNKNOWN = "unknown"


class FullBy(StrEnum):
    """What ran out in a directory whose cause is ``full``."""

    SPACE = "space"
    QUOTA = "quota"
    INODES = "inodes"


class KernelTrouble(StrEnum):
    """What the kernel's log reports about a disk, a path to one, or a file system."""

    MEDIUM_ERROR = "medium_error"
    DEVICE_ERROR = "device_error"
    ARRAY_DEGRADED = "array_degraded"
    COMMAND_FAILED = "command_failed"
    TIMED_OUT = "timed_out"
    PATH_LOST = "path_lost"
    SERVER_NOT_RESPONDING = "server_not_responding"
    HUNG = "hung"
    FILE_SYSTEM_ERROR = "file_system_error"
    RECORDED_ERROR = "recorded_error"
    REMOUNTED_READ_ONLY = "remounted_read_only"
    POOL_FULL = "pool_full"
    POOL_LOW = "pool_low"
    NO_SPACE = "no_space"
    NO_MEMORY = "no_memory"

    @property
    def heals(self) -> bool:
        """Whether it ends by itself, or once something can be written again.

        A path comes back, a server answers, a command is retried, a file system has space.
        """
        return self in _HEALING

    @property
    def severity(self) -> "Severity":
        """Its severity: critical if the next write may fail."""
        return Severity.WARNING if self in _LATER else Severity.CRITICAL

    @property
    def cause(self) -> Cause | None:
        """The cause of a directory failure that it is evidence for; None if it explains none."""
        return _CAUSES.get(self)


_HEALING = frozenset(
    {
        KernelTrouble.COMMAND_FAILED,
        KernelTrouble.TIMED_OUT,
        KernelTrouble.PATH_LOST,
        KernelTrouble.SERVER_NOT_RESPONDING,
        KernelTrouble.HUNG,
        KernelTrouble.NO_SPACE,
        KernelTrouble.NO_MEMORY,
    }
)
RAN_OUT = frozenset({KernelTrouble.NO_SPACE, KernelTrouble.NO_MEMORY})
"""The troubles of a sound disk and file system, which were refused what they need."""
_LATER = _HEALING - RAN_OUT | {
    KernelTrouble.MEDIUM_ERROR,
    KernelTrouble.ARRAY_DEGRADED,
    KernelTrouble.POOL_LOW,
    KernelTrouble.RECORDED_ERROR,
}
LOST_WAY = frozenset({KernelTrouble.PATH_LOST, KernelTrouble.SERVER_NOT_RESPONDING})
"""The troubles which mean that the path to a disk is lost, which explains its other errors."""
BELOW_DISK = LOST_WAY | {KernelTrouble.TIMED_OUT, KernelTrouble.POOL_FULL}
"""The troubles for which a volume answers with I/O errors although no device fails: these end with them."""
_CAUSES = {
    KernelTrouble.MEDIUM_ERROR: Cause.FAILED,
    KernelTrouble.DEVICE_ERROR: Cause.FAILED,
    KernelTrouble.TIMED_OUT: Cause.REMOUNT,
    KernelTrouble.PATH_LOST: Cause.REMOUNT,
    KernelTrouble.SERVER_NOT_RESPONDING: Cause.REMOUNT,
    KernelTrouble.FILE_SYSTEM_ERROR: Cause.FILE_SYSTEM,
    KernelTrouble.REMOUNTED_READ_ONLY: Cause.READ_ONLY,
    KernelTrouble.POOL_FULL: Cause.FULL,
    KernelTrouble.NO_SPACE: Cause.FULL,
    KernelTrouble.NO_MEMORY: Cause.LIMIT,
}


class PollStatus(StrEnum):
    """How a broker answered a poll."""

    OK = "ok"
    TIMEOUT = "timeout"
    UNAUTHORIZED = "unauthorized"
    ERROR = "error"


class MetadataMode(StrEnum):
    """Where a broker, or a cluster, keeps its metadata; migrating: from ZooKeeper to KRaft (KIP-866)."""

    ZOOKEEPER = "zookeeper"
    KRAFT = "kraft"
    MIGRATING = "migrating"


class NotReported(StrEnum):
    """What a release of Kafka may not be able to report."""

    LOG_DIRS = "log_dirs"
    CAPACITY = "capacity"
    CORDONS = "cordons"
    FENCED_BROKERS = "fenced_brokers"
    ELR = "elr"
    METADATA_QUORUM = "metadata_quorum"


class EventName(StrEnum):
    """Events on ``logdir.events``; KIP-112 and KIP-928 send ``LogDirFailure``, also as the integer 1."""

    LOG_DIR_FAILURE = "LogDirFailure"
    LOG_DIR_RESET = "LogDirReset"
    LOG_DIR_SATURATED = "LogDirSaturated"
    LOG_DIR_RECOVERED = "LogDirRecovered"
    PARTITION_FAILED = "PartitionFailed"
    PARTITION_UNCLEANABLE = "PartitionUncleanable"
    REMOTE_COPY_FAILED = "RemoteCopyFailed"
    LOG_CLEANER_DIED = "LogCleanerDied"
    LOG_CLEANER_STARTED = "LogCleanerStarted"
    BROKER_TASK_FAILED = "BrokerTaskFailed"
    BROKER_TASK_RESUMED = "BrokerTaskResumed"
    BROKER_FAILURE = "BrokerFailure"
    LOGS_LOADED = "LogsLoaded"
    CANARY = "Canary"


class Severity(StrEnum):
    """The severity of an alert; ``rank`` orders them."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"
    PAGE = "page"

    @property
    def rank(self) -> int:
        """Position from the lowest (0) to the highest."""
        return list(Severity).index(self)


class Rule(StrEnum):
    """The rules of alerts."""

    LOG_DIR_SPACE = "log_dir_space"
    LOG_DIR_OFFLINE = "log_dir_offline"
    LOG_DIR_UNKNOWN = "log_dir_unknown"
    LOG_DIR_SUSPECT = "log_dir_suspect"
    LOG_DIR_CHANGED = "log_dir_changed"
    LOG_DIR_IMBALANCE = "log_dir_imbalance"
    BROKER_OFFLINE = "broker_offline"
    BROKER_UNKNOWN = "broker_unknown"
    BROKER_CRASH_LOOP = "broker_crash_loop"
    PARTITION_FAILED = "partition_failed"
    UNCLEANABLE_PARTITIONS = "uncleanable_partitions"
    PARTITIONS_AT_RISK = "partitions_at_risk"
    FLEET_SPACE = "fleet_space"
    UNACCOUNTED_BYTES = "unaccounted_bytes"
    MOVE_STALLED = "move_stalled"
    THROTTLE_LEFT = "throttle_left"
    PLACEMENT_REPORTS_STUCK = "placement_reports_stuck"
    EXECUTION_STOPPED = "execution_stopped"
    PIPELINE_LAGGING = "pipeline_lagging"
    PIPELINE_REJECTS = "pipeline_rejects"
    PIPELINE_DATA_LOSS = "pipeline_data_loss"
    DATA_QUALITY = "data_quality"
    HEARTBEAT = "heartbeat"


class AlertStatus(StrEnum):
    """Whether an alert is open."""

    FIRING = "firing"
    RESOLVED = "resolved"


class Lane(StrEnum):
    """The lane of an alert: from the event alone, or ``stateful`` from the state machine.

    ``fast_micro_batch`` is the fast lane without Spark's real-time mode: seconds, not milliseconds.
    """

    FAST = "fast"
    FAST_MICRO_BATCH = "fast_micro_batch"
    STATEFUL = "stateful"


class ActionKind(StrEnum):
    """The kind of an action."""

    CORDON_LOG_DIR = "cordon_log_dir"
    UNCORDON_LOG_DIR = "uncordon_log_dir"
    LOWER_RETENTION = "lower_retention"
    RESTORE_RETENTION = "restore_retention"
    DELETE_RECORDS = "delete_records"
    THROTTLE_PRODUCERS = "throttle_producers"
    MOVE_LOG_DIR = "move_log_dir"
    REASSIGN = "reassign"
    CANCEL_MOVES = "cancel_moves"
    DEMOTE_LEADERS = "demote_leaders"
    ELECT_LEADERS = "elect_leaders"
    CLEAR_THROTTLES = "clear_throttles"
    RESTART_BROKER = "restart_broker"
    REPLACE_DISK = "replace_disk"
    EXPAND_DISK = "expand_disk"
    ADD_LOG_DIR = "add_log_dir"
    RELEASE_RESERVE = "release_reserve"
    RECREATE_RESERVE = "recreate_reserve"
    # Only in records of release 0.2.0.
    DELETE_TOPIC_CANDIDATE = "delete_topic_candidate"
    GRANT_PERMISSION = "grant_permission"
    RAISE_LIMIT = "raise_limit"
    INVESTIGATE = "investigate"


MOVES = frozenset({ActionKind.MOVE_LOG_DIR, ActionKind.REASSIGN})
"""The kinds of action that copy replicas to another directory or broker."""


class ClusterOwner(StrEnum):
    """What declares the configuration of a cluster, and reverts what is changed past it."""

    STRIMZI = "strimzi"
    GITOPS = "gitops"
    TERRAFORM = "terraform"


class ActionStatus(StrEnum):
    """The status of an action."""

    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


OPEN = frozenset({ActionStatus.PROPOSED, ActionStatus.ACCEPTED, ActionStatus.RUNNING})
"""Statuses of open actions."""

TAKEN_UP = frozenset({ActionStatus.ACCEPTED, ActionStatus.RUNNING})
"""Statuses of actions that are accepted or under way."""

STOPS = frozenset({ActionKind.RESTART_BROKER, ActionKind.REPLACE_DISK, ActionKind.ADD_LOG_DIR})
"""Kinds that stop a broker for a while."""

FREE_SPACE, COPY_AGAIN = "free_space_while_stopped", "copy_again_in_place"
STOPPING_STEPS = frozenset({FREE_SPACE, COPY_AGAIN})
"""Manual steps of otherwise read-only actions for which a broker is stopped."""


class Decision(StrEnum):
    """The kind of a decision about an alert, an action or a broker."""

    ACKNOWLEDGE = "acknowledge"
    SILENCE = "silence"
    ACCEPT = "accept"
    REJECT = "reject"
    MAINTENANCE = "maintenance"
    HEALTHY = "healthy"
    PAUSE = "pause"


class ExecutionState(StrEnum):
    """How far ``apply`` is with an action."""

    CLAIMED = "claimed"
    CHECKED = "checked"
    THROTTLED = "throttled"
    STARTED = "started"
    COPYING = "copying"
    VERIFIED = "verified"
    CLEANED = "cleaned"
    DONE = "done"
    CANCELLING = "cancelling"
    ROLLED_BACK = "rolled_back"
    STUCK = "stuck"
    RELEASED = "released"


class OperationKind(StrEnum):
    """What an action's operation does to a cluster."""

    SET_TOPIC_CONFIG = "set_topic_config"
    SET_BROKER_LIST = "set_broker_list"
    REASSIGN = "reassign"
    PREFER_LEADERS = "prefer_leaders"
    ELECT_LEADERS = "elect_leaders"
    CANCEL_MOVES = "cancel_moves"
    CLEAR_THROTTLES = "clear_throttles"
    SET_THROTTLES = "set_throttles"


COORDINATOR_LOAD = "coordinator_load"
"""The reason of a partition failure whose coordinator cannot be loaded: its groups or transactions are blocked."""

POLLED_FAILURE = "DescribeLogDirs answers error 56 (KAFKA_STORAGE_ERROR)"
"""The detail of a ``LogDirFailure`` that a collector detected by polling, without the broker's log."""

NO_CLUSTER = "*"
"""The cluster name of alerts about logdirwatch itself, which concern all clusters."""

PIPELINE_RULES = (Rule.PIPELINE_LAGGING, Rule.PIPELINE_REJECTS, Rule.PIPELINE_DATA_LOSS, Rule.DATA_QUALITY)
"""The rules about logdirwatch itself."""

LEADER_THROTTLE = "leader.replication.throttled.rate"
FOLLOWER_THROTTLE = "follower.replication.throttled.rate"
LOG_DIR_THROTTLE = "replica.alter.log.dirs.io.max.bytes.per.second"
REPLICATION_THROTTLES = (LEADER_THROTTLE, FOLLOWER_THROTTLE)
"""Kafka's throttles for moves between brokers, and between the directories of one broker."""

THROTTLED_LEADERS = "leader.replication.throttled.replicas"
THROTTLED_FOLLOWERS = "follower.replication.throttled.replicas"
THROTTLED_REPLICAS = (THROTTLED_LEADERS, THROTTLED_FOLLOWERS)
"""A topic's lists of the replicas that the throttles between brokers apply to."""

COPY_THREADS = "num.replica.alter.log.dirs.threads"
"""The number of concurrent copies between a broker's directories; unset: the number of its ``log.dirs`` (KIP-113).

Each partition is assigned to one of the threads, so that some may idle while copies wait for another one (Kafka 4.3.1
``AbstractFetcherManager.getFetcherId``).
"""
CLEANER_DEAD = "cleaner_dead"
REMOTE_COPY_FAILS = "remote_copy_fails"
TASK_FAILS = "task_fails"
OPEN_FILES = "open_files"
READ_ERRORS = "read_errors"
NOT_OF_A_DISK = frozenset({CLEANER_DEAD, REMOTE_COPY_FAILS, TASK_FAILS, OPEN_FILES})
"""The evidence of log_dir_suspect about a broker that does not implicate a disk."""

SCRAPE_AGE_MS = "scrape_age_ms"
"""The metric with the age of the values of a broker's exporter in a record."""

KAFKA_STORAGE_ERROR = 56
"""The error of DescribeLogDirs for an offline directory (KIP-113; Kafka 4.3.1 ``ReplicaManager.describeLogDirs``)."""
