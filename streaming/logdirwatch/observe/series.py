"""Series for Prometheus: the open alerts, and the records that a process could not read."""

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from logdirwatch.parse.reading import RecordReader


def firing_alerts(counts: Mapping[tuple[str, str, str], int]) -> Metric:
    """Return the numbers of open alerts by cluster, rule and severity."""
    gauge = GaugeMetricFamily("logdirwatch_alerts_firing", "Open alerts", labels=["cluster", "rule", "severity"])
    for labels, count in sorted(counts.items()):
        gauge.add_metric(list(labels), count)
    return gauge


class UnreadableRecords(Collector):
    """Counts by topic what a reader skipped since the process started."""

    def __init__(self, reader: RecordReader) -> None:
        self._reader = reader

    def collect(self) -> Iterator[Metric]:
        """Yield the counter, without a sample for topics whose records were all read."""
        found = CounterMetricFamily(
            "logdirwatch_unreadable_records", "Records that could not be read and were skipped", labels=["topic"]
        )
        for topic, count in sorted(self._reader.unreadable.copy().items()):
            found.add_metric([topic], count)
        yield found
