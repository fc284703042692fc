"""A server that hangs while a connection to it comes about is tried again, and others beside it."""

import asyncio
import itertools
import socket
import threading
from contextlib import contextmanager, suppress
from types import SimpleNamespace

import pytest
from kafka.errors import KafkaError, MetadataEmptyBrokerList
from kafka.net import manager
from kafka.protocol.metadata import ApiVersionsRequest

from logdirwatch.collect.kafka.connections import Address, Wire
from logdirwatch.errors import UserError
from logdirwatch.kafka import clients, network
from logdirwatch.kafka.settings import KafkaSettings
from tests.support.clocks import Clock

HELLO = b"\x16\x03\x03\x00\x7a"
"""The begin of an answer of TLS."""


class Hanging:
    """A server that takes connections and never completes one; it sends ``says`` a byte at a time."""

    def __init__(self, says):
        self.says, self.connections, self.is_over = says, [], threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(0.02)
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while not self.is_over.is_set():
            with suppress(TimeoutError):
                self.connections.append(self.listener.accept()[0])
            for connection in self.connections:
                with suppress(OSError):  # it was given up
                    connection.send(self.says[:1])
            self.says = self.says[1:]

    def close(self):
        self.is_over.set()
        self.thread.join()
        for each in (self.listener, *self.connections):
            each.close()


@contextmanager
def hanging(says=b""):
    server = Hanging(says)
    try:
        yield server
    finally:
        server.close()


SAYS = {"nothing": b"", "a byte now and then": HELLO + bytes(4_000)}
CLIENTS = {
    "producer": lambda settings: clients.producer(settings, bootstrap_timeout_ms=1_500),
    "consumer": lambda settings: clients.consumer(settings, bootstrap_timeout_ms=1_500).__enter__(),
    "admin": lambda settings: clients.admin(settings, 1_500).__enter__(),
}
PROTOCOLS = {"plaintext": {}, "TLS": {"security.protocol": "SSL"}}


@pytest.mark.parametrize("says", SAYS.values(), ids=SAYS)
@pytest.mark.parametrize("client", PROTOCOLS.values(), ids=PROTOCOLS)
@pytest.mark.parametrize("connect", CLIENTS.values(), ids=CLIENTS)
def test_every_client_ends_in_time_and_tries_each_server(monkeypatch, connect, client, says):
    turns = itertools.count()
    monkeypatch.setattr(network, "SETUP_MS", 50)
    in_turn = SimpleNamespace(choice=lambda each: each[next(turns) % len(each)], uniform=max)
    monkeypatch.setattr(manager, "random", in_turn)
    with hanging(says) as first, hanging(says) as second:
        servers = f"127.0.0.1:{first.port},127.0.0.1:{second.port}"
        with pytest.raises((UserError, KafkaError)):
            connect(KafkaSettings(bootstrap_servers=servers, client=client))
        assert first.connections
        assert second.connections


@pytest.mark.parametrize("says", SAYS.values(), ids=SAYS)
@pytest.mark.parametrize("client", PROTOCOLS.values(), ids=PROTOCOLS)
def test_each_poll_of_a_broker_that_hangs_begins_again(client, says):
    request = ApiVersionsRequest(client_software_name="test", client_software_version="1", min_version=3)

    async def polls(address):
        wire = Wire(clients.python_arguments(KafkaSettings(bootstrap_servers="a:1", client=client)))
        try:
            for _ in range(3):
                with pytest.raises((TimeoutError, KafkaError)):
                    await wire.ask(address, request, 200)
        finally:
            wire.close()

    with hanging(says) as broker:
        asyncio.run(polls(Address("127.0.0.1", broker.port)))
        assert len(broker.connections) >= 2


class Fenced:
    """A consumer of a cluster whose only broker is fenced for the first ``times`` questions."""

    def __init__(self, times):
        self.times = times

    def topics(self):
        self.times -= 1
        if self.times >= 0:
            raise MetadataEmptyBrokerList
        return {"logdir.alerts"}

    def partitions_for_topic(self, topic):
        return {0} if topic in self.topics() else set()


@pytest.fixture
def waits(monkeypatch):
    clock = Clock()

    def sleep(seconds):
        clock.now_s += seconds

    monkeypatch.setattr(clients, "time", SimpleNamespace(monotonic=clock, sleep=sleep))


QUESTIONS = {"its partitions": clients.partitions_of, "whether it exists": clients.exists}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.usefixtures("waits")
def test_a_cluster_whose_only_broker_is_fenced_is_asked_again(ask):
    assert ask(Fenced(20), "logdir.alerts")


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.usefixtures("waits")
def test_a_cluster_without_a_broker_is_not_asked_for_ever(ask):
    with pytest.raises(MetadataEmptyBrokerList):
        ask(Fenced(1_000), "logdir.alerts")
