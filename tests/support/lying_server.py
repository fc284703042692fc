"""A server on a free port that answers each connection as a test says, however wrongly."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

REQUEST_BYTES = 1 << 16
Answer = Callable[["Connection"], None]


@dataclass
class Connection:
    """One connection: what was asked, and how to answer it until the test ends."""

    socket: socket.socket
    asked: bytes
    is_over: threading.Event

    def send(self, data: bytes) -> None:
        """Send bytes; raises OSError when the client is gone."""
        self.socket.sendall(data)

    def drip(self, data: bytes, pause_s: float = 0.05) -> None:
        """Send a byte at a time."""
        for byte in data:
            self.send(bytes([byte]))
            if self.is_over.wait(pause_s):
                return

    def endlessly(self, data: bytes) -> None:
        """Send the same bytes until the client is gone or the test ends."""
        while not self.is_over.is_set():
            self.send(data)

    def silence(self) -> None:
        """Send nothing until the test ends."""
        self.is_over.wait()


@dataclass
class Lying:
    """A running server; ``asked`` are the first bytes of each connection."""

    port: int
    asked: list[bytes] = field(default_factory=list)


@contextmanager
def lying(answer: Answer, *, speaks_first: bool = False) -> Iterator[Lying]:
    """Run a server until the end of the block; with ``speaks_first`` it answers unasked, as mail servers do."""
    is_over, listener = threading.Event(), socket.create_server(("127.0.0.1", 0))
    running, threads, clients = Lying(listener.getsockname()[1]), [], []

    def converse(client: socket.socket) -> None:
        with client, suppress(OSError):
            asked = b"" if speaks_first else client.recv(REQUEST_BYTES)
            running.asked.append(asked)
            answer(Connection(client, asked, is_over))

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                clients.append(client)
                threads.append(threading.Thread(target=converse, args=(client,)))
                threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield running
    finally:
        is_over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join()
        for client in clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
