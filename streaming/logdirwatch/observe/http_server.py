"""The HTTP server of the console and of the endpoints: waitress, with bounds on what a client may take.

A request has a size and a time, from the connection to its last byte; a body that is too large is answered before it is
read. When there are too many connections, one of the address that has the most is closed, the one that has waited the
longest for a request: whoever opens many locks only itself out. Clients cause no line above level DEBUG.
"""

import contextlib
import logging
import math
import time
from collections import Counter
from typing import Any

import structlog
from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

log = structlog.get_logger(__name__)

MOST_BODY_BYTES = 16_384
MOST_HEADER_BYTES = 16_384
MOST_CONNECTIONS = 100
ANSWER_TIMEOUT_S = 60.0
"""How long a client may take to read an answer, which is larger than what the system keeps for it."""
POLL_S = 0.2
"""How often connections are checked."""

# It warns of every request that waits for a thread, and a client can send many.
logging.getLogger("waitress.queue").setLevel(logging.ERROR)


class _Request(HTTPRequestParser):  # type: ignore[misc]
    """A request; a client that asks whether to send its body is not told to go on when it is refused."""

    def received(self, data: bytes) -> int:
        """Take bytes, and return how many belong to this request."""
        taken: int = super().received(data)
        if self.error is not None:
            self.expect_continue = False
        return taken


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection: between requests, and until the answer to the last one was read, it has a limited time."""

    parser_class = _Request
    timeout = 10.0
    """How long it may take until a request is complete, in seconds."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        self._since_s = time.monotonic()
        super().__init__(*arguments, **more)

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return not self.requests

    @property
    def waits_s(self) -> float:
        """How long it has been idle; an incomplete request does not count as activity."""
        return time.monotonic() - self._since_s

    @property
    def is_late(self) -> bool:
        """Whether its time is over."""
        return self.is_idle and self.waits_s > (ANSWER_TIMEOUT_S if self.total_outbufs_len else self.timeout)

    def writable(self) -> bool:
        """Tell whether to wait for the client to read; its descriptor may belong to another one once it is closed."""
        return self.connected and bool(super().writable())

    def service(self) -> None:
        """Answer a request."""
        super().service()
        self._since_s = time.monotonic()

    def handle_error(self) -> None:
        """Close the connection: what a client sends or omits is not our error."""
        log.debug("http.connection_failed", exc_info=True)
        self.handle_close()


class _Listener(TcpWSGIServer):  # type: ignore[misc]
    """One listening socket and its connections."""

    channel_class = Channel
    rests_until_s = -math.inf
    """Until when no connection is accepted: the system had no descriptor for one."""

    def accept(self) -> Any:
        """Accept a connection; when the system refuses it, close another one and rest, for it still waits."""
        try:
            return super().accept()
        except OSError as error:
            if time.monotonic() - self.rests_until_s > ANSWER_TIMEOUT_S:
                log.warning("http.no_connection", error=error.strerror, meaning="those that wait are taken later")
            self.rests_until_s = time.monotonic() + POLL_S
            self._make_room()
            raise

    def readable(self) -> bool:
        """Close late connections, and tell whether there is room for another one.

        Waitress does both by the wall clock, and by activity, which a byte now and then is.
        """
        for channel in list(self.active_channels.values()):
            if channel.is_late or (channel.is_idle and channel.will_close):
                # Waitress waits until the client reads, which it may never do.
                channel.will_close = True
                channel.handle_close()
        if time.monotonic() < self.rests_until_s:
            return False
        channels = self.active_channels.values()
        return len(channels) < MOST_CONNECTIONS or any(channel.is_idle for channel in channels)

    def handle_accept(self) -> None:
        """Take a connection, in place of another one if there are too many."""
        if len(self.active_channels) >= MOST_CONNECTIONS:
            self._make_room()
        super().handle_accept()

    def _make_room(self) -> None:
        channels = self.active_channels.values()
        held = Counter(channel.addr[0] for channel in channels)
        idle = (channel for channel in channels if channel.is_idle and not channel.will_close)
        latest = max(idle, key=lambda channel: (held[channel.addr[0]], channel.waits_s), default=None)
        if latest is not None:
            latest.will_close = True


class Server:
    """Serves a WSGI application at every address of a host; raises OSError or ValueError when it cannot listen."""

    def __init__(
        self, application: Any, host: str, port: int, *, threads: int, channel: type[Channel] = Channel, **more: Any
    ) -> None:
        adjustments = Adjustments(
            host=host,
            port=port,
            threads=threads,
            ident=None,
            max_request_body_size=MOST_BODY_BYTES,
            max_request_header_size=MOST_HEADER_BYTES,
            inbuf_overflow=MOST_BODY_BYTES + 1,
            outbuf_overflow=Adjustments.outbuf_high_watermark,  # what it keeps of an answer stays in memory, too
            log_socket_errors=False,
            **more,
        )
        self._is_over = False
        self._map: dict[int, Any] = {}
        self._dispatcher = ThreadedTaskDispatcher()
        listener = type("Listener", (_Listener,), {"channel_class": channel})
        try:
            self._listeners = [
                listener(application, self._map, dispatcher=self._dispatcher, adj=adjustments, sockinfo=info)
                for info in adjustments.listen
            ]
        except OSError:
            wasyncore.close_all(self._map)
            raise
        self._dispatcher.set_thread_count(threads)

    @property
    def port(self) -> int:
        """The port at which it listens."""
        return int(self._listeners[0].effective_port)

    def run(self) -> None:
        """Serve until :meth:`stop`, or an exception such as KeyboardInterrupt."""
        try:
            while not self._is_over:
                wasyncore.poll2(POLL_S, self._map)
        finally:
            self.close()

    def stop(self) -> None:
        """Let :meth:`run` end, from another thread: it closes the sockets itself, for it may be reading them."""
        self._is_over = True
        # It only wakes the loop up, which looks by itself after POLL_S.
        with contextlib.suppress(OSError):
            self._listeners[0].trigger.pull_trigger()

    def close(self) -> None:
        """End the threads and close every socket; for a server that does not run."""
        self._dispatcher.shutdown()
        wasyncore.close_all(self._map, ignore_all=True)
