"""Starts, finds and stops our processes; others are never touched."""

import contextlib
import os
import signal
from collections.abc import Iterable
from pathlib import Path

import psutil

from logdirwatch.errors import UserError
from logdirwatch_lab.state import Process

SAME_PROCESS_TOLERANCE_S = 1.0
KILL_DEADLINE_S = 120.0


def spawn(command: list[str], output: Path) -> Process:
    """Start ``command`` in its own session, with its output appended to ``output``.

    It keeps running after this process. Raises UserError if the program is missing.
    """
    files = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(output), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    try:
        pid = os.posix_spawnp(
            command[0], command, os.environ, file_actions=files, setsid=True, setsigdef=[signal.SIGPIPE]
        )
    except FileNotFoundError:
        raise UserError(f"{command[0]} is not installed") from None
    return Process(pid, psutil.Process(pid).create_time())


def find(process: Process | None) -> psutil.Process | None:
    """Return the running process, None if it ended; one suspended by SIGSTOP still runs."""
    if process is None:
        return None
    try:
        found = psutil.Process(process.pid)
        if abs(found.create_time() - process.created_s) > SAME_PROCESS_TOLERANCE_S:
            return None
        if found.status() != psutil.STATUS_ZOMBIE:
            return found
    except psutil.NoSuchProcess:
        return None
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process.pid, os.WNOHANG)
    return None


def is_paused(process: Process) -> bool:
    """Return whether the process is suspended by a signal."""
    try:
        found = find(process)
        return found is not None and found.status() == psutil.STATUS_STOPPED
    except psutil.NoSuchProcess:
        return False


def send(process: Process | None, number: signal.Signals) -> None:
    """Send a signal to a process of ours, if it still runs."""
    if running := find(process):
        with contextlib.suppress(psutil.NoSuchProcess):
            running.send_signal(number)


def kill(processes: Iterable[Process | None]) -> None:
    """Kill with SIGKILL and wait until all have ended.

    Raises UserError with those that do not end.
    """
    found = [running for process in processes if (running := find(process))]
    for running in found:
        with contextlib.suppress(psutil.NoSuchProcess):
            running.kill()
    _, alive = psutil.wait_procs(found, timeout=KILL_DEADLINE_S)
    if alive:
        raise UserError(f"processes {[running.pid for running in alive]} did not end; kill them manually")


def stop(process: Process | None, grace_s: float) -> bool:
    """Send SIGTERM, even to a paused one, and SIGKILL after ``grace_s`` seconds; return whether it ended by itself."""
    running = find(process)
    if running is None:
        return True
    send(process, signal.SIGTERM)
    send(process, signal.SIGCONT)
    _, alive = psutil.wait_procs([running], timeout=grace_s)
    kill([process])
    return not alive


def tail(path: Path, lines: int = 15) -> str:
    """Return the last lines of a file, empty when it cannot be read."""
    try:
        return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except OSError:
        return ""


def lost_its_port(log_file: Path) -> bool:
    """Tell from the end of its log whether one of a program's ports was taken."""
    return "Address already in use" in tail(log_file, 200)
