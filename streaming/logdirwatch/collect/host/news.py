"""Which findings in a broker's log are new. Pure; the clock is an argument.

A directory that failed stays offline until the broker restarts, so a second line about it is not new, unless it is the
first with a cause. A partition may be repaired and fail again within one run: it is new again after a while. The reason
why a broker ends is reported once per run, by the most informative line: what follows within a minute is its
consequence, and less informative lines within ten minutes are ignored. Of the logs that a start loads, which are many,
the newest count is reported every ten seconds.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from logdirwatch.model.broker_failures import BrokerFailureReason as Reason
from logdirwatch.model.broker_tasks import CLEANER
from logdirwatch.model.vocabulary import Cause
from logdirwatch.parse.broker_log.failures import BrokerFailed
from logdirwatch.parse.broker_log.findings import (
    DirFailed,
    Finding,
    LogsLoaded,
    MarkExplained,
    PartitionBad,
    PartitionUncleanable,
    RemoteCopyFailed,
    Started,
    TaskState,
)
from logdirwatch.text.words import shortened

PARTITION_QUIET_MS = 600_000
DIR_CHARACTERS = 240
"""How much of the line about a directory explains the broker's end, where its cause alone does not say what to do."""
_CAUSES_TO_EXPLAIN = frozenset({Cause.UNKNOWN, Cause.DAMAGED_FILE})
FAILURE_QUIET_MS = 60_000
LOADED_QUIET_MS = 10_000
# A broker without memory keeps missing heartbeats for a while, and is stopped for it.
CONSEQUENCES_MS = 600_000
# A fetcher marks a partition right after it logged why; more than these never wait for that.
MARKS_AWAITED = 10_000

News = TaskState | LogsLoaded | DirFailed | PartitionBad | PartitionUncleanable | RemoteCopyFailed | BrokerFailed
OfPartition = PartitionBad | PartitionUncleanable | RemoteCopyFailed
Partition = tuple[type, str, int]

_BY_DIRECTORIES = {
    Reason.NO_USABLE_DIRECTORY,
    Reason.METADATA_DIRECTORY_FAILED,
    Reason.ALL_DIRECTORIES_FAILED,
    Reason.FAILURE_NOT_TOLD,
}
_SAYS_LITTLE = {Reason.STOPPED: 0, Reason.HEARTBEAT_LOST: 0, Reason.OTHER: 1, Reason.KILLED: 1}
_SAYS_ENOUGH = 2


