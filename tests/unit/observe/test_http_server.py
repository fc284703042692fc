"""The HTTP server over real sockets: whatever a client sends, omits or delays, others are answered."""

import errno
import os
import socket
import struct
import threading
from contextlib import ExitStack, contextmanager

import psutil
import pytest

from logdirwatch.observe import http_server
from logdirwatch.observe.http_server import MOST_BODY_BYTES, MOST_CONNECTIONS, MOST_HEADER_BYTES, Channel, Server
from tests.support.waiting import DEADLINE_S, wait_until

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\n"
ANSWER = b"a" * 10


class App:
    """Counts the requests that reach it, and keeps their bodies."""

    def __init__(self):
        self.bodies, self.answer = [], ANSWER

    def __call__(self, environ, start):
        self.bodies.append(environ["wsgi.input"].read())
        start("200 OK", [("Content-Length", str(len(self.answer)))])
        return [self.answer]


class Hasty(Channel):
    timeout = 0.3


@contextmanager
def serving(app, channel=Channel):
    server = Server(app, "127.0.0.1", 0, threads=2, channel=channel)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server.port
    finally:
        server.stop()
        thread.join(DEADLINE_S)
        assert not thread.is_alive()


@pytest.fixture
def app():
    return App()


@pytest.fixture
def port(app):
    with serving(app) as found:
        yield found


def connected(port, source="127.0.0.1"):
    return socket.create_connection(("127.0.0.1", port), DEADLINE_S, source_address=(source, 0))


def until_closed(client):
    """Everything that arrives until the server closes the connection."""
    found = b""
    try:
        while part := client.recv(1 << 16):
            found += part
    except ConnectionResetError:
        pass
    return found


def asked(port, request, source="127.0.0.1"):
    """The answer to a request, which may be larger than what the server reads of it."""
    with connected(port, source) as client:
        try:
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return until_closed(client)


def established(port):
    found = psutil.Process().net_connections("inet")
    return [one for one in found if one.laddr[1] == port and one.status == psutil.CONN_ESTABLISHED]


def status(answer):
    return int(answer.split(b" ", 2)[1]) if answer else None


def test_a_request_is_answered(port):
    answer = asked(port, GET)
    assert (status(answer), answer.endswith(ANSWER)) == (200, True)


SIZE = MOST_BODY_BYTES - 1
LARGE = {
    "length": POST + b"Content-Length: 200000000\r\n\r\n" + b"\0" * 2_000_000,
    "a byte more": POST + b"Content-Length: %d\r\n\r\n" % (SIZE + 1) + b"\0" * (SIZE + 1),
    "chunks": POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"100000\r\n" + b"\0" * 0x100000 + b"\r\n0\r\n\r\n",
    "small chunks": POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 20_000,
    "a chunk's extension": POST + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 200_000,
    "asks first": POST + b"Expect: 100-continue\r\nContent-Length: 200000000\r\n\r\n",
}


@pytest.mark.parametrize("request_", LARGE.values(), ids=LARGE)
def test_a_body_that_is_too_large_is_refused_before_it_is_read(app, port, request_):
    assert status(asked(port, request_)) in (413, None)
    assert app.bodies == []


@pytest.mark.parametrize("head", [b"Content-Length: %d\r\n\r\n" % SIZE, b"Transfer-Encoding: chunked\r\n\r\n3000\r\n"])
def test_a_body_that_fits_is_read(app, port, head):
    size = SIZE if b"Length" in head else 0x3000
    end = b"" if b"Length" in head else b"\r\n0\r\n\r\n"
    assert status(asked(port, POST + head + b"a" * size + end)) == 200
    assert [len(body) for body in app.bodies] == [size]


@pytest.mark.parametrize("request_", [b"GET /" + b"a" * MOST_HEADER_BYTES, GET[:-2] + b"X:" + b"a" * MOST_HEADER_BYTES])
def test_headers_that_are_too_large_are_refused(app, port, request_):
    assert status(asked(port, request_)) in (431, None)
    assert app.bodies == []


MALFORMED = {
    "nothing": b"",
    "one byte": b"G",
    "half a request": GET[:-2],
    "noise": bytes(range(256)) * 4,
    "zeros": bytes(4_096),
    "TLS": bytes.fromhex("16030100f1010000ed0303") + bytes(100) + b"\r\n\r\n",
    "no version": b"GET /\r\n\r\n",
    "version 2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "version 9": b"GET / HTTP/9.9\r\n\r\n",
    "lower case": b"get / HTTP/1.1\r\n\r\n",
    "no header": b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
    "a folded line": b"GET / HTTP/1.1\r\n X: y\r\n\r\n",
    "bare line ends": b"GET / HTTP/1.1\nX: y\r\n\r\n",
    "bad URL": b"GET http://[::1/ HTTP/1.1\r\n\r\n",
    "not UTF-8": b"GET /\xff\xfe HTTP/1.1\r\nX: \xff\r\n\r\n",
    "negative length": POST + b"Content-Length: -1\r\n\r\n",
    "length in words": POST + b"Content-Length: many\r\n\r\n",
    "huge length": POST + b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n",
    "unknown coding": POST + b"Transfer-Encoding: gzip\r\n\r\n",
    "bad chunk": POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "body cut off": POST + b"Content-Length: 100\r\n\r\nabc",
    "other method": b"BREW / HTTP/1.1\r\n\r\n",
    "many requests": GET * 200,
}


