"""The HTTP endpoint: ``/metrics``, ``/health`` and ``/ready``, read-only."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from logdirwatch.config.servers import address, authority
from logdirwatch.errors import UserError
from logdirwatch.observe.http_server import Channel, Server

log = structlog.get_logger(__name__)

REQUEST_TIMEOUT_S = 10.0
THREADS = 2
Wrong = Callable[[], str | None]
"""Returns what is wrong, None if nothing is."""
Start = Callable[..., Any]


class _Handler(Channel):
    timeout = REQUEST_TIMEOUT_S


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
    thread = threading.Thread(target=server.run, name="endpoint", daemon=True)
    thread.start()
    log.info("endpoint.listening", address=authority(host, server.port), paths=["/metrics", "/health", "/ready"])
    try:
        yield
    finally:
        server.stop()
        thread.join()


def check_free(listen: str | None) -> None:
    """Raise UserError if the address cannot be bound: better now than after a long start."""
    if listen is not None:
        _bound(listen, *address(listen), _nothing).close()


def _bound(listen: str, host: str, port: int, application: Any) -> Server:
    try:
        return Server(application, host, port, threads=THREADS, channel=_Handler)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such host"
        raise UserError(f"cannot listen at {listen}: {reason}; name another host:port") from None


def _nothing(_: dict[str, Any], start: Start) -> Iterable[bytes]:
    return _answer(start, "503 Service Unavailable", "starting")


def _application(registry: CollectorRegistry, is_ill: Wrong, is_unready: Wrong) -> Any:
    metrics = make_wsgi_app(registry)
    judged = {"/health": is_ill, "/ready": is_unready}

    def application(environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] not in {"GET", "HEAD"}:
            return _answer(start, "405 Method Not Allowed", "only GET and HEAD")
        path = environ["PATH_INFO"]
        if path != "/metrics" and path not in judged:
            return _answer(start, "404 Not Found", "the paths are /metrics, /health and /ready")
        try:
            if path == "/metrics":
                # What it answers to HEAD is a refusal; the server leaves out the body.
                accept = _known_versions(environ.get("HTTP_ACCEPT", ""))
                body: Iterable[bytes] = metrics({**environ, "REQUEST_METHOD": "GET", "HTTP_ACCEPT": accept}, start)
                return body
            wrong = judged[path]()
        except Exception as error:  # a defect, or state that another thread changes meanwhile
            log.warning("endpoint.failed", path=path, error=f"{type(error).__name__}: {error}")
            log.debug("endpoint.failed", path=path, exc_info=True)
            return _answer(start, "503 Service Unavailable", "this cannot be told at the moment; the log says why")
        return _answer(start, "200 OK", "ok") if wrong is None else _answer(start, "503 Service Unavailable", wrong)

    return application


def _known_versions(accept: str) -> str:
    """Return what a client accepts, nothing if it names a version that is no number: then it gets the usual format."""
    try:
        choose_encoder(accept)
    except (TypeError, ValueError):
        return ""
    return accept


def _answer(start: Start, status: str, text: str) -> Iterable[bytes]:
    body = f"{text}\n".encode(errors="backslashreplace")
    kind = ("Content-Type", "text/plain; charset=utf-8")
    start(status, [kind, ("X-Content-Type-Options", "nosniff"), ("Content-Length", str(len(body)))])
    return [body]
