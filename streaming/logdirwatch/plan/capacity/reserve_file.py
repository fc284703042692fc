"""The reserve file of a log directory: it only takes up space, to be given up when that runs out (KIP-928)."""

import posixpath

from logdirwatch.plan.cluster.snapshot import LogDir
from logdirwatch.plan.proposal import Policy


def reserve_of(directory: LogDir, policy: Policy) -> tuple[str, int] | None:
    """Return the path and size of a directory's reserve file; None where none is configured."""
    reserve = policy.limits.log_dir_rule(directory.broker, directory.path).reserve
    return None if reserve is None else (posixpath.join(directory.path, reserve[0]), reserve[1])


def make_file(path: str, size: int) -> list[str]:
    """Return the command that makes the file and really takes the blocks."""
    return ["fallocate", "-l", str(size), "--", path]
