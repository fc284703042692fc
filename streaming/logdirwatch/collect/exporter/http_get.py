"""Gets one page over HTTP with aiohttp, with limits on its total time and bytes.

Errors never show the request or the answer: the request has credentials, and a server may echo them. aiohttp's own
errors show both, so they are replaced.
"""

import asyncio
import http.client
import re
import socket
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

MAX_BYTES = 16 << 20
LOOKUP_THREADS = 8
_HEADERS = {"User-Agent": "logdirwatch", "Accept": "text/plain, */*;q=0.1", "Accept-Encoding": "identity"}
_UNPRINTABLE = re.compile(r"[^\x21-\x7e]")


class HttpError(Exception):
    """An unusable answer, described in one line."""


class _Lookups(AbstractResolver):
    """Resolves names in ``threads``: asyncio's own are few, and the connections to Kafka wait for them too."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self._threads = threads

    async def resolve(self, host: str, port: int = 0, family: int = socket.AF_UNSPEC) -> list[ResolveResult]:
        look_up = partial(socket.getaddrinfo, host, port, family, socket.SOCK_STREAM)
        found = await asyncio.get_running_loop().run_in_executor(self._threads, look_up)
        return [
            ResolveResult(hostname=host, host=str(address[0]), port=port, family=kind, proto=proto, flags=0)
            for kind, _, proto, _, address in found
        ]

    async def close(self) -> None:
        """Close nothing: the threads belong to the caller."""


class Getter:
    """Gets pages with the same headers; ``tls`` configures the trusted certificates. Close it when done."""

    def __init__(self, headers: Mapping[str, str], tls: ssl.SSLContext | None = None) -> None:
        self._headers = {**_HEADERS, **headers}
        self._tls = tls
        self._threads = ThreadPoolExecutor(LOOKUP_THREADS, thread_name_prefix="lookup")

    async def get(self, url: str, timeout_ms: int, max_bytes: int = MAX_BYTES) -> bytes:
        """Return the body of ``url``, undecoded if the server compressed it without being asked to.

        Raises TimeoutError when it is not complete within ``timeout_ms``, OSError when the connection fails, HttpError
        when the answer is not 200, not HTTP or larger than ``max_bytes``. Redirects are not followed.
        """
        if _UNPRINTABLE.search(url):
            raise HttpError("the URL has a character that a URL cannot have")
        try:
            async with self._session(timeout_ms) as session, session.get(url, allow_redirects=False) as answer:
                return await _body(answer, max_bytes)
        except asyncio.TimeoutError:
            raise TimeoutError(f"no complete answer within {timeout_ms} ms") from None
        except aiohttp.ClientError as error:
            raise _told(error) from None

    def close(self) -> None:
        """Start no more name lookups, and wait for none."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _session(self, timeout_ms: int) -> aiohttp.ClientSession:
        lookups = _Lookups(self._threads)
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=self._tls or True, resolver=lookups, use_dns_cache=False, force_close=True
            ),
            timeout=aiohttp.ClientTimeout(total=timeout_ms / 1000),
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            middlewares=[_asked_once],
        )


async def _asked_once(request: aiohttp.ClientRequest, ask: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Hide from aiohttp that a server disconnected: it would retry at once."""
    try:
        return await ask(request)
    except aiohttp.ClientError as error:
        raise _told(error) from None


async def _body(answer: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    if answer.status != http.client.OK:
        raise HttpError(f"HTTP {answer.status} {http.client.responses.get(answer.status, '')}".rstrip())
    body = bytearray()
    async for part in answer.content.iter_any():
        body += part
        if len(body) > max_bytes:
            raise HttpError(f"the answer is larger than {max_bytes} bytes")
    return bytes(body)


def _told(error: aiohttp.ClientError) -> Exception:
    if isinstance(error, OSError):
        return error.__cause__ if isinstance(error.__cause__, OSError) else OSError(*error.args)
    if isinstance(error, aiohttp.InvalidURL):
        return HttpError("the URL has no host, or no port that is one")
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return HttpError("the server hung up without an answer")
    if isinstance(error, aiohttp.ClientPayloadError):
        return HttpError("the answer is cut off")
    return HttpError("the answer is not HTTP")
