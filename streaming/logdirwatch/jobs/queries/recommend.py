"""The query ``recommend``: alerts and decisions in, actions out, with facts from the tables.

The topics are the source of truth: open alerts and actions are read from them completely when a run starts, and again
after every failure. A batch runs when records arrive; between batches the open alerts are planned again each
``recommend_interval_ms``, since facts arrive, plans expire and moves progress without new records. The first alert is
planned for at once; in a storm of alerts planning pauses between two rounds, so that the alerts themselves are not
late.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import msgspec
import structlog
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it
from pyspark.sql.streaming.query import StreamingQuery

from logdirwatch.clock import wall_ms
from logdirwatch.jobs.policy import policy_for
from logdirwatch.jobs.streams import every, kafka_stream, start_query
from logdirwatch.kafka.clients import one_line, read_all, spark_options
from logdirwatch.model import topics
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import NO_CLUSTER
from logdirwatch.parse.reading import RecordReader, logged
from logdirwatch.plan.cluster.from_tables_spark import load_facts
from logdirwatch.plan.cluster.growth import Growth
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.lifecycle.action_tracker import ActionTracker
from logdirwatch.plan.proposal import Policy
from logdirwatch.settings import Settings

NAME = "recommend"
TOPICS = (topics.ALERTS, topics.DECISIONS)

log = structlog.get_logger(__name__)

RESTS = 4
"""A round is followed by a pause of this many times its own length."""

OpenAlerts = Counter[tuple[str, str, str]]
"""Open alerts by cluster, rule and severity."""

Record = tuple[str, bytes | None, bytes | None, int, int, int]
"""Topic, key, value, Kafka's time in milliseconds, partition and offset."""


def ignored(_: OpenAlerts) -> None:
    """Do nothing."""


@dataclass
class Recommender:
    """Tracks alerts and actions and publishes revisions; inputs and outputs are callables, so tests need no broker."""

    read: Callable[[], Iterable[Record]]
    facts: Callable[[str], ClusterSnapshot | None]
    publish: Callable[[Sequence[ActionRecord]], None]
    policy: Callable[[str], Policy]
    skew_ms: int
    note: Callable[[OpenAlerts], None] = ignored
    rests: float = RESTS
    clock_s: Callable[[], float] = time.monotonic
    reader: RecordReader = field(default_factory=lambda: RecordReader(logged))
    wanted: threading.Event = field(default_factory=threading.Event)
    """Set while news waits for the end of the pause."""
    _rested_s: float = 0.0
    _tracker: ActionTracker | None = None
    _growth: Growth = field(default_factory=Growth)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, records: Iterable[Record], now_ms: int) -> None:
        """Process a batch's records and publish the results, or request a round after the pause."""
        with self._lock:
            is_new = self._tracker is None
            tracker = self._opened()
            news = [tracker.take(*record) for record in records]
            if is_new or any(news):
                if self.rest_s > 0:
                    self.wanted.set()
                else:
                    self._revise(tracker, now_ms)
            self.note(tracker.open_alerts)

    def look(self, now_ms: int) -> None:
        """Plan for the open alerts without new records."""
        with self._lock:
            self.wanted.clear()
            tracker = self._opened()
            if tracker.open_clusters:
                self._revise(tracker, now_ms)

    @property
    def rest_s(self) -> float:
        """The remaining pause in seconds; 0 if it is over."""
        return max(0.0, self._rested_s - self.clock_s())

    def _opened(self) -> ActionTracker:
        if self._tracker is None:
            tracker = ActionTracker(self.skew_ms, self.reader)
            for record in self.read():
                tracker.take(*record)
            self._tracker = tracker
        return self._tracker

    def _revise(self, tracker: ActionTracker, now_ms: int) -> None:
        """Publish, or discard the tracked state: only what is on the topic counts as published."""
        self._tracker, begin_s = None, self.clock_s()
        facts = {
            cluster: known for cluster in sorted(tracker.open_clusters) if (known := self._known(cluster)) is not None
        }
        revisions = tracker.revise(facts, self.policy, now_ms)
        for one, error in tracker.take_set_aside():
            if isinstance(one, AlertRecord):
                _tell_set_aside("recommend.alert_set_aside", one, error, alert_id=one.alert_id, rule=str(one.rule))
            else:
                _tell_set_aside("recommend.action_set_aside", one, error, action_id=one.action_id, kind=str(one.kind))
        if revisions:
            self.publish(revisions)
            log.info("recommend.published", actions=[f"{a.kind} {a.status} {a.action_id[:8]}" for a in revisions])
        self._tracker, end_s = tracker, self.clock_s()
        self._rested_s = end_s + self.rests * (end_s - begin_s)

    def _known(self, cluster: str) -> ClusterSnapshot | None:
        """Return a cluster's facts; tables that cannot be read, for any reason, count as missing."""
        if cluster == NO_CLUSTER:
            return None
        try:
            known = self.facts(cluster)
            return None if known is None else self._growth.taught(known)
        except Exception as error:
            log.warning("recommend.no_facts", cluster=cluster, error=one_line(error)[:300])
            return None


