"""The Python process that Spark asks for the state of a query; it connects to Spark before it imports PySpark.

Spark starts it when such a query starts, on the driver, and gives it ten seconds to connect
(``PythonWorkerFactory.createSimpleWorker``; no setting changes it). Importing PySpark alone takes longer on a busy
machine. After the connection Spark waits five minutes.
"""

import os
import socket
import struct
import sys
from importlib import import_module
from typing import IO, cast

CONNECTS_WITHIN_S = 60.0
_LENGTH = struct.Struct("!i")


def connected(port: int, secret: str) -> IO[bytes]:
    """Return a stream to the JVM that started this process, once the JVM knows it."""
    host = "::1" if os.environ.get("SPARK_PREFER_IPV6", "false").lower() == "true" else "127.0.0.1"
    with socket.create_connection((host, port), CONNECTS_WITHIN_S) as connection:
        stream = cast("IO[bytes]", connection.makefile("rwb", int(os.environ.get("SPARK_BUFFER_SIZE", "65536"))))
        _authenticate(stream, secret)
        stream.write(_LENGTH.pack(os.getpid()))
        stream.flush()
        # PySpark keeps a limit for reading. The JVM ends this process when it needs it no more.
        connection.settimeout(None)
        return stream  # which keeps the connection open


def _authenticate(stream: IO[bytes], secret: str) -> None:
    """Send the secret; the protocol is that of ``pyspark.util._do_server_auth``."""
    text = secret.encode()
    stream.write(_LENGTH.pack(len(text)) + text)
    stream.flush()
    (size,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    if (reply := _exactly(stream, size)) != b"ok":
        raise ConnectionError(f"Spark refused this process: {reply!r}")


def _exactly(stream: IO[bytes], size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise ConnectionError("Spark closed the connection")
    return found


def main(module: str) -> None:
    """Connect, then run a module of PySpark that would otherwise connect by itself."""
    with connected(int(os.environ["PYTHON_WORKER_FACTORY_PORT"]), os.environ["PYTHON_WORKER_FACTORY_SECRET"]) as stream:
        import_module(module).main(stream, stream)


if __name__ == "__main__":
    main(sys.argv[1])
