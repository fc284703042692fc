"""Calls to servers that are not trusted: whatever they answer, a call ends in time and takes little memory."""

import gzip
import smtplib
import socket
import threading
import time

import pytest
import requests

from logdirwatch import bounded
from tests.support.lying_server import lying
from tests.support.waiting import DEADLINE_S, wait_until

OK = b"HTTP/1.1 200 OK\r\n"
SHORT_MS = 300
LONG_MS = int(DEADLINE_S * 1000)
MIB = 1 << 20
BOMB = gzip.compress(bytes(64 * MIB))


def threads():
    return {one for one in threading.enumerate() if one.name == "bounded"}


def get(port, timeout_ms, scheme="http"):
    url = f"{scheme}://127.0.0.1:{port}/"
    return bounded.within(timeout_ms, lambda: requests.get(url, timeout=DEADLINE_S))


SLOW = {
    "nothing": lambda client: client.silence(),
    "status line a byte at a time": lambda client: client.drip(OK * 1000),
    "headers a byte at a time": lambda client: client.drip(OK + b"X-Slow: " + b"a" * 10_000),
    "body a byte at a time": lambda client: client.drip(OK + b"Content-Length: 10000\r\n\r\n" + b"a" * 10_000),
    "chunks a byte at a time": lambda client: client.drip(
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 1000
    ),
    "continues for ever": lambda client: client.endlessly(b"HTTP/1.1 100 Continue\r\n\r\n"),
}


@pytest.mark.parametrize("answer", SLOW.values(), ids=SLOW)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_that_does_not_finish_its_answer_is_given_up_in_time(answer, scheme):
    with lying(answer) as server, pytest.raises((TimeoutError, requests.ConnectionError)):
        get(server.port, SHORT_MS, scheme)
    wait_until(lambda: not threads(), DEADLINE_S, "the call's thread to end")


LARGE = {
    "without an end": (b"", b"a" * MIB),
    "in chunks without an end": (b"Transfer-Encoding: chunked\r\n", b"100000\r\n" + b"a" * MIB + b"\r\n"),
    "longer than its length may be": (b"Content-Length: 100000000000\r\n", b"a" * MIB),
    "compressed": (b"Content-Encoding: gzip\r\nContent-Length: %d\r\n" % len(BOMB), BOMB),
}


@pytest.mark.parametrize(("header", "body"), LARGE.values(), ids=LARGE)
def test_of_an_answer_that_is_too_large_no_more_is_read_than_a_limit(header, body):
    def answer(client):
        client.send(OK + header + b"\r\n")
        client.endlessly(body)

    with lying(answer) as server, pytest.raises(requests.ConnectionError, match="larger than 1048576 bytes"):
        get(server.port, LONG_MS)


def test_endless_headers_are_an_error():
    line = b"X-More: " + b"a" * 1_000 + b"\r\n"
    with lying(lambda client: client.endlessly(line)) as server, pytest.raises(requests.ConnectionError):
        get(server.port, LONG_MS)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_redirection_is_not_followed(status, method):
    with lying(lambda client: client.send(OK + b"Content-Length: 5\r\n\r\nlogin")) as login:
        place = f"http://127.0.0.1:{login.port}/login"
        moved = f"HTTP/1.1 {status} Moved\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode()
        with lying(lambda client: client.send(moved)) as server:
            ask = getattr(requests, method)
            url = f"http://127.0.0.1:{server.port}/"
            answer = bounded.within(LONG_MS, lambda: ask(url, timeout=DEADLINE_S, allow_redirects=True))
        assert answer.status_code == status
        assert login.asked == []


def test_an_answer_that_is_complete_is_what_requests_returns():
    body = gzip.compress("Größe".encode())
    header = b"Content-Type: text/plain; charset=utf-8\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(
        body
    )
    with lying(lambda client: client.send(OK + header + body)) as server:
        answer = get(server.port, LONG_MS)
    assert (answer.status_code, answer.text, answer.headers["Content-Encoding"]) == (200, "Größe", "gzip")


def test_requests_outside_a_bounded_call_are_as_usual():
    moved = b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    body = bytes(2 * MIB)
    there = OK + b"Content-Length: %d\r\n\r\n" % len(body) + body
    with lying(lambda client: client.send(there if b"GET /there" in client.asked else moved)) as server:
        answer = requests.get(f"http://127.0.0.1:{server.port}/", timeout=DEADLINE_S)
    assert len(answer.content) == len(body)


def test_a_mail_server_that_drips_is_given_up_too():
    def send(port):
        smtplib.SMTP("127.0.0.1", port, timeout=DEADLINE_S).quit()

    with lying(lambda client: client.drip(b"220 " + b"a" * 8_000), speaks_first=True) as server:
        with pytest.raises(TimeoutError, match=f"no complete answer within {SHORT_MS} ms"):
            bounded.within(SHORT_MS, lambda: send(server.port))
        wait_until(lambda: not threads(), DEADLINE_S, "the connection to be closed")


def test_a_call_that_fails_after_its_time_was_too_late_also_if_nobody_waited_for_it():
    def call():
        time.sleep(0.05)
        raise requests.ReadTimeout("read timeout=0.04")

    result = bounded.start(1, call)
    wait_until(lambda: not threads(), DEADLINE_S, "the call to end")
    with pytest.raises(TimeoutError, match="no complete answer within 1 ms"):
        result()


def test_what_was_given_up_connects_nowhere_any_more():
    goes_on, ended = threading.Event(), []

    def call():
        goes_on.wait(DEADLINE_S)
        try:
            socket.create_connection(("127.0.0.1", server.port), DEADLINE_S).close()
        except OSError as error:
            ended.append(error)
            raise

    with lying(lambda client: client.silence()) as server:
        with pytest.raises(TimeoutError):
            bounded.within(1, call)
        goes_on.set()
        wait_until(lambda: ended, DEADLINE_S, "the call to end")
        assert (type(ended[0]), server.asked) == (TimeoutError, [])


def test_names_that_are_not_resolved_in_time_hold_a_bounded_number_of_threads(monkeypatch):
    answers = threading.Event()

    def look_up(*_, **__):
        answers.wait(DEADLINE_S)
        raise socket.gaierror("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    ask = lambda: requests.get("http://slow.example/", timeout=DEADLINE_S)  # noqa: E731
    for _ in range(bounded.MOST_ABANDONED):
        with pytest.raises(TimeoutError, match="no complete answer within 1 ms"):
            bounded.within(1, ask, "slow")
    with pytest.raises(TimeoutError, match="8 earlier calls to it have not ended"):
        bounded.within(1, ask, "slow")
    assert bounded.within(LONG_MS, lambda: 7, "another") == 7
    assert len(threads()) == bounded.MOST_ABANDONED
    answers.set()
    wait_until(lambda: not threads(), DEADLINE_S, "the threads to end")
    with pytest.raises(requests.ConnectionError):
        bounded.within(LONG_MS, ask)


def test_what_a_call_returns_or_raises_is_passed_on():
    assert bounded.within(LONG_MS, lambda: 7) == 7
    with pytest.raises(KeyError, match="no"):
        bounded.within(LONG_MS, lambda: {}["no"])