def _tell_set_aside(event: str, record: AlertRecord | ActionRecord, error: Exception, **about: str) -> None:
    """Log that a record was set aside, and the error that it causes; ``about`` identifies it."""
    log.error(
        event,
        **about,
        revision=record.revision,
        cluster=record.cluster,
        error=f"{type(error).__name__}: {one_line(error)[:300]}",
    )


def recommender(spark: SparkSession, settings: Settings, note: Callable[[OpenAlerts], None] = ignored) -> Recommender:
    """Return the recommender on the telemetry cluster and the tables; ``note`` gets the open alerts."""
    return Recommender(
        read=lambda: _history(settings),
        facts=lambda cluster: load_facts(spark, settings, cluster),
        publish=lambda actions: _publish(spark, settings, actions),
        policy=lambda cluster: policy_for(settings, cluster),
        skew_ms=settings.detect.clock_skew_ms,
        note=note,
    )


def start(spark: SparkSession, settings: Settings, note: Callable[[OpenAlerts], None] = ignored) -> StreamingQuery:
    """Start the query and the rounds between its batches; ``note`` gets the open alerts."""
    keeper = recommender(spark, settings, note)
    writer = kafka_stream(spark, settings, TOPICS).writeStream.foreachBatch(batch_function(keeper))
    query = start_query(writer, settings, NAME, every(settings.stream.recommend_trigger))
    looks = threading.Thread(
        target=_look_while_active, args=(query, keeper, settings.stream.recommend_interval_ms), name=NAME, daemon=True
    )
    looks.start()
    return query


def batch_function(keeper: Recommender) -> Callable[[DataFrame, int], None]:
    """Return the function that Spark calls with each batch."""

    def take(batch: DataFrame, batch_id: int) -> None:  # noqa: ARG001 - Spark's signature; repeats change nothing
        when = F.unix_millis("timestamp").alias("timestamp_ms")
        rows = batch.select("topic", "key", "value", when, "partition", "offset").collect()
        try:
            keeper.take(rows, wall_ms())
        except Exception as error:
            # A long message makes Spark overflow its stack while a query is being stopped.
            raise RuntimeError(one_line(error)[:300]) from None

    return take


def _look_while_active(query: StreamingQuery, keeper: Recommender, interval_ms: int) -> None:
    """Plan at once, since a restart may find open alerts, then each interval, and sooner when news waits."""
    while query.isActive:
        _look(query, keeper)
        if keeper.wanted.wait(interval_ms / 1000):
            time.sleep(keeper.rest_s)


def _look(query: StreamingQuery, keeper: Recommender) -> None:
    """Run a round; an error is retried with the next one, and fails the batches too if it persists."""
    try:
        keeper.look(wall_ms())
    except Exception as error:
        if query.isActive:
            log.warning("recommend.round_failed", error=one_line(error)[:300])


def _history(settings: Settings) -> Iterable[Record]:
    for topic in (topics.ALERTS, topics.ACTIONS, topics.DECISIONS):
        for record in read_all(settings.telemetry, topic):
            yield topic, record.key, record.value, record.timestamp, record.partition, record.offset


def _publish(spark: SparkSession, settings: Settings, actions: Sequence[ActionRecord]) -> None:
    """Write actions in order, one task and one producer; returns when Kafka has them."""
    rows = [(action.action_id.encode(), msgspec.json.encode(action)) for action in actions]
    frame = spark.createDataFrame(rows, "key binary, value binary").coalesce(1)
    frame.write.format("kafka").options(**spark_options(settings.telemetry)).option("topic", topics.ACTIONS).save()
