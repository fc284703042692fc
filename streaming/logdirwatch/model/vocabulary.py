"""Statuses, causes, rules and kinds, as the records spell them."""

from enum import Enum


class StrEnum(str, Enum):
    """A string enum that prints its value (``enum.StrEnum`` needs Python 3.11)."""

    __str__ = str.__str__


class LogDirStatus(StrEnum):
    """What is believed of one log directory; ``rank`` orders them from good to bad."""

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
    """What is believed of one broker."""

    ONLINE = "online"
    DEGRADED = "degraded"
    OFFLINE = "offline"
    UNKNOWN = "unknown"


class Departure(StrEnum):
    """Not a status: where a transition leads when its subject is there no more.

    A directory that is no longer configured, or a broker that was unregistered.
    """

    REMOVED = "removed"


class ReplicaStatus(StrEnum):
    """What is believed of one replica; derived from its directory, its broker and the metadata."""

    ONLINE = "online"
    SATURATED = "saturated"
    OFFLINE = "offline"
    MOVING = "moving"
    UNKNOWN = "unknown"


class ReplicaCause(StrEnum):
    """Why a replica is not online: its directory, its broker, it lies nowhere, or nobody knows.

    ``never_listed``: no directory has listed it yet. ``lost``: one did, and then a whole listing of it did not.
    """

    DIRECTORY = "directory"
    BROKER = "broker"
    NEVER_LISTED = "never_listed"
    LOST = "lost"
    UNKNOWN = "unknown"


class Cause(StrEnum):
    """Why a log directory is offline.

    ``failed`` is said of I/O errors of the device only. ``remount``: the mount or the path to the storage was lost or
    is stale, the data is presumably intact. ``file_system``: the file system reports corruption or shut itself down.
    """

    FULL = "full"
    FAILED = "failed"
    LIMIT = "limit"
    READ_ONLY = "read_only"
    PERMISSION = "permission"
    REMOUNT = "remount"
    FILE_SYSTEM = "file_system"
    UNKNOWN = "unknown"


class FullBy(StrEnum):
    """What ran out of a directory whose cause is ``full``."""

    SPACE = "space"
    QUOTA = "quota"
    INODES = "inodes"


class KernelTrouble(StrEnum):
    """What the kernel's log says of a disk, a path to one, or a file system."""

    MEDIUM_ERROR = "medium_error"
    DEVICE_ERROR = "device_error"
    COMMAND_FAILED = "command_failed"
    PATH_LOST = "path_lost"
    SERVER_NOT_RESPONDING = "server_not_responding"
    HUNG = "hung"
    FILE_SYSTEM_ERROR = "file_system_error"
    REMOUNTED_READ_ONLY = "remounted_read_only"
    POOL_FULL = "pool_full"
    NO_SPACE = "no_space"

    @property
    def heals(self) -> bool:
        """Whether it ends without anybody's doing, or once something can be written again.

        A path comes back, a server answers, a command is tried again, a file system has room.
        """
        return self in _HEALING

    @property
    def severity(self) -> "Severity":
        """How loudly it is told: critical where the next write may fail."""
        return Severity.WARNING if self in _LATER else Severity.CRITICAL

    @property
    def cause(self) -> Cause | None:
        """The cause of a directory's failure that it is evidence of; None where it explains none."""
        return _CAUSES.get(self)


