"""Checks the stream's own queries periodically, and publishes their progress.

A check that fails is repeated, and never stops a query.
"""

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from logdirwatch.kafka.clients import one_line
from logdirwatch.model.evidence.stream import RejectedRows
from logdirwatch.model.records import PipelineRecord
from logdirwatch.model.times import until_round_ms
from logdirwatch.observe.progress import Beat
from logdirwatch.pipeline.meter import Bounds, Meter, Partition, Progress, QueryLag
from logdirwatch.pipeline.tell import Teller


class Rejects:
    """Rejected rows by query, recorded by its batches and taken by another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: defaultdict[str, list[RejectedRows]] = defaultdict(list)

    def note(self, query: str, found: Sequence[RejectedRows]) -> None:
        """Record the rejected rows of a batch."""
        with self._lock:
            self._found[query].extend(found)

    def take(self, query: str) -> list[RejectedRows]:
        """Return what was recorded since the last call."""
        with self._lock:
            return self._found.pop(query, [])


log = structlog.get_logger(__name__)

Queries = Callable[[], Mapping[str, StreamingQuery | None]]
Offsets = dict[Partition, int]


@dataclass
class Watched:
    """One query: its topics, its meter, and its publication state; ``began`` are the first offsets of its run.

    ``lag`` is the result of the last check, ``rejected`` the rows rejected so far, by topic.
    """

    topics: Sequence[str]
    meter: Meter
    teller: Teller
    run_id: str | None = None
    began: Offsets = field(default_factory=dict)
    lag: QueryLag | None = None
    rejected: Counter[str] = field(default_factory=Counter)

    def progress(self, query: StreamingQuery) -> Progress | None:
        """Return the progress of the query; None before the end of its first trigger."""
        last = query.lastProgress
        if last is None:
            return None
        if self.run_id != str(query.runId):
            self.run_id = str(query.runId)
            self.began = offsets(query.recentProgress[0], "startOffset")
        return Progress(self.began, offsets(last, "endOffset"))


def offsets(progress: Mapping[str, Any], name: str) -> Offsets:
    """Return one kind of offsets of a progress report, whose Kafka sources have them as JSON."""
    found: Offsets = {}
    for source in progress["sources"]:
        told = json.loads(source[name] or "null")
        for topic, partitions in (told or {}).items():
            found.update({(topic, int(number)): offset for number, offset in partitions.items()})
    return found


@dataclass
class Watcher:
    """Runs the checks; every input and output is a callable, so that tests need neither Spark nor Kafka.

    ``timer_ms`` is monotonic and measures lag, ``clock`` dates what is published. ``is_away`` tells whether the
    telemetry cluster did not answer the last check.
    """

    watched: Mapping[str, Watched]
    queries: Queries
    bounds: Callable[[], Bounds | None]
    rejects: Rejects
    publish: Callable[[Sequence[PipelineRecord]], None]
    clock: Callable[[], int]
    timer_ms: Callable[[], int]
    is_away: bool = False
    beat: Beat = field(default_factory=lambda: Beat("pipeline"))

    def run(self, stop: threading.Event, every_ms: int) -> None:
        """Run checks periodically until ``stop`` is set."""
        while not stop.wait(until_round_ms(self.clock(), every_ms) / 1000):
            self._try_to_look()
            self.beat.beat()

    def look(self) -> None:
        """Check every query and publish the results that are due."""
        queries = self.queries()
        progress = {name: self._progress(name, queries.get(name)) for name in self.watched}
        # Read after the queries' progress, so that no query seems to be ahead of Kafka.
        bounds = self.bounds()
        self.is_away = bounds is None
        told = [self._told(name, queries.get(name), progress[name], bounds) for name in self.watched]
        self.publish([record for record in told if record is not None])

    def _try_to_look(self) -> None:
        try:
            self.look()
        except (Py4JError, PySparkException, ConnectionError, OSError) as error:
            log.warning("pipeline.check_failed", error=one_line(error))

    def _progress(self, name: str, query: StreamingQuery | None) -> Progress | None:
        return None if query is None else self.watched[name].progress(query)

    def _told(
        self, name: str, query: StreamingQuery | None, progress: Progress | None, bounds: Bounds | None
    ) -> PipelineRecord | None:
        watched = self.watched[name]
        is_active = query is not None and query.isActive
        lag = None if bounds is None else watched.meter.look(self.timer_ms(), progress, bounds.of(watched.topics))
        watched.lag, rejected = lag, self.rejects.take(name)
        for found in rejected:
            watched.rejected[found.topic] += found.rows
        return watched.teller.record(lag, rejected, self.clock(), is_active=is_active)
