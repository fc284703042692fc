"""Writes the history while everything around it breaks: each record at least once, each partition in order."""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from kafka import KafkaProducer
from kafka.errors import KafkaError

from logdirwatch.kafka.clients import discard, producer
from logdirwatch.kafka.settings import KafkaSettings
from tests.chaos.history import History, Written

PAUSE_S = 0.4
ANSWER_S = 20.0


class Feeder:
    """A thread that writes a tick every ``PAUSE_S``; what Kafka does not acknowledge is written again."""

    def __init__(self, telemetry: KafkaSettings, history: History) -> None:
        self._telemetry, self._history = telemetry, history
        self._is_over = threading.Event()
        self._failure: BaseException | None = None
        self._client: KafkaProducer | None = None
        self._thread = threading.Thread(target=self._feed, daemon=True)
        self._ticks = threading.Lock()
        self.written: list[Written] = []

    def start(self) -> "Feeder":
        """Begin."""
        self._thread.start()
        return self

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let nothing happen in the history meanwhile: its records go on, and say what they said before."""
        self._history.is_held = True
        try:
            with self._ticks:
                pass
            yield
        finally:
            self._history.is_held = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Write nothing meanwhile; what was begun is written before."""
        with self._ticks:
            yield

    @property
    def last_ms(self) -> int:
        """The time of the newest record that Kafka has."""
        return self.written[-1].timestamp_ms

    def check(self) -> None:
        """Raise the error that ended it, if one has."""
        if self._failure is not None:
            raise self._failure

    def end(self) -> None:
        """Write the end of the history, and return when Kafka has all of it."""
        self._is_over.set()
        self._thread.join()
        self.check()
        try:
            self._write(self._history.end())
        finally:
            self._close()

    def _feed(self) -> None:
        try:
            while not self._is_over.wait(PAUSE_S):
                with self._ticks:
                    self._write(self._history.tick())
        except BaseException as error:
            self._failure = error

    def _write(self, records: Iterable[Written]) -> None:
        for record in records:
            # Not before Kafka has the one before: an order that a retry changed would be another history.
            while not self._is_written(record):
                time.sleep(PAUSE_S)
            self.written.append(record)

    def _is_written(self, record: Written) -> bool:
        try:
            if self._client is None:
                self._client = producer(self._telemetry, acks="all", bootstrap_timeout_ms=5_000)
            self._client.send(
                record.topic, record.value, partition=record.partition, timestamp_ms=record.timestamp_ms
            ).get(timeout=ANSWER_S)
        except KafkaError:
            self._close()
            return False
        return True

    def _close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            discard(client, 1)
