"""One supervised query, the signs of its progress from Spark, and a stop or start of it that may hang."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from py4j.protocol import Py4JError
from pyspark import SparkContext, SparkStageInfo
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from logdirwatch.config.section import interval_ms
from logdirwatch.config.stream import StreamSettings
from logdirwatch.jobs.queries import fast_lane
from logdirwatch.jobs.supervision.silence import Signs, Silence
from logdirwatch.observe.progress import declared_s
from logdirwatch.settings import Settings
from logdirwatch.spark_version import by_connect


def signs_of(spark: SparkSession | None, query: StreamingQuery) -> Signs:
    """Return what shows the progress of a query; where the jobs are not visible, a batch counts as a running task."""
    last = query.lastProgress
    report = None if last is None else (last.get("batchId"), last.get("timestamp"))
    if spark is None or by_connect():
        return Signs(report)
    try:
        return _with_jobs(spark.sparkContext, query, report)
    except Py4JError:
        return Signs(report, has_running_task=bool(query.status["isTriggerActive"]))


def _with_jobs(context: SparkContext, query: StreamingQuery, report: tuple[int | None, str | None] | None) -> Signs:
    # Spark runs the jobs of a query in a job group named after its run (StreamExecution.runStream).
    tracker = context.statusTracker()
    active = set(tracker.getActiveJobsIds())
    jobs = tuple(sorted(active & set(tracker.getJobIdsForGroup(str(query.runId)))))
    stages = list(_stages(context, jobs))
    return Signs(
        report, jobs, sum(stage.numCompletedTasks for stage in stages), any(stage.numActiveTasks for stage in stages)
    )


def _stages(context: SparkContext, jobs: tuple[int, ...]) -> Iterator[SparkStageInfo]:
    tracker = context.statusTracker()
    for job in jobs:
        found = tracker.getJobInfo(job)
        for stage in () if found is None else found.stageIds:
            info = tracker.getStageInfo(stage)
            if info is not None:
                yield info


Start = Callable[[SparkSession, Settings], StreamingQuery]


class Attempt:
    """Runs ``work``, which may take ``limit_s``, in the background; the end of the process does not wait for it."""

    def __init__(self, work: Callable[[], None], limit_s: float) -> None:
        self.limit_s = limit_s
        self._work = work
        self._error: BaseException | None = None
        self._began_s = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="attempt", daemon=True)
        self._thread.start()

    @property
    def is_overdue(self) -> bool:
        """Whether the work takes longer than it may."""
        return time.monotonic() - self._began_s > self.limit_s

    def has_ended(self, within_s: float) -> bool:
        """Wait for the end of the work, at most ``within_s``; raise the error with which it ended."""
        self._thread.join(max(0.0, within_s))
        if self._thread.is_alive():
            return False
        if self._error is not None:
            raise self._error
        return True

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # raised again where somebody waits for it
            self._error = error


@dataclass
class Supervised:
    """One query, how often it failed recently, and how often in total."""

    name: str
    start: Start
    query: StreamingQuery | None = None
    failures: int = 0
    failed: int = 0
    retry_at_s: float = 0.0
    started_at_s: float = 0.0
    silence: Silence = field(default_factory=Silence)
    judged_at_s: float | None = None
    attempt: Attempt | None = None
    """A stop or start that has not ended."""


def silence_of(name: str, stream: StreamSettings, *, ends_process: bool) -> Silence:
    """Return the contract of a query, from now on: the interval of its trigger or, in real time, batches is added."""
    is_real_time = name == fast_lane.NAME and stream.is_real_time
    interval = stream.fast_lane_batch if is_real_time else getattr(stream, f"{name}_trigger", "")
    return Silence(declared_s(name) + interval_ms(interval) / 1000, is_real_time, ends_process, time.monotonic())


def is_triggered(query: StreamingQuery) -> bool:
    """Tell whether a trigger has fired and its batch, if there is one, has not ended."""
    return bool(query.status["isTriggerActive"])


def last_batch(query: StreamingQuery) -> int | None:
    """Return the number of the last batch that ended, None before the first."""
    last = query.lastProgress
    return None if last is None else int(last["batchId"])


def is_caught_up(supervised: Supervised) -> bool:
    """Tell whether a query has nothing to do; the batch of the real-time query never ends."""
    query = supervised.query
    if query is None or not query.isActive:
        return False
    is_waiting = str(query.status["message"]).startswith("Waiting")
    return is_waiting or query.lastProgress is not None or supervised.name == fast_lane.NAME


def error_line(error: BaseException | None) -> str:
    """Return the line of a Spark error that says what happened, and that of its root cause.

    The plan and the stack trace stay in the log file.
    """
    deepest = error
    while (cause := getattr(deepest, "_cause", None)) is not None:
        deepest = cause
    found = dict.fromkeys(_line(one) for one in (error, deepest))
    return ": ".join(line for line in found if line)[:500] or "the query ended"


def _line(error: BaseException | None) -> str:
    lines = [] if error is None else [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else ""
