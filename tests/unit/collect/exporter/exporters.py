"""Exporters on free ports of this machine: each path answers as a test says."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.waiting import DEADLINE_S

GOOD = b"kafka_log_logmanager_offlinelogdirectorycount 1.0\nkafka_server_replicamanager_offlinereplicacount 3.0\n"


@dataclass
class Answer:
    """What a path answers; ``headers`` without a length leave the body chunked if it says so, else to the end."""

    body: bytes = GOOD
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    reason: str | None = None


@dataclass
class Exporter:
    """A running server; a path of ``says`` that is None answers only when ``released`` is set."""

    url: str = ""
    says: dict[str, Answer | None] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serving(tls=None) -> Iterator[Exporter]:
    """Run an exporter until the end of the block; ``tls`` is the server's context for https."""
    exporter = Exporter()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            exporter.asked.append(self.path)
            exporter.headers.append(dict(self.headers))
            answer = exporter.says.get(self.path.partition("?")[0], Answer())
            if answer is None:
                exporter.released.wait(DEADLINE_S)
                return
            self.send_response(answer.status, answer.reason)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # a client that hangs up is what some tests are about
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    exporter.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield exporter
    finally:
        exporter.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


@asynccontextmanager
async def answering(answer: Callable[[asyncio.StreamWriter], Awaitable[None]]) -> AsyncIterator[int]:
    """Run a server in this loop that lets ``answer`` write any bytes after a request, then hangs up; yield its port."""

    async def handle(reader, writer):
        try:
            await reader.readuntil(b"\r\n\r\n")
            await answer(writer)
            writer.close()
            await writer.wait_closed()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client hung up first
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=1024)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
