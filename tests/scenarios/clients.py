"""A producer and a consumer of one topic that know exactly what was written and what was read."""

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from kafka import TopicPartition
from kafka.producer.future import FutureRecordMetadata

from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings

PAUSE_S = 0.02
POLL_MS = 200
FLUSH_S = 90
END_S = 180
CLOSE_S = 5
# Longer than any failover here: a record that is refused was given up by the cluster, not by the client's patience.
DELIVERY_MS = 150_000
PRODUCER = {
    "acks": "all",
    "enable_idempotence": True,
    "linger_ms": 5,
    "request_timeout_ms": 10_000,
    "delivery_timeout_ms": DELIVERY_MS,
}


@dataclass(frozen=True)
class Outcome:
    """What went wrong between the two: numbers of records, and the errors of those that were not taken."""

    lost: list[int] = field(default_factory=list)
    doubled: list[int] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


class Pair:
    """Writes numbered records into every partition in turn and reads them, until ``outcome`` or the block ends."""

    def __init__(self, cluster: KafkaSettings, topic: str, partitions: int) -> None:
        self.topic = topic
        self._cluster = cluster
        self._partitions = [TopicPartition(topic, number) for number in range(partitions)]
        self._sent: list[FutureRecordMetadata] = []
        self._read: Counter[int] = Counter()
        self._error: Exception | None = None
        self._stop = threading.Event()
        self._is_written = threading.Event()
        self._threads = [
            threading.Thread(target=self._guarded, args=(work,), daemon=True, name=f"{topic} {work.__name__}")
            for work in (self._write, self._follow)
        ]

    def __enter__(self) -> "Pair":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    @property
    def received(self) -> int:
        """How many records the consumer has read; raises what went wrong in either client."""
        if self._error is not None:
            raise self._error
        return self._read.total()

    def outcome(self) -> Outcome:
        """End both, the consumer after everything that was taken, and compare."""
        self._end()
        assert not any(thread.is_alive() for thread in self._threads), f"the clients of {self.topic} did not end"
        if self._error is not None:
            raise self._error
        taken = {number for number, future in enumerate(self._sent) if future.succeeded()}
        return Outcome(
            lost=sorted(taken - set(self._read)),
            doubled=sorted(number for number, times in self._read.items() if times > 1),
            refused=sorted({repr(future.exception) for future in self._sent if not future.succeeded()}),
        )

    def _end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(END_S)

    def _guarded(self, work: Any) -> None:
        """An error in a thread is raised where somebody looks; the other client ends too."""
        try:
            work()
        except Exception as error:
            self._error = self._error or error
            self._stop.set()
            self._is_written.set()

    def _write(self) -> None:
        client = clients.producer(self._cluster, **PRODUCER)
        try:
            while not self._stop.wait(PAUSE_S):
                number = len(self._sent)
                partition = number % len(self._partitions)
                self._sent.append(client.send(self.topic, str(number).encode(), partition=partition))
            client.flush(timeout=FLUSH_S)
        finally:
            clients.discard(client, CLOSE_S)
            self._is_written.set()

    def _follow(self) -> None:
        with clients.consumer(self._cluster, auto_offset_reset="earliest") as client:
            client.assign(self._partitions)
            client.seek_to_beginning()
            while not self._is_written.is_set():
                self._take(client)
            ends = client.end_offsets(self._partitions)
            while any(client.position(partition) < end for partition, end in ends.items()):
                self._take(client)

    def _take(self, client: Any) -> None:
        for records in client.poll(timeout_ms=POLL_MS).values():
            # What a scenario wrote beside the pair has a key.
            self._read.update(int(record.value) for record in records if record.key is None)
