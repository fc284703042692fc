"""``raise_limit``: raise a limit of the operating system or a disk quota; the disks are healthy."""

import shlex
from collections.abc import Mapping
from typing import Any

from logdirwatch.model.vocabulary import ActionKind, FullBy
from logdirwatch.parse.kernel_log.lines import limit_in
from logdirwatch.parse.os_errors import MEMORY_MAPS, OPEN_FILES
from logdirwatch.plan.actions.action_type import ActionType, frees_as_much
from logdirwatch.plan.actions.parts import host_notes
from logdirwatch.plan.actions.progress import not_seen
from logdirwatch.plan.availability.offline_log_dirs import OfflineEvidence, OfflineLogDirs, log_line, used_text
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.snapshot import LogDir
from logdirwatch.plan.proposal import ProposedAction, effect

QUOTA = "quota"
"""The step of the action that raises a quota, not a limit of the process."""


def raise_limit(away: OfflineLogDirs, proof: OfflineEvidence) -> ProposedAction:
    """Return the remedy for an exhausted limit of the operating system; the disks are healthy."""
    limit = limit_in(proof.said or "")
    # Without the line nothing tells "Too many open files" from "Map failed": both take several directories offline at
    # once.
    limits = (OPEN_FILES, MEMORY_MAPS) if limit is None else (limit,)
    which = " or ".join(limit.name for limit in limits)
    text = f"raise the limit that broker {away.broker} ran into: {which}; its disks are fine"
    steps = [
        *(limit.shown_by.replace("PID", "$(pgrep -f kafka.Kafka)") for limit in limits),
        *(f"{limit.raised_by}; the broker's next start applies it" for limit in limits),
        "in a container raise it for the container's runtime or its node",
    ]
    return _raised(away.broker, away.target, text, *steps)


def raise_quota(directory: LogDir, proof: OfflineEvidence) -> ProposedAction:
    """Return the remedy for an exhausted disk quota, which a larger volume does not change."""
    path = shlex.quote(directory.path)
    steps = (
        (
            f"see the quota: repquota -s or xfs_quota -x -c 'report -h' of the file system of {path}; for CephFS "
            f"getfattr -n ceph.quota.max_bytes -- {path}; for a Kubernetes volume its size"
        ),
        (
            "raise it for Kafka's user, project or directory (edquota, xfs_quota -x -c 'limit ...', setfattr -n "
            "ceph.quota.max_bytes)"
        ),
    )
    reason = (
        f"raise the disk quota of {directory.path} of broker {directory.broker}, or free space under it: the "
        f"quota is reached{used_text(directory)}{log_line(proof)}"
    )
    target = {**place_target(directory), "step": QUOTA}
    return _raised(directory.broker, target, reason, *steps, full_by=str(FullBy.QUOTA))


def _raised(
    broker: int, target: Mapping[str, Any], reason: str, *steps: str, full_by: str | None = None
) -> ProposedAction:
    expected = effect() if full_by is None else effect(full_by=full_by)
    notes = host_notes(broker, *(f"{step}." for step in steps))
    return ProposedAction(ActionKind.RAISE_LIMIT, target, reason, expected, commands=notes)


ACTION_TYPE = ActionType(
    kind=ActionKind.RAISE_LIMIT,
    progress=not_seen,
    covers=frees_as_much,
    needs_inventory=False,
    is_done_when_back=True,
)
