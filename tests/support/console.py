"""``logdirwatch console`` over the tables of a folder: as a process, and as its application alone."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import requests
from flask import Flask

from logdirwatch.cli.console.capacity import capacity_of
from logdirwatch.cli.context import Context
from logdirwatch.cli.reading.tables.opening import table_reader
from logdirwatch.clock import wall_ms
from logdirwatch.config.section import HOUR_MS
from logdirwatch.console.pages import application
from logdirwatch.console.reading import Reader, nobody
from logdirwatch.console.settings import ConsoleSettings
from logdirwatch.model.records import AlertRecord
from logdirwatch.observe.children import dying_with_parent
from logdirwatch.report.status.snapshot import Patience
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


def application_over(tables: Path, live: Callable[[], list[AlertRecord] | None] = nobody) -> tuple[Flask, Reader]:
    """Return the application without a socket, and its reader; ``live`` are alerts and heartbeats of the topic.

    What it reads is current for an hour.
    """
    os.environ |= {"LOGDIRWATCH_CONFIG": "", "LOGDIRWATCH_TABLES__PATH": str(tables)}
    context = Context()
    found = table_reader(context.settings)
    reader = Reader(found.select, found.rows, live)
    patience = Patience(state_ms=HOUR_MS, inventory_ms=HOUR_MS, proof_ms=HOUR_MS, skew_ms=60_000)
    return application(reader, ConsoleSettings(), patience, wall_ms, capacity=capacity_of(context, found)), reader


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
