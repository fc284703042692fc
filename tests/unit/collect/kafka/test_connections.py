"""Connections to brokers that answer, hang or have no name: none of them delays another one."""

import asyncio
import contextlib
import re
import socket
import socketserver
import struct
import threading

import pytest
from kafka.errors import KafkaConnectionError
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse

from logdirwatch.collect.kafka.connections import Address, Lane, Wire
from logdirwatch.collect.kafka.requests import ASK_ERRORS, Admin

# How long a question may take that nothing holds up; what holds one up does so for longer.
QUICK_MS = 30_000


class Handler(socketserver.BaseRequestHandler):
    """Answers ApiVersions, which begins every connection; what is asked after that waits until it may be answered."""

    def handle(self):
        with contextlib.suppress(OSError, struct.error):
            self._answer()
            while True:
                self._answer(self.server.may_answer)

    def _answer(self, when=None):
        (size,) = struct.unpack(">i", self._read(4))
        _, version, correlation_id = struct.unpack(">hhi", self._read(size)[:8])
        if when is not None:
            when.wait(5 * QUICK_MS / 1_000)
        key = ApiVersionsResponse.ApiVersion(version=version, api_key=18, min_version=0, max_version=3)
        answer = ApiVersionsResponse(version=version, error_code=0, api_keys=[key], throttle_time_ms=0)
        body = struct.pack(">i", correlation_id) + bytes(answer.encode(version=version))
        self.request.sendall(struct.pack(">i", len(body)) + body)

    def _read(self, size):
        return self.request.recv(size, socket.MSG_WAITALL)


