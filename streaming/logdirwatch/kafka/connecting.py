"""How a connection to a broker comes about: name lookup, TCP and TLS within one time limit."""

import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kafka.errors import KafkaConnectionError, KafkaTimeoutError
from kafka.future import Future
from kafka.net.inet import create_connection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport


class _Tls(KafkaSSLTransport):  # type: ignore[misc]
    """A TLS connection whose handshake has a time limit, however many bytes arrive meanwhile."""

    async def handshake(self, timeout_at: float | None = None) -> None:
        """Do as kafka-python does until ``timeout_at``; raises KafkaTimeoutError then."""
        while (ready := self._waits_for()) is not None:
            await ready(self._sock, timeout_at=timeout_at)

    def _waits_for(self) -> Any:
        """Go on with the handshake; return what has to be waited for, None at its end."""
        try:
            self._sock.do_handshake()
        except ssl.SSLWantReadError:
            return self._net.wait_read
        except ssl.SSLWantWriteError:
            return self._net.wait_write
        return None


class BoundedManager(KafkaConnectionManager):  # type: ignore[misc]
    """A connection manager whose attempts all end: the I/O thread looks up no name, and a TLS handshake may not hang.

    kafka-python waits for a handshake without a limit: it never tries that broker again, nor another one at its start.
    """

    async def _build_transport(self, node: Any, timeout_at: float | None = None) -> KafkaTCPTransport:
        sock = await self._connected(node, timeout_at)
        if not self.ssl_enabled:
            return KafkaTCPTransport(self._net, sock, host=node.host)
        of_tls = {key: value for key, value in self.config.items() if key.startswith("ssl_")}
        transport = _Tls(self._net, sock, host=node.host, **of_tls)
        try:
            await transport.handshake(timeout_at)
        except Exception as error:
            transport.abort(error)
            if isinstance(error, KafkaTimeoutError):
                raise
            raise KafkaConnectionError(f"Handshake failed: {error}") from error
        return transport

    async def _connected(self, node: Any, timeout_at: float | None) -> socket.socket:
        """Return a socket connected to the first of the node's addresses that accepts it."""
        failed = KafkaConnectionError(f"{node.host} has no address")
        left_ms = None if timeout_at is None else 1000 * max(0.0, timeout_at - time.monotonic())
        for host in await self.wait_for(_looked_up(self._net, node.host, node.port), left_ms):
            options = self.config["socket_options"]
            try:
                sock: socket.socket = await create_connection(
                    self._net, host, node.port, options, timeout_at=timeout_at
                )
            except KafkaConnectionError as error:
                failed = error
            else:
                return sock
        raise failed


def _looked_up(net: NetworkSelector, host: str, port: int) -> Future:
    """Return the addresses of a host, to be awaited on the I/O thread; the lookup blocks only its own thread."""
    addresses = Future()

    def look_up() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            tell(addresses.failure, KafkaConnectionError(f"{host} cannot be looked up: {error}"))
        else:
            tell(addresses.success, [address[0] for *_, address in found])

    def tell(settle: Callable[[Any], Any], outcome: Any) -> None:
        with suppress(RuntimeError):  # closed meanwhile
            net.call_soon_threadsafe(lambda: settle(outcome))

    threading.Thread(target=look_up, name=f"look-up-{host}", daemon=True).start()
    return addresses
