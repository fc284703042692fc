"""The collector's metrics: polls by broker, and records waiting to be sent."""

from collections.abc import Callable, Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from logdirwatch.collect.loop import ClusterWatch
from logdirwatch.collect.publish.publisher import Publisher
from logdirwatch.observe.progress import Beat, silence, stuck
from logdirwatch.text.units import human_ms

LATE_MS = 30_000
"""A sample may be overdue for that long, as when a leader of the telemetry cluster moves."""


class CollectorMetrics(Collector):
    """Reads the pollers and the publisher on each scrape."""

    def __init__(
        self, watched: Sequence[ClusterWatch], publisher: Publisher, overdue_ms: Callable[[str], int] = lambda _: 0
    ) -> None:
        """``overdue_ms`` returns for how long the next sample of a cluster has not arrived in the telemetry cluster."""
        self._watched = watched
        self._publisher = publisher
        self._overdue_ms = overdue_ms

    def collect(self) -> Iterator[Metric]:
        """Yield the current metrics."""
        yield from self._polls()
        yield from self._clusters()
        yield from self._records()

    def beats(self) -> list[Beat]:
        """Return the progress of the publisher and of every round; an unreachable cluster has rounds too."""
        return [self._publisher.beat, *(beat for watch in self._watched for beat in watch.beats)]

    def is_ill(self) -> str | None:
        """Return which rounds hang."""
        return stuck(self.beats())

    def is_unready(self) -> str | None:
        """Return which rounds are late, which clusters' brokers are not known yet, and whose samples do not arrive."""
        if (text := silence(self.beats())) is not None:
            return text
        missing = [watch.name for watch in self._watched if not watch.poller.discovered.is_set()]
        if missing:
            return f"no broker answered yet: {', '.join(missing)}"
        overdue = {watch.name: self._overdue_ms(watch.name) for watch in self._watched}
        late = [f"{name} for {human_ms(for_ms)}" for name, for_ms in overdue.items() if for_ms > LATE_MS]
        return f"no sample arrives in the telemetry cluster: {', '.join(late)}" if late else None

    def _polls(self) -> Iterator[Metric]:
        labels = ["cluster", "broker"]
        polls = CounterMetricFamily(
            "logdirwatch_collect_polls", "Polls of a broker by result", labels=[*labels, "status"]
        )
        took = GaugeMetricFamily(
            "logdirwatch_collect_poll_seconds", "How long the last poll of a broker took", labels=labels
        )
        for watch in self._watched:
            for broker, stats in sorted(watch.poller.stats.items()):
                where = [watch.name, str(broker)]
                for status, count in sorted(stats.polls.items()):
                    polls.add_metric([*where, str(status)], count)
                took.add_metric(where, stats.last_s)
        yield polls
        yield took

    def _clusters(self) -> Iterator[Metric]:
        away = GaugeMetricFamily("logdirwatch_collect_cluster_away", "Whether no broker answers", labels=["cluster"])
        brokers = GaugeMetricFamily("logdirwatch_collect_brokers", "Brokers that are polled", labels=["cluster"])
        for watch in self._watched:
            away.add_metric([watch.name], float(watch.poller.is_away))
            brokers.add_metric([watch.name], len(watch.poller.brokers))
        yield away
        yield brokers

    def _records(self) -> Iterator[Metric]:
        sent = CounterMetricFamily(
            "logdirwatch_collect_records_sent", "Records that the telemetry cluster acknowledged", labels=["topic"]
        )
        for topic, count in sorted(self._publisher.sent.items()):
            sent.add_metric([topic], count)
        yield sent
        yield CounterMetricFamily(
            "logdirwatch_collect_records_dropped",
            "Records dropped from the full buffer while the telemetry cluster was unreachable",
            value=self._publisher.dropped,
        )
        yield GaugeMetricFamily(
            "logdirwatch_collect_records_waiting", "Records not acknowledged yet", value=self._publisher.pending
        )
        yield GaugeMetricFamily(
            "logdirwatch_collect_telemetry_away",
            "Whether the telemetry cluster does not accept records",
            value=float(self._publisher.is_away),
        )
