"""The HTTP endpoint: ``/metrics``, ``/health`` and ``/ready``, read-only."""

import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import structlog
from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.registry import Collector

from logdirwatch.config.listen import address
from logdirwatch.errors import UserError

log = structlog.get_logger(__name__)

REQUEST_TIMEOUT_S = 10.0
Wrong = Callable[[], str | None]
"""Returns what is wrong, None if nothing is."""
Start = Callable[..., Any]


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _ServerV6(_Server):
    address_family = socket.AF_INET6


class _Handler(WSGIRequestHandler):
    # A client that sends nothing occupies a thread no longer than that.
    timeout = REQUEST_TIMEOUT_S

    def log_message(self, *_: object) -> None:
        """Do not log requests: Prometheus scrapes every few seconds."""


@contextmanager
def serving(listen: str | None, collectors: Iterable[Collector], is_ill: Wrong, is_unready: Wrong) -> Iterator[None]:
    """Serve at ``host:port`` until the end of the block; do nothing if ``listen`` is None.

    Raises UserError when it cannot listen there.
    """
    if listen is None:
        yield
        return
    registry = CollectorRegistry()
    for collector in collectors:
        registry.register(collector)
    host, port = address(listen)
    server = _bound(listen, host, port, _application(registry, is_ill, is_unready))
    thread = threading.Thread(target=server.serve_forever, name="endpoint", daemon=True)
    thread.start()
    log.info("endpoint.listening", address=f"{host}:{server.server_port}", paths=["/metrics", "/health", "/ready"])
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def check_free(listen: str | None) -> None:
    """Raise UserError if the address cannot be bound: better now than after a long start."""
    if listen is not None:
        _bound(listen, *address(listen), None).server_close()


def _bound(listen: str, host: str, port: int, application: Any) -> WSGIServer:
    kind = _ServerV6 if ":" in host else _Server
    try:
        return make_server(host, port, application, kind, _Handler)
    except OSError as error:
        raise UserError(f"cannot listen at {listen}: {error.strerror}; name another host:port") from None


def _application(registry: CollectorRegistry, is_ill: Wrong, is_unready: Wrong) -> Any:
    metrics = make_wsgi_app(registry)
    judged = {"/health": is_ill, "/ready": is_unready}

    def application(environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] not in {"GET", "HEAD"}:
            return _answer(start, "405 Method Not Allowed", "only GET and HEAD")
        path = environ["PATH_INFO"]
        if path == "/metrics":
            body: Iterable[bytes] = metrics(environ, start)
            return body
        if path not in judged:
            return _answer(start, "404 Not Found", "the paths are /metrics, /health and /ready")
        wrong = judged[path]()
        return _answer(start, "200 OK", "ok") if wrong is None else _answer(start, "503 Service Unavailable", wrong)

    return application


def _answer(start: Start, status: str, text: str) -> Iterable[bytes]:
    start(status, [("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff")])
    return [f"{text}\n".encode()]
