"""A suspect directory: move leaders and replicas off it while it still serves.

Kafka keeps slow and failing disks in service (KIP-112, operations 3); only fewer reads and writes there help.
"""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.brokers import BrokerSuspectEvidence
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import (
    CLEANER_DEAD,
    LOST_WAY,
    OPEN_FILES,
    RAN_OUT,
    READ_ERRORS,
    REMOTE_COPY_FAILS,
    TASK_FAILS,
    Cause,
    KernelTrouble,
)
from logdirwatch.parse.broker_log.causes import cause_of
from logdirwatch.parse.kernel_log.lines import is_no_answer
from logdirwatch.parse.os_errors import MEMORY
from logdirwatch.parse.os_errors import OPEN_FILES as OPEN_FILES_LIMIT
from logdirwatch.plan.actions.brokers.investigate import (
    UNAVAILABLE,
    UNDER_REPLICATED,
    Runbook,
    describe_all_log_dirs,
    describe_log_dirs,
    on_host_of,
)
from logdirwatch.plan.actions.brokers.raid_arrays import Array, array_in, array_steps, looked_at
from logdirwatch.plan.actions.brokers.replace_disk import named
from logdirwatch.plan.actions.parts import host_notes
from logdirwatch.plan.actions.replicas.cordon_log_dir import propose_cordon
from logdirwatch.plan.actions.replicas.demote_leaders import demote, partitions_led_from
from logdirwatch.plan.actions.replicas.move_log_dir import propose_move
from logdirwatch.plan.actions.replicas.reassign import Loss, rebuild
from logdirwatch.plan.availability.fault_tolerance import complete_copies, fault_tolerance_of, lost_together
from logdirwatch.plan.cluster.layout import Replica
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Policy, ProposedAction
from logdirwatch.plan.reassignment.replacement_replicas import Repair, plan_repair, remedies
from logdirwatch.plan.reassignment.within_broker import plan_moves
from logdirwatch.plan.responses.response import Response, Situation
from logdirwatch.text.words import short_id

DISK = frozenset({"error_code", "probe", KernelTrouble.MEDIUM_ERROR, KernelTrouble.DEVICE_ERROR})
"""The values of ``evidence.why`` that mean a failing disk; the others mean a slow one, or another fault."""
MOUNT = frozenset({"read_only", "no_directory"})
"""The values that mean a wrong mount; the device below may be healthy, and the data intact."""
# What ran out ends by itself as well, but what helps is more of it, not a look at the path.
WAY = frozenset(trouble for trouble in KernelTrouble if trouble.heals) - RAN_OUT
DAMAGE = frozenset({KernelTrouble.FILE_SYSTEM_ERROR, KernelTrouble.REMOUNTED_READ_ONLY, KernelTrouble.RECORDED_ERROR})
POOL = frozenset({KernelTrouble.POOL_FULL, KernelTrouble.POOL_LOW})
DEGRADED = frozenset({KernelTrouble.ARRAY_DEGRADED})
CERTAIN = frozenset({KernelTrouble.MEDIUM_ERROR, KernelTrouble.DEVICE_ERROR})

_OF_MOUNT = frozenset({Cause.READ_ONLY, Cause.REMOUNT})
_OF_PROBER = frozenset({Cause.PERMISSION, Cause.LIMIT})
"""Causes of a failed probe that may be those of the host source itself."""

_LOOKS = {
    KernelTrouble.PATH_LOST: "multipath -ll, iscsiadm -m session -P 3, the switch, the adapter and the cable",
    KernelTrouble.SERVER_NOT_RESPONDING: "whether the server answers (ping, showmount -e), and its own log",
    KernelTrouble.COMMAND_FAILED: "the controller, its firmware, and what the cloud says of the volume's health",
    KernelTrouble.TIMED_OUT: "what the cloud says of the volume (impaired, stalled), or nvme smart-log of a "
    "local drive; for a cloud's volume raise nvme_core.io_timeout to its maximum: a stall then fails no I/O",
    KernelTrouble.HUNG: "what the tasks wait for (cat /proc/PID/stack) and for which device (iostat -x 5)",
}


class _Look(NamedTuple):
    """What a person does on the host before any data is moved: the reason, and the step there."""

    reason: str
    step: str = ""
    comes_first: bool = True


