"""Takes a cluster down when its owner process has ended, even by SIGKILL."""

import subprocess
import sys
from pathlib import Path


class Guard:
    """A small process that waits for this one to end: the pipe between them closes even on SIGKILL."""

    def __init__(self, home: Path, cluster_id: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "logdirwatch_lab.guard_process", str(home), cluster_id],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """End the guard; the cluster stays as it is."""
        self._process.kill()
        self._process.communicate()
