"""Why a broker refused to start, halted or was fenced, according to its own log."""

from logdirwatch.model.vocabulary import Cause, StrEnum


class BrokerFailureReason(StrEnum):
    """Why a broker is down. Each reason is something that a person fixes before, or by, the next start."""

    FOREIGN_FOLDER = "foreign_folder"
    NODE_ID_MISMATCH = "node_id_mismatch"
    CLUSTER_ID_MISMATCH = "cluster_id_mismatch"
    DIRECTORY_ID_MISMATCH = "directory_id_mismatch"
    NOT_FORMATTED = "not_formatted"
    TOPIC_ID_MISSING = "topic_id_missing"
    DUPLICATE_REPLICA = "duplicate_replica"
    DIRECTORY_LOCKED = "directory_locked"
    NO_USABLE_DIRECTORY = "no_usable_directory"
    METADATA_DIRECTORY_FAILED = "metadata_directory_failed"
    ALL_DIRECTORIES_FAILED = "all_directories_failed"
    FAILURE_NOT_TOLD = "failure_not_told"
    METADATA_FAULT = "metadata_fault"
    CORRUPT_LOG = "corrupt_log"
    DAMAGED_FILE = "damaged_file"
    UNSUPPORTED_VERSION = "unsupported_version"
    DUPLICATE_BROKER = "duplicate_broker"
    CONTROLLER_UNREACHABLE = "controller_unreachable"
    HEARTBEAT_LOST = "heartbeat_lost"
    CANNOT_BIND = "cannot_bind"
    OUT_OF_MEMORY = "out_of_memory"
    OOM_KILLED = "oom_killed"
    LIMIT = "limit"
    TLS = "tls"
    LOGIN = "login"
    CONFIGURATION = "configuration"
    JAVA = "java"
    CRASHED = "crashed"
    KILLED = "killed"
    DISK_FULL = "disk_full"
    PERMISSION = "permission"
    READ_ONLY = "read_only"
    DISK_FAILED = "disk_failed"
    RENAME_REFUSED = "rename_refused"
    STOPPED = "stopped"
    OTHER = "other"


WHAT = {
    BrokerFailureReason.FOREIGN_FOLDER: "a folder or file in a log directory is not Kafka's own",
    BrokerFailureReason.NODE_ID_MISMATCH: "a log directory belongs to another node.id",
    BrokerFailureReason.CLUSTER_ID_MISMATCH: "a log directory belongs to another cluster",
    BrokerFailureReason.DIRECTORY_ID_MISMATCH: "the directory.id of a log directory belongs to another or is not valid",
    BrokerFailureReason.NOT_FORMATTED: "a log directory has no meta.properties",
    BrokerFailureReason.TOPIC_ID_MISSING: "a partition's folder has no partition.metadata, or that of another topic",
    BrokerFailureReason.DUPLICATE_REPLICA: "one replica is in two log directories",
    BrokerFailureReason.DIRECTORY_LOCKED: "another process holds a log directory",
    BrokerFailureReason.NO_USABLE_DIRECTORY: "none of its log directories can be used",
    BrokerFailureReason.METADATA_DIRECTORY_FAILED: "the directory of its metadata log failed",
    BrokerFailureReason.ALL_DIRECTORIES_FAILED: "all of its log directories failed",
    BrokerFailureReason.FAILURE_NOT_TOLD: "a directory failed and no controller could be notified in time",
    BrokerFailureReason.METADATA_FAULT: "its copy of the metadata log cannot be read or replayed",
    BrokerFailureReason.CORRUPT_LOG: "a log cannot be loaded",
    BrokerFailureReason.DAMAGED_FILE: "one of Kafka's own small files is damaged",
    BrokerFailureReason.UNSUPPORTED_VERSION: "its release does not support the cluster's metadata version or features",
    BrokerFailureReason.DUPLICATE_BROKER: "another broker is registered with its id",
    BrokerFailureReason.CONTROLLER_UNREACHABLE: "it cannot register or catch up with the controllers",
    BrokerFailureReason.HEARTBEAT_LOST: "its heartbeats do not reach the controller in time",
    BrokerFailureReason.CANNOT_BIND: "it cannot listen on its address",
    BrokerFailureReason.OUT_OF_MEMORY: "it ran out of memory",
    BrokerFailureReason.OOM_KILLED: "its process was killed for lack of memory",
    BrokerFailureReason.LIMIT: "it ran into a limit of its process",
    BrokerFailureReason.TLS: "a keystore or certificate cannot be used",
    BrokerFailureReason.LOGIN: "it could not log in or was refused",
    BrokerFailureReason.CONFIGURATION: "its configuration is refused",
    BrokerFailureReason.JAVA: "Java does not start it",
    BrokerFailureReason.CRASHED: "its process crashed",
    BrokerFailureReason.KILLED: "its process was killed",
    BrokerFailureReason.DISK_FULL: "a disk is full, or a quota is used up",
    BrokerFailureReason.PERMISSION: "it may not read or write a file",
    BrokerFailureReason.READ_ONLY: "a file system is mounted read-only",
    BrokerFailureReason.DISK_FAILED: "a disk, its file system or the path to it fails",
    BrokerFailureReason.RENAME_REFUSED: "the file system refuses to rename what it wrote itself",
    BrokerFailureReason.STOPPED: "it was asked to stop",
    BrokerFailureReason.OTHER: "it stopped because of an error",
}
"""Each reason as a part of a sentence."""

BY_CAUSE = {
    Cause.FULL: BrokerFailureReason.DISK_FULL,
    Cause.LIMIT: BrokerFailureReason.LIMIT,
    Cause.READ_ONLY: BrokerFailureReason.READ_ONLY,
    Cause.PERMISSION: BrokerFailureReason.PERMISSION,
    Cause.FAILED: BrokerFailureReason.DISK_FAILED,
    Cause.FILE_SYSTEM: BrokerFailureReason.DISK_FAILED,
    Cause.REMOUNT: BrokerFailureReason.DISK_FAILED,
    Cause.RENAME_REFUSED: BrokerFailureReason.RENAME_REFUSED,
    Cause.DAMAGED_FILE: BrokerFailureReason.DAMAGED_FILE,
}
"""The reason of a broker that ends because of an error of the operating system, by the error's class of causes."""
