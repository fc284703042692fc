"""Whether the samples of each cluster arrive in the telemetry cluster, for the collector's heartbeat."""

import time
from collections.abc import Callable, Iterable

from logdirwatch.collect.publish.buffer import Outgoing
from logdirwatch.model import topics

ROUNDS = 2
"""A sample is overdue after as many intervals: one passes between two polls, and the next answer may come late."""


class Arrivals:
    """When a sample of each cluster was acknowledged last, or since when none was; by the monotonic clock.

    A sample counts whatever the broker answered: its record says what is known. ``note`` is called by the publisher,
    ``overdue_ms`` by the rounds.
    """

    def __init__(
        self, clusters: Iterable[str], interval_ms: int, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._interval_ms = interval_ms
        self._clock_s = clock_s
        self._last_s = dict.fromkeys(clusters, clock_s())

    def note(self, record: Outgoing) -> None:
        """Record that the telemetry cluster has acknowledged a record."""
        cluster, _, broker = record.key.decode().rpartition("/")
        if record.topic == topics.METRICS and broker.isdecimal() and cluster in self._last_s:
            self._last_s[cluster] = self._clock_s()

    def overdue_ms(self, cluster: str) -> int:
        """Return for how many milliseconds the next sample of a cluster has been overdue, 0 if it is not."""
        age_ms = round((self._clock_s() - self._last_s[cluster]) * 1000)
        return max(0, age_ms - ROUNDS * self._interval_ms)
