"""Looks at the stream's own queries now and then, and tells how they fare.

A look that fails is taken anew, and never stops a query.
"""

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from logdirwatch.kafka.clients import one_line
from logdirwatch.model.records import PipelineRecord
from logdirwatch.pipeline.meter import Bounds, Meter, Partition, Progress, Standing
from logdirwatch.pipeline.rejects import Rejects
from logdirwatch.pipeline.tell import Teller

log = structlog.get_logger(__name__)

Queries = Callable[[], Mapping[str, StreamingQuery | None]]
Offsets = dict[Partition, int]


@dataclass
class Watched:
    """One query: its topics, its meter, and what is told of it; ``began`` are the first offsets of its run.

    ``standing`` is what the last look found, ``rejected`` the rows refused so far, by topic.
    """

    topics: Sequence[str]
    meter: Meter
    teller: Teller
    run_id: str | None = None
    began: Offsets = field(default_factory=dict)
    standing: Standing | None = None
    rejected: Counter[str] = field(default_factory=Counter)

    def progress(self, query: StreamingQuery) -> Progress | None:
        """Return how far the query is; None before the end of its first trigger, which may find nothing to read."""
        last = query.lastProgress
        if last is None:
            return None
        if self.run_id != str(query.runId):
            self.run_id = str(query.runId)
            self.began = offsets(query.recentProgress[0], "startOffset")
        return Progress(self.began, offsets(last, "endOffset"))


def offsets(progress: Mapping[str, Any], name: str) -> Offsets:
    """Return one kind of offsets of a progress report, whose Kafka sources spell them as JSON."""
    found: Offsets = {}
    for source in progress["sources"]:
        told = json.loads(source[name] or "null")
        for topic, partitions in (told or {}).items():
            found.update({(topic, int(number)): offset for number, offset in partitions.items()})
    return found


@dataclass
class Watcher:
    """Takes the looks; every way in and out is a callable, so that tests need neither Spark nor Kafka."""

    watched: Mapping[str, Watched]
    queries: Queries
    bounds: Callable[[], Bounds | None]
    rejects: Rejects
    publish: Callable[[Sequence[PipelineRecord]], None]
    clock: Callable[[], int]

    def run(self, stop: threading.Event, every_ms: int) -> None:
        """Take a look now and then until ``stop`` is set."""
        while not stop.wait(every_ms / 1000):
            self._try_to_look()

    def look(self) -> None:
        """Look at every query and publish what there is to tell."""
        queries = self.queries()
        progress = {name: self._progress(name, queries.get(name)) for name in self.watched}
        # Asked after the queries: nobody has read what is not there yet.
        bounds, at_ms = self.bounds(), self.clock()
        told = [self._told(name, queries.get(name), progress[name], bounds, at_ms) for name in self.watched]
        self.publish([record for record in told if record is not None])

    def _try_to_look(self) -> None:
        try:
            self.look()
        except (Py4JError, PySparkException, ConnectionError, OSError) as error:
            log.warning("pipeline.look_failed", error=one_line(error))

    def _progress(self, name: str, query: StreamingQuery | None) -> Progress | None:
        return None if query is None else self.watched[name].progress(query)

    def _told(
        self, name: str, query: StreamingQuery | None, progress: Progress | None, bounds: Bounds | None, at_ms: int
    ) -> PipelineRecord | None:
        watched = self.watched[name]
        is_active = query is not None and query.isActive
        standing = None if bounds is None else watched.meter.look(at_ms, progress, bounds.of(watched.topics))
        watched.standing, rejected = standing, self.rejects.take(name)
        for found in rejected:
            watched.rejected[found.topic] += found.rows
        return watched.teller.record(standing, rejected, at_ms, is_active=is_active)
