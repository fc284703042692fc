"""Breaks and repairs log directories."""

import shutil

from logdirwatch.errors import UserError
from logdirwatch.text.units import human_s
from logdirwatch_lab import probes, processes
from logdirwatch_lab.fill import BALLAST, Target
from logdirwatch_lab.state import Node
from logdirwatch_lab.waiting import wait_until

# A directory that is this full without the ballast file is full of data: it gets a larger volume.
CROWDED_RATIO = 0.75
GROWTH = 2
ELECTION_DEADLINE_S = 180.0


def break_log_dir(target: Target) -> None:
    """Replace the directory with a file, as Kafka's LogDirFailureTest does; raises UserError if it is one already."""
    path = target.volumes.view(target.log_dir)
    if not path.is_dir():
        raise UserError(f"{target.log_dir} of broker {target.node.id} is broken already")
    aside = path.with_name("removed")
    # Renamed first: the broker still creates files in it, which would disturb the removal.
    path.rename(aside)
    path.touch()
    shutil.rmtree(aside)


def must_restart(target: Target) -> bool:
    """Return whether only a restart brings the directory back, as with Kafka's LogDirFailureChannel."""
    return target.is_offline() or not target.volumes.view(target.log_dir).is_dir()


def check_metadata_survives(target: Target) -> None:
    """Refuse to format a controller's metadata directory if no majority of the others has the metadata.

    Raises UserError.
    """
    if not _lost_metadata(target):
        return
    voters = target.state.voters
    if len(_other_controllers(target)) <= len(voters) // 2:
        raise UserError(
            f"{target.log_dir} held the cluster's metadata and no majority of the other controllers runs; "
            "create a new cluster: logdirwatch-lab down, then up"
        )


def wait_for_another_leader(target: Target) -> None:
    """Wait until the other controllers have a leader if the stopped broker lost the cluster's metadata.

    A former leader that starts sooner hears from the others that it still leads, finds nothing of that in its empty
    directory, and exits (KafkaRaftClient.maybeTransition). Raises UserError after ``ELECTION_DEADLINE_S``.
    """
    if not _lost_metadata(target):
        return
    addresses = [other.address for other in _other_controllers(target)]

    def led() -> bool:
        return any(probes.quorum_leader(address) not in (None, target.node.id) for address in addresses)

    wait_until(led, ELECTION_DEADLINE_S, f"no leader was elected within {human_s(ELECTION_DEADLINE_S)}")


def _lost_metadata(target: Target) -> bool:
    node = target.node
    holds_metadata = node.controller_port is not None and node.metadata_dir == target.log_dir
    return holds_metadata and not target.volumes.view(target.log_dir).is_dir()


def _other_controllers(target: Target) -> list[Node]:
    others = (voter for voter in target.state.voters if voter is not target.node)
    return [voter for voter in others if processes.find(voter.process)]


def repair(target: Target) -> None:
    """Recreate the directory, remove the ballast file, and enlarge a file system full of data."""
    path = target.volumes.view(target.log_dir)
    if not path.is_dir():
        path.unlink(missing_ok=True)
        path.mkdir()
    target.volumes.view(target.volume / BALLAST).unlink(missing_ok=True)
    space = target.volumes.space(target.volume)
    if target.state.log_dir_size_bytes is not None and space is not None and space.used_ratio >= CROWDED_RATIO:
        target.volumes.resize(target.volume, space.total_bytes * GROWTH)
