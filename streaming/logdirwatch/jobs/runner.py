"""Runs the queries of one application: starts them, restarts one that failed, stops them cleanly."""

import signal
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import structlog
from kafka.errors import KafkaError
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from logdirwatch.errors import UserError
from logdirwatch.jobs import busy, native_memory
from logdirwatch.jobs.queries import fast_lane
from logdirwatch.jobs.session import silence
from logdirwatch.settings import Settings

log = structlog.get_logger(__name__)

Start = Callable[[SparkSession, Settings], StreamingQuery]

FIRST_BACKOFF_MS = 1_000
BUSY_BACKOFF_MS = 1_000
HEALTHY_AFTER_S = 60.0
FIRST_WITHIN_S = 60.0
"""How long the other queries wait for those that start first: one of these may fail again and again."""
_SLOW = "these queries have not read all their input yet: it is much, or the machine is busy; the others start now"
LOOK_S = 0.2
LOOK_AFTER_S = 1.0
"""Between two looks at the running queries; each is a few calls to Java."""
# Kafka and the tables are read while a query starts, and may be unavailable at that time.
CANNOT_START = (PySparkException, Py4JJavaError, KafkaError, UserError)


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


@dataclass
class Runner:
    """Supervises queries until it is asked to stop."""

    spark: SparkSession
    settings: Settings
    starts: Mapping[str, Start]
    first: frozenset[str] = frozenset()
    """The queries that have the machine for themselves until they have caught up with their input."""
    stop_requested: threading.Event = field(default_factory=threading.Event)
    supervised: list[Supervised] = field(default_factory=list)
    looked_s: float = field(default_factory=time.monotonic)

    def run(self, on_started: Callable[[], None] = lambda: None) -> None:
        """Start every query and keep it running; returns after a clean stop."""
        queries = self.supervised = [Supervised(name, start) for name, start in self.starts.items()]
        first = [query for query in queries if query.name in self.first]
        self._start_all(first)
        if len(first) < len(queries):
            self._wait_for(first)
        self._start_all([query for query in queries if query not in first])
        on_started()
        gave_back_s = time.monotonic()
        while not self.stop_requested.wait(LOOK_AFTER_S):
            self._look_after_all(queries)
            if self.looked_s - gave_back_s >= native_memory.INTERVAL_MS / 1000:
                native_memory.give_back()
                gave_back_s = self.looked_s
        self._stop(queries)

    def queries(self) -> dict[str, StreamingQuery | None]:
        """Return the queries by name; None for one that does not run."""
        return {supervised.name: supervised.query for supervised in self.supervised}

    def stop_on_signals(self) -> None:
        """Let SIGTERM and SIGINT ask for a clean stop."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.stop_requested.set())

    def _start_all(self, queries: list[Supervised]) -> None:
        with ThreadPoolExecutor(max(1, len(queries))) as pool:
            list(pool.map(self._start, queries))
        self.looked_s = time.monotonic()

    def _wait_for(self, queries: list[Supervised]) -> None:
        """Wait until queries run and have no batch to do, but not for ever; start again those that fail."""
        ends_s = time.monotonic() + FIRST_WITHIN_S
        while behind := [query.name for query in queries if not _is_caught_up(query)]:
            if time.monotonic() > ends_s:
                log.warning("stream.start_is_slow", behind=behind, waited_s=FIRST_WITHIN_S, meaning=_SLOW)
                return
            if self.stop_requested.wait(LOOK_S):
                return
            self._look_after_all(queries)

    def _look_after_all(self, queries: list[Supervised]) -> None:
        for query in queries:
            self._look_after(query)
        self.looked_s = time.monotonic()

    def _start(self, supervised: Supervised) -> None:
        if self.stop_requested.is_set():
            return
        try:
            supervised.query = supervised.start(self.spark, self.settings)
        except CANNOT_START as error:
            self._failed(supervised, error)
        else:
            supervised.started_at_s = time.monotonic()
            log.info("query.started", query=supervised.name)

    def _look_after(self, supervised: Supervised) -> None:
        now_s = time.monotonic()
        if supervised.query is None:
            if now_s >= supervised.retry_at_s:
                self._start(supervised)
        elif not supervised.query.isActive:
            error, supervised.query = supervised.query.exception(), None
            if now_s - supervised.started_at_s > HEALTHY_AFTER_S:
                supervised.failures = 0
            self._failed(supervised, error)

    def _failed(self, supervised: Supervised, error: Exception | None) -> None:
        supervised.failed += 1
        if busy.is_busy(error):
            # The query itself is healthy, and any attempt may be in time.
            backoff_ms, text = min(BUSY_BACKOFF_MS, self.settings.stream.restart_backoff_max_ms), busy.line()
        else:
            backoff_ms = min(FIRST_BACKOFF_MS << supervised.failures, self.settings.stream.restart_backoff_max_ms)
            text = _first_line(error)
            supervised.failures += 1
        supervised.retry_at_s = time.monotonic() + backoff_ms / 1000
        log.error("query.failed", query=supervised.name, retry_in_ms=backoff_ms, error=text)

    def _stop(self, queries: list[Supervised]) -> None:
        """Stop each query between two batches; a batch that takes too long is interrupted, and runs again later.

        A real-time batch never ends by itself, so it is not waited for. On a busy machine batches follow each other
        without a pause: the batch that is running at the stop request is waited for, the next one is interrupted.
        Stopping takes time, so all queries that are ready are stopped at once.
        """
        deadline_s = time.monotonic() + self.settings.stream.stop_timeout_ms / 1000
        running = {supervised.name: supervised.query for supervised in queries if supervised.query is not None}
        begun = {name: _last_batch(query) for name, query in running.items()}
        with ThreadPoolExecutor(max(1, len(running))) as pool:
            while running:
                is_overdue = time.monotonic() >= deadline_s
                if is_overdue:
                    silence(self.spark)
                for name, query in list(running.items()):
                    if is_overdue or name == fast_lane.NAME or not _is_in_batch(query, begun[name]):
                        del running[name]
                        pool.submit(_stop_one, name, query)
                time.sleep(LOOK_S / 10)


def _is_caught_up(supervised: Supervised) -> bool:
    """Tell whether a query has nothing to do; the batch of the real-time query never ends."""
    query = supervised.query
    if query is None or not query.isActive:
        return False
    is_waiting = str(query.status["message"]).startswith("Waiting")
    return is_waiting or query.lastProgress is not None or supervised.name == fast_lane.NAME


def _stop_one(name: str, query: StreamingQuery) -> None:
    query.stop()
    log.info("query.stopped", query=name)


def _is_in_batch(query: StreamingQuery, begun: int | None) -> bool:
    """Tell whether the batch after ``begun``, the last one that had ended, is still running."""
    return query.isActive and bool(query.status["isTriggerActive"]) and _last_batch(query) == begun


def _last_batch(query: StreamingQuery) -> int | None:
    """Return the number of the last batch that ended, None before the first."""
    last = query.lastProgress
    return None if last is None else int(last["batchId"])


def _first_line(error: BaseException | None) -> str:
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
