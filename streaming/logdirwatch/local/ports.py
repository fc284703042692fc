"""Free ports on loopback."""

import random
import socket

from logdirwatch.errors import UserError
from logdirwatch.local.state import HOST

# Below the range from which the kernel takes ports for outgoing connections, which could steal one before its broker.
LOWEST, HIGHEST = 20_000, 32_000
ATTEMPTS = 1_000


def free_ports(count: int) -> list[int]:
    """Return ``count`` different ports that nothing listens on now; UserError when they cannot be found."""
    chooser = random.SystemRandom()
    found: set[int] = set()
    for _ in range(ATTEMPTS):
        if len(found) == count:
            return sorted(found)
        port = chooser.randrange(LOWEST, HIGHEST)
        if _is_free(port):
            found.add(port)
    raise UserError(f"cannot find {count} free ports between {LOWEST} and {HIGHEST} on {HOST}")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True
