"""Gets one page over HTTP, with a limit on the whole of it: time and bytes.

In the collector's own asyncio loop, because a thread for each of a thousand brokers that hang would be too many.
Errors never show what was sent or what was answered: the one holds credentials, and a server can echo it in the other.
"""

import asyncio
import http.client
import io
import re
import socket
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import urlsplit

CHUNK_BYTES = 1 << 16
MAX_BYTES = 16 << 20
LOOKUP_THREADS = 8
_UNPRINTABLE = re.compile(r"[^\x21-\x7e]")


Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class HttpError(Exception):
    """An answer that is of no use, in one line."""


class _Target(NamedTuple):
    """Where a URL points."""

    host: str
    port: int
    is_tls: bool
    head: str


class Getter:
    """Gets pages with the same headers; ``tls`` says whom to trust. Use from one asyncio loop; close it when done."""

    def __init__(self, headers: Mapping[str, str], tls: ssl.SSLContext | None = None) -> None:
        self._head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._tls = tls
        # Threads of its own: asyncio's few are also waited for by the connections to Kafka.
        self._lookups = ThreadPoolExecutor(LOOKUP_THREADS, thread_name_prefix="lookup")

    async def get(self, url: str, timeout_ms: int, max_bytes: int = MAX_BYTES) -> bytes:
        """Return the body behind ``url``.

        Raises TimeoutError when it is not there as a whole within ``timeout_ms``, OSError when nobody can be connected
        to, HttpError when the answer is not 200, not HTTP or larger than ``max_bytes``. Redirections are not followed.
        """
        try:
            raw = await asyncio.wait_for(self._raw(_target(url), timeout_ms / 1000, max_bytes), timeout_ms / 1000)
        except asyncio.TimeoutError as error:
            raise TimeoutError(f"no complete answer within {timeout_ms} ms") from error
        return body_of(raw)

    def close(self) -> None:
        """Start no more look-ups, and wait for none."""
        self._lookups.shutdown(wait=False, cancel_futures=True)

    async def _raw(self, target: _Target, timeout_s: float, max_bytes: int) -> bytes:
        reader, writer = await self._connection(target, timeout_s)
        try:
            writer.write(f"{target.head}{self._head}\r\n".encode("ascii"))
            return await _read(reader, max_bytes)
        finally:
            writer.transport.abort()

    async def _connection(self, target: _Target, timeout_s: float) -> Connection:
        """Connect to the first address of the host that can be, each with its share of the time."""
        look_up = partial(socket.getaddrinfo, target.host, target.port, type=socket.SOCK_STREAM)
        found = await asyncio.get_running_loop().run_in_executor(self._lookups, look_up)
        failed: Exception = OSError("the host has no address")
        for *_, address in found:
            attempt = await self._attempt(target, str(address[0]), timeout_s / len(found))
            if not isinstance(attempt, Exception):
                return attempt
            failed = attempt
        raise failed

    async def _attempt(self, target: _Target, address: str, timeout_s: float) -> Connection | Exception:
        tls: dict[str, Any] = {"ssl": self._tls, "server_hostname": target.host} if target.is_tls else {}
        try:
            return await asyncio.wait_for(asyncio.open_connection(address, target.port, **tls), timeout_s)
        except (OSError, asyncio.TimeoutError) as error:
            return error


def _target(url: str) -> _Target:
    parts = urlsplit(url)
    if parts.hostname is None or _UNPRINTABLE.search(url):
        raise HttpError("the URL has no host, or a character that a URL cannot have")
    is_tls = parts.scheme == "https"
    query = f"?{parts.query}" if parts.query else ""
    head = (
        f"GET {parts.path or '/'}{query} HTTP/1.1\r\nHost: {parts.netloc}\r\nUser-Agent: logdirwatch\r\n"
        "Accept: text/plain, */*;q=0.1\r\nAccept-Encoding: identity\r\nConnection: close\r\n"
    )
    return _Target(parts.hostname, parts.port or (443 if is_tls else 80), is_tls, head)


async def _read(reader: asyncio.StreamReader, max_bytes: int) -> bytes:
    chunks, size = [], 0
    while chunk := await reader.read(CHUNK_BYTES):
        chunks.append(chunk)
        size += len(chunk)
        if size > max_bytes:
            raise HttpError(f"the answer is larger than {max_bytes} bytes")
    return b"".join(chunks)


class _Received:
    """Stands where ``http.client`` expects a connection: all that it would read has arrived."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    def makefile(self, mode: str) -> io.BytesIO:
        del mode
        return io.BytesIO(self._raw)


def body_of(raw: bytes) -> bytes:
    """Return the body of a whole HTTP answer. Raises HttpError for any other bytes and any status but 200."""
    response = http.client.HTTPResponse(_Received(raw))  # type: ignore[arg-type]
    try:
        response.begin()
        body = response.read()
    except http.client.IncompleteRead:
        raise HttpError("the answer is cut off") from None
    except (http.client.HTTPException, ValueError, OSError):
        raise HttpError("the answer is not HTTP") from None
    if response.status != HTTPStatus.OK:
        raise HttpError(_status_line(response.status))
    return body


def _status_line(status: int) -> str:
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"
