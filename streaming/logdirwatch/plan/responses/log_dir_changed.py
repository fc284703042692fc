"""A log directory that has changed: its volume, or its reserve file."""

import shlex

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.log_dirs import LogDirChangedEvidence
from logdirwatch.model.records import AlertRecord
from logdirwatch.plan.actions.brokers.investigate import UNAVAILABLE, Runbook, on_host_of
from logdirwatch.plan.actions.brokers.recreate_reserve import propose_recreation
from logdirwatch.plan.commands.kafka_tools import Tools, note
from logdirwatch.plan.proposal import ProposedAction
from logdirwatch.plan.responses.response import Response, Situation

RESERVE_GONE, ROOT_VOLUME, EMPTIED = "reserve", "root_volume", "emptied"
"""The evidence's values for a missing reserve file, for a lost mount, and for a directory that came back empty."""


def propose(situation: Situation) -> list[ProposedAction]:
    """Return the recreation of the reserve file, if that is what is missing."""
    shown = read_as(situation.alert.evidence, LogDirChangedEvidence)
    if situation.directory is None or shown.why != RESERVE_GONE:
        return []
    recreated = propose_recreation(situation.directory, situation.policy)
    return [] if recreated is None else [recreated]


def _what_is_mounted(_: Tools, alert: AlertRecord) -> str:
    path = shlex.quote(alert.log_dir or "DIR")
    return note(
        f"On broker {alert.broker}'s host: findmnt --target {path}; df -h {path}; ls {path} (the volume that belongs "
        "there, with its replicas?)"
    )


_MOUNT_GONE = Runbook(
    "find out which volume is mounted there, before the one that Kafka writes to now fills: if a mount is gone, the "
    "replicas are still on the volume that was mounted, and the broker copies them again to what lies below it. Stop "
    "the broker, mount the volume and start it; make no file system on it",
    (
        _what_is_mounted,
        UNAVAILABLE,
        on_host_of(
            "if its mount is gone, stop the broker cleanly, move away what was written below the mount point, mount "
            "the volume, start the broker. Make no file system on it, and copy none of these files to it."
        ),
    ),
)


def _runbook_for(alert: AlertRecord) -> Runbook | None:
    """Return what to do about a mount that may be gone; nothing special for a larger volume or a reserve file."""
    shown = read_as(alert.evidence, LogDirChangedEvidence)
    is_larger = (shown.total_bytes or 0) > (shown.total_bytes_before or 0) > 0
    # A larger volume is one that somebody grew; the root volume may be larger as well, and an empty one is never
    # harmless.
    is_harmless = shown.why == RESERVE_GONE or (is_larger and shown.why not in {ROOT_VOLUME, EMPTIED})
    return None if is_harmless else _MOUNT_GONE


RESPONSE = Response(
    runbook=Runbook("find out why the directory's volume changed", (_what_is_mounted, UNAVAILABLE)),
    runbook_for=_runbook_for,
    propose=propose,
    ends_when="size, volume and reserve file are as before, or a new size or volume stayed for a day; what came back "
    "empty is in sync, with the bytes of before or for a day",
)
