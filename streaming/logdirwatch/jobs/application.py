"""The Spark application: checks first, then the queries that were asked for."""

from collections.abc import Sequence
from functools import partial

import structlog
from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from logdirwatch.errors import UserError
from logdirwatch.jobs import checks, detect, fast_lane, fleet, pipeline, recommend, store, store_inventory
from logdirwatch.jobs.runner import Runner, Start
from logdirwatch.jobs.session import build_session, end_session
from logdirwatch.model import topics
from logdirwatch.pipeline.rejects import Rejects
from logdirwatch.settings import Settings

log = structlog.get_logger(__name__)

QUERIES: dict[str, Start] = {
    fast_lane.NAME: fast_lane.start,
    detect.NAME: detect.start,
    fleet.NAME: fleet.start,
    store.NAME: store.start,
    store_inventory.NAME: store_inventory.start,
    recommend.NAME: recommend.start,
}


COUNTING = {store.NAME: store.start, store_inventory.NAME: store_inventory.start}
"""The queries that see what cannot be read."""


def run(settings: Settings, names: Sequence[str]) -> None:
    """Run the named queries until SIGTERM; raises UserError for what a check finds."""
    events_partitions = checks.check_telemetry(settings, [topic.name for topic in topics.TOPICS])
    master = settings.stream.master
    slots = checks.local_slots(master) if master else None
    if slots is not None:
        _check_slots(names, slots, events_partitions)
    spark = build_session(settings)
    try:
        if slots is None:
            _check_slots(names, spark.sparkContext.defaultParallelism, events_partitions)
        _run(spark, settings, names)
        end_session(spark)
    except (Py4JNetworkError, ConnectionError):
        raise UserError(
            "stream: Spark's JVM is gone, killed or out of memory; start the command again, it goes on where it stopped"
        ) from None


def _check_slots(names: Sequence[str], slots: int, events_partitions: int) -> None:
    if fast_lane.NAME in names:
        checks.check_slots(slots, events_partitions, others=len(names) > 1)


def _run(spark: SparkSession, settings: Settings, names: Sequence[str]) -> None:
    rejects = Rejects()
    runner = Runner(spark, settings, {name: _noting(name, rejects) for name in names})
    runner.stop_on_signals()
    with pipeline.watching(spark, settings, names, runner.queries, rejects):
        runner.run(on_started=lambda: log.info("stream.running", queries=list(names)))
    log.info("stream.stopped")


def _noting(name: str, rejects: Rejects) -> Start:
    """Return how to start a query so that it notes what it cannot read."""
    counting = COUNTING.get(name)
    return QUERIES[name] if counting is None else partial(counting, note=partial(rejects.note, name))
