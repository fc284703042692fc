"""What an entry of a broker's log says about its disks. Pure: one entry in, its findings out.

The wording is that of Kafka 4.3.1, whose older releases say the same:

- ``ERROR Error while rolling log segment for t-0 in dir /d1 (...LogDirFailureChannel)``: the directory is lost until
  the broker restarts, whatever partition is named; the exception below tells why.
- ``Partition t-0 marked as failed (kafka.server.ReplicaFetcherThread)``, or a CorruptRecordException or
  InvalidRecordException with a partition: one partition is bad, its directory is not (the line that KIP-18 draws).
- A fetcher marks a partition failed for two reasons more, each told in the line before: its directory went offline
  (KafkaStorageException), or its leader has just changed ("has an older epoch"). Neither is news of the partition.
- ``Marking its partition (t-0) as uncleanable``: its log is compacted no more until a restart (KIP-346).
- A coordinator that cannot read its partition serves no group or transaction of it (``GroupMetadataManager``,
  ``TransactionStateManager``, ``CoordinatorRuntime``).
- A thread that met what it does not expect ends (``ShutdownableThread``), and a scheduled task fails at each run: what
  it does (compact, copy, delete) stays undone.
- A start counts the logs that it has loaded, after an unclean end also recovered (``LogManager``: "(59/400 completed in
  /d1)", in older releases "loaded").
- What recovery truncates, and an index that it builds again, is repaired by that.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from logdirwatch.model.broker_tasks import ALTER_LOG_DIRS, CLEANER, FUTURE_TIMES
from logdirwatch.model.vocabulary import COORDINATOR_LOAD, OPEN_FILES, READ_ERRORS, Cause, FullBy
from logdirwatch.parse.broker_log.causes import cause_of, full_by
from logdirwatch.parse.broker_log.entries import Entry
from logdirwatch.parse.broker_log.failures import MEMORY_FAULT, QUIET, BrokerFailed, broker_failed
from logdirwatch.parse.os_errors import os_error_in
from logdirwatch.parse.patterns import compiled
from logdirwatch.text.words import shortened

UNKNOWN_OPERATION = "unknown operation"
DETAIL_CHARACTERS = 500


@dataclass(frozen=True)
class Started:
    """A broker begins a new run, ``at`` as written: what was offline is tried again."""

    at: str = field(default="", compare=False)


@dataclass(frozen=True)
class DirFailed:
    """A directory stopped serving; ``log_dir`` is None if the line does not name it."""

    log_dir: str | None
    cause: Cause
    operation: str
    detail: str
    full_by: FullBy | None = None


@dataclass(frozen=True)
class PartitionBad:
    """One partition failed; ``is_mark`` if a fetcher only reports that it gave up, ``reason`` what is blocked."""

    topic: str
    partition: int
    log_dir: str | None
    detail: str
    is_mark: bool
    reason: str | None = None


@dataclass(frozen=True)
class MarkExplained:
    """Why a fetcher is about to mark a partition failed; ``detail`` is None if that is not news."""

    topic: str
    partition: int
    detail: str | None


@dataclass(frozen=True)
class PartitionUncleanable:
    """The log cleaner gave up on a partition."""

    topic: str
    partition: int
    log_dir: str | None
    detail: str


@dataclass(frozen=True)
class RemoteCopyFailed:
    """A segment was not copied to remote storage; its partition keeps it."""

    topic: str
    partition: int
    detail: str


@dataclass(frozen=True)
class TaskState:
    """A task or thread of the broker failed, or runs again; the threads of the log cleaner are one."""

    task: str
    is_failed: bool
    detail: str


@dataclass(frozen=True)
class LogsLoaded:
    """How many of the logs in a directory a starting broker has loaded."""

    log_dir: str
    loaded: int
    total: int
    detail: str


Finding = (
    TaskState
    | LogsLoaded
    | Started
    | DirFailed
    | PartitionBad
    | MarkExplained
    | PartitionUncleanable
    | RemoteCopyFailed
    | BrokerFailed
)

_OPERATIONS = (
    ("append", compiled(r"appending records|Failed to append")),
    ("roll", compiled(r"rolling log segment")),
    ("flush", compiled(r"[Ff]lushing (?:log|topic)")),
    ("clean", compiled(r"clean up log|to cleaner-offset-checkpoint|checkpoint file (?:cleaner-\S+ )?in dir ")),
    ("checkpoint", compiled(r"checkpoint|highwatermark file|partition metadata file")),
    ("delete", compiled(r"[Dd]eleting ")),
    ("rename", compiled(r"renaming dir")),
    ("truncate", compiled(r"truncating ")),
    ("read", compiled(r"reading from|fetching offset by timestamp|increasing log start offset")),
    ("serve", compiled(r"Stopping serving")),
    ("lock", compiled(r"locking directory|acquire lock")),
    ("load", compiled(r"loading (?:log dir|logs|ID)|Failed to load|meta\.properties")),
    ("create", compiled(r"creating log|create (?:or validate )?data directory")),
)

# The messages of LogDirFailureChannel, for a pattern without a logger.
_CHANNEL = compiled(
    r"Error while .*(?: in (?:log )?dir(?:ectory)? | file /|checkpoint|loading log dir)"
    r"|Disk error while (?:locking directory|writing to .* file in directory)"
    r"|Failed to (?:clean up log for|access checkpoint file|create or validate data directory|append records from)"
    r"|Exception while (?:deleting|reading from) .* in dir "
)
# Up to Kafka 3.5 the caller of every line of Scala code is this trait; a facade or "?" says as little. A name that a
# pattern cuts to its last characters may be anybody's.
_CALLER = compiled(
    r"(?:^|[.])(?:Logging|CoreUtils|KafkaScheduler|Logger|Slf4jLogger|Log4jLogger(?:Adapter|Factory)?|Reload4jLoggerAdapter"
    r"|LocationAwareLogger|\?|unknown)(?:\$\w*)?(?:\.\w+){0,2}(?::[\d?]+)?$|^\w{0,19}Channel(?::\d+)?$"
)
# What a pattern may put before the message: threads and contexts in brackets, the caller, and the logger itself.
_IN_FRONT = compiled(
    r"(?:\[[^\]]*\]|\([^)]*\)|\{[^}]*\}|(?:[\w-]{1,60} )?[A-Za-z][\w.$]{1,100}:\d{1,5}\b|[\s:|?-])*"
    r"|.{0,200}\bLogDirFailureChannel\b.{0,100}"
)
# Of a directory whose meta.properties cannot be read the channel only says that it "failed to load".
_META_PROPERTIES = compiled(r"(?:Error while reading|Fail(?:ed)? to read) (?:\S*/)?meta\.properties ")
# What Kafka does about such a failure, whose own line a rotated log may not have any more.
_STOPS = compiled(r"Stopping serving (?:logs|replicas) in dir ")
_STARTS = compiled(r"Registered `?kafka:type=kafka\.Log4jController`? MBean|Transition from SHUTDOWN to STARTING")
_LOADED = compiled(
    r"Completed load of .*\((?P<loaded>[0-9]{1,9})/(?P<total>[0-9]{1,9}) (?:completed|loaded)"
    r"(?: in (?P<dir>/.{0,4096}))?\)$"
)
# What has more digits, or others, is no partition: lines may hold what clients call themselves.
_PARTITION = r"(?P<topic>[\w.-]+)-(?P<partition>[0-9]{1,9})\b"
_MARK = compiled(rf"Partition {_PARTITION} marked as failed")
_FENCED = compiled(rf"Partition {_PARTITION} has an older epoch")
_FETCHER = compiled(
    rf"(?:processing data for partition|occurred during truncation for|Failed to truncate) {_PARTITION} at offset"
)
# ShutdownableThread, which every thread of a broker with a name of its own is; all cleaners start together.
_THREAD = compiled(
    rf"\[(?P<task>{CLEANER}(?=-\d)|(?:{ALTER_LOG_DIRS}|ReplicaFetcher|LogDirFailureHandler)[^\]]*)[-\d]*\]:? "
    r"(?:(?P<dies>Error due to)|Starting\b)"
)
_TASK = compiled(
    r"Uncaught exception in scheduled task '(?P<task>[\w.-]+)'|Exception in (?P<loop>kafka-delete-logs) thread"
    # Kafka 3.3 and later (SharedServer): a broker that could not write one writes none before it starts again.
    r"|Encountered [\w -]+ fault: KRaft snapshot file generation error"
)
_FUTURE = compiled(r"contains future timestamp\(s\), making it ineligible to be deleted")
# What a broker reads while it answers a request, as to convert records for an old consumer: an error of the disk only
# breaks the connection (``Selector``, ``Processor``).
_SENDS = compiled(
    r"Unexpected error from .*closing connection|Closing socket for|Exception while processing request from"
    r"|Error processing fetch |Unexpected error handling request"
)
# It names a directory that failed, which its own line reports, or the end of the broker.
_NO_TASK = compiled(
    r"KafkaStorageException|InterruptedException|ClosedByInterrupt|RejectedExecution|CancellationException"
)
_UNCLEANABLE = compiled(rf"Marking its partition \({_PARTITION}\) as uncleanable")
_COORDINATOR = compiled(
    rf"(?:Error loading offsets from|Error loading transactions from transaction log|Failed to load metadata from)"
    rf" (?:partition )?{_PARTITION}"
)
# ``TopicIdPartition.toString``, whose long form builds before Kafka 3.6 have.
_OF_TOPIC_ID = r"(?:[\w-]+:|TopicIdPartition\{topicId=[\w-]+, topicPartition=)?"
_REMOTE_COPY = compiled(rf"Error occurred while copying log segments of partition: {_OF_TOPIC_ID}{_PARTITION}")
# So ends a run of the task that fails before it copies anything, where the metadata of remote storage cannot be read.
_REMOTE_TASK = compiled(
    rf"Current task for (?:topic-)?partition {_OF_TOPIC_ID}{_PARTITION} received error but it will be scheduled"
)
_NO_DESCRIPTOR = frozenset({"EMFILE", "ENFILE"})
_MOVED = compiled(
    r"NotLeader\w*Exception|NotCoordinatorException|CoordinatorNotAvailable|CoordinatorLoadInProgress|Cancell"
    r"|KafkaStorageException|UnknownTopicOrPartition|InterruptedException|RejectedExecutionException"
)
_ENDS = compiled(r"InterruptedException|ClosedByInterruptException|CancellationException")
_BAD_RECORD = compiled(r"\b(?:Corrupt|Invalid)RecordException\b")
_MEMORY_FAULT = compiled(MEMORY_FAULT)
# A producer's bad batch is its own mistake: it is refused, and what is stored stays good. At DEBUG each one is told.
_PRODUCER = compiled(r"processing append operation on partition")
_ANY_PARTITION = compiled(rf"(?:\bpartition[ =]\(?|\bfor ){_PARTITION}")
_DIR_IN_BRACKETS = compiled(r"\bdir=(?P<dir>/[^\],)]{1,4096})")
_DIR_AT_END = compiled(
    r"(?:\bdir|\bdirectory) (?P<dir>/.{0,4096}?)(?: with (?:offset|uuid) .*| due to IOException|\.)?$"
)
_FILE = compiled(r"\bfile (?P<file>/\S.{0,4096})$")
_REPLICA = compiled(_PARTITION)
_OF_COPIES = compiled(r"RLM(?:Copy|Leader)?Task\b")
_THROWN = compiled(r"[\w.$]+(?:Exception|Error)\b")


def findings(entry: Entry, log_dirs: Sequence[str]) -> Iterator[Finding]:
    """Yield the findings in ``entry``, if any.

    ``log_dirs`` are the broker's own directories: a path in the text that lies in one of them identifies it.
    """
    entry = entry.shortened()
    if thread := _THREAD.search(entry.message):
        told = "a thread of the log cleaner died" if thread["task"] == CLEANER else entry.message
        yield TaskState(thread["task"], thread["dies"] is not None, _detail(entry, told))
    if _is_of_channel(entry):
        yield _dir_failed(entry, log_dirs)
    elif _STARTS.search(entry.message):
        yield Started(entry.at)
    elif match := _LOADED.search(entry.message):
        log_dir, detail = match["dir"] or _dir_in(entry, log_dirs), _detail(entry, entry.message)
        yield LogsLoaded(log_dir or "", int(match["loaded"]), int(match["total"]), detail)
    elif (failed := broker_failed(entry)) is not None:
        yield replace(failed, log_dir=_dir_in(entry, log_dirs))
    else:
        yield from _of_partition(entry, log_dirs)
        yield from _of_task(entry)


def _of_task(entry: Entry) -> Iterator[Finding]:
    """Yield the task that failed, and whatever lacked a file descriptor."""
    if entry.level in QUIET or _NO_TASK.search(entry.exception):
        return
    if task := _TASK.search(entry.message):
        yield TaskState(task["task"] or task["loop"] or "KRaft-snapshot", True, _detail(entry, entry.message))
    if _FUTURE.search(entry.message):
        yield TaskState(FUTURE_TIMES, True, _detail(entry, entry.message))
    error = os_error_in(entry.exception)
    if error is not None and error.name == "EIO" and _SENDS.search(entry.message):
        yield TaskState(READ_ERRORS, True, _detail(entry, entry.message))
    if error is not None and error.name in _NO_DESCRIPTOR:
        yield TaskState(OPEN_FILES, True, _detail(entry, entry.message))


def _of_partition(entry: Entry, log_dirs: Sequence[str]) -> Iterator[Finding]:
    if match := _UNCLEANABLE.search(entry.message):
        log_dir, detail = _dir_in(entry, log_dirs), _detail(entry, f"the log cleaner gave it up: {_thrown(entry)}")
        yield PartitionUncleanable(match["topic"], int(match["partition"]), log_dir, detail)
    if (match := _remote_copy(entry)) and not _ENDS.search(entry.exception):
        yield RemoteCopyFailed(match["topic"], int(match["partition"]), _detail(entry, entry.message))
    bad = _of_fetcher(entry, log_dirs) or _of_coordinator(entry, log_dirs) or _bad_record(entry, log_dirs)
    if bad is not None:
        yield bad


def _remote_copy(entry: Entry) -> "re.Match[str] | None":
    """Return the partition of a failed copy; tasks that delete or follow have other loggers."""
    is_of_copies = _OF_COPIES.search(entry.logger) is not None
    return _REMOTE_COPY.search(entry.message) or (_REMOTE_TASK.search(entry.message) if is_of_copies else None)


def _is_of_channel(entry: Entry) -> bool:
    """Tell whether an entry is from the class that takes directories offline.

    A pattern may omit the logger, put it in an unknown place, or have the caller instead: then the wording decides, and
    only brackets or the logger may precede it.
    """
    if "LogDirFailureChannel" in entry.logger or _META_PROPERTIES.match(entry.message) or _STOPS.search(entry.message):
        return True
    is_unknown = not entry.logger or _CALLER.search(entry.logger) is not None
    found = _CHANNEL.search(entry.message) if is_unknown else None
    return found is not None and _IN_FRONT.fullmatch(entry.message, 0, found.start()) is not None


def operation_of(message: str) -> str:
    """Return what the broker was doing when it failed."""
    return next((name for name, pattern in _OPERATIONS if pattern.search(message)), UNKNOWN_OPERATION)


def dir_of(text: str, log_dirs: Sequence[str]) -> str | None:
    """Return the log directory named in ``text``: the longest of ``log_dirs`` that contains a path in it."""
    # A dot may end a sentence: only one with text behind it belongs to the path.
    named = [path for path in log_dirs if _whole(path).search(text)]
    return max(named, key=len, default=None)


def _whole(path: str) -> "re.Pattern[str]":
    return compiled(rf"(?<![\w./-]){re.escape(path)}(?![\w-]|\.[\w.-])")


def _dir_failed(entry: Entry, log_dirs: Sequence[str]) -> DirFailed:
    message = entry.message
    log_dir = dir_of(message, log_dirs) or _unlisted_dir(message) or dir_of(entry.exception, log_dirs)
    operation = operation_of(message)
    cause = cause_of(entry.exception)
    cause = cause_of(f"{message}\n{entry.exception}") if cause is Cause.UNKNOWN else cause
    detail = _detail(entry, f"{operation} failed: {message}")
    return DirFailed(log_dir, cause, operation, detail, full_by(f"{entry.exception}\n{message}", cause))


def _unlisted_dir(message: str) -> str | None:
    """Return the directory as written in the line, for one that the configuration does not list."""
    if match := _DIR_AT_END.search(message):
        return match["dir"]
    if match := _FILE.search(message):
        folder = posixpath.dirname(match["file"])
        is_replica = _REPLICA.fullmatch(posixpath.basename(folder)) is not None
        return posixpath.dirname(folder) if is_replica else folder
    return None


def _of_fetcher(entry: Entry, log_dirs: Sequence[str]) -> Finding | None:
    if match := _MARK.search(entry.message):
        return _partition_bad(match, entry, log_dirs, is_mark=True)
    if match := _FENCED.search(entry.message):
        return MarkExplained(match["topic"], int(match["partition"]), None)
    if (match := _FETCHER.search(entry.message)) and not _BAD_RECORD.search(entry.exception):
        detail = None if "KafkaStorageException" in entry.exception else _detail(entry, entry.message)
        return MarkExplained(match["topic"], int(match["partition"]), detail)
    return None


def _of_coordinator(entry: Entry, log_dirs: Sequence[str]) -> PartitionBad | None:
    """Return the partition that a coordinator cannot load; not if it moved or went offline meanwhile."""
    match = _COORDINATOR.search(entry.message)
    if match is None or _MOVED.search(f"{entry.message}\n{entry.exception}"):
        return None
    detail = _detail(entry, entry.message)
    where = _dir_in(entry, log_dirs)
    return PartitionBad(match["topic"], int(match["partition"]), where, detail, is_mark=False, reason=COORDINATOR_LOAD)


def _bad_record(entry: Entry, log_dirs: Sequence[str]) -> PartitionBad | None:
    if _MEMORY_FAULT.search(f"{entry.message}\n{entry.exception}"):
        match = _ANY_PARTITION.search(entry.message)
        return _partition_bad(match, entry, log_dirs) if match else None
    if entry.level in QUIET or _PRODUCER.search(entry.message):
        return None
    if not _BAD_RECORD.search(f"{entry.message}\n{entry.exception}"):
        return None
    match = _UNCLEANABLE.search(entry.message) or _ANY_PARTITION.search(entry.message)
    return _partition_bad(match, entry, log_dirs) if match else None


def _partition_bad(
    match: "re.Match[str]", entry: Entry, log_dirs: Sequence[str], *, is_mark: bool = False
) -> PartitionBad:
    where, detail = _dir_in(entry, log_dirs), _detail(entry, entry.message)
    return PartitionBad(match["topic"], int(match["partition"]), where, detail, is_mark=is_mark)


def _dir_in(entry: Entry, log_dirs: Sequence[str]) -> str | None:
    """Return the directory of a partition: the one in the line, else that of the file in its exception."""
    replica = _DIR_IN_BRACKETS.search(entry.message)
    return dir_of(replica["dir"] if replica else entry.message, log_dirs) or dir_of(entry.exception, log_dirs)


def _thrown(entry: Entry) -> str:
    """Return the innermost cause of an entry's exception, or its message."""
    causes = [line.strip().removeprefix("Caused by: ") for line in entry.more if "Suppressed: " not in line]
    named = [cause for cause in causes if _THROWN.match(cause)]
    return named[-1] if named else entry.message


def _detail(entry: Entry, text: str) -> str:
    """Return one line: what happened, the exception's first line, and the broker's timestamp."""
    reason = f": {entry.more[0].strip()}" if entry.more and entry.more[0].strip() not in text else ""
    return f"{text[:DETAIL_CHARACTERS]}{shortened(reason, DETAIL_CHARACTERS)}{_when(entry)}"


def _when(entry: Entry) -> str:
    """Return where an entry is from as text, with the broker's timestamp if the layout has one."""
    return f" (in the broker's log at {entry.at})" if entry.at else " (in the broker's log)"
