"""The signs of progress of a streaming query, from Spark."""

from collections.abc import Iterator

from py4j.protocol import Py4JError
from pyspark import SparkContext, SparkStageInfo
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from logdirwatch.jobs.supervision.silence import Signs


def signs_of(spark: SparkSession | None, query: StreamingQuery) -> Signs:
    """Return what shows the progress of a query; where the jobs are not visible, a batch counts as a running task."""
    last = query.lastProgress
    report = None if last is None else (last.get("batchId"), last.get("timestamp"))
    if spark is None:
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
        report,
        jobs,
        sum(stage.numCompletedTasks for stage in stages),
        any(stage.numActiveTasks for stage in stages),
    )


def _stages(context: SparkContext, jobs: tuple[int, ...]) -> Iterator[SparkStageInfo]:
    tracker = context.statusTracker()
    for job in jobs:
        found = tracker.getJobInfo(job)
        for stage in () if found is None else found.stageIds:
            info = tracker.getStageInfo(stage)
            if info is not None:
                yield info
