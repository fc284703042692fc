"""The reserve file of a log directory: it occupies space, and is deleted when space runs out (KIP-928)."""

import posixpath

from logdirwatch.plan.cluster.snapshot import LogDir
from logdirwatch.plan.proposal import Policy


def reserve_of(directory: LogDir, policy: Policy) -> tuple[str, int] | None:
    """Return the path and size in bytes of a directory's reserve file; None if none is configured."""
    reserve = policy.limits.log_dir_rule(directory.broker, directory.path).reserve
    return None if reserve is None else (posixpath.join(directory.path, reserve[0]), reserve[1])


def make_file(path: str, size: int) -> list[str]:
    """Return the command that creates the file with its blocks allocated."""
    return ["fallocate", "-l", str(size), "--", path]
