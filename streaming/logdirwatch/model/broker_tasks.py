"""Tasks and threads of a broker by which its log names them, and what stays undone when one fails.

Kafka logs the exception and does nothing else: a scheduled task fails again at its next run (``KafkaScheduler``), a
thread that died stays dead until its broker restarts (``ShutdownableThread``).
"""

from typing import NamedTuple

from logdirwatch.model.vocabulary import OPEN_FILES, READ_ERRORS

CLEANER = "kafka-log-cleaner-thread"
ALTER_LOG_DIRS = "ReplicaAlterLogDirsThread"
RETENTION = "kafka-log-retention"
DEAD_CLEANER = "dead_cleaner"
UNCLEANABLE = "uncleanable"
FUTURE_TIMES = "future_timestamps"


class BrokerTask(NamedTuple):
    """What stays undone, whether bytes stay on the disks for it, and whether the task runs again by itself.

    ``is_task``: it is one of Kafka's, not a trouble of several that is told like one.
    """

    undone: str
    keeps_bytes: bool = False
    repeats: bool = True
    is_task: bool = True


_TASKS = {
    RETENTION: BrokerTask("no old segment is deleted", keeps_bytes=True),
    "kafka-delete-logs": BrokerTask("deleted and moved replicas stay on the disks", keeps_bytes=True),
    "delete-file": BrokerTask("files of deleted segments stay on the disks", keeps_bytes=True),
    "kafka-log-flusher": BrokerTask("logs are not flushed at their interval"),
    "kafka-recovery-point-checkpoint": BrokerTask("after a crash more is recovered, and the start takes longer"),
    "kafka-log-start-offset-checkpoint": BrokerTask("deleted records may appear again after a restart"),
    "highwatermark-checkpoint": BrokerTask("high watermarks are old after a restart"),
    "flush-log": BrokerTask("closed segments are not flushed"),
    ALTER_LOG_DIRS: BrokerTask("copies between its directories stand still", repeats=False),
    "ReplicaFetcher": BrokerTask("its replicas do not follow their leader", repeats=False),
    "LogDirFailureHandler": BrokerTask("a directory that fails is not taken offline", repeats=False),
    "KRaft-snapshot": BrokerTask("its metadata log is not snapshotted any more, and grows", repeats=False),
    # No tasks of Kafka: reads that fail while a request is answered, for which no directory goes offline,
    READ_ERRORS: BrokerTask("a disk cannot be read, and its directory stays online", repeats=False, is_task=False),
    # and whatever needs a file descriptor, such as to accept a connection.
    OPEN_FILES: BrokerTask("its limit of open files is reached, and its directories go offline next", is_task=False),
    # and retention that works, on segments that it must not delete (``UnifiedLog``, at each check since Kafka 3.8).
    FUTURE_TIMES: BrokerTask(
        "segments with records from the future are not deleted by age, and a restart does not change that: find the "
        "producer whose clock or unit of time is wrong; retention.bytes or DeleteRecords frees them",
        keeps_bytes=True,
        is_task=False,
    ),
}
_OTHER = BrokerTask("what it does stays undone")


def task_of(name: str) -> BrokerTask:
    """Return what is known of a task by its name, or by the beginning of a thread's name."""
    return next((task for known, task in _TASKS.items() if name.startswith(known)), _OTHER)