_WAY = _Look(
    "check the path to {device} before any data is moved: {where}; there is no evidence against the disk itself, and "
    "the alert ends by itself after two quiet hours"
)
_MOUNTED = _Look(
    "check the mount of {path} of broker {broker} before the next write takes it offline: {where}. Mount it writable "
    "again; do not format it, and move nothing yet: the data is presumably intact",
    "findmnt --target {quoted}; dmesg -T | tail -200; once the device answers mount {quoted} again, or mount -o "
    "remount,rw; in Kubernetes delete the pod, the volume is mounted again",
)
_POOLED = _Look(
    "extend the thin pool {device} below {path}: {where}; {step}",
    "lvs -a -o +data_percent,metadata_percent names the pool; lvextend -L +SIZE VG/POOL, or a larger pool volume",
)
_FULL = _Look(
    "see what ran out in {path} (blocks, inodes or a quota of {device}) and make room: a write failed for lack of it, "
    "and nothing else is wrong with the disk or the file system; the alert ends by itself once there is room",
    "df -h -- {quoted}; df -i -- {quoted}; repquota -a (ext4), xfs_quota -x -c report (XFS), btrfs filesystem usage",
)
_NO_MEMORY = _Look(
    "see why the kernel had no memory for the file system of {path} (device {device}): nothing is wrong with the disk; "
    "the alert ends by itself after two quiet hours",
    f"{MEMORY.shown_by}; {MEMORY.raised_by}",
)
_DAMAGED = _Look(
    "the file system of {path} is damaged, without evidence against its disk: {step}; what is lost is copied from "
    "the replicas in sync; then {healthy}",
    "stop the broker while its partitions are in sync elsewhere, unmount, see what xfs_repair -n or fsck -n says of "
    "{device}, repair it, mount it, start the broker",
    comes_first=False,
)


def propose(situation: Situation) -> list[ProposedAction]:
    """Return the actions for a suspect directory, by the evidence against it.

    A failing disk is given up: others lead, and its replicas are copied elsewhere. A lost path, a silent storage server
    or a hung task is checked first: the data is there, and copying it would only add load. So is a mount that is gone
    or read-only. A full thin pool is extended, a full file system gets room, a corrupt one is repaired.
    """
    alert, snapshot, policy, directory = situation.alert, situation.snapshot, situation.policy, situation.directory
    if directory is None:
        return []
    shown = read_as(alert.evidence, BrokerSuspectEvidence)
    kinds, device = frozenset(shown.why), shown.device or f"what {directory.path} lies on"
    look = with_endurance(situation.look, directory, snapshot)
    led, waiting = partitions_led_from(directory, snapshot), "is suspect, and clients wait for a leader's disk"
    demoted = demote(directory.broker, directory.path, led, snapshot, policy, f"{directory.path} {waiting}")
    unnoticed = ": Kafka does not detect slow or failing disks, and keeps placing new replicas there"
    cordon = propose_cordon(directory, snapshot, policy, unnoticed, "the disk is known to be good")
    probed = cause_of(shown.probe or "")
    array = _degraded(shown, directory, kinds)
    found = None if array is not None else _checked_first(kinds, probed, shown.device_error)
    if array is not None:
        looked = replace(
            look,
            reason=f"{looked_at(directory, array)}; once the array is whole again: {_healthy(alert)}",
            commands=(*host_notes(directory.broker, *(f"{step}." for step in array_steps(array))), *look.commands),
        )
        return [looked, *demoted, *cordon]
    if found is not None:
        looked = _looked(look, found[0], alert, directory, device, found[1])
        # A damaged file system is repaired with the broker stopped, so its leaders leave first.
        return [looked, *demoted, *cordon] if found[0].comes_first else [*demoted, looked, *cordon]
    # The prober may lack the permission, or the file descriptors, that the broker has.
    sick = kinds & DISK - ({"probe"} if probed in _OF_PROBER else frozenset())
    # Before others lead, only what is nowhere else is copied; it leaves first.
    rest = _with_last_copies_alone(directory, snapshot) if demoted else snapshot
    rebuilt, unplaced = list[ProposedAction](), None
    if sick and rest is not None:
        rebuilt, unplaced = _rebuilt(alert, directory, rest, policy)
    replacement = (
        f"plan to replace {named(device)} (smartctl -x shows its state): a probe that passes does not prove that all "
        f"of it can be read; once it is replaced or known to be good: {_healthy(alert)}"
    )
    why = "; ".join(text for text in (unplaced, replacement if kinds & CERTAIN else None) if text) or None
    look = with_endurance(situation.look_because(why), directory, snapshot)
    return [*rebuilt, *demoted, *cordon, look] if demoted else [*cordon, *rebuilt, look]


def _with_last_copies_alone(directory: LogDir, snapshot: ClusterSnapshot) -> ClusterSnapshot | None:
    """Return a snapshot with all of a directory's replicas left for later but last copies; None if there are none."""
    held = snapshot.replicas_in(directory.place)
    others = {one.key for one in held if not _is_alone(one, snapshot)}
    has_last = {one.key for one in held} > others
    return snapshot.without(others) if has_last else None