@pytest.mark.parametrize("request_", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_request_causes_no_line_and_stops_nobody(port, request_, capfd):
    asked(port, request_)
    assert status(asked(port, GET)) == 200
    assert capfd.readouterr().err == ""


def test_a_client_that_resets_its_connection_causes_no_line(app, port, capfd):
    app.answer = b"a" * 10_000_000
    for request in (b"", GET[:10], GET):
        client = connected(port)
        client.sendall(request)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    app.answer = ANSWER
    assert status(asked(port, GET)) == 200
    assert capfd.readouterr().err == ""


BEGUN = {"silent": b"", "head": GET[:-1], "body": POST + b"Content-Length: 100\r\n\r\na"}


@pytest.mark.parametrize("source", ["127.0.0.1", "127.0.0.2"])
@pytest.mark.parametrize("begun", BEGUN.values(), ids=BEGUN)
def test_half_open_connections_lock_nobody_out(port, source, begun):
    with ExitStack() as opened:
        for _ in range(3 * MOST_CONNECTIONS):
            opened.enter_context(connected(port, "127.0.0.2")).sendall(begun)
        assert status(asked(port, GET, source)) == 200


def test_who_opens_many_connections_loses_them_and_nobody_else(port):
    with connected(port, "127.0.0.3") as other, ExitStack() as opened:
        other.sendall(GET[:10])
        for _ in range(2 * MOST_CONNECTIONS):
            opened.enter_context(connected(port, "127.0.0.2")).sendall(GET[:10])
        assert status(asked(port, GET)) == 200
        other.sendall(GET[10:])
        assert status(other.recv(1 << 16)) == 200


@pytest.mark.parametrize(
    "code", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EPERM], ids=errno.errorcode.get
)
def test_while_the_system_has_no_connection_the_server_rests_and_says_so_once(port, monkeypatch, capsys, code):
    real, tries, is_short = socket.socket.accept, [], threading.Event()

    def accept(self):
        if is_short.is_set():
            tries.append(1)
            raise OSError(code, os.strerror(code))
        return real(self)

    monkeypatch.setattr(socket.socket, "accept", accept)
    with connected(port) as idle:
        idle.sendall(GET[:10])
        assert status(asked(port, GET)) == 200
        is_short.set()
        with connected(port) as client:
            client.sendall(GET)
            assert until_closed(idle) == b""
            wait_until(lambda: len(tries) >= 3, DEADLINE_S, "it never tried again")
            assert len(tries) < 50
            is_short.clear()
            assert status(client.recv(1 << 16)) == 200
    assert capsys.readouterr().out.count("http.no_connection") == 1


@pytest.mark.parametrize("begun", BEGUN.values(), ids=BEGUN)
def test_a_request_that_is_not_complete_in_time_is_ended(app, begun):
    with serving(app, Hasty) as port, connected(port) as client:
        client.sendall(begun)
        assert until_closed(client) == b""
    assert app.bodies == []


def test_a_byte_now_and_then_does_not_prolong_it(app):
    def drip(client, is_over):
        try:
            while not is_over.wait(0.02):
                client.sendall(b"a")
        except OSError:
            is_over.set()

    with serving(app, Hasty) as port, connected(port) as client:
        is_over = threading.Event()
        client.sendall(GET[:-2] + b"X: ")
        thread = threading.Thread(target=drip, args=(client, is_over))
        thread.start()
        assert is_over.wait(DEADLINE_S)
        thread.join()


def test_a_connection_is_open_for_further_requests_and_not_for_ever(app):
    with serving(app, Hasty) as port, connected(port) as client:
        for _ in range(3):
            client.sendall(GET)
            found = b""
            while not found.endswith(ANSWER):
                found += client.recv(1 << 16)
            assert status(found) == 200
        assert until_closed(client) == b""


def test_a_client_that_does_not_read_its_answer_is_ended(app, monkeypatch):
    monkeypatch.setattr(http_server, "ANSWER_TIMEOUT_S", 2.0)
    app.answer = bytes(14_000_000)
    # What it does not read has to stay at the server: the system would keep megabytes for it.
    with serving(app) as port, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        client.connect(("127.0.0.1", port))
        client.sendall(GET)
        wait_until(lambda: established(port), DEADLINE_S, "the connection to be taken", pause_s=0.01)
        wait_until(lambda: not established(port), DEADLINE_S, "the connection to be closed")
        assert len(until_closed(client)) < len(app.answer)


def test_a_slow_reader_gets_all_of_its_answer(app, monkeypatch):
    monkeypatch.setattr(http_server, "ANSWER_TIMEOUT_S", DEADLINE_S)
    app.answer = bytes(8_000_000)
    with serving(app, Hasty) as port, connected(port) as client:
        client.sendall(GET)
        found = b""
        while len(found) < len(app.answer):
            part = client.recv(1 << 20)
            assert part
            found += part


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
def test_it_listens_at_every_address_of_a_host_and_at_none_after_it_stopped(app, host):
    server = Server(app, host, 0, threads=1)
    server.close()
    with pytest.raises(OSError, match="refused"):
        connected(server.port)


def test_an_unknown_host_is_an_error(app):
    with pytest.raises(ValueError, match="Invalid host"):
        Server(app, "no.such.host.invalid", 0, threads=1)
