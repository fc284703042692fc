"""The Spark application: startup checks, then the requested queries."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import structlog
from py4j.protocol import Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from logdirwatch.clock import wall_ms
from logdirwatch.errors import UserError
from logdirwatch.jobs import checks, pipeline, small_fleet
from logdirwatch.jobs.checkpoint import repair, unusable
from logdirwatch.jobs.checkpoint.lock import locked
from logdirwatch.jobs.metrics import StreamMetrics
from logdirwatch.jobs.queries import detect, fast_lane, fleet, recommend, store, store_inventory
from logdirwatch.jobs.runner import Runner
from logdirwatch.jobs.session import build_session, end_session
from logdirwatch.jobs.streams import checkpoint
from logdirwatch.jobs.supervision.supervised import Start, Supervised
from logdirwatch.model import topics
from logdirwatch.observe.endpoint import check_free, serving
from logdirwatch.observe.progress import Beat
from logdirwatch.observe.watchdog import watching
from logdirwatch.pipeline.watch import Rejects
from logdirwatch.settings import Settings
from logdirwatch.spark_version import by_connect, opens_files

log = structlog.get_logger(__name__)

QUERIES: dict[str, Start] = {
    fast_lane.NAME: fast_lane.start,
    detect.NAME: detect.start,
    fleet.NAME: fleet.start,
    store.NAME: store.start,
    store_inventory.NAME: store_inventory.start,
    recommend.NAME: recommend.start,
}

FIRST = frozenset({fast_lane.NAME, detect.NAME, fleet.NAME})
"""The queries that raise alerts; tables and plans wait for them."""

SET_ASIDE: Mapping[str, Callable[[BaseException | None], str | None]] = {
    detect.NAME: unusable.reason,
    fleet.NAME: unusable.reason,
    fast_lane.NAME: unusable.gone,
}
"""The queries that keep state; without a checkpoint they start from what they wrote on the topics."""

WRITES = {
    fast_lane.NAME: (topics.ALERTS,),
    detect.NAME: (topics.ALERTS, topics.STATE),
    fleet.NAME: (topics.ALERTS,),
    recommend.NAME: (topics.ACTIONS,),
}
"""The topics that a query writes."""

ALSO_READS = {
    detect.NAME: (topics.STATE, topics.ALERTS),
    fleet.NAME: (topics.ALERTS,),
    recommend.NAME: (topics.ACTIONS,),
}
"""The topics that a query reads once, at its start."""


OVER_CONNECT = FIRST
"""The queries that need nothing but Spark's commands; tables are written by the driver of the application."""


def run(settings: Settings, names: Sequence[str]) -> None:
    """Run the named queries until SIGTERM; raises UserError if a check fails."""
    beats: list[Beat] = []
    with watching(lambda: beats), locked(settings.checkpoints.path, names):
        _checked(settings, names, beats)


def _checked(settings: Settings, names: Sequence[str], beats: list[Beat]) -> None:
    check_free(settings.stream.listen)
    events_partitions = checks.check_telemetry(settings, topics.STREAMED, operations(settings, names))
    master = settings.stream.master
    slots = checks.local_slots(master) if master else None
    if slots is not None:
        _check_slots(settings, names, slots, events_partitions)
    spark = build_session(
        settings, is_small=_is_small(settings), records_classes=True, over_connect=OVER_CONNECT.issuperset(names)
    )
    try:
        if slots is None and _holds_slots(settings, names) and not by_connect():
            needed = checks.needed_slots(events_partitions, others=len(names) > 1)
            _check_slots(settings, names, checks.slots_of(spark, needed), events_partitions)
        _run(spark, settings, names, beats)
        end_session(spark)
    except (Py4JNetworkError, ConnectionError):
        raise UserError(_ENDED.format("Spark's JVM")) from None
    except PySparkException:
        if not by_connect():
            raise
        raise UserError(_ENDED.format("the server of Spark Connect")) from None


_ENDED = "stream: {} ended, killed or out of memory; start the command again, it continues where it stopped"


def _is_small(settings: Settings) -> bool:
    """Tell whether this process starts the Java of a small fleet."""
    if settings.stream.master is None:
        return False
    return small_fleet.is_small(small_fleet.arriving_per_s(settings.telemetry, wall_ms()))


def operations(settings: Settings, names: Sequence[str]) -> dict[str, set[str]]:
    """Return the topics of the telemetry cluster that the named queries read and write."""
    read = {topic for name in names for topic in (*pipeline.TOPICS[name], *ALSO_READS.get(name, ()))}
    written = {topic for name in names for topic in WRITES.get(name, ())}
    if settings.stream.pipeline_interval_ms:
        written.add(topics.METRICS)
    return {"READ": read, "WRITE": written}


def _holds_slots(settings: Settings, names: Sequence[str]) -> bool:
    """Whether the real-time query runs, which never releases its slots."""
    return fast_lane.NAME in names and settings.stream.is_real_time


def _check_slots(settings: Settings, names: Sequence[str], slots: int, events_partitions: int) -> None:
    if _holds_slots(settings, names):
        checks.check_slots(slots, events_partitions, others=len(names) > 1)


def _run(spark: SparkSession, settings: Settings, names: Sequence[str], beats: list[Beat]) -> None:
    rejects = Rejects()
    runner = Runner(spark, settings, {}, FIRST)
    metrics = StreamMetrics(runner)
    runner.starts = {name: _sound(name, _noting(name, rejects, metrics)) for name in names}
    runner.when_failed = partial(_set_aside_damaged, spark, settings)
    runner.stop_on_signals()
    metrics.silences = runner.silences
    beats.append(runner.beat)
    with (
        serving(settings.stream.listen, [metrics], metrics.is_ill, metrics.is_unready),
        pipeline.watching(spark, settings, names, runner.queries, rejects) as watcher,
    ):
        if watcher is not None:
            metrics.watched = watcher.watched
            beats.append(watcher.beat)
            runner.is_input_away = metrics.is_input_away = lambda: watcher.is_away
        runner.run(on_started=lambda: log.info("stream.running", queries=list(names)))
        beats.clear()
    log.info("stream.stopped")


def _sound(name: str, start: Start) -> Start:
    """Return how to start a query from the readable part of its checkpoint, wherever that is now."""
    if not opens_files():
        return start

    def started(spark: SparkSession, settings: Settings) -> StreamingQuery:
        repair.take_back(spark, checkpoint(settings, name), wall_ms())
        repair.follow(spark, checkpoint(settings, name))
        return start(spark, settings)

    return started


def _set_aside_damaged(
    spark: SparkSession, settings: Settings, supervised: Supervised, error: Exception | None
) -> None:
    """Set a checkpoint aside with which its query fails again and again."""
    reason_of = SET_ASIDE.get(supervised.name)
    if reason_of is None or supervised.failures < unusable.FAILURES:
        return
    if (reason := reason_of(error)) is not None:
        unusable.rename(spark, checkpoint(settings, supervised.name), wall_ms(), reason)
        supervised.failures = 0


def _noting(name: str, rejects: Rejects, metrics: StreamMetrics) -> Start:
    """Return how to start a query with callbacks for rejected records, open alerts and replica counts."""
    noting: dict[str, Start] = {
        recommend.NAME: partial(recommend.start, note=metrics.note_alerts),
        store.NAME: partial(store.start, note=partial(rejects.note, name)),
        store_inventory.NAME: partial(
            store_inventory.start, note=partial(rejects.note, name), tell=metrics.note_replicas
        ),
    }
    return noting.get(name, QUERIES[name])
