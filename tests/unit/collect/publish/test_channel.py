"""A channel says of every record what became of it, and waits for a topic that takes nothing only once."""

import pytest
from kafka.errors import (
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    NotLeaderForPartitionError,
    TopicAuthorizationFailedError,
)
from kafka.future import Future

from logdirwatch.collect.publish.channel import Channel
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from tests.unit.collect.publish.test_buffer import event, metric, numbers, replicas


class Attempt(Future):
    """An outcome that is known at once."""

    def get(self, timeout=None):
        if self.failed():
            raise self.exception
        return self.value


class Producer:
    """Stands where a producer is: raises or answers what ``outcomes`` holds, by value; the rest arrives."""

    def __init__(self):
        self.outcomes = {}
        self.raises = {}
        self.handed = []

    def send(self, topic, key, value):
        self.handed.append(int(value))
        if int(value) in self.raises:
            raise self.raises[int(value)]
        return self.outcomes.get(int(value)) or Attempt().success(None)


class Late(Attempt):
    """An outcome that is not known yet when the record is handed over."""

    def failed(self):
        return False

    def get(self, timeout=None):
        raise self.exception


@pytest.fixture
def producer(monkeypatch):
    made = Producer()
    monkeypatch.setattr(clients, "producer", lambda settings, **arguments: made)
    return made


BATCH = [replicas(1, b"prod/1//d1"), metric(2), replicas(3, b"prod/2//d1"), event(4)]


@pytest.mark.parametrize("how", ["raises", "outcomes"])
def test_a_topic_that_takes_nothing_is_shut_and_hinders_no_other(producer, how):
    error = KafkaTimeoutError("no metadata") if how == "raises" else TopicAuthorizationFailedError()
    getattr(producer, how)[1] = error if how == "raises" else Attempt().failure(error)
    delivery = Channel(KafkaSettings()).send(BATCH)
    assert (numbers(delivery.delivered), numbers(delivery.failed)) == ([2, 4], [1, 3])
    assert delivery.shut == {topics.INVENTORY}
    assert producer.handed == [1, 2, 4]
    assert topics.INVENTORY in delivery.error


def test_a_partition_that_takes_nothing_shuts_no_topic_and_a_refusal_to_its_user_does(producer):
    producer.outcomes[1] = Late().failure(NotLeaderForPartitionError())
    producer.outcomes[2] = Late().failure(TopicAuthorizationFailedError())
    delivery = Channel(KafkaSettings()).send(BATCH)
    assert (numbers(delivery.delivered), numbers(delivery.failed)) == ([3, 4], [1, 2])
    assert delivery.shut == {topics.METRICS}


def test_a_record_that_is_too_large_is_refused_alone(producer):
    producer.raises[1] = MessageSizeTooLargeError("large")
    delivery = Channel(KafkaSettings()).send(BATCH)
    assert (numbers(delivery.delivered), numbers(delivery.refused)) == ([2, 3, 4], [1])
    assert (delivery.failed, delivery.shut) == ([], set())
