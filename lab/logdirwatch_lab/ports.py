"""Free ports on loopback."""

import contextlib
import fcntl
import os
import random
import socket
import tempfile
from functools import cache
from pathlib import Path

from logdirwatch.errors import UserError
from logdirwatch_lab.state import HOST

# Below the range of outgoing connections, which could take a port before its broker does.
LOWEST, HIGHEST = 20_000, 32_000
ATTEMPTS = 1_000

_chosen: set[int] = set()


def free_ports(count: int) -> list[int]:
    """Return ``count`` different free ports; raises UserError if they cannot be found.

    No other process of this user is given one of them while this process runs: a broker that is about to start, or
    that was stopped, does not listen.
    """
    chooser = random.SystemRandom()
    found: set[int] = set()
    for _ in range(ATTEMPTS):
        if len(found) == count:
            return sorted(found)
        port = chooser.randrange(LOWEST, HIGHEST)
        if port not in _chosen and _is_free(port) and _claim(port):
            found.add(port)
            _chosen.add(port)
    raise UserError(f"cannot find {count} free ports between {LOWEST} and {HIGHEST} on {HOST}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def _claim(port: int) -> bool:
    """Lock the byte of a shared file that stands for the port; False if another process holds it.

    The system releases the lock when this process ends. If the file is not writable, no port is claimed.
    """
    file = _claims()
    if file is None:
        return True
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


@cache
def _claims() -> int | None:
    """Open the shared file once: closing any handle of a file releases all locks of the process on it."""
    path = Path(tempfile.gettempdir()) / f"logdirwatch-ports-{os.getuid()}"
    with contextlib.suppress(OSError):
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    return None
