"""Runs the queries of one application: starts them, restarts one that failed or hangs, stops them cleanly.

When a query with state starts, Spark gives its Python process ten seconds to connect. Where this package starts Spark
on the same machine, ``driver_worker`` connects in time. Elsewhere PySpark is imported first, which may take longer on
a busy machine: such an end is no failure of the query.
"""

import signal
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import structlog
from kafka.errors import KafkaError
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from logdirwatch.clock import wall_ms
from logdirwatch.errors import UserError
from logdirwatch.jobs import native_memory
from logdirwatch.jobs.queries import fast_lane
from logdirwatch.jobs.session import silence
from logdirwatch.jobs.supervision.silence import SET_BACK_MS, Signs, Silence, Verdict
from logdirwatch.jobs.supervision.supervised import (
    Attempt,
    Start,
    Supervised,
    error_line,
    is_caught_up,
    is_triggered,
    last_batch,
    signs_of,
    silence_of,
)
from logdirwatch.observe.progress import Beat
from logdirwatch.observe.signals import asking_to_end
from logdirwatch.observe.watchdog import end_process
from logdirwatch.settings import Settings
from logdirwatch.text.units import human_s

log = structlog.get_logger(__name__)

_STOP_LOOK_S = 0.02


def stop_all(queries: Mapping[str, StreamingQuery], timeout_ms: int, when_overdue: Callable[[], None]) -> None:
    """Stop each query between two batches; a batch that takes too long is interrupted, and runs again later.

    A real-time batch never ends by itself, so it is not waited for. On a busy machine batches follow each other without
    a pause: the batch that is running at the stop request is waited for, the next one is interrupted. Stopping takes
    time, so all queries that are ready are stopped at once. ``when_overdue`` is called before batches are interrupted.
    """
    deadline_s = time.monotonic() + timeout_ms / 1000
    running = dict(queries)
    begun = {name: last_batch(query) for name, query in running.items()}
    with ThreadPoolExecutor(max(1, len(running))) as pool:
        while running:
            is_overdue = time.monotonic() >= deadline_s
            if is_overdue:
                when_overdue()
            for name, query in list(running.items()):
                if is_overdue or name == fast_lane.NAME or not _is_in_batch(query, begun[name]):
                    del running[name]
                    pool.submit(_stop_one, name, query)
            time.sleep(_STOP_LOOK_S)


def _stop_one(name: str, query: StreamingQuery) -> None:
    query.stop()
    log.info("query.stopped", query=name)


def _is_in_batch(query: StreamingQuery, begun: int | None) -> bool:
    """Tell whether the batch after ``begun``, the last one that had ended, is still running."""
    return query.isActive and is_triggered(query) and last_batch(query) == begun


WORKER_STARTS_WITHIN_S = 10
_SIGNS = ("Python worker failed to connect back", "waiting for the Python worker to connect back")


def is_busy(error: BaseException | None) -> bool:
    """Tell whether a query ended because a Python worker did not start in time."""
    while error is not None:
        if any(sign in str(error) for sign in _SIGNS):
            return True
        error = getattr(error, "_cause", None)
    return False


def line() -> str:
    """Return the error in one line."""
    return (
        f"the machine is too busy: a Python worker did not start within {WORKER_STARTS_WITHIN_S} s; "
        "nothing is lost, the query is started again at once"
    )


