"""The newest sample and state of each broker as series for Prometheus."""

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from logdirwatch.clock import steady_ms
from logdirwatch.model import topics
from logdirwatch.model.records import MetricsRecord, StateRecord
from logdirwatch.model.records.metrics import LogDirSample
from logdirwatch.model.records.state import LogDirView
from logdirwatch.model.vocabulary import LogDirStatus, PollStatus
from logdirwatch.parse.records import Accepted, parse

FORGOTTEN_INTERVALS = 5
"""A broker that nobody polled for so many intervals has no series: its last values would pass for present ones."""


class Series(NamedTuple):
    """One gauge of a directory: the end of its name, its help text and its value, None: unknown."""

    name: str
    text: str
    value: Callable[[Any], float | None]


OF_SAMPLES: tuple[Series, ...] = (
    Series("online", "Whether the broker reports the directory without an error", lambda d: float(d.error_code == 0)),
    Series("total_bytes", "Size of its volume", lambda d: d.total_bytes),
    Series("usable_bytes", "Bytes of its volume that the broker can still write", lambda d: d.usable_bytes),
    Series("replicas", "Replicas in it, without copies in progress", lambda d: d.replica_count),
    Series("replica_bytes", "Bytes of these replicas and of copies in progress", lambda d: d.replica_bytes),
    Series("future_bytes", "Bytes of copies in progress", lambda d: d.future_bytes),
    Series("incoming_bytes", "Bytes that running moves will still add", lambda d: d.incoming_bytes),
    Series("out_of_sync_replicas", "Replicas in it that are not in sync", lambda d: d.out_of_sync_count),
    Series("cordoned", "Whether new replicas are kept off it", lambda d: _flag(d.is_cordoned)),
)
"""Gauges of :class:`LogDirSample`."""
OF_STATES: tuple[Series, ...] = (
    Series("growth_bytes_per_second", "Growth of its used bytes", lambda d: d.growth_bytes_per_s),
    Series("full_timestamp_seconds", "When it will be full, within a week", lambda d: _seconds(d.full_at_ms)),
)
"""Gauges of :class:`LogDirView`."""
_OF_PARTITIONS = (
    ("leaderless_partitions", "Partitions without a leader, each counted at its preferred leader", "leaderless"),
    ("under_min_isr_partitions", "Partitions with fewer in-sync replicas than min.insync.replicas", "under_min_isr"),
)


class LogDirMetrics(Collector):
    """Keeps the newest record of each broker as it is sent, and reads it when it is scraped. Thread-safe."""

    def __init__(self, waiting_ms: Callable[[], int] = steady_ms) -> None:
        """``waiting_ms`` is steady time."""
        self._waiting_ms = waiting_ms
        self._lock = threading.Lock()
        self._newest: dict[tuple[str, bytes], tuple[int, bytes]] = {}

    def note(self, topic: str, key: bytes, value: bytes | None) -> None:
        """Take one record; those of other topics than metrics and state are none of its business."""
        if topic in {topics.METRICS, topics.STATE} and key.rpartition(b"/")[2].isdigit():
            with self._lock:
                if value is None:
                    self._newest.pop((topic, key), None)
                else:
                    self._newest[topic, key] = self._waiting_ms(), value

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges of every broker that answered in the last intervals."""
        samples, states = self._records()
        answers = GaugeMetricFamily("logdirwatch_broker_answers", "Whether a broker answers", labels=_BROKER)
        for one in samples:
            answers.add_metric([one.cluster, str(one.broker)], float(one.status is PollStatus.OK))
        yield answers
        for name, text, field in _OF_PARTITIONS:
            gauge = GaugeMetricFamily(f"logdirwatch_broker_{name}", text, labels=_BROKER)
            for one in samples:
                if one.partitions is not None:
                    gauge.add_metric([one.cluster, str(one.broker)], getattr(one.partitions, field))
            yield gauge
        yield from _gauges(OF_SAMPLES, ((_place(one), one.log_dirs) for one in samples))
        yield from _gauges(OF_STATES, ((_place(one), one.log_dirs) for one in states))
        yield _statuses(states)

    def _records(self) -> tuple[list[MetricsRecord], list[StateRecord]]:
        with self._lock:
            newest = sorted(self._newest.items())
        samples: list[MetricsRecord] = []
        states: list[StateRecord] = []
        for (topic, key), (noted_ms, value) in newest:
            found = parse(topic, key, value, 0, "")
            record = found.record if isinstance(found, Accepted) else None
            if isinstance(record, MetricsRecord) and not self._is_forgotten(noted_ms, record):
                samples.append(record)
            elif isinstance(record, StateRecord):
                states.append(record)
        return samples, states

    def _is_forgotten(self, noted_ms: int, record: MetricsRecord) -> bool:
        return self._waiting_ms() - noted_ms > FORGOTTEN_INTERVALS * record.interval_ms


_BROKER = ["cluster", "broker"]
_LOG_DIR = [*_BROKER, "log_dir"]
_Place = tuple[str, str]


def _gauges(
    series: Iterable[Series], found: Iterable[tuple[_Place, Iterable[LogDirSample] | Iterable[LogDirView]]]
) -> Iterator[Metric]:
    log_dirs = [([*place, one.path], one) for place, listed in found for one in listed]
    for name, text, value in series:
        gauge = GaugeMetricFamily(f"logdirwatch_log_dir_{name}", text, labels=_LOG_DIR)
        for labels, one in log_dirs:
            number = value(one)
            if number is not None:
                gauge.add_metric(labels, number)
        yield gauge


def _statuses(states: Iterable[StateRecord]) -> Metric:
    gauge = GaugeMetricFamily("logdirwatch_log_dir_status", "1 for its present status", labels=[*_LOG_DIR, "status"])
    for state in states:
        for one in state.log_dirs:
            for status in LogDirStatus:
                gauge.add_metric([*_place(state), one.path, str(status)], float(status is one.status))
    return gauge


def _place(record: MetricsRecord | StateRecord) -> _Place:
    return record.cluster, str(record.broker)


def _flag(value: bool | None) -> float | None:
    return None if value is None else float(value)


def _seconds(at_ms: int | None) -> float | None:
    return None if at_ms is None else at_ms / 1000
