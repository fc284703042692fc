"""The stream's metrics: progress and lag of each query, rejected records, open alerts, replicas by status."""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from logdirwatch.jobs.queries import store_inventory
from logdirwatch.jobs.queries.recommend import OpenAlerts
from logdirwatch.jobs.runner import Runner, Supervised
from logdirwatch.pipeline.meter import QueryLag
from logdirwatch.pipeline.watch import Watched
from logdirwatch.store.writing.tally import Replicas
from logdirwatch.text.units import human_s

STUCK_AFTER_S = 120.0
"""The longest time that starting a query takes."""

Reading = Callable[[Mapping[str, Any]], float | None]
_GAUGES: dict[str, tuple[str, Reading]] = {
    "batch_seconds": ("Duration of the last batch", lambda p: _seconds(p["durationMs"].get("triggerExecution"))),
    "input_rows_per_second": (
        "Rows per second of the last batch",
        lambda p: _finite(p.get("inputRowsPerSecond")),
    ),
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

    def note_alerts(self, found: OpenAlerts) -> None:
        """Record the open alerts."""
        with self._lock:
            self._alerts = found

    def note_replicas(self, found: Replicas) -> None:
        """Record the number of replicas of each broker by status."""
        with self._lock:
            self._replicas = found

    def is_ill(self) -> str | None:
        """Return an error if the queries are not supervised: Spark's JVM does not answer."""
        idle_s = time.monotonic() - self._runner.looked_s
        return f"the queries have not been supervised for {human_s(idle_s)}" if idle_s > STUCK_AFTER_S else None

    def is_unready(self) -> str | None:
        """Return which queries do not run."""
        supervised = self._runner.supervised
        down = [one.name for one in supervised if not _is_active(one)]
        return f"not running: {', '.join(down) or 'nothing started yet'}" if down or not supervised else None

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
        firing = GaugeMetricFamily("logdirwatch_alerts_firing", "Open alerts", labels=["cluster", "rule", "severity"])
        with self._lock:
            for labels, count in sorted((self._alerts or Counter()).items()):
                firing.add_metric(list(labels), count)
        yield firing

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
