"""A little traffic on the monitored cluster."""

import threading

from kafka import KafkaProducer
from kafka.admin import NewTopic
from kafka.errors import KafkaError

from logdirwatch.kafka.clients import admin, producer
from logdirwatch.kafka.settings import KafkaSettings

TOPICS = {"orders": 6, "payments": 3, "clicks": 6}
REPLICATION_FACTOR = 3
RECORD_BYTES = 1_000
PAUSE_S = 0.05


class Load:
    """Writes small records to a few replicated topics until it is stopped."""

    def __init__(self, cluster: KafkaSettings, brokers: int) -> None:
        self._cluster = cluster
        # One replica less than brokers, so that lost replicas can be rebuilt elsewhere.
        self._replication_factor = min(REPLICATION_FACTOR, brokers - 1)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="load")

    def start(self) -> None:
        """Create the topics and start to write."""
        configs = {"retention.bytes": str(1 << 20), "min.insync.replicas": "1"}
        with admin(self._cluster) as client:
            client.create_topics(
                [
                    NewTopic(name, partitions, self._replication_factor, topic_configs=configs)
                    for name, partitions in TOPICS.items()
                ]
            )
        self._thread.start()

    def stop(self) -> None:
        """Stop writing."""
        self._stop.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        client = producer(self._cluster, acks=1, request_timeout_ms=3_000, delivery_timeout_ms=6_000)
        names = list(TOPICS)
        count = 0
        try:
            while not self._stop.wait(PAUSE_S):
                _send(client, names[count % len(names)])
                count += 1
        finally:
            client.close(timeout=1)


def _send(client: KafkaProducer, topic: str) -> None:
    """Write one record; a partition without a leader is part of the demonstration, not an error."""
    try:
        client.send(topic, b"x" * RECORD_BYTES)
    except KafkaError:
        return
