"""The process that a guard starts: takes the cluster down when the owner is gone."""

import sys
from pathlib import Path


def main(home: str, cluster_id: str) -> None:
    """Wait for the end of standard input, then take that cluster down."""
    sys.stdin.read()
    from logdirwatch_lab.cluster import LocalCluster  # noqa: PLC0415 - imported late to keep the guard small

    LocalCluster(Path(home)).down(cluster_id)


if __name__ == "__main__":
    main(*sys.argv[1:])
