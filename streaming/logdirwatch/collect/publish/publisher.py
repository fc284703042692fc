"""Sends records to the telemetry cluster in order, and keeps them while it is down.

The acknowledgements tell whether the samples of each cluster arrive, for the collector's heartbeat.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Protocol

import structlog

from logdirwatch.collect.publish.backoff import Backoff
from logdirwatch.collect.publish.buffer import Buffer, Outgoing
from logdirwatch.collect.publish.channel import NO_PARTITIONS, Delivery
from logdirwatch.kafka.clients import one_line
from logdirwatch.model import topics
from logdirwatch.observe.progress import Beat

log = structlog.get_logger(__name__)

BATCH_RECORDS = 500
IDLE_S = 10.0
"""A pass without anything to send, which shows that the thread lives."""


class Sender(Protocol):
    """The interface of a channel to the telemetry cluster."""

    def send(self, batch: list[Outgoing]) -> Delivery:
        """Send a batch and return its result."""

    def close(self) -> None:
        """Close within about a second."""


def _ignored(_: Outgoing) -> None:
    """Do nothing."""


class Publisher:
    """One thread that sends the records of :meth:`put`; ``connect`` opens a channel or raises.

    While the telemetry cluster is down the last ``capacity`` records are kept, see :class:`~.buffer.Buffer`. Records
    that it alone does not accept are set aside, and tried again when there is nothing else to send.
    """

    def __init__(
        self, connect: Callable[[], Sender], capacity: int, backoff_max_ms: int, target: str = "telemetry cluster"
    ) -> None:
        """``target`` names what this publisher writes to in log lines about outages."""
        self.sent: Counter[str] = Counter()
        self.refused = 0
        self.arrived: Callable[[Outgoing], None] = _ignored
        """Gets each record that was acknowledged."""
        self._connect = connect
        self._target = target
        self._buffer = Buffer(capacity)
        self._backoff = Backoff(backoff_max_ms)
        self._aside = Backoff(backoff_max_ms)
        self._retry_at = 0.0
        self._is_retry = False
        self._has_told_aside = False
        self._told_dropped = 0
        self._kept = 0
        self._channel: Sender | None = None
        self._changed = threading.Condition()
        self.beat = Beat("publisher", more_s=backoff_max_ms / 1000)
        self._stop_at: float | None = None
        self._in_flight = 0
        self._thread = threading.Thread(target=self._run, name="publisher", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def put(self, records: Iterable[Outgoing]) -> None:
        """Queue records for sending; never blocks."""
        with self._changed:
            self._buffer.put(records)
            self._changed.notify_all()

    @property
    def pending(self) -> int:
        """The number of queued records that are not acknowledged yet."""
        with self._changed:
            return len(self._buffer) + self._in_flight

    @property
    def dropped(self) -> int:
        """The number of records dropped because the buffer was full."""
        with self._changed:
            return self._buffer.dropped

    @property
    def is_away(self) -> bool:
        """Whether the last attempt to send failed."""
        return self._backoff.is_away

    def flush(self, timeout_s: float) -> None:
        """Wait until everything is acknowledged, at most ``timeout_s``, and not at all while the cluster is down."""
        with self._changed:
            self._changed.wait_for(lambda: self._backoff.is_away or not self.pending, timeout_s)

    def stop(self, drain_s: float) -> int:
        """Stop after at most ``drain_s`` seconds, once everything is sent; return the number of unsent records."""
        with self._changed:
            stop_at = time.monotonic() + drain_s
            # A second call does not give back the time that the first one took.
            self._stop_at = stop_at if self._stop_at is None else min(self._stop_at, stop_at)
            self._changed.notify_all()
        self._thread.join(drain_s)
        return self.pending

    def _run(self) -> None:
        while batch := self._next_batch():
            self._settle(self._attempt(batch))
            self.beat.beat()
        if self._channel is not None:
            self._channel.close()

    def _next_batch(self) -> list[Outgoing]:
        """Wait for records to send; empty when it is time to stop."""
        with self._changed:
            while not self._is_stopping():
                self._kept = len(self._buffer)
                batch = self._buffer.take(BATCH_RECORDS)
                self._is_retry = not batch and time.monotonic() >= self._retry_at
                if self._is_retry:
                    batch = self._buffer.take_aside(BATCH_RECORDS)
                if batch:
                    self._in_flight = len(batch)
                    return batch
                self.beat.beat()
                self._changed.wait(self._idle_s())
        return []

    def _is_stopping(self) -> bool:
        """Tell whether to stop: at once while the cluster is down, else when everything is sent or time is up."""
        if self._stop_at is None:
            return False
        return self._backoff.is_away or not len(self._buffer) or time.monotonic() >= self._stop_at

    def _idle_s(self) -> float:
        """Return how long there is nothing to do: until records set aside are tried again, time is up, or a pass."""
        until = [time.monotonic() + IDLE_S, *([self._retry_at] if self._buffer.aside else [])]
        if self._stop_at is not None:
            until.append(self._stop_at)
        return max(0.0, min(until) - time.monotonic())

    def _attempt(self, batch: list[Outgoing]) -> Delivery:
        try:
            self._channel = self._channel or self._connect()
            return self._channel.send(batch)
        except Exception as error:  # whatever it is, the records are kept and the next attempt is another channel
            return Delivery(failed=batch, error=one_line(error), connected=False)

    def _settle(self, delivery: Delivery) -> None:
        with self._changed:
            self.sent.update(record.topic for record in delivery.delivered)
            self.refused += len(delivery.refused)
            self._keep(delivery)
            self._in_flight = 0
            self._changed.notify_all()
        for record in delivery.delivered:
            self.arrived(record)
        for record in delivery.refused:
            log.error("publish.record.refused", topic=record.topic, key=record.key.decode(), bytes=len(record.value))
        is_lost = bool(delivery.failed) and not (delivery.delivered or delivery.refused)
        if is_lost:
            self._disconnect()
        if is_lost and (not self._is_retry or not delivery.connected):
            self._went_away(delivery.error)
        elif not is_lost:
            self._tell()
        self._tell_aside(delivery.error)

    def _keep(self, delivery: Delivery) -> None:
        """Keep failed records: aside if others may still be sent, else, and the first time in doubt, in their place."""
        is_partial = delivery.delivered or delivery.refused or self._is_retry or self._backoff.is_away
        if delivery.connected and is_partial:
            self._buffer.set_aside(delivery.failed, delivery.shut)
        elif delivery.failed:
            self._buffer.put_back(delivery.failed)
        self._pace(delivery)

    def _pace(self, delivery: Delivery) -> None:
        """Set when to retry records set aside: at once while some are accepted, then less and less often."""
        if not self._buffer.aside or (self._is_retry and delivery.delivered):
            self._aside.worked()
        if delivery.failed and self._buffer.aside and (self._is_retry or not self._aside.is_away):
            self._retry_at = time.monotonic() + self._aside.failed() / 1000

    def _disconnect(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _went_away(self, error: str | None) -> None:
        if not self._backoff.is_away:
            is_gone = (error or "").startswith(NO_PARTITIONS)
            what = "it has no partitions to write to" if is_gone else "it cannot be reached"
            log.warning("publish.target.failed", target=self._target, error=error, meaning=f"{what}; records are kept")
        self._has_told_aside = False
        pause_s = self._backoff.failed() / 1000
        with self._changed:
            self._changed.wait_for(lambda: self._stop_at is not None, timeout=pause_s)

    def _tell(self) -> None:
        """Log that the cluster is back, or that the buffer overflowed."""
        with self._changed:
            kept, dropped = self._kept, self._buffer.dropped - self._told_dropped
            self._told_dropped = self._buffer.dropped
        if self._backoff.is_away:
            log.warning("publish.target.recovered", target=self._target, kept=kept, dropped=dropped)
        elif dropped:
            meaning = "the buffer is too small: the oldest records were dropped"
            log.warning("publish.buffer.full", kept=kept, dropped=dropped, meaning=meaning)
        self._backoff.worked()

    def _tell_aside(self, error: str | None) -> None:
        """Log once that some records are not accepted although others are, and once that all are again."""
        if self._is_retry and error is not None and not self._has_told_aside and not self._backoff.is_away:
            self._has_told_aside = True
            log.warning(
                "publish.records.set_aside",
                error=error,
                meaning="some records fail and are retried; the others are sent",
            )
        elif self._has_told_aside and not self._buffer.aside:
            self._has_told_aside = False
            log.warning("publish.records.recovered")


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
