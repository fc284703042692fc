"""The records that a process could not read, as a metric."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from logdirwatch.parse.reading import RecordReader


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
