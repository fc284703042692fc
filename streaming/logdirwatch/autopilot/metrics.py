"""The autopilot's metrics: running, ended and waiting actions."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from logdirwatch.autopilot.judge import pause_of
from logdirwatch.autopilot.service import Autopilot
from logdirwatch.observe.progress import silence, stuck


class AutopilotMetrics(Collector):
    """Reads the service on each scrape."""

    def __init__(self, service: Autopilot, max_age_ms: int) -> None:
        self._service = service
        self._max_age_ms = max_age_ms

    def collect(self) -> Iterator[Metric]:
        """Yield the current metrics."""
        running, paused, leads = (
            GaugeMetricFamily(f"logdirwatch_autopilot_{name}", text, labels=["cluster"])
            for name, text in (
                ("running", "How many executions run on a cluster"),
                ("paused", "Whether it is paused on a cluster"),
                ("leads", "Whether this process acts on a cluster; others stand by"),
            )
        )
        ended = CounterMetricFamily(
            "logdirwatch_autopilot_executions", "Executions by their end", labels=["cluster", "state"]
        )
        waiting = GaugeMetricFamily(
            "logdirwatch_autopilot_not_taken", "Open actions that it does not take, by rule", labels=["cluster", "rule"]
        )
        for name, lane in self._service.lanes.items():
            board = self._service.board
            running.add_metric([name], float(len(lane.running)))
            paused.add_metric([name], float(pause_of(name, board.facts(name, board.reading)) is not None))
            leads.add_metric([name], float(bool(lane.leads)))
            for state, count in sorted(lane.ended.items()):
                ended.add_metric([name, state], count)
            for rule, count in sorted(Counter(rule for rule, _ in list(lane.said.values())).items()):
                waiting.add_metric([name, rule], count)
        yield from (running, paused, leads, ended, waiting)
        age_ms = self._service.board.age_ms(self._service.board.reading)
        if age_ms is not None:
            yield GaugeMetricFamily(
                "logdirwatch_autopilot_telemetry_age_seconds",
                "Age of the last complete reading of the telemetry topics",
                value=age_ms / 1000,
            )

    def is_ill(self) -> str | None:
        """Return a reason when the loop is stuck; waiting for the telemetry cluster is not."""
        return stuck([self._service.beat])

    def is_unready(self) -> str | None:
        """Return a reason when the telemetry topics are not read; to stand by is to be ready."""
        if (text := silence([self._service.beat])) is not None:
            return text
        age_ms = self._service.board.age_ms(self._service.board.reading)
        is_read = age_ms is not None and age_ms <= self._max_age_ms
        return None if is_read else "the telemetry topics cannot be read"
