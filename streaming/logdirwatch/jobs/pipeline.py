"""Monitors the stream's own queries and writes their progress to ``logdir.metrics``, for ``detect`` to judge."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec
import structlog
from kafka import TopicPartition
from kafka.errors import KafkaError
from pyspark.sql import SparkSession

from logdirwatch.clock import monotonic_ms, steady_ms
from logdirwatch.collect.publish.buffer import Outgoing
from logdirwatch.collect.publish.channel import Channel
from logdirwatch.collect.publish.publisher import Publisher
from logdirwatch.config.section import interval_ms
from logdirwatch.errors import UserError
from logdirwatch.jobs.queries import detect, fast_lane, fleet, recommend, store, store_inventory
from logdirwatch.jobs.streams import last_commit_ms
from logdirwatch.kafka import clients
from logdirwatch.kafka.clients import one_line
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.records import PipelineRecord
from logdirwatch.pipeline.meter import Bounds, Meter, Partition
from logdirwatch.pipeline.tell import Teller
from logdirwatch.pipeline.watch import Queries, Rejects, Watched, Watcher
from logdirwatch.settings import Settings

log = structlog.get_logger(__name__)

ANSWER_TIMEOUT_MS = 5_000


class KafkaBounds:
    """Asks over one connection, which is renewed after an error."""

    def __init__(self, settings: KafkaSettings, names: Sequence[str]) -> None:
        self._settings, self._names = settings, names
        self._held = ExitStack()
        self._client: Any = None

    def __call__(self) -> Bounds | None:
        """Return the offsets; None if the cluster does not answer."""
        try:
            return self._asked()
        except (KafkaError, UserError, OSError) as error:
            log.info("pipeline.no_offsets", error=one_line(error))
            self.close()
            return None

    def close(self) -> None:
        """Close the connection."""
        self._client = None
        self._held.close()

    def _asked(self) -> Bounds:
        if self._client is None:
            self._client = self._held.enter_context(clients.consumer(self._settings))
        partitions = [
            TopicPartition(name, number)
            for name in self._names
            for number in self._client.partitions_for_topic(name) or ()
        ]
        ends = self._client.end_offsets(partitions, timeout_ms=ANSWER_TIMEOUT_MS)
        begins = self._client.beginning_offsets(partitions, timeout_ms=ANSWER_TIMEOUT_MS)
        return Bounds(_plain(begins), _plain(ends))


def _plain(offsets: Mapping[Any, int]) -> dict[Partition, int]:
    return {(part.topic, part.partition): offset for part, offset in offsets.items()}


KEPT_RECORDS = 1_000
DRAIN_S = 1.0
TOPICS: Mapping[str, Sequence[str]] = {
    query.NAME: query.TOPICS for query in (detect, fast_lane, fleet, recommend, store, store_inventory)
}


@contextmanager
def watching(
    spark: SparkSession, settings: Settings, names: Sequence[str], queries: Queries, rejects: Rejects
) -> Iterator[Watcher | None]:
    """Monitor the named queries, which are not started yet, until the end of the block; yield the watcher, if any."""
    if not settings.stream.pipeline_interval_ms:
        yield None
        return
    publisher = Publisher(lambda: Channel(settings.telemetry), KEPT_RECORDS, settings.collect.backoff_max_ms)
    bounds = KafkaBounds(settings.telemetry, sorted({topic for name in names for topic in TOPICS[name]}))
    watched = _watched(spark, settings, names, steady_ms())
    watcher = Watcher(
        watched,
        queries,
        bounds,
        rejects,
        lambda told: publisher.put(map(_outgoing, told)),
        clock=steady_ms,
        timer_ms=monotonic_ms,
    )
    stop = threading.Event()
    looks = threading.Thread(
        target=watcher.run, args=(stop, settings.stream.pipeline_interval_ms), name="pipeline", daemon=True
    )
    publisher.start()
    looks.start()
    try:
        yield watcher
    finally:
        stop.set()
        looks.join(DRAIN_S)
        publisher.stop(DRAIN_S)
        if not looks.is_alive():
            bounds.close()


def _watched(spark: SparkSession, settings: Settings, names: Sequence[str], at_ms: int) -> dict[str, Watched]:
    tellers = {name: _teller(settings, name, at_ms) for name in names}
    speaker, last_ms = _speaker(tellers), last_commit_ms(spark, settings, names)
    if speaker is not None and last_ms is not None:
        speaker.away_ms = max(0, at_ms - last_ms)
    return {name: Watched(TOPICS[name], Meter(monotonic_ms()), teller) for name, teller in tellers.items()}


def _speaker(tellers: Mapping[str, Teller]) -> Teller | None:
    """Return the query that reports for all of them that the stream was down."""
    measured = {name: teller for name, teller in tellers.items() if teller.is_measured}
    return measured.get(detect.NAME, next(iter(measured.values()), None))


def _teller(settings: Settings, name: str, at_ms: int) -> Teller:
    is_real_time = name == fast_lane.NAME and settings.stream.is_real_time
    # A real-time batch lasts minutes and reports its offsets only at its end.
    trigger_ms = 0 if is_real_time else interval_ms(getattr(settings.stream, f"{name}_trigger"))
    return Teller(
        name,
        trigger_ms,
        settings.detect.pipeline.lag_ms // 2,
        at_ms,
        is_measured=not is_real_time,
        needs_input=name == detect.NAME,
    )


def _outgoing(record: PipelineRecord) -> Outgoing:
    return Outgoing(topics.METRICS, record.key.encode(), msgspec.json.encode(record))
