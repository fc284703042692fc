"""``logdirwatch console`` as a process over the tables of a folder."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from logdirwatch.observe.children import dying_with_parent
from logdirwatch_lab.ports import free_ports
from logdirwatch_lab.state import HOST
from tests.support.waiting import DEADLINE_S, wait_until


@contextmanager
def serving(tables: Path, host: str = HOST, **settings: object) -> Iterator[str]:
    """Run the console on a free port and yield its ``host:port`` on this machine; it must end well when asked to.

    ``settings`` are configuration keys as the environment spells them, such as ``console__refresh_s=5``.
    """
    (port,) = free_ports(1)
    given = {f"LOGDIRWATCH_{name.upper()}": str(value) for name, value in settings.items()}
    environment = {**os.environ, "LOGDIRWATCH_CONFIG": "", "LOGDIRWATCH_TABLES__PATH": str(tables), **given}
    with subprocess.Popen(
        [*dying_with_parent(), *command("--listen", f"{host}:{port}")], env=environment, cwd=tables.parent
    ) as served:
        try:
            wait_until(lambda: is_up(f"{HOST}:{port}", served), DEADLINE_S, "the console to answer")
            yield f"{HOST}:{port}"
        finally:
            served.send_signal(signal.SIGTERM)
            assert served.wait(DEADLINE_S) == 0


def command(*arguments: str) -> list[str]:
    """Return how the console is started."""
    return [sys.executable, "-m", "logdirwatch", "console", *arguments]


def is_up(address: str, served: subprocess.Popen[bytes]) -> bool:
    """Return whether the console answers, in whatever way; fail when it ended."""
    assert served.poll() is None, f"the console ended with {served.returncode}"
    return reached(f"http://{address}/") is not None


def reached(url: str) -> requests.Response | None:
    """Return the answer to a request; None when nobody listens."""
    try:
        return requests.get(url, timeout=DEADLINE_S)
    except requests.ConnectionError:
        return None