def _checked_first(kinds: frozenset[str], probed: Cause, device_error: str | None) -> tuple[_Look, str] | None:
    """Return the check that comes before any data is moved, where something else than the disk may have failed.

    ``probed`` is the cause that a failed probe of the host names. An I/O error beside a lost path, or a command
    that got no answer, belongs to that.
    """
    # From causes to consequences: a full pool or a lost path also makes a file system read-only or damages it, so these
    # are checked before the mount and the damage.
    is_certain = bool(kinds & CERTAIN)
    if kinds & POOL and not is_certain:
        is_full = KernelTrouble.POOL_FULL in kinds
        state, then = ("has no room left", "wait or fail") if is_full else ("is nearly full", "fail once it is")
        return _POOLED, f"it {state}, whatever the file system says is free, and writes {then}"
    if (KernelTrouble.NO_SPACE in kinds or probed is Cause.FULL) and not is_certain:
        return _FULL, ""
    if KernelTrouble.NO_MEMORY in kinds and not is_certain:
        return _NO_MEMORY, ""
    is_of_way = KernelTrouble.DEVICE_ERROR not in kinds or bool(kinds & LOST_WAY) or is_no_answer(kinds, device_error)
    if kinds & WAY and KernelTrouble.MEDIUM_ERROR not in kinds and is_of_way:
        return _WAY, "; ".join(text for trouble, text in _LOOKS.items() if trouble in kinds)
    if (kinds & MOUNT or probed in _OF_MOUNT) and not kinds & (CERTAIN | DAMAGE):
        is_gone = "no_directory" in kinds
        return _MOUNTED, "there is no directory at its path" if is_gone else "it is read-only or stale"
    return (_DAMAGED, "") if kinds & DAMAGE and not is_certain else None


def _looked(
    look: ProposedAction, what: _Look, alert: AlertRecord, directory: LogDir, device: str, where: str
) -> ProposedAction:
    told = {"path": directory.path, "quoted": shlex.quote(directory.path), "broker": directory.broker, "device": device}
    step = what.step.format(**told)
    reason = what.reason.format(**told, where=where, step=step, healthy=_healthy(alert))
    notes = host_notes(directory.broker, f"{step}.") if step else ()
    commands = (*notes, *look.commands) if what.comes_first else (*look.commands, *notes)
    return replace(look, reason=reason, commands=commands)


def _degraded(shown: BrokerSuspectEvidence, directory: LogDir, kinds: frozenset[str]) -> Array | None:
    """Return the array of a directory with a failed member; None if there is none, or the array itself is lost."""
    found = array_in(shown.texts, shown.device, directory) if kinds & (CERTAIN | DEGRADED) else None
    # The kernel says that some array is degraded, but no line names it: it still works.
    if found is None and kinds & DEGRADED and not kinds & CERTAIN:
        return Array(None, None, is_lost=False)
    return None if found is None or found.is_lost else found


def _healthy(alert: AlertRecord) -> str:
    return f"logdirwatch alerts healthy {short_id(alert.alert_id)}"


def _rebuilt(
    alert: AlertRecord, directory: LogDir, snapshot: ClusterSnapshot, policy: Policy
) -> tuple[list[ProposedAction], str | None]:
    """Return the copies of a failing disk's replicas from other replicas, or what would make them possible."""
    repair = plan_repair(directory.place, snapshot, policy)
    moved = _moved_inside(directory, repair, snapshot, policy)
    if not repair.assignments:
        closed = [] if moved else _cordoned_beside(directory, repair, snapshot, policy)
        helps = "; ".join([*closed, *remedies(repair)])
        return moved, f"nothing can be moved off it now; would help: {helps}" if helps and not moved else None
    device = read_as(alert.evidence, BrokerSuspectEvidence).device
    disk = f" (disk {device})" if device else ""
    loss = Loss(
        what=f"in {directory.path} of broker {directory.broker}{disk}, which is about to fail,",
        stray=f"the copies in {directory.path} are deleted once the new ones are in sync",
        undo=f"only once {directory.path} is known to be good",
    )
    target = {"broker": directory.broker, "log_dir": directory.path}
    return [rebuild(directory.place, target, loss, repair, snapshot, policy), *moved], None


