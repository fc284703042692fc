"""Takes a cluster down when the process that owns it is gone, however it went."""

import subprocess
import sys
from pathlib import Path


class Guard:
    """A small process that waits for this one to end: the pipe between them closes even at a kill -9."""

    def __init__(self, home: Path, cluster_id: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "logdirwatch.local.guard", str(home), cluster_id],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """End the guard; the cluster stays as it is."""
        self._process.kill()
        self._process.communicate()


def main(home: str, cluster_id: str) -> None:
    """Wait for the end of standard input, then take that very cluster down."""
    sys.stdin.read()
    from logdirwatch.local.cluster import LocalCluster  # noqa: PLC0415 - the guard of a living owner stays small

    LocalCluster(Path(home)).down(cluster_id)


if __name__ == "__main__":
    main(*sys.argv[1:])
