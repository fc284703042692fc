"""Breaking a log directory and mending it."""

import shutil

from logdirwatch.errors import UserError
from logdirwatch.local import processes
from logdirwatch.local.fill import BALLAST, Target

# A directory that is this full after the ballast went is full of data: it gets a bigger volume.
CROWDED_RATIO = 0.75
GROWTH = 2


def break_log_dir(target: Target) -> None:
    """Put a file in the directory's place, as Kafka's LogDirFailureTest does; UserError when it is broken already."""
    path = target.volumes.view(target.log_dir)
    if not path.is_dir():
        raise UserError(f"{target.log_dir} of broker {target.node.id} is broken already")
    aside = path.with_name("removed")
    # Renamed first: the broker still makes files in it, which would disturb the removal.
    path.rename(aside)
    path.touch()
    shutil.rmtree(aside)


def must_restart(target: Target) -> bool:
    """Return whether only a restart brings the directory back, as Kafka's LogDirFailureChannel has it."""
    return target.is_offline() or not target.volumes.view(target.log_dir).is_dir()


def check_metadata_survives(target: Target) -> None:
    """Refuse to format a controller's metadata directory when no majority of the others keeps the metadata.

    Raises UserError.
    """
    node = target.node
    if node.controller_port is None or node.metadata_dir != target.log_dir:
        return
    if target.volumes.view(target.log_dir).is_dir():
        return
    voters = target.state.voters
    others = [voter for voter in voters if voter is not node and processes.find(voter.process)]
    if len(others) <= len(voters) // 2:
        raise UserError(
            f"{target.log_dir} held the cluster's metadata and no majority of the other controllers runs; "
            "make a new cluster: logdirwatch cluster down, then up"
        )


def mend(target: Target) -> None:
    """Make the directory a directory again, take the ballast off its filesystem, enlarge one that data fills."""
    path = target.volumes.view(target.log_dir)
    if not path.is_dir():
        path.unlink(missing_ok=True)
        path.mkdir()
    target.volumes.view(target.volume / BALLAST).unlink(missing_ok=True)
    space = target.volumes.space(target.volume)
    if target.state.log_dir_size_bytes is not None and space is not None and space.used_ratio >= CROWDED_RATIO:
        target.volumes.resize(target.volume, space.total_bytes * GROWTH)
