"""The stream's metrics: progress and lag of each query, rejected records, open alerts, replicas by status."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from logdirwatch.jobs.queries import store_inventory
from logdirwatch.jobs.queries.recommend import OpenAlerts
from logdirwatch.jobs.runner import Runner
from logdirwatch.jobs.supervision.silence import Silence
from logdirwatch.jobs.supervision.supervised import Supervised
from logdirwatch.observe.progress import ILL_AFTER, declared_s
from logdirwatch.observe.series import firing_alerts
from logdirwatch.pipeline.meter import QueryLag
from logdirwatch.pipeline.watch import Watched
from logdirwatch.store.writing.tally import Replicas
from logdirwatch.text.units import human_s

Reading = Callable[[Mapping[str, Any]], float | None]
_GAUGES: dict[str, tuple[str, Reading]] = {
    "batch_seconds": ("Duration of the last batch", lambda p: _seconds(p["durationMs"].get("triggerExecution"))),
    "input_rows_per_second": ("Rows per second of the last batch", lambda p: _finite(p.get("inputRowsPerSecond"))),
    "batch": ("Number of the last batch", lambda p: p["batchId"]),
    "state_rows": ("Keys in the query's state", lambda p: _state(p, "numRowsTotal")),
    "state_bytes": ("Memory used by the state", lambda p: _state(p, "memoryUsedBytes")),
}


class StreamMetrics(Collector):
    """Reads the queries' progress and the results of the stream's checks of itself on each scrape."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._lock = threading.Lock()
        self._alerts: OpenAlerts | None = None
        self._replicas: Replicas = {}
        self.watched: Mapping[str, Watched] = {}
        self.silences: Callable[[], Mapping[str, Silence]] = dict
        self.is_input_away: Callable[[], bool] = lambda: False

    def note_alerts(self, found: OpenAlerts) -> None:
        """Record the open alerts."""
        with self._lock:
            self._alerts = found

    def note_replicas(self, found: Replicas) -> None:
        """Record the number of replicas of each broker by status."""
        with self._lock:
            self._replicas = found

    def is_ill(self) -> str | None:
        """Return why only a new process helps.

        The queries are not supervised, because Spark's JVM does not answer, or a query makes no progress although it
        was started again.
        """
        idle_s = time.monotonic() - self._runner.looked_s
        if idle_s > ILL_AFTER * declared_s("queries"):
            return f"the queries have not been supervised for {human_s(idle_s)}"
        return self._stuck()

    def is_unready(self) -> str | None:
        """Return which queries do not run, make no progress or are behind."""
        supervised = self._runner.supervised
        down = [one.name for one in supervised if not _is_active(one)]
        if down or not supervised:
            return f"not running: {', '.join(down) or 'nothing started yet'}"
        if self.is_input_away():
            return "the telemetry cluster does not answer: nothing is read"
        return self._silent() or self._lagging()

    def _stuck(self) -> str | None:
        """Return the queries without progress for whose sake a new process is worth it.

        Of a query whose progress is not known its lag counts.
        """
        now_s, known = time.monotonic(), self.silences()
        stuck = {name: one.silent_s(now_s) for name, one in known.items() if one.ends_process and one.is_stuck(now_s)}
        unknown = {name: lag_s for name, lag_s in self._lags().items() if name not in known}
        return _named("no progress", stuck | {n: s for n, s in unknown.items() if s > ILL_AFTER * self._longest_s(n)})

    def _silent(self) -> str | None:
        now_s = time.monotonic()
        silent = {name: one.silent_s(now_s) for name, one in self.silences().items() if one.is_silent(now_s)}
        return _named("no progress", silent)

    def _lagging(self) -> str | None:
        return _named(
            "behind its input", {name: lag_s for name, lag_s in self._lags().items() if lag_s > self._longest_s(name)}
        )

    def _longest_s(self, query: str) -> float:
        known = self.silences().get(query)
        return (Silence(declared_s(query)) if known is None else known).longest_s

    def _lags(self) -> dict[str, float]:
        """Return how long ago each query had read everything, in seconds."""
        return {
            name: watched.lag.lag_ms / 1000
            for name, watched in sorted(self.watched.items())
            if watched.teller.is_measured and watched.lag is not None and watched.lag.lag_ms is not None
        }

    def collect(self) -> Iterator[Metric]:
        """Yield the present metrics."""
        supervised = list(self._runner.supervised)
        active = GaugeMetricFamily("logdirwatch_query_active", "Whether a query runs", labels=["query"])
        failures = CounterMetricFamily("logdirwatch_query_failures", "Number of times a query failed", labels=["query"])
        for one in supervised:
            active.add_metric([one.name], float(_is_active(one)))
            failures.add_metric([one.name], one.failed)
        yield active
        yield failures
        yield from _of_progress({one.name: _progress(one) for one in supervised})
        yield from self._behind()
        yield from self._open()
        yield from self._counted(supervised)

    def _behind(self) -> Iterator[Metric]:
        seconds = GaugeMetricFamily(
            "logdirwatch_query_lag_seconds", "Time since a query had read everything", labels=["query"]
        )
        behind = GaugeMetricFamily(
            "logdirwatch_query_behind_records", "Records that a query has not read", labels=["query", "topic"]
        )
        rejected = CounterMetricFamily("logdirwatch_rejected_records", "Rejected records", labels=["query", "topic"])
        for name, watched in sorted(self.watched.items()):
            lag = watched.lag if watched.teller.is_measured else None
            if lag is not None and lag.lag_ms is not None:
                seconds.add_metric([name], lag.lag_ms / 1000)
            for topic, count in sorted(_behind_of(lag).items()):
                behind.add_metric([name, topic], count)
            for topic, count in sorted(watched.rejected.items()):
                rejected.add_metric([name, topic], count)
        yield seconds
        yield behind
        yield rejected

    def _open(self) -> Iterator[Metric]:
        with self._lock:
            yield firing_alerts(self._alerts or {})

    def _counted(self, supervised: list[Supervised]) -> Iterator[Metric]:
        """Yield the numbers of replicas, which are not kept while their query does not run."""
        replicas = GaugeMetricFamily(
            "logdirwatch_replicas", "Replicas of a broker by status", labels=["cluster", "broker", "status"]
        )
        with self._lock:
            found = self._replicas
        if any(one.name == store_inventory.NAME and _is_active(one) for one in supervised):
            for (cluster, broker), counts in sorted(found.items()):
                for status, count in counts.items():
                    replicas.add_metric([cluster, str(broker), str(status)], count)
        yield replicas


