"""Receivers on free ports of this machine: each keeps what is posted, and answers as a test says."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    """A running server; ``status`` and ``answer`` are what it answers, ``posted`` what it took."""

    port: int = 0
    status: int = 200
    answer: bytes = b""
    posted: list[tuple[str, Any]] = field(default_factory=list)
    asked: int = 0

    @property
    def bodies(self) -> list[Any]:
        """What it took, decoded."""
        return [body for _, body in self.posted]


@contextmanager
def receiving(port: int = 0) -> Iterator[Receiver]:
    """Run a receiver until the end of the block."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._answer(json.loads(body or b"null"))

        def do_GET(self):
            self._answer(None)

        def _answer(self, body):
            receiver.asked += 1
            if receiver.status < 400:
                receiver.posted.append((self.path, body))
            self.send_response(receiver.status)
            self.send_header("Content-Length", str(len(receiver.answer)))
            self.end_headers()
            self.wfile.write(receiver.answer)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    receiver.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