class NewsDesk:
    """Remembers the findings reported in this run of the broker."""

    def __init__(self, told_dirs: Mapping[str, str] | None = None, told_tasks: Iterable[str] = ()) -> None:
        self._told_dirs = dict(told_dirs or {})
        self._said_of_dirs: dict[str, str] = {}
        self._told_partitions: dict[Partition, int] = {}
        self._explained: dict[tuple[str, int], str | None] = {}
        self._told_failure: tuple[Reason, int] | None = None
        self._told_tasks = dict.fromkeys(told_tasks, -PARTITION_QUIET_MS)
        self._loaded: dict[str, LogsLoaded] = {}
        self._told_loaded: dict[str, int] = {}
        self.starts = 0
        """How many starts of the broker were read."""

    @property
    def told_tasks(self) -> list[str]:
        """The tasks that were reported as failing."""
        return list(self._told_tasks)

    @property
    def told_dirs(self) -> dict[str, str]:
        """The reported directories with their causes; enough to resume after a restart of this process."""
        return dict(self._told_dirs)

    def of_present_run(self, findings: Iterable[Finding], now_ms: int) -> list[News]:
        """Return the new ones among ``findings``; a start of the broker makes earlier ones obsolete."""
        told: list[News] = []
        for finding in findings:
            news = self.news(finding, now_ms)
            if isinstance(finding, Started):
                unsaid = {one.task for one in told if isinstance(one, TaskState)}
                told = self._tasks_started(unsaid, finding)
            elif news is not None:
                told.append(news)
        return [*told, *self._loaded_news(now_ms)]

    def news(self, finding: Finding, now_ms: int) -> News | None:
        """Return what to report of ``finding``, None if it was reported before or says nothing."""
        match finding:
            case Started():
                self._told_dirs, self._said_of_dirs, self._told_partitions, self._explained = {}, {}, {}, {}
                self._told_failure = None
                self._loaded, self._told_loaded = {}, {}
                self.starts += 1
            case LogsLoaded():
                self._loaded[finding.log_dir] = finding
            case MarkExplained():
                self._note(finding)
            case TaskState():
                return self._task_news(finding, now_ms)
            case DirFailed():
                return self._dir_news(finding)
            case BrokerFailed():
                return self._failure_news(finding, now_ms)
            case PartitionBad():
                return self._bad_news(finding, now_ms)
            case PartitionUncleanable() | RemoteCopyFailed():
                return self._partition_news(finding, now_ms)
        return None

    def _loaded_news(self, now_ms: int) -> list[News]:
        """Return the newest counts that are due; the last one of a directory is due at once."""
        due = {
            path: found
            for path, found in self._loaded.items()
            if found.loaded == found.total or now_ms - self._told_loaded.get(path, -LOADED_QUIET_MS) >= LOADED_QUIET_MS
        }
        self._loaded = {path: found for path, found in self._loaded.items() if path not in due}
        self._told_loaded |= dict.fromkeys(due, now_ms)
        return list(due.values())

    def _note(self, finding: MarkExplained) -> None:
        self._explained[finding.topic, finding.partition] = finding.detail
        if len(self._explained) > MARKS_AWAITED:
            del self._explained[next(iter(self._explained))]

    def _tasks_started(self, unsaid: set[str], started: Started) -> list[News]:
        """Return that all tasks run again in a new process; its cleaner says so itself."""
        said = [task for task in self._told_tasks if task not in unsaid and task != CLEANER]
        self._told_tasks = {task: at_ms for task, at_ms in self._told_tasks.items() if task == CLEANER and not unsaid}
        return [TaskState(task, False, f"the broker started {started.at}".rstrip()) for task in said]

    def _task_news(self, state: TaskState, now_ms: int) -> News | None:
        """Return a failure, again after a while since its last is evidence, and only the first run after it."""
        told_ms = self._told_tasks.get(state.task)
        if not state.is_failed:
            return None if self._told_tasks.pop(state.task, None) is None else state
        if told_ms is not None and (state.task == CLEANER or now_ms - told_ms < PARTITION_QUIET_MS):
            return None
        self._told_tasks[state.task] = now_ms
        return state

    def _dir_news(self, failed: DirFailed) -> News | None:
        key = failed.log_dir or ""
        told = self._told_dirs.get(key)
        if told is not None and (told != Cause.UNKNOWN or failed.cause == Cause.UNKNOWN):
            return None
        self._told_dirs[key] = failed.cause.value
        self._said_of_dirs[key] = shortened(failed.detail, DIR_CHARACTERS)
        return failed

    def _bad_news(self, bad: PartitionBad, now_ms: int) -> News | None:
        partition = (bad.topic, bad.partition)
        if bad.is_mark and partition in self._explained:
            detail = self._explained.pop(partition)
            if detail is None:
                return None
            bad = replace(bad, detail=f"{bad.detail}: {detail}")
        return self._partition_news(bad, now_ms)

    def _partition_news(self, news: OfPartition, now_ms: int) -> News | None:
        partition = (type(news), news.topic, news.partition)
        if now_ms - self._told_partitions.get(partition, -PARTITION_QUIET_MS) < PARTITION_QUIET_MS:
            return None
        self._told_partitions = {
            known: at_ms for known, at_ms in self._told_partitions.items() if now_ms - at_ms < PARTITION_QUIET_MS
        }
        self._told_partitions[partition] = now_ms
        return news

    def _failure_news(self, failed: BrokerFailed, now_ms: int) -> News | None:
        if self._told_failure is not None:
            told, told_ms = self._told_failure
            more = _SAYS_LITTLE.get(failed.reason, _SAYS_ENOUGH) - _SAYS_LITTLE.get(told, _SAYS_ENOUGH)
            quiet_ms = CONSEQUENCES_MS if more < 0 else FAILURE_QUIET_MS
            if more <= 0 and now_ms - told_ms < quiet_ms:
                return None
        self._told_failure = (failed.reason, now_ms)
        causes = [
            f"{path}: {self._said_of_dirs.get(path, cause) if cause in _CAUSES_TO_EXPLAIN else cause}"
            for path, cause in self._told_dirs.items()
            if path and (cause != Cause.UNKNOWN or path in self._said_of_dirs)
        ]
        if failed.reason in _BY_DIRECTORIES and causes:
            return replace(failed, detail=f"{failed.detail} ({', '.join(causes)})")
        return failed