FIRST_BACKOFF_MS = 1_000
BUSY_BACKOFF_MS = 1_000
HEALTHY_AFTER_S = 60.0
HOPELESS_FAILURES = 3
FIRST_WITHIN_S = 60.0
"""How long the other queries wait for those that start first: one of these may fail again and again."""
_SLOW = "these queries have not read all their input yet: it is much, or the machine is busy; the others start now"
LOOK_S = 0.2
LOOK_AFTER_S = 1.0
"""Between two looks at the running queries; each is a few calls to Java."""
JUDGE_S = 10.0
"""Between two judgements of a query's progress: as often as Spark reports that nothing has arrived."""
ATTEMPT_S = 30.0
"""How long the other queries wait for one that is stopped or started; after that it goes on in the background."""
STOP_LIMIT_S, START_LIMIT_S = 60.0, 600.0
"""How long a stop and a start may take before only a new process helps; a start reads topics and tables."""
# Kafka and the tables are read while a query starts, and may be unavailable at that time.
CANNOT_START = (PySparkException, Py4JJavaError, KafkaError, UserError)


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
    beat: Beat = field(default_factory=lambda: Beat("queries"))
    end: Callable[[], None] = end_process
    """Ends the process when only a new one helps."""
    is_input_away: Callable[[], bool] = lambda: False
    """Whether the telemetry cluster does not answer: then no query can make progress."""
    when_failed: Callable[[Supervised, Exception | None], None] = lambda *_: None
    """Called after each failure, before the query is started again."""

    @property
    def looked_s(self) -> float:
        """When the queries were looked after last, by the monotonic clock."""
        return self.beat.last_s

    @looked_s.setter
    def looked_s(self, at_s: float) -> None:
        self.beat.last_s = at_s

    def run(self, on_started: Callable[[], None] = lambda: None) -> None:
        """Start every query and keep it running; returns after a clean stop."""
        queries = self.supervised = [self._supervised(name, start) for name, start in self.starts.items()]
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

    def silences(self) -> dict[str, Silence]:
        """Return the progress of each query by name."""
        return {supervised.name: supervised.silence for supervised in self.supervised}

    def stop_on_signals(self) -> None:
        """Let signals ask for a clean stop."""
        for number in asking_to_end():
            signal.signal(number, lambda *_: self.stop_requested.set())

    def _supervised(self, name: str, start: Start) -> Supervised:
        ends_process = name in self.first or not self.first & self.starts.keys()
        return Supervised(name, start, silence=silence_of(name, self.settings.stream, ends_process=ends_process))

    def _start_all(self, queries: list[Supervised]) -> None:
        """Start queries at once; one whose tables or topics hang is left behind, and starts when they answer."""
        for supervised in queries:
            supervised.attempt = Attempt(partial(self._start, supervised), START_LIMIT_S)
        ends_s = time.monotonic() + FIRST_WITHIN_S
        for supervised in queries:
            self._settle(supervised, ends_s - time.monotonic())
        self.looked_s = time.monotonic()

    def _wait_for(self, queries: list[Supervised]) -> None:
        """Wait until queries run and have no batch to do, but not for ever; start again those that fail."""
        ends_s = time.monotonic() + FIRST_WITHIN_S
        while behind := [query.name for query in queries if not is_caught_up(query)]:
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
            supervised.silence.started()
            log.info("query.started", query=supervised.name)

    def _look_after(self, supervised: Supervised) -> None:
        now_s = time.monotonic()
        if supervised.attempt is not None:
            self._settle(supervised, 0.0)
        elif supervised.query is None:
            if now_s >= supervised.retry_at_s:
                self._judge_failures(supervised, now_s)
                self._attempt(supervised, partial(self._start, supervised), START_LIMIT_S)
        elif not supervised.query.isActive:
            error, supervised.query = supervised.query.exception(), None
            if now_s - supervised.started_at_s > HEALTHY_AFTER_S:
                supervised.failures = 0
            self._failed(supervised, error)
        elif supervised.judged_at_s is None or now_s - supervised.judged_at_s >= JUDGE_S:
            supervised.judged_at_s = now_s
            self._judge(supervised, supervised.query, now_s)

    def _judge(self, supervised: Supervised, query: StreamingQuery, now_s: float) -> None:
        """Start a query again that makes no progress; end the process if that did not help."""
        signs = signs_of(self.spark, query)
        if self._waits_for_old_time(supervised, query, signs):
            self._restart(supervised, query)
            return
        if self.is_input_away():
            supervised.silence.excuse(now_s)
            return
        verdict = supervised.silence.judge(signs, supervised.started_at_s, now_s)
        if verdict is Verdict.WAIT:
            return
        silent = human_s(supervised.silence.silent_s(now_s))
        if verdict is Verdict.END:
            self._end(supervised, f"no progress for {silent}, although it was started again")
            return
        log.error("query.silent", query=supervised.name, reason=f"no progress for {silent}", meaning="it starts again")
        self._restart(supervised, query)

    def _waits_for_old_time(self, supervised: Supervised, query: StreamingQuery, signs: Signs) -> bool:
        """Tell whether a query waits for a trigger that the wall clock moved away; a running batch is left to end."""
        ahead_ms = signs.ahead_ms(wall_ms())
        if ahead_ms < SET_BACK_MS or (is_triggered(query) and not supervised.silence.is_real_time):
            return False
        meaning = "Spark's trigger would wait for the old time: the query is started again"
        by_s = round(ahead_ms / 1000)
        log.warning("stream.clock_set_back", query=supervised.name, by_s=by_s, meaning=meaning)
        return True

    def _judge_failures(self, supervised: Supervised, now_s: float) -> None:
        """End the process if a query has failed at each start for long, unless its input is away."""
        if self.is_input_away():
            supervised.silence.excuse(now_s)
        elif supervised.failures >= HOPELESS_FAILURES and supervised.silence.is_hopeless(now_s):
            self._end(supervised, f"it has failed at each start for {human_s(supervised.silence.silent_s(now_s))}")

    def _end(self, supervised: Supervised, reason: str) -> None:
        meaning = "its supervisor starts it again"
        log.critical("stream.process_ends", query=supervised.name, reason=reason, meaning=meaning)
        self.end()

    def _restart(self, supervised: Supervised, query: StreamingQuery) -> None:
        """Stop a query; the next look starts it again."""
        supervised.retry_at_s = 0.0

        def stopped() -> None:
            query.stop()
            supervised.query = None

        self._attempt(supervised, stopped, STOP_LIMIT_S)

    def _attempt(self, supervised: Supervised, work: Callable[[], None], limit_s: float) -> None:
        supervised.attempt = Attempt(work, limit_s)
        if not self._settle(supervised, ATTEMPT_S):
            meaning = "it goes on in the background, and the other queries are not affected"
            log.error("query.hangs", query=supervised.name, waited_s=ATTEMPT_S, meaning=meaning)

    def _settle(self, supervised: Supervised, within_s: float) -> bool:
        """Wait for a stop or start; tell whether it has ended. One that hangs ends the process, if that is worth it."""
        attempt = supervised.attempt
        if attempt is None or attempt.has_ended(within_s):
            supervised.attempt = None
            return True
        if attempt.is_overdue and supervised.silence.ends_process:
            self._end(supervised, f"its stop or start has not ended within {human_s(attempt.limit_s)}")
        return False

    def _failed(self, supervised: Supervised, error: Exception | None) -> None:
        supervised.failed += 1
        if is_busy(error):
            # The query itself is healthy, and any attempt may be in time.
            backoff_ms, text = min(BUSY_BACKOFF_MS, self.settings.stream.restart_backoff_max_ms), line()
        else:
            backoff_ms = min(FIRST_BACKOFF_MS << supervised.failures, self.settings.stream.restart_backoff_max_ms)
            text = error_line(error)
            supervised.failures += 1
        supervised.retry_at_s = time.monotonic() + backoff_ms / 1000
        log.error("query.failed", query=supervised.name, retry_in_ms=backoff_ms, error=text)
        self.when_failed(supervised, error)

    def _stop(self, queries: list[Supervised]) -> None:
        """Stop the queries between two batches; one that hangs ends with the JVM."""
        running = {one.name: one.query for one in queries if one.query is not None and one.attempt is None}
        stop_all(running, self.settings.stream.stop_timeout_ms, lambda: silence(self.spark))
