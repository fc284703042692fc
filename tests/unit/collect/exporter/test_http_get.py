"""A page comes whole, in time and in bounds, or as an error that shows neither what was sent nor what was answered."""

import asyncio
import contextlib
import gzip
import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logdirwatch.collect.exporter.scrape import LOOKUP_THREADS, Getter, HttpError
from tests.support.waiting import DEADLINE_S
from tests.unit.collect.exporter.exporters import GOOD, Answer, answering, serving

MANY = 300
SECRET = "tops3cret"
OK = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture
def exporter():
    with serving() as running:
        yield running


def running(work):
    """Run ``work`` with a getter; return what it returns."""

    async def run():
        with contextlib.closing(Getter({})) as getter:
            return await asyncio.wait_for(work(getter), DEADLINE_S)

    return asyncio.run(run())


def got(url, timeout_ms=60_000, **bounds):
    return running(lambda getter: getter.get(url, timeout_ms, **bounds))


def got_from(answer, timeout_ms=60_000, **bounds):
    """Return what comes from a server that answers as ``answer`` writes."""

    async def work(getter):
        async with answering(answer) as port:
            return await getter.get(f"http://localhost:{port}/?key={SECRET}", timeout_ms, **bounds)

    return running(work)


def saying(raw):
    async def answer(writer):
        writer.write(raw)

    return answer


async def never(writer):
    await asyncio.Event().wait()


@pytest.mark.parametrize("size", [0, 1, 200_000])
def test_a_body_comes_whole(exporter, size):
    exporter.says = {"/1": Answer(b"x" * size, headers={"Content-Length": str(size)})}
    assert got(f"{exporter.url}/1", max_bytes=200_000) == b"x" * size


def test_a_body_that_is_too_large_is_not_read_to_its_end():
    hung_up = []

    async def endless(writer):
        writer.write(OK + b"\r\n")
        try:
            while True:
                writer.write(b"x" * 10_000)
                await writer.drain()
        except OSError:
            hung_up.append(True)
            raise

    with pytest.raises(HttpError, match="larger than 200000 bytes"):
        got_from(endless, max_bytes=200_000)
    assert hung_up