def _named(what: str, seconds: Mapping[str, float]) -> str | None:
    """Return a line with the name and the time of each query, None without any."""
    return (
        f"{what}: {', '.join(f'{name} for {human_s(for_s)}' for name, for_s in seconds.items())}" if seconds else None
    )


def _behind_of(lag: QueryLag | None) -> Mapping[str, int]:
    return {} if lag is None or lag.behind is None else lag.behind


def _of_progress(progress: Mapping[str, Mapping[str, Any] | None]) -> Iterator[Metric]:
    for name, (text, reading) in _GAUGES.items():
        gauge = GaugeMetricFamily(f"logdirwatch_query_{name}", text, labels=["query"])
        for query, last in progress.items():
            value = None if last is None else reading(last)
            if value is not None:
                gauge.add_metric([query], value)
        yield gauge


def _is_active(one: Supervised) -> bool:
    try:
        return one.query is not None and bool(one.query.isActive)
    except (Py4JError, ConnectionError):
        return False


def _progress(one: Supervised) -> Mapping[str, Any] | None:
    try:
        return None if one.query is None else one.query.lastProgress
    except (Py4JError, PySparkException, ConnectionError):
        return None


def _state(progress: Mapping[str, Any], name: str) -> float | None:
    operators = progress.get("stateOperators") or []
    return sum(operator[name] for operator in operators) if operators else None


def _seconds(duration_ms: float | None) -> float | None:
    return None if duration_ms is None else duration_ms / 1000


def _finite(value: Any) -> float | None:
    """Return a finite number; Spark reports NaN and Infinity for batches without duration."""
    return value if isinstance(value, (int, float)) and math.isfinite(value) else None
