"""What is known of a record that was sent: Kafka has it, Kafka refused it, or nobody knows."""

from types import SimpleNamespace

import pytest
from kafka.errors import (
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    NotEnoughReplicasAfterAppendError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)

from logdirwatch.cli import deciding
from logdirwatch.errors import UnconfirmedError, UserError
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import Decision

CLUSTER = KafkaSettings(bootstrap_servers="telemetry:9092")


class Producer:
    """Fails where it is told to: when a record is sent, is waited for, or the client is closed."""

    def __init__(self, **failures):
        self.failures = failures

    def send(self, topic, key, value):
        self._fail("send")
        return SimpleNamespace(get=lambda timeout: self._fail("get"))

    def close(self, timeout):
        self._sender = SimpleNamespace(force_close=lambda: None)
        self._fail("close")

    def _fail(self, where):
        if where in self.failures:
            raise self.failures[where]


def written(monkeypatch, **failures):
    monkeypatch.setattr(clients, "producer", lambda settings, **arguments: Producer(**failures))
    clients.write(CLUSTER, "logdir.decisions", [("k", b"v")])


@pytest.mark.parametrize(
    "error",
    [
        KafkaTimeoutError("Timeout after waiting for 3 secs"),
        NotEnoughReplicasAfterAppendError(),
        KafkaConnectionError("closed"),
    ],
)
def test_a_record_that_nobody_confirmed_may_be_recorded(monkeypatch, error):
    with pytest.raises(
        UnconfirmedError, match=r"Kafka at telemetry:9092 did not confirm it \(.*\): it may be recorded"
    ):
        written(monkeypatch, get=error)


@pytest.mark.parametrize(
    ("where", "error"),
    [
        ("get", TopicAuthorizationFailedError()),
        ("get", KafkaError("ClusterAuthorizationFailedError")),
        ("get", MessageSizeTooLargeError()),
        ("get", UnknownTopicOrPartitionError()),
        ("send", KafkaTimeoutError("no metadata")),
    ],
)
def test_a_record_that_was_refused_or_never_sent_is_not_recorded(monkeypatch, where, error):
    with pytest.raises(UserError) as raised:
        written(monkeypatch, **{where: error})
    assert not isinstance(raised.value, UnconfirmedError)


def test_a_client_that_does_not_close_takes_nothing_back(monkeypatch):
    written(monkeypatch, close=KafkaTimeoutError("closing"))


@pytest.mark.parametrize("decision", Decision)
def test_a_decision_that_nobody_confirmed_says_where_to_look(monkeypatch, decision):
    monkeypatch.setattr(clients, "producer", lambda settings, **arguments: Producer(get=KafkaTimeoutError()))
    record = DecisionRecord(version=1, id="x", decision=decision, by="ada", reason="r", at_ms=1)
    with pytest.raises(
        UnconfirmedError, match=r"; look (with: logdirwatch|in the log) .*; deciding again does no harm"
    ):
        deciding.send(CLUSTER, [record])
    with pytest.raises(UnconfirmedError, match="; look at this page again; deciding again does no harm"):
        deciding.send(CLUSTER, [record], "at this page again")
