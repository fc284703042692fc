"""Scrapes the JMX exporters of one cluster's brokers and keeps the last values for the records of the polls.

Scraping and polling do not wait for each other: a record contains the values that are available. Values that are too
old are left out.

Errors never show the request or the answer: the request has credentials, and a server may echo them. aiohttp's own
errors show both, so they are replaced.
"""

import asyncio
import base64
import http.client
import re
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import aiohttp
import structlog
from aiohttp.abc import AbstractResolver, ResolveResult

from logdirwatch.collect.exporter import mbeans
from logdirwatch.collect.rounds.facts import BrokerFacts
from logdirwatch.collect.settings import JmxExporterSettings
from logdirwatch.errors import UserError
from logdirwatch.kafka.clients import one_line
from logdirwatch.model.vocabulary import SCRAPE_AGE_MS

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


log = structlog.get_logger(__name__)

SCRAPE_OK = "scrape_ok"
# How old values may be that a record still carries, in intervals of the scrapes.
MAX_AGE_INTERVALS = 3
# Between the starts of two scrapes of a round, so that the answers of a large cluster do not all arrive at once.
PAUSE_S = 0.005
SCRAPE_ERRORS = (OSError, asyncio.TimeoutError, ValueError, HttpError)


class _Scrape(NamedTuple):
    """The result of the last scrape of a broker; ``found`` is None when it failed."""

    begun_ms: int
    found: dict[str, float | None] | None


class Exporters:
    """The exporters of one cluster. ``monotonic_ms`` is not the wall clock; use from one asyncio loop.

    Raises UserError when the file with the certificate authorities cannot be read.
    """

    def __init__(self, cluster: str, settings: JmxExporterSettings, monotonic_ms: Callable[[], int]) -> None:
        self._cluster = cluster
        self._settings = settings
        self._monotonic_ms = monotonic_ms
        self._getter = Getter(_headers(settings), _tls(cluster, settings))
        self._newest: dict[int, _Scrape] = {}
        self._busy: set[int] = set()

    async def scrape(self, brokers: Iterable[BrokerFacts]) -> None:
        """Scrape every broker that has an exporter and is not still being scraped."""
        scrapes = []
        for broker in [*brokers]:
            url = self._settings.url_of(broker.node.broker, broker.node.host)
            if url is not None and broker.node.broker not in self._busy:
                scrapes.append(asyncio.create_task(self._scrape(broker.node.broker, url)))
                await asyncio.sleep(PAUSE_S)
        await asyncio.gather(*scrapes)

    def metrics_of(self, broker: BrokerFacts) -> dict[str, float | None]:
        """Return the metrics for a record of ``broker`` now.

        ``scrape_ok`` is 1 with values and their age, and 0 alone when the last scrape failed or is too old. Empty
        before the first scrape has ended, and for a broker without an exporter.
        """
        newest = self._newest.get(broker.node.broker)
        if newest is None:
            return {}
        age_ms = self._monotonic_ms() - newest.begun_ms
        if newest.found is None or age_ms > MAX_AGE_INTERVALS * self._settings.interval_ms:
            return {SCRAPE_OK: 0.0}
        found = mbeans.trusted(newest.found, broker.kafka_version)
        return {**found, SCRAPE_OK: 1.0, SCRAPE_AGE_MS: float(age_ms)}

    def close(self) -> None:
        """Release the threads."""
        self._getter.close()

    async def _scrape(self, broker: int, url: str) -> None:
        self._busy.add(broker)
        begun_ms = self._monotonic_ms()
        try:
            found = await self._found(url)
        except SCRAPE_ERRORS as error:
            self._tell_failed(broker, url, error)
            self._newest[broker] = _Scrape(begun_ms, None)
        else:
            self._tell_worked(broker)
            self._newest[broker] = _Scrape(begun_ms, found)
        finally:
            self._busy.discard(broker)

    async def _found(self, url: str) -> dict[str, float | None]:
        body = await self._getter.get(url, self._settings.timeout_ms)
        # In a thread: reading a large answer would hold up the answers of the other brokers.
        found = await asyncio.to_thread(mbeans.metrics, body)
        if not found:
            raise HttpError("the answer has no metric of a Kafka broker that logdirwatch knows")
        return found

    def _has_failed(self, broker: int) -> bool:
        return broker in self._newest and self._newest[broker].found is None

    def _tell_failed(self, broker: int, url: str, error: Exception) -> None:
        if not self._has_failed(broker):
            where = url.partition("?")[0]
            log.warning(
                "collect.exporter.failed", cluster=self._cluster, broker=broker, url=where, error=one_line(error)
            )

    def _tell_worked(self, broker: int) -> None:
        if self._has_failed(broker):
            log.warning("collect.exporter.recovered", cluster=self._cluster, broker=broker)


def _headers(settings: JmxExporterSettings) -> dict[str, str]:
    if settings.bearer_token is not None:
        return {"Authorization": f"Bearer {settings.bearer_token.get_secret_value()}"}
    if settings.username is not None and settings.password is not None:
        pair = f"{settings.username}:{settings.password.get_secret_value()}"
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    return {}


def _tls(cluster: str, settings: JmxExporterSettings) -> ssl.SSLContext | None:
    if not settings.needs_tls:
        return None
    try:
        return ssl.create_default_context(cafile=settings.ca_file)
    except OSError as error:
        where = f"clusters.{cluster}.jmx_exporter.ca_file"
        raise UserError(f"configuration: {where}: {settings.ca_file}: {error.strerror}", exit_code=2) from None