@pytest.fixture
def broker():
    """A broker on loopback; clear ``may_answer`` to make it hang."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.may_answer = threading.Event()
        server.may_answer.set()
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.may_answer.set()
        server.shutdown()
        thread.join()


class Names:
    """A name server: it knows ``known.example``, and answers for those in ``slow`` when ``may_answer`` is set."""

    def __init__(self):
        self.slow = {"slow.example"}
        self.may_answer = threading.Event()
        self.answered = []


@pytest.fixture
def names(monkeypatch):
    server = Names()
    real = socket.getaddrinfo

    def look_up(host, port, *arguments, **named):
        if host in server.slow:
            server.may_answer.wait(5 * QUICK_MS / 1_000)
            server.answered.append(host)
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real("127.0.0.1" if host == "known.example" else host, port, *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield server
    server.may_answer.set()


def asked(*questions):
    """Ask with a wire of their own all at once; return the answers and errors."""

    async def run():
        wire = Wire({})
        try:
            return await asyncio.gather(*(question(wire) for question in questions), return_exceptions=True)
        finally:
            wire.close()

    return asyncio.run(run())


def question(host, port, timeout_ms=QUICK_MS, lane=Lane.POLL, after_s=0.0):
    request = ApiVersionsRequest(client_software_name="test", client_software_version="1", min_version=3)

    async def ask(wire):
        await asyncio.sleep(after_s)
        return await wire.ask(Address(host, port), request, timeout_ms, lane)

    return ask


def test_a_name_that_is_looked_up_for_long_delays_no_other_broker(broker, names):
    port = broker.server_address[1]
    others = [question("127.0.0.1", port, lane=lane, after_s=0.1) for lane in Lane]
    slow, known, *answers = asked(
        question("slow.example", port, timeout_ms=300), question("known.example", port, after_s=0.1), *others
    )
    assert names.answered == [], "all others were answered before it"
    assert isinstance(slow, TimeoutError)
    assert str(slow) == f"no answer from slow.example:{port} within 300 ms"
    assert {answer.error_code for answer in (known, *answers)} == {0}


def test_a_broker_that_is_lost_with_its_name_delays_no_other_broker_either(broker, names):
    """Its name is looked up again for each connection."""
    port = broker.server_address[1]

    async def run():
        wire = Wire({})
        try:
            assert (await question("known.example", port)(wire)).error_code == 0
            broker.may_answer.clear()
            names.slow.add("known.example")
            for _ in range(2):
                with pytest.raises(TimeoutError):
                    await question("known.example", port, timeout_ms=100)(wire)
                broker.may_answer.set()
                assert (await question("127.0.0.1", port)(wire)).error_code == 0
        finally:
            wire.close()

    asyncio.run(run())


def test_a_name_that_nobody_knows_is_said(names):
    names.may_answer.set()
    (error,) = asked(question("slow.example", 9092))
    assert isinstance(error, KafkaConnectionError)
    assert "slow.example cannot be looked up: [Errno -2] Name or service not known" in str(error)


NOT_KAFKA = "Invalid frame length: .*; does that port use TLS, or is it not Kafka"
CLOSED = "socket disconnected; it happened before its first answer: does that port require TLS or a password"
FOREIGN = {
    "SSH": (b"SSH-2.0-OpenSSH_9.2\r\n", NOT_KAFKA),
    "SMTP": (b"220 mail.example.com ESMTP\r\n", NOT_KAFKA),
    "MySQL": (b"\x4a\x00\x00\x00\x0a8.0.36\x00", NOT_KAFKA),
    "Redis": (b"-ERR unknown command\r\n", NOT_KAFKA),
    "HTTP": (b"HTTP/1.1 400 Bad Request\r\n\r\n", NOT_KAFKA),
    "nothing": (b"", CLOSED),
}


@pytest.mark.parametrize(("sent", "why"), FOREIGN.values(), ids=FOREIGN)
def test_a_port_of_another_protocol_is_said_to_be_one(sent, why):
    class Foreign(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(4096)
            if sent:
                self.request.sendall(sent)
                self.request.recv(1)  # it hangs up when the client does

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Foreign) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        (error,) = asked(question("127.0.0.1", server.server_address[1]))
        server.shutdown()
        thread.join()
    assert isinstance(error, KafkaConnectionError)
    assert re.search(why, str(error)), error


def test_a_question_lost_with_the_time_of_another_one_does_not_name_its_own_limit(broker):
    broker.may_answer.clear()
    port = broker.server_address[1]
    first, second = asked(question("127.0.0.1", port, 300), question("127.0.0.1", port, 10 * QUICK_MS))
    assert "within 300 ms" in str(first)
    assert str(second) == f"no answer from 127.0.0.1:{port}: another question of its connection timed out"


class Asked:
    """Stands where a wire is and notes with what limit each lane is asked."""

    def __init__(self):
        self.limits = {}

    async def ask(self, address, request, timeout_ms, lane=Lane.POLL):
        self.limits.setdefault(lane, set()).add(timeout_ms)
        raise ConnectionError(type(request).__name__)


def test_questions_that_share_a_connection_have_the_same_limit():
    """Otherwise the shorter one ends the connection, and the longer one with it."""
    wire = Asked()
    admin = Admin(wire, 4_000, 30_000)
    at = Address("b", 9092)
    questions = [
        admin.capacity(at),
        admin.replicas(at),
        admin.topology([at], lambda: 0),
        admin.all_topics(at),
        admin.live_topics(at),
        admin.hidden_topics(at, ["t"]),
        admin.topic_configs(at, ["t"], ["k"]),
        admin.broker_configs(at, 1, ["k"]),
        admin.reassignments(at),
        admin.groups(at),
        admin.committed(at, ["g"]),
        admin.offsets(at, [("t", 0)], -1),
        admin.controller_id(at),
        admin.quorum(at),
        admin.metadata_level(at),
    ]

    async def run():
        for asking in questions:
            with contextlib.suppress(*ASK_ERRORS):
                await asking

    asyncio.run(run())
    assert wire.limits == {
        Lane.POLL: {4_000},
        Lane.LOOK: {4_000},
        Lane.QUORUM: {4_000},
        Lane.SCAN: {30_000},
    }
