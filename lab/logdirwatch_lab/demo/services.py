"""The collector and the stream as child processes that end with the demo."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from logdirwatch.errors import UserError
from logdirwatch.observe.children import dying_with_parent

STOP_TIMEOUT_S = 180.0
TAIL_LINES = 15


class Service:
    """One ``logdirwatch`` command running in the background, its output in a file.

    ``under`` is a command that runs it, such as one that enters a namespace, whose arguments follow.
    """

    def __init__(self, name: str, arguments: Sequence[str], log_file: Path, under: Sequence[str] = ()) -> None:
        self.name = name
        self._under = tuple(under)
        self.log_file = log_file
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id; raises UserError when it does not run."""
        if self._process is None:
            raise UserError(f"{self.name} was not started")
        return self._process.pid

    def start(self) -> "Service":
        """Start the command in its own session, so that Ctrl-C reaches only the demo."""
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        with self.log_file.open("ab") as output:
            self._process = subprocess.Popen(
                [*dying_with_parent(), *self._under, sys.executable, "-m", "logdirwatch", *self._arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        return self

    def check(self) -> None:
        """Raise UserError with the end of its log when the command ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            raise UserError(f"{self.name} ended with exit code {self._process.returncode}; {self.tail()}")

    def tail(self) -> str:
        """Return the path of its log and its last lines."""
        try:
            lines = self.log_file.read_text(errors="replace").splitlines()[-TAIL_LINES:]
        except OSError:
            lines = []
        return f"its log {self.log_file} ends:\n" + "\n".join(f"  {line}" for line in lines)

    def stop(self) -> int | None:
        """Stop it, by force after a while; return its exit code, None if it never ran."""
        process, self._process = self._process, None
        if process is None:
            return None
        if process.poll() is None:
            # A suspended process would not see the request.
            process.send_signal(signal.SIGCONT)
            process.terminate()
        try:
            return process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.wait()
