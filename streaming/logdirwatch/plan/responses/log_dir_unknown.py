"""A log directory that no broker reports: whether it was removed from ``log.dirs``."""

from dataclasses import replace

import msgspec

from logdirwatch.plan.actions.brokers.investigate import UNAVAILABLE, Runbook, quorum_status
from logdirwatch.plan.availability.fault_tolerance import lost_together
from logdirwatch.plan.proposal import ProposedAction
from logdirwatch.plan.reassignment.log_dir_removal import leaving
from logdirwatch.plan.responses.log_dir_suspect import with_endurance
from logdirwatch.plan.responses.response import Response, Situation
from logdirwatch.text.units import human_bytes
from logdirwatch.text.words import counted

_KEEP = "keep its volume until they are in sync, and for partitions that have no other replica"


def propose(situation: Situation) -> list[ProposedAction]:
    """Return the check for an unreported directory: whether it was removed from ``log.dirs``, and what that means."""
    snapshot, directory = situation.snapshot, situation.directory
    if directory is None:
        return []
    configured = snapshot.is_configured(directory)
    lost = lost_together([directory.place], snapshot)
    found = leaving(directory, lost, snapshot, situation.policy)
    # Without the broker's configuration nothing tells a removed directory from one that is not mounted.
    if configured is None:
        why = None
    elif configured:
        why = "it is in log.dirs still: see whether it is mounted, and what the broker's log says"
    elif found.fits:
        made = counted(found.replicas, "replica is made", "replicas are made")
        why = f"it left log.dirs: its {made} again in the broker's other directories; {_KEEP}"
    else:
        short = "an unknown number of bytes" if found.missing_bytes is None else human_bytes(found.missing_bytes)
        replicas = counted(found.replicas, "replica")
        why = f"it left log.dirs, and the broker's other directories lack {short} for its {replicas}; {_KEEP}"
    look = with_endurance(situation.look_because(why), directory, snapshot)
    return [
        replace(
            look, expected={**look.expected, "in_log_dirs": configured, "leave_log_dirs": msgspec.to_builtins(found)}
        )
    ]


RESPONSE = Response(
    runbook=Runbook(
        "find out why nothing is known of the directory: does the broker answer, is it still in log.dirs",
        (quorum_status, UNAVAILABLE),
    ),
    propose=propose,
    ends_when="its broker reports the directory, with its size if its version of Kafka reports sizes; if it left "
    "log.dirs, also when the broker's other directories hold as much, in sync, or a person declares it healthy",
)