def _moved_inside(directory: LogDir, repair: Repair, snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return the move to the broker's other directories of last copies, if no other broker takes them.

    The disk can still be read; replicas with a copy elsewhere can wait for room on another broker.
    """
    taken = {assignment.key for assignment in repair.assignments}
    alone = [replica for replica in snapshot.replicas_in(directory.place) if _is_alone(replica, snapshot)]
    alone = [replica for replica in alone if replica.key not in taken]
    goal_bytes = sum(replica.size_bytes or 0 for replica in alone)
    if not goal_bytes:
        return []
    others = {replica.key for replica in snapshot.replicas_in(directory.place)} - {replica.key for replica in alone}
    left = snapshot.without(others)
    moves = plan_moves(directory, left, policy, goal_bytes=goal_bytes)
    why = f"{directory.path} is about to fail, and no other broker can take this"
    return [
        replace(proposal, reason=f"{why}: {proposal.reason}")
        for proposal in propose_move(directory, moves, left, policy)
    ]


def _cordoned_beside(directory: LogDir, repair: Repair, snapshot: ClusterSnapshot, policy: Policy) -> list[str]:
    """Return the cordoned directories of the broker that could take the last copies on a failing disk."""
    found = []
    for closed in snapshot.directories_of[directory.broker]:
        opened = snapshot.with_directories([replace(closed, is_cordoned=False)])
        moves = _moved_inside(directory, repair, opened, policy)
        if closed.is_cordoned and any(not move.vetoes for move in moves):
            found.append(f"uncordon {closed.path} of broker {closed.broker}, if the owner of the cordon agrees")
    return found


def _is_alone(replica: Replica, snapshot: ClusterSnapshot) -> bool:
    """Tell whether no other reporting broker has a complete copy of a replica's partition."""
    partition = snapshot.partitions.get(replica.key)
    return partition is not None and not complete_copies(partition, snapshot) - {replica.broker}


def with_endurance(look: ProposedAction, directory: LogDir, snapshot: ClusterSnapshot) -> ProposedAction:
    """Return a check that also says how many more failures the topics in a directory tolerate."""
    lost = lost_together([directory.place], snapshot)
    return replace(look, expected={**look.expected, "endurance": fault_tolerance_of(lost, snapshot)})


_SLOW_BROKERS = Runbook(
    "on the hosts that evidence.slow_brokers names, find the slow disk: iostat, SMART, the kernel's log; until it is "
    "replaced let other brokers lead what lies there",
    (UNDER_REPLICATED, describe_all_log_dirs),
)
_OF_NO_DISK: Mapping[tuple[str, ...], Runbook] = {
    # LogCleaner.reconfigure stops all of its threads and starts new ones (KIP-226).
    (CLEANER_DEAD,): Runbook(
        "find out in log-cleaner.log why the thread died; then change log.cleaner.threads of this broker, by "
        "kafka-configs and without a restart: all of its threads are started again",
        (describe_log_dirs,),
    ),
    (TASK_FAILS,): Runbook(
        "read the exception of the task or thread that evidence names, and remove what it fails at (the partition or "
        "file in its text); then restart the broker, one broker at a time: only that starts a dead thread again, and "
        "what stayed undone is done then; lower no retention for it. Where evidence names records from the future, it "
        "says what helps instead",
        (describe_log_dirs,),
    ),
    (READ_ERRORS,): Runbook(
        "find the disk that cannot be read: the kernel's log of the host, smartctl; consumers of what lies there fail "
        "again and again, and Kafka takes no directory offline for it. Then let other brokers lead its partitions, and "
        "replace it",
        (on_host_of("dmesg -T | grep -iE 'I/O error|medium error' | tail -50; smartctl -x DISK"), describe_log_dirs),
    ),
    (OPEN_FILES,): Runbook(
        f"raise the limit of {OPEN_FILES_LIMIT.name} before its directories go offline for it: it holds from the next "
        "start on, and prlimit --nofile=N --pid PID raises that of the running process; ls -l /proc/PID/fd shows "
        "whether segments or connections are open",
        (describe_log_dirs,),
    ),
    (REMOTE_COPY_FAILS,): Runbook(
        "find out why copies to remote storage fail: the exception that evidence names, the storage itself, its "
        "credentials and the way there; until they succeed no local segment is freed: watch the room, and lower no "
        "retention for it",
        (describe_log_dirs,),
    ),
    (KernelTrouble.HUNG,): Runbook(
        "find out what the hanging tasks wait for, and of which disk or server: cat /proc/PID/stack, iostat -x 5, the "
        "kernel's log before it; a task that waits for a disk cannot be killed, and a restart of the broker would hang "
        "too",
        (UNDER_REPLICATED,),
    ),
}


def _runbook_for(alert: AlertRecord) -> Runbook | None:
    if alert.broker is None:
        return _SLOW_BROKERS
    return _OF_NO_DISK.get(tuple(read_as(alert.evidence, BrokerSuspectEvidence).why))


RESPONSE = Response(
    runbook=Runbook("check the directory on the broker's host: df and ls on it, and the kernel's log", (UNAVAILABLE,)),
    propose=propose,
    runbook_for=_runbook_for,
    ends_when="no reason for the suspicion is left, or a person declares it healthy",
)
