"""Bytes that no replica explains: only a person on the host can see what they are."""

import shlex
from dataclasses import replace

from logdirwatch.plan.actions.brokers.investigate import Runbook, describe_log_dirs
from logdirwatch.plan.actions.brokers.recreate_reserve import reserve_of
from logdirwatch.plan.actions.parts import host_notes
from logdirwatch.plan.cluster.snapshot import LogDir
from logdirwatch.plan.proposal import ProposedAction
from logdirwatch.plan.responses.response import Response, Situation
from logdirwatch.text.units import human_bytes


def propose(situation: Situation) -> list[ProposedAction]:
    """Return the search on the host for what the bytes are."""
    directory = situation.directory
    return [] if directory is None else [searched(situation, directory)]


def searched(situation: Situation, directory: LogDir, *why: str) -> ProposedAction:
    """Return the step of the runbook with the search on the host, and what is known of the bytes."""
    path = shlex.quote(directory.path)
    steps = (
        f"du -x --max-depth=1 -- {path} | sort -n | tail -20: what ends in -delete or -stray is Kafka's own.",
        (
            f"du -sx -- {path}; du -sx --apparent-size -- {path}: where the first is much larger, the file system "
            "holds more than the files have (preallocated blocks, as on XFS); a restart of the broker frees them."
        ),
        (
            f"lsof +L1 -- {path}: deleted files that a process still holds open take space as well; those of the "
            "broker are freed by its restart."
        ),
        "Remove what is not Kafka's; never segment files of a replica that is listed, nor __cluster_metadata-0.",
    )
    found = situation.look_because("; ".join([*why, *_explained(situation, directory)]) or None)
    return replace(found, commands=(*found.commands, *host_notes(directory.broker, *steps)))


def _explained(situation: Situation, directory: LogDir) -> list[str]:
    """Say which part of the bytes is known; no answer of a broker lists the metadata log and its snapshots."""
    reserve = reserve_of(directory, situation.policy)
    known = [] if reserve is None else [f"{human_bytes(reserve[1])} of them are the reserve file {reserve[0]}"]
    # DescribeLogDirs lists the logs of LogManager, and the metadata log belongs to the Raft layer.
    is_metadata = directory.is_metadata_dir and not situation.snapshot.is_zookeeper(directory.broker)
    return [*known, "the metadata log, __cluster_metadata-0, is among them"] if is_metadata else known


RESPONSE = Response(
    runbook=Runbook(
        "find the bytes that no replica explains: -stray and -delete folders, files not Kafka's, deleted files still "
        "open, preallocated blocks (du beside du --apparent-size); a restart of the broker frees the last two",
        (describe_log_dirs,),
    ),
    propose=propose,
    ends_when="the share of unexplained bytes is below its threshold",
)
