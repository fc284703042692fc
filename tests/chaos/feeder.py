"""Writes the history while everything around it breaks: each record at least once, each partition in order."""

import threading
import time
from collections.abc import Iterable

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
        self.written: list[Written] = []

    def start(self) -> "Feeder":
        """Begin."""
        self._thread.start()
        return self

    def end(self) -> None:
        """Write the end of the history, and return when Kafka has all of it."""
        self._is_over.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        try:
            self._write(self._history.end())
        finally:
            self._close()

    def _feed(self) -> None:
        try:
            while not self._is_over.wait(PAUSE_S):
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
