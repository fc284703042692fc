"""``python -m tests.chaos_apply.victim POINT LIVES LOG WORDS…``: the real command, which kills itself after some steps.

A step is a write of the journal or a call that changes the cluster, each with a moment before and one after it.
"""

import json
import os
import signal
import sys
import threading
from pathlib import Path

from logdirwatch.cli.main import main as command
from logdirwatch.execute import journal, ports
from logdirwatch.execute.admin import AdminCluster

POLL_S = 0.3


class Life:
    """Counts moments down to the end, and writes down what was done before it."""

    def __init__(self, lives: int, log: Path) -> None:
        self._lives, self._log, self._lock = lives, log, threading.Lock()

    def moment(self, point: str) -> None:
        """Pass a moment, or die in it as by ``kill -9``."""
        with self._lock:
            self._lives -= 1
            if self._lives == 0:
                self.note({"killed": point})
                os.kill(os.getpid(), signal.SIGKILL)

    def note(self, line: dict[str, str]) -> None:
        """Write a line that outlives the process."""
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def main() -> None:
    """Run the command."""
    lives, log, *words = sys.argv[1:]
    life = Life(int(lives), Path(log))
    write, call = journal.Journal.write, AdminCluster.call

    def writing(self, record):
        life.moment(f"before {record.state}")
        write(self, record)
        life.moment(f"after {record.state}")

    def calling(self, made):
        life.moment(f"before {type(made).__name__}")
        call(self, made)
        life.note({"called": repr(made)})
        life.moment(f"after {type(made).__name__}")

    journal.Journal.write, AdminCluster.call, ports.POLL_S = writing, calling, POLL_S
    sys.argv = ["logdirwatch", *words]
    command()


if __name__ == "__main__":
    main()