def test_the_limit_of_time_is_one_on_the_whole_answer():
    async def dripping(writer):
        writer.write(OK + b"\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    with pytest.raises(TimeoutError, match="no complete answer within 300 ms"):
        got_from(dripping, timeout_ms=300)


def test_heads_without_an_end_are_not_waited_for():
    async def continuing(writer):
        while True:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            await writer.drain()
            await asyncio.sleep(0)

    with pytest.raises(TimeoutError):
        got_from(continuing, timeout_ms=300)


def test_a_compressed_body_was_not_asked_for_and_stays_as_it_is(exporter):
    bomb = gzip.compress(bytes(10_000_000))
    exporter.says = {"/1": Answer(bomb, headers={"Content-Encoding": "gzip"})}
    assert got(f"{exporter.url}/1", max_bytes=len(bomb)) == bomb
    assert exporter.headers[0]["Accept-Encoding"] == "identity"


def test_nothing_is_taken_from_the_environment(exporter, tmp_path, monkeypatch):
    (tmp_path / ".netrc").write_text(f"machine 127.0.0.1 login reader password {SECRET}\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert got(f"{exporter.url}/1") == GOOD
    assert "Authorization" not in exporter.headers[0]


def test_cookies_are_not_kept(exporter):
    exporter.says = {"/1": Answer(headers={"Set-Cookie": "a=b; Path=/"})}

    async def twice(getter):
        return [await getter.get(f"{exporter.url}/1".replace("127.0.0.1", "localhost"), 60_000) for _ in range(2)]

    assert running(twice) == [GOOD, GOOD]
    assert not any("Cookie" in sent for sent in exporter.headers)


ODD = {
    "another protocol": (b"SSH-2.0-OpenSSH %s\r\n", "not HTTP"),
    "status": (b"HTTP/1.1 %s\r\n\r\n", "not HTTP"),
    "version": (b"HTTP/%s 200 OK\r\n\r\n", "not HTTP"),
    "header": (OK + b"%s\r\n\r\n", "not HTTP"),
    "length": (OK + b"Content-Length: %s\r\n\r\n", "not HTTP"),
    "endless header": (OK + b"X: %s" * 10_000, "not HTTP"),
    "chunk": (OK + b"Transfer-Encoding: chunked\r\n\r\n%s\r\n", "not HTTP"),
    "body": (OK + b"Content-Length: 100\r\n\r\n%s", "cut off"),
    "reason": (b"HTTP/1.1 401 %s\r\nContent-Length: 0\r\n\r\n", "HTTP 401 Unauthorized"),
    "cookie": (b"HTTP/1.1 401 No\r\nSet-Cookie: a %s=b\r\nContent-Length: 0\r\n\r\n", "HTTP 401 Unauthorized"),
    "place": (b"HTTP/1.1 302 No\r\nLocation: http://[%s\r\nContent-Length: 0\r\n\r\n", "HTTP 302 Found"),
    "nothing": (b"", "hung up"),
}


@pytest.mark.parametrize(("raw", "says"), ODD.values(), ids=ODD)
def test_what_a_server_sends_back_is_in_no_error_and_in_no_log(raw, says, caplog, capfd):
    caplog.set_level("DEBUG", logger="aiohttp")
    with pytest.raises(HttpError, match=says) as raised:
        got_from(saying(raw.replace(b"%s", SECRET.encode())))
    assert SECRET not in repr(raised.value) + caplog.text + "".join(capfd.readouterr())
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_a_url_that_is_none_is_not_shown():
    for url in (f"http://two words/{SECRET}", f"http://a\r\nb/{SECRET}", f"http:///{SECRET}", f"http://a:{SECRET}/"):
        with pytest.raises(HttpError, match="URL") as raised:
            got(url)
        assert SECRET not in repr(raised.value)


@pytest.mark.parametrize("is_reset", [True, False])
def test_a_server_that_hangs_up_is_asked_once(is_reset):
    asked = []

    async def hang_up(writer):
        asked.append(True)
        if is_reset:
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with pytest.raises(ConnectionResetError if is_reset else HttpError):
        got_from(hang_up)
    assert asked == [True]


@pytest.fixture
def hosts(monkeypatch):
    """Return what the names of hosts that are put in resolve to, or raise."""
    known = {}
    real = socket.getaddrinfo

    def look_up(host, port, *arguments, **fields):
        if host not in known:
            return real(host, port, *arguments, **fields)
        return [found for address in known[host]() for found in real(address, port, *arguments, **fields)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return known


def hanging_listener(stack, port):
    """Listen at 127.0.0.2 with a queue that is full: whoever connects hears nothing at all."""
    listening = stack.enter_context(socket.create_server(("127.0.0.2", port), backlog=0))
    for _ in range(4):
        waiting = stack.enter_context(socket.socket())
        waiting.setblocking(False)
        waiting.connect_ex(listening.getsockname())


@pytest.mark.parametrize("first", ["refuses", "hangs"])
def test_every_address_of_a_host_is_tried(hosts, first):
    hosts["broker"] = lambda: ["127.0.0.2", "127.0.0.1"]

    async def work(getter):
        async with contextlib.AsyncExitStack() as stack:
            port = await stack.enter_async_context(answering(saying(OK + b"\r\n" + GOOD)))
            if first == "hangs":
                hanging_listener(stack, port)
            return await getter.get(f"http://broker:{port}/", 10_000)

    assert running(work) == GOOD


def test_when_no_address_answers_the_error_of_the_system_says_why(hosts):
    hosts["broker"] = lambda: ["127.0.0.2", "127.0.0.3"]
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(OSError, match="Errno 111"):
        got(f"http://broker:{server.getsockname()[1]}/{SECRET}")


def test_a_host_that_nobody_knows_is_an_error_of_the_system(hosts):
    def unknown():
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    hosts["broker"] = unknown
    with pytest.raises(socket.gaierror, match="not known"):
        got(f"http://broker/{SECRET}")


def test_look_ups_need_none_of_the_threads_that_the_clients_of_kafka_need():
    released = threading.Event()

    async def work(getter):
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        occupied = loop.run_in_executor(None, released.wait, DEADLINE_S)
        try:
            async with answering(saying(OK + b"\r\n" + GOOD)) as port:
                return await getter.get(f"http://localhost:{port}/", 10_000)
        finally:
            released.set()
            await occupied

    assert running(work) == GOOD


def test_look_ups_that_hang_end_with_the_limit_of_time(hosts):
    released = threading.Event()

    def hang():
        released.wait(DEADLINE_S)
        return []

    hosts["broker"] = hang

    async def work(getter):
        try:
            asking = (getter.get("http://broker/", 300) for _ in range(3 * LOOKUP_THREADS))
            return await asyncio.gather(*asking, return_exceptions=True)
        finally:
            released.set()

    assert {type(error) for error in running(work)} == {TimeoutError}


def open_files():
    return len([*Path("/proc/self/fd").iterdir()])


def test_many_servers_that_hang_take_no_thread_and_leave_nothing_open():
    async def work(getter):
        asked, everybody = [], asyncio.Event()

        async def hang(writer):
            asked.append(writer)
            if len(asked) == MANY:
                everybody.set()
            await asyncio.Event().wait()

        threads, files = threading.active_count(), open_files()
        async with answering(hang) as port:
            asking = [asyncio.create_task(getter.get(f"http://127.0.0.1:{port}/", 60_000)) for _ in range(MANY)]
            await everybody.wait()
            assert threading.active_count() <= threads
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
            for writer in asked:
                writer.transport.abort()
        while open_files() > files:
            await asyncio.sleep(0.001)

    running(work)


@settings(deadline=None)
@given(st.binary(max_size=100) | st.binary(max_size=100).map(lambda rest: OK + rest))
def test_any_answer_is_a_body_or_an_error_of_one_kind(raw):
    with contextlib.suppress(HttpError):
        assert isinstance(got_from(saying(raw)), bytes)