_HEALING = frozenset(
    {
        KernelTrouble.COMMAND_FAILED,
        KernelTrouble.PATH_LOST,
        KernelTrouble.SERVER_NOT_RESPONDING,
        KernelTrouble.HUNG,
        KernelTrouble.NO_SPACE,
    }
)
_LATER = _HEALING - {KernelTrouble.NO_SPACE} | {KernelTrouble.MEDIUM_ERROR}
LOST_WAY = frozenset({KernelTrouble.PATH_LOST, KernelTrouble.SERVER_NOT_RESPONDING})
"""What says that the way to a disk is lost, which explains other errors of it."""
_CAUSES = {
    KernelTrouble.MEDIUM_ERROR: Cause.FAILED,
    KernelTrouble.DEVICE_ERROR: Cause.FAILED,
    KernelTrouble.PATH_LOST: Cause.REMOUNT,
    KernelTrouble.SERVER_NOT_RESPONDING: Cause.REMOUNT,
    KernelTrouble.FILE_SYSTEM_ERROR: Cause.FILE_SYSTEM,
    KernelTrouble.REMOUNTED_READ_ONLY: Cause.READ_ONLY,
    KernelTrouble.POOL_FULL: Cause.FULL,
    KernelTrouble.NO_SPACE: Cause.FULL,
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
    BROKER_FAILURE = "BrokerFailure"
    CANARY = "Canary"


class Severity(StrEnum):
    """How loudly an alert speaks; ``rank`` orders them."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"
    PAGE = "page"

    @property
    def rank(self) -> int:
        """Position from quiet (0) to loud."""
        return list(Severity).index(self)


class Rule(StrEnum):
    """The rules that alerts name."""

    LOG_DIR_SPACE = "log_dir_space"
    LOG_DIR_OFFLINE = "log_dir_offline"
    LOG_DIR_UNKNOWN = "log_dir_unknown"
    LOG_DIR_SUSPECT = "log_dir_suspect"
    LOG_DIR_CHANGED = "log_dir_changed"
    LOG_DIR_IMBALANCE = "log_dir_imbalance"
    BROKER_OFFLINE = "broker_offline"
    BROKER_UNKNOWN = "broker_unknown"
    PARTITION_FAILED = "partition_failed"
    UNCLEANABLE_PARTITIONS = "uncleanable_partitions"
    PARTITIONS_AT_RISK = "partitions_at_risk"
    FLEET_SPACE = "fleet_space"
    UNACCOUNTED_BYTES = "unaccounted_bytes"
    MOVE_STALLED = "move_stalled"
    THROTTLE_LEFT = "throttle_left"
    PLACEMENT_REPORTS_STUCK = "placement_reports_stuck"
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
    """The path an alert took: from the event alone, or ``stateful`` from the state machine.

    ``fast_micro_batch`` is the fast lane where Spark's real-time mode is not to be had: seconds, not milliseconds.
    """

    FAST = "fast"
    FAST_MICRO_BATCH = "fast_micro_batch"
    STATEFUL = "stateful"


class ActionKind(StrEnum):
    """What an action asks for."""

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
    DELETE_TOPIC_CANDIDATE = "delete_topic_candidate"
    GRANT_PERMISSION = "grant_permission"
    RAISE_LIMIT = "raise_limit"
    INVESTIGATE = "investigate"


class ActionStatus(StrEnum):
    """How far an action is."""

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
"""Actions that are not over."""

TAKEN_UP = frozenset({ActionStatus.ACCEPTED, ActionStatus.RUNNING})
"""Actions that somebody began, or said that they would."""


class Decision(StrEnum):
    """What a person said of an alert, an action or a broker."""

    ACKNOWLEDGE = "acknowledge"
    SILENCE = "silence"
    ACCEPT = "accept"
    REJECT = "reject"
    MAINTENANCE = "maintenance"
    HEALTHY = "healthy"


COORDINATOR_LOAD = "coordinator_load"
"""Why a partition is told as failed of which no coordinator can be loaded: its groups or transactions stand still."""

POLLED_FAILURE = "DescribeLogDirs answers error 56 (KAFKA_STORAGE_ERROR)"
"""What a collector adds to a ``LogDirFailure`` that it saw by polling; nobody read the broker's log for it."""

NO_CLUSTER = "*"
"""The cluster of alerts about logdirwatch itself: the telemetry of all clusters goes through it."""

PIPELINE_RULES = (Rule.PIPELINE_LAGGING, Rule.PIPELINE_REJECTS, Rule.PIPELINE_DATA_LOSS, Rule.DATA_QUALITY)
"""The rules about logdirwatch itself."""

LEADER_THROTTLE = "leader.replication.throttled.rate"
FOLLOWER_THROTTLE = "follower.replication.throttled.rate"
LOG_DIR_THROTTLE = "replica.alter.log.dirs.io.max.bytes.per.second"
REPLICATION_THROTTLES = (LEADER_THROTTLE, FOLLOWER_THROTTLE)
"""Kafka's limits of moves between brokers, and between the directories of one broker."""

THROTTLED_LEADERS = "leader.replication.throttled.replicas"
THROTTLED_FOLLOWERS = "follower.replication.throttled.replicas"
THROTTLED_REPLICAS = (THROTTLED_LEADERS, THROTTLED_FOLLOWERS)
"""A topic's lists of the replicas that the limits between brokers hold for."""

COPY_THREADS = "num.replica.alter.log.dirs.threads"
"""How many copies between a broker's directories run at once; unset: as many as it has in ``log.dirs`` (KIP-113).

Each partition belongs to one of the threads, so that some may idle while copies wait for another one (Kafka 4.3.1
``AbstractFetcherManager.getFetcherId``).
"""
CLEANER_DEAD = "cleaner_dead"
REMOTE_COPY_FAILS = "remote_copy_fails"
NOT_OF_A_DISK = frozenset({CLEANER_DEAD, REMOTE_COPY_FAILS})
"""What log_dir_suspect holds against a broker of which no disk is in doubt."""

SCRAPE_AGE_MS = "scrape_age_ms"
"""The metric that tells how old the values of a broker's exporter are in a record."""

KAFKA_STORAGE_ERROR = 56
"""What DescribeLogDirs answers for an offline directory (KIP-113; Kafka 4.3.1 ``ReplicaManager.describeLogDirs``)."""
