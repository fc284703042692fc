"""Requests to servers that are not trusted: bounded in time and bytes as a whole, without redirections.

A time-out of ``requests`` or of a socket bounds one read, and a server that sends a byte a second never exceeds it.
:func:`within` bounds the whole call, whatever library makes it: apprise's services make requests of their own and some
connect by themselves, such as those for e-mail.
"""

import io
import re
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

import requests
import requests.sessions
import urllib3
from requests.adapters import HTTPAdapter

Result = TypeVar("Result")

MOST_ANSWER_BYTES = 1 << 20
"""The size of an answer, decompressed; those of all services that are known to us are below 64 KiB."""
MOST_ABANDONED = 8
"""The number of calls to one server that may outlast their time: nothing can interrupt waiting for a name server."""

_MEMBER = rb'\s*"[^"\\]*"\s*:\s*(?:"(?:[^"\\]|\\.)*"|[^\s{}\[\]",]+)\s*'
_FAILED = (
    rb'"(?:ok|success)"\s*:\s*(?:false\b|"false|0\b)|"(?:status|result|state)"\s*:\s*"(?:error|fail|invalid|denied)'
    rb'|"(?:error|errors|error_code|error_message)"\s*:\s*(?:true\b|"[^"]|[1-9]|\[\s*[^\]\s]|\{\s*")'
)
_REFUSAL = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:(?P<page><(?:!doctype html|html|head|meta|!--|script|title|body))"
    rb"|OK \((?:not found|rate limited)\)"  # healthchecks.io
    rb"|Webhook message delivery failed"  # connectors of Microsoft Teams
    rb"|(?:invalid|no|too_many|channel|user|team|action|posting|rollup|missing|not)(?:_[a-z]+)+\s*\Z"  # Slack
    rb"|\{(?:" + _MEMBER + rb",)*\s*(?:" + _FAILED + rb"))",
    re.IGNORECASE | re.DOTALL,
)
"""What answers of success have that are none: a proxy's page, or an error of a service under HTTP 200.

Of JSON the members before the first one that has others within it are read.
"""

READ_S_A_MS = 2 / 1000
"""The seconds that one read may take, by the time in all: no bound of its own, but what ends an abandoned call."""

_call = threading.local()
_abandoned: list[tuple[str, "Future[Any]"]] = []
_abandoned_lock = threading.Lock()


class _Bounds:
    """The time and the connections of one call, and why it has to end."""

    def __init__(self, timeout_ms: int) -> None:
        self.ends_s = time.monotonic() + timeout_ms / 1000
        self.too_late = TimeoutError(f"no complete answer within {timeout_ms} ms")
        self.reason: str | None = None
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []

    def connects(self, connection: socket.socket) -> None:
        """Remember a connection; raises TimeoutError when the time is over.

        The copy refers to the same connection, also after TLS took the descriptor of the original.
        """
        with self._lock:
            if self.reason is not None:
                raise TimeoutError(self.reason)
            self._sockets.append(connection.dup())

    def end(self, reason: str | None = None) -> None:
        """Forget the connections; with a reason, end them first, and whatever waits for them."""
        with self._lock:
            self.reason = self.reason or reason
            for one in self._sockets:
                with suppress(OSError):
                    if reason is not None:
                        one.shutdown(socket.SHUT_RDWR)
                one.close()
            self._sockets.clear()


def within(timeout_ms: int, call: Callable[[], Result], server: str = "") -> Result:
    """Return what ``call`` returns, or raise what it raises, within a time in all; it runs on a thread of its own.

    ``server`` is any name of the one that is called: calls that outlast their time refuse others to the same one only.

    Raises TimeoutError when it takes longer; then its connections are closed. Of ``requests`` in it no answer is larger
    than MOST_ANSWER_BYTES, none of success is a web page or an error in other words (requests.ConnectionError), and no
    redirection is followed.
    """
    return start(timeout_ms, call, server)()


def start(timeout_ms: int, call: Callable[[], Result], server: str = "") -> Callable[[], Result]:
    """Start a call as :func:`within` does, and return the function that waits for its result."""
    bounds, future = _Bounds(timeout_ms), Future[Result]()
    if _abandoned_calls(server) >= MOST_ABANDONED:
        raise TimeoutError(f"{MOST_ABANDONED} earlier calls to it have not ended, as when a name server hangs")
    threading.Thread(target=_run, args=(call, bounds, future), name="bounded", daemon=True).start()

    def result() -> Result:
        if not wait([future], max(0.0, bounds.ends_s - time.monotonic())).done:
            bounds.end(str(bounds.too_late))
            with _abandoned_lock:
                _abandoned.append((server, future))
            raise bounds.too_late
        if bounds.reason is not None:
            raise requests.ConnectionError(bounds.reason)
        return future.result()

    return result


def _run(call: Callable[[], Result], bounds: _Bounds, future: "Future[Result]") -> None:
    _call.bounds = bounds
    try:
        result = call()
    except BaseException as error:
        # A call that runs beside others can end by the bound of one read before it is waited for: it was too late.
        future.set_exception(error if time.monotonic() < bounds.ends_s else bounds.too_late)
    else:
        future.set_result(result)
    finally:
        bounds.end(bounds.reason)


def _abandoned_calls(server: str) -> int:
    with _abandoned_lock:
        _abandoned[:] = [(name, one) for name, one in _abandoned if not one.done()]
        return sum(name == server for name, _ in _abandoned)


def _audited(event: str, arguments: tuple[Any, ...]) -> None:
    """Hand every connection of a bounded call to its bounds."""
    bounds: _Bounds | None = getattr(_call, "bounds", None)
    if bounds is not None and event == "socket.connect":
        bounds.connects(arguments[0])


class _Adapter(HTTPAdapter):
    """The transport of every session of ``requests``; outside a bounded call it is the usual one."""

    def send(
        self, request: requests.PreparedRequest, stream: bool = False, *args: Any, **more: Any
    ) -> requests.Response:
        """Send a request; see :func:`within`."""
        bounds: _Bounds | None = getattr(_call, "bounds", None)
        answer = super().send(request, stream if bounds is None else True, *args, **more)
        if bounds is None:
            return answer
        # Without it nobody follows a redirection: its status is what the caller sees.
        answer.headers.pop("Location", None)
        body = _body(answer, bounds)
        if answer.ok and (refusal := _REFUSAL.match(body)) is not None:
            what = "a web page" if refusal["page"] else "an error"
            _refuse(bounds, f"HTTP {answer.status_code} with {what} in it")
        answer.raw = urllib3.HTTPResponse(io.BytesIO(body), preload_content=False)
        return answer


def _body(answer: requests.Response, bounds: _Bounds) -> bytes:
    """Return an answer's body, decompressed."""
    try:
        body: bytes = answer.raw.read(MOST_ANSWER_BYTES + 1, decode_content=True)
    except urllib3.exceptions.HTTPError as error:
        raise requests.ConnectionError(error) from None
    finally:
        answer.raw.close()
    if len(body) > MOST_ANSWER_BYTES:
        _refuse(bounds, f"the answer is larger than {MOST_ANSWER_BYTES} bytes")
    return body


def _refuse(bounds: _Bounds, reason: str) -> NoReturn:
    """End a call for a reason that its caller gets, whatever the library in between makes of the error."""
    bounds.reason = reason
    raise requests.ConnectionError(reason)


sys.addaudithook(_audited)
requests.sessions.HTTPAdapter = _Adapter  # type: ignore[attr-defined]
