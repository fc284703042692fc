"""Connections to single brokers; the only user of kafka-python's private network layer.

``KafkaAdminClient`` chooses brokers by its own metadata, queries them one after another and loses all answers when one
fails. Here every address has its own connection manager (``kafka.net.manager``, kafka-python 3.0) that knows only that
address, and all share one I/O thread. A broker that hangs or is down does not delay the others; neither does a name
server.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from kafka.cluster import collect_hosts
from kafka.errors import KafkaError, KafkaTimeoutError, NodeNotReadyError, RequestTimedOutError
from kafka.net.selector import NetworkSelector

from logdirwatch.config.servers import authority, server_list
from logdirwatch.kafka.connecting import BoundedManager
from logdirwatch.kafka.network import told

ONLY_NODE = "bootstrap-0"
RECEIVE_MAX_BYTES = 512 << 20
RECONNECT_BACKOFF_MS = 50
RECONNECT_BACKOFF_MAX_MS = 500
RETRY_PAUSE_S = 0.05
# The I/O thread keeps the limits; this only guards against the thread itself being stuck.
THREAD_GRACE_S = 2.0
# Clocks and timers differ by less.
EARLY_S = 0.05


class Lane(Enum):
    """A connection for requests of similar duration: a broker answers those of one connection one after another.

    When one times out, all others of its connection are lost, so the requests of a lane have the same limit. LOOK is
    for requests between the scans that need a quick answer, QUORUM for the one of them that only the controller can
    answer, which may be down.
    """

    POLL = "poll"
    LOOK = "look"
    QUORUM = "quorum"
    SCAN = "scan"


class Address(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int


def addresses(bootstrap_servers: str) -> list[Address]:
    """Return the addresses in ``host:port,host:port``, in order."""
    return [Address(host, port) for host, port, _ in collect_hosts(server_list(bootstrap_servers), randomize=False)]


class _OneBroker(BoundedManager):
    """A connection manager for one address, without two habits that only suit a long list of brokers."""

    def close_idle_connections(self) -> None:
        """Do nothing: the broker closes idle connections, and the timer would keep a closed manager alive forever."""

    def maybe_raise_auth_failure(self, node_id: object) -> None:
        """Do nothing: kafka-python never retries after refused credentials, which may be corrected."""

    async def request(self, request: Any, timeout_ms: float) -> Any:
        """Send ``request``, connecting first if necessary, and return the response."""
        connection = self.get_connection(ONLY_NODE, timeout_ms=timeout_ms, refresh_metadata_on_err=False)
        try:
            return await self.wait_for(connection.send_request(request, request_timeout_ms=timeout_ms), timeout_ms)
        except KafkaError as error:
            raise told(connection, error) from error


class Wire:
    """Queries brokers by address. Use from one asyncio loop; close it when done."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._arguments = {
            **{key: value for key, value in arguments.items() if key != "bootstrap_servers"},
            "receive_message_max_bytes": RECEIVE_MAX_BYTES,
            "reconnect_backoff_ms": RECONNECT_BACKOFF_MS,
            "reconnect_backoff_max_ms": RECONNECT_BACKOFF_MAX_MS,
        }
        self._managers: dict[tuple[Address, Lane], _OneBroker] = {}
        self._net = NetworkSelector(client_id="logdirwatch")
        self._net.start()

    async def ask(self, address: Address, request: Any, timeout_ms: int, lane: Lane = Lane.POLL) -> Any:
        """Return the broker's response.

        Raises TimeoutError when it does not answer within ``timeout_ms``, KafkaError or OSError for anything else.
        """
        deadline = time.monotonic() + timeout_ms / 1000
        try:
            answer = self._on_io_thread(self._ask, (address, lane), request, deadline)
            return await asyncio.wait_for(answer, deadline - time.monotonic() + THREAD_GRACE_S)
        except (asyncio.TimeoutError, KafkaTimeoutError, RequestTimedOutError) as error:
            is_early = time.monotonic() < deadline - EARLY_S
            why = ": another question of its connection timed out" if is_early else f" within {timeout_ms} ms"
            raise TimeoutError(f"no answer from {authority(address.host, address.port)}{why}") from error

    def kafka_version(self, address: Address) -> str | None:
        """Return the release that the broker's API versions indicate, as ``major.minor``; None before it answered."""
        for lane in Lane:
            manager = self._managers.get((address, lane))
            if manager is not None and manager.broker_version_data is not None:
                return str(manager.broker_version_data.broker_version_str)
        return None

    def api_versions(self, address: Address) -> dict[int, int] | None:
        """Return the highest supported version of each request, by API key; None before the broker answered."""
        for lane in Lane:
            manager = self._managers.get((address, lane))
            if manager is not None and manager.broker_version_data is not None:
                return {key: newest for key, (_, newest) in manager.broker_version_data.api_versions.items()}
        return None

    def close(self) -> None:
        """Close every connection and stop the I/O thread."""
        for manager in list(self._managers.values()):
            self._net.call_soon_threadsafe(manager.close)
        self._net.stop(timeout_ms=2_000)
        self._net.close()

    def _on_io_thread(self, work: Callable[..., Any], *arguments: Any) -> "asyncio.Future[Any]":
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()

        def settle(value: Any, error: BaseException | None) -> None:
            if answer.done():
                return
            if error is None:
                answer.set_result(value)
            else:  # anything else ends the I/O thread's own tasks when it is closed
                answer.set_exception(error if isinstance(error, Exception) else ConnectionError("closed"))

        future = self._net.call_soon_with_future(work, *arguments)
        future.add_callback(lambda value: loop.call_soon_threadsafe(settle, value, None))
        future.add_errback(lambda error: loop.call_soon_threadsafe(settle, None, error))
        return answer

    async def _ask(self, key: tuple[Address, Lane], request: Any, deadline: float) -> Any:
        """Run on the I/O thread: connect if needed, send, wait; a manager in back-off is retried when that ends."""
        manager = self._manager(key)
        while True:
            left_ms = (deadline - time.monotonic()) * 1000
            if left_ms <= 0:
                raise KafkaTimeoutError
            if not manager.least_used_connections():
                manager.broker_version_data = None  # the broker may come back as another release
            try:
                return await manager.request(request, left_ms)
            except NodeNotReadyError:
                await self._net.sleep(min(max(manager.connection_delay(ONLY_NODE), RETRY_PAUSE_S), left_ms / 1000))

    def _manager(self, key: tuple[Address, Lane]) -> _OneBroker:
        if key not in self._managers:
            (host, port), _ = key
            server = authority(host, port)
            self._managers[key] = _OneBroker(
                self._net, **self._arguments, bootstrap_servers=[server], max_in_flight_requests_per_connection=100
            )
        return self._managers[key]
