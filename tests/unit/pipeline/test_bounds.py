"""What the telemetry cluster is asked for, and that its silence is no offset."""

from contextlib import contextmanager

from kafka.errors import KafkaError

from logdirwatch.errors import UserError
from logdirwatch.jobs import pipeline
from logdirwatch.jobs.pipeline import KafkaBounds
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.pipeline.meter import Bounds


class Consumer:
    def __init__(self):
        self.error = None

    def partitions_for_topic(self, name):
        return {"a": {0, 1}}.get(name)

    def end_offsets(self, partitions, timeout_ms):
        if self.error is not None:
            raise self.error
        return {part: 10 + part.partition for part in partitions}

    def beginning_offsets(self, partitions, timeout_ms):
        return dict.fromkeys(partitions, 3)


class Cluster:
    """Hands out one consumer at a time, or refuses."""

    def __init__(self, monkeypatch):
        self.consumer, self.is_away, self.opened, self.closed = Consumer(), False, 0, 0
        monkeypatch.setattr(pipeline.clients, "consumer", self.open)

    @contextmanager
    def open(self, settings):
        if self.is_away:
            raise UserError("Kafka cannot be reached")
        self.opened += 1
        yield self.consumer
        self.closed += 1


def test_every_partition_of_the_topics_that_exist_is_told(monkeypatch):
    cluster = Cluster(monkeypatch)
    asked = KafkaBounds(KafkaSettings(), ["a", "missing"])
    assert asked() == Bounds({("a", 0): 3, ("a", 1): 3}, {("a", 0): 10, ("a", 1): 11})
    assert asked() is not None
    assert (cluster.opened, cluster.closed) == (1, 0), "one connection for all looks"
    asked.close()
    assert cluster.closed == 1


def test_an_error_is_unknown_and_the_next_look_asks_over_a_new_connection(monkeypatch):
    cluster = Cluster(monkeypatch)
    asked = KafkaBounds(KafkaSettings(), ["a"])
    cluster.consumer.error = KafkaError("no answer")
    assert asked() is None
    cluster.consumer.error, cluster.is_away = None, True
    assert asked() is None
    cluster.is_away = False
    assert asked() is not None
    assert (cluster.opened, cluster.closed) == (2, 1)
