"""``replace_disk``: replace and format a failed disk, or remove its directory from ``log.dirs``."""

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.action_type import ActionType, frees_as_much
from logdirwatch.plan.actions.brokers.raid_arrays import Array, array_of
from logdirwatch.plan.actions.brokers.recreate_reserve import reserve_of
from logdirwatch.plan.actions.brokers.restart_broker import (
    WITHOUT_DIRECTORY,
    after_start,
    checks_before,
    disks_replaced,
    format_steps,
    rejoin_steps,
    restart_effect,
    restarted,
)
from logdirwatch.plan.actions.parts import check, host_notes
from logdirwatch.plan.actions.progress import not_seen
from logdirwatch.plan.actions.strimzi_resources import DELETE_POD_AND_PVC, POD, Kubectl, Volume, kubectl_of, volume_of
from logdirwatch.plan.availability import leadership
from logdirwatch.plan.availability.fault_tolerance import complete_copies, lost_together
from logdirwatch.plan.availability.offline_log_dirs import OfflineEvidence
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.layout import Partition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import QUORUM, note
from logdirwatch.plan.proposal import EXAMPLES, Policy, Precondition, ProposedAction
from logdirwatch.plan.reassignment.log_dir_removal import leaving
from logdirwatch.plan.reassignment.replacement_replicas import Repair, nothing_fits, unplaced
from logdirwatch.plan.vetoes import restart_vetoes
from logdirwatch.text.units import human_bytes, human_ratio
from logdirwatch.text.words import counted, some_of

SAVE_DATA = "save_data"
NOTHING_SAID = OfflineEvidence()


def save_data(directory: LogDir, proof: OfflineEvidence, snapshot: ClusterSnapshot) -> ProposedAction | None:
    """Return how to save data that only a failed disk holds before it is replaced; None if it holds no last copy."""
    broker, path = directory.broker, shlex.quote(directory.path)
    alone = _only_there(directory, lost_together([directory.place], snapshot), snapshot)
    if not alone:
        return None
    folders = " ".join(shlex.quote(f"{directory.path}/{label}") for label in alone[:EXAMPLES])
    array = array_of(directory, proof)
    device = array.device if array else f"/dev/{proof.device}" if proof.device else "DEVICE"
    steps = (
        f"mount -o remount,ro {path}: nothing more is written to a dying disk.",
        f"cp -a {folders} OTHER_DISK/.",
        (
            f"where that meets I/O errors: ddrescue {device} IMAGE MAPFILE onto another disk, mount the image "
            "read-only, and copy from there."
        ),
        "once the new directory is formatted, and before the broker starts: copy the saved folders into it.",
    )
    reason = (
        f"save the data that only {directory.path} of broker {broker} holds before its disk is replaced: "
        f"{some_of(alone)}; it can be put into the new directory before the start"
    )
    return check(place_target(directory), SAVE_DATA, reason, host_notes(broker, *steps), saves=_counted(alone))


def replace_disk(
    directory: LogDir,
    repair: Repair,
    snapshot: ClusterSnapshot,
    policy: Policy,
    proof: OfflineEvidence = NOTHING_SAID,
) -> ProposedAction:
    """Return the replacement of a disk: what it holds is copied again, and last copies on it are lost.

    ``proof`` names the device and the evidence that it fails.
    """
    broker, lost = directory.broker, lost_together([directory.place], snapshot)
    is_running, is_zookeeper = snapshot.is_alive(broker), snapshot.is_zookeeper(broker)
    alone = _only_there(directory, lost, snapshot)
    again = _what_is_lost(directory, lost, alone, snapshot, policy)
    least = _least_disk_bytes(directory, again["copies_again"]["bytes"], policy)
    array = array_of(directory, proof)
    text = f"replace {_disk(array, proof)} under {directory.path} of broker {broker}"
    # A disk is never replaced on a guess.
    seen = " and ".join(dict.fromkeys(line for line in (proof.said, proof.kernel_error) if line))
    mounted = host_notes(broker, f"{text}, mount it empty and give it to Kafka's user.")
    between = [*mounted, *format_steps(broker, snapshot, policy)]
    by_restart = restarted(broker, snapshot, policy, (), between, is_running=is_running, keeps_disks=False)
    return ProposedAction(
        kind=ActionKind.REPLACE_DISK,
        target=place_target(directory),
        reason=f"{text}{'' if is_zookeeper else ', format it'} and restart: the replicas assigned there are copied "
        f"again{_new_disk(directory, least, policy)}{_gone_with_it(alone)}{nothing_fits(repair)}"
        f"{f'; evidence: {seen}' if seen else ''}",
        expected={
            **restart_effect(broker, lost, snapshot, status="online"),
            **again,
            "device": proof.device,
            "new_disk": {"least_bytes": least, "was_bytes": directory.total_bytes},
            "unfinished_copies": _unfinished_copies(directory, lost, snapshot),
            **unplaced(repair),
        },
        undo={"text": "a replaced disk cannot be undone"},
        data_loss=bool(alone),
        **{
            **by_restart,
            "preconditions": (*_lost_array(array), *_preconditions(directory, alone, snapshot, proof)),
            "commands": (
                *([] if is_zookeeper else [policy.tools.call(QUORUM, "describe", "--replication")]),
                *by_restart["commands"],
                *rejoin_steps(directory, snapshot, policy),
            ),
        },
    )


def leave_log_dirs(directory: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> ProposedAction | None:
    """Return the restart without the failed directory, if the broker's other directories have the room (KIP-112)."""
    broker, lost = directory.broker, lost_together([directory.place], snapshot)
    found = leaving(directory, lost, snapshot, policy)
    # Kafka makes the replicas again in the other directories without asking for room (LogManager.nextLogDirs).
    if not found.fits or not lost:
        return None
    text = f"take {directory.path} out of log.dirs of broker {broker}"
    alone = _only_there(directory, lost, snapshot)
    again = _what_is_lost(directory, lost, alone, snapshot, policy)
    steps = [note(f"In the server.properties of broker {broker}: {text}.")]
    return ProposedAction(
        kind=ActionKind.RESTART_BROKER,
        target={**place_target(directory), "step": WITHOUT_DIRECTORY},
        reason=f"{text} and restart it: its {counted(found.replicas, 'replica')} "
        f"({human_bytes(found.needs_bytes or 0)}) are copied again into its other directories, which have the room; "
        f"until its disk is replaced the broker has less space{_gone_with_it(alone)}",
        expected={**restart_effect(broker, lost, snapshot), **again},
        undo={"text": f"put {directory.path} back into log.dirs once its disk was replaced and formatted, and restart"},
        data_loss=bool(alone),
        **restarted(broker, snapshot, policy, (), steps, keeps_disks=False),
    )


def named(device: str) -> str:
    """Return a device by name; a mapped volume, which is no disk, with the command that names the disk below it."""
    # device-mapper has no fixed major number: the kernel gives it the highest one that is free, 254 or just below.
    return device if re.fullmatch(r"dm-\d+|25[2-4]:\d+", device) is None else f"below {device} (lsblk -s shows which)"


def _disk(array: Array | None, proof: OfflineEvidence) -> str:
    if array is not None:
        members = f" ({array.member})" if array.member else ""
        return f"the failed members{members} of {array} and make it again"
    return "the disk" if proof.device is None else f"the disk {named(proof.device)}"


def _lost_array(array: Array | None) -> tuple[Precondition, ...]:
    """Require that an array is lost before formatting: with enough healthy members it can be assembled again."""
    if array is None:
        return ()
    text = f"{array} is lost: mdadm --detail {array.device} says so, and mdadm --assemble does not bring it back"
    return (Precondition("array_is_lost", text, None),)


def _preconditions(
    directory: LogDir, alone: Sequence[str], snapshot: ClusterSnapshot, proof: OfflineEvidence
) -> tuple[Precondition, ...]:
    of = "" if proof.device is None else f" for {proof.device}"
    sick = f"the kernel's log or SMART confirms it{of}; a full disk needs room, not this"
    found = [Precondition("disk_is_broken", sick, None)]
    if directory.is_metadata_dir is not False and not snapshot.is_zookeeper(directory.broker):
        text = "a majority of the controllers has the committed metadata: the voter's own copy is lost with this disk"
        found.append(Precondition("quorum_caught_up", text, None))
    if alone:
        text = (
            # Without ELR the last member stays in the ISR, so that it leads again with its empty disk (KIP-966).
            f"the data that only this disk holds was saved, or is given up: {some_of(alone)}; "
            "an empty replica may be elected where it was the last one in sync, and others be cut to it"
        )
        found.append(Precondition("last_copy_saved", text, None))
    strict = restart_vetoes.writes_go_on(snapshot, directory.broker)
    return (*found, strict) if strict.holds is False else tuple(found)


def _only_there(directory: LogDir, lost: Sequence[Partition], snapshot: ClusterSnapshot) -> list[str]:
    """Return the lost partitions without a complete copy on any other reporting broker."""
    return [partition.label for partition in lost if not complete_copies(partition, snapshot) - {directory.broker}]


def _gone_with_it(alone: Sequence[str]) -> str:
    return f"; the data that only this disk holds is lost with it: {some_of(alone)}" if alone else ""


def _counted(labels: Sequence[str]) -> dict[str, Any]:
    return {"count": len(labels), "examples": labels[:EXAMPLES]}


def _what_is_lost(
    directory: LogDir, lost: Sequence[Partition], alone: Sequence[str], snapshot: ClusterSnapshot, policy: Policy
) -> dict[str, Any]:
    """Return how much is copied again, with the least time that takes at the usual rate, and what no other disk has."""
    # What no living broker holds cannot be copied, however large the new disk is.
    living = [partition for partition in lost if leadership.live_replicas(partition, snapshot)]
    sizes = [snapshot.layout.size_of(partition.key) for partition in living]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    rate = policy.limits.replication_throttle_bytes_per_s
    needs_ms = None if total is None else total * 1000 // rate
    return {
        "copies_again": {"replicas": len(sizes), "bytes": total, "needs_ms": needs_ms},
        "lost_with_it": _counted(alone),
        "leave_log_dirs": msgspec.to_builtins(leaving(directory, lost, snapshot, policy)),
    }


def _least_disk_bytes(directory: LogDir, copied_bytes: int | None, policy: Policy) -> int | None:
    """Return the smallest new disk that holds all replicas and the reserve file within the planner's limit.

    All replicas count: Kafka creates them in the directory with the fewest logs, which is the empty one (Kafka 4.3.1
    ``LogManager.nextLogDirs``).
    """
    if copied_bytes is None:
        return None
    reserve = reserve_of(directory, policy)
    return math.ceil((copied_bytes + (reserve[1] if reserve else 0)) / policy.limits.destination_max_ratio)


def _new_disk(directory: LogDir, least: int | None, policy: Policy) -> str:
    """Say how large the new disk must be, with a warning if the old size is too small."""
    if least is None:
        return "; how large the new disk must be is not known, as the size of a replica is not"
    if least == 0:
        return ""
    was = directory.total_bytes
    more = f", more than the old one's {human_bytes(was)}" if was is not None and least > was else ""
    limit = human_ratio(policy.limits.destination_max_ratio)
    return f"; the new disk needs at least {human_bytes(least)}{more}, to hold that at no more than {limit}"


def _unfinished_copies(directory: LogDir, lost: Sequence[Partition], snapshot: ClusterSnapshot) -> list[str]:
    """Return replicas with an unfinished copy in another directory of the broker, which stays as it is (KIP-113)."""
    keys = {partition.key: partition.label for partition in lost}
    found = (r for r in snapshot.layout.replicas if r.is_future and r.broker == directory.broker and r.key in keys)
    return sorted({keys[replica.key] for replica in found if replica.log_dir != directory.path})[:EXAMPLES]


def _for_strimzi(proposal: ProposedAction, policy: Policy) -> ProposedAction:
    """Return a disk replacement as a new claim for the volume."""
    kubectl, broker, volume = kubectl_of(policy), proposal.target["broker"], volume_of(proposal.target["log_dir"])
    if volume is None:
        how = [
            note("Delete the PersistentVolumeClaim of the volume and the broker's pod: the operator makes both again.")
        ]
    else:
        alone = [kubectl.run("annotate", POD, DELETE_POD_AND_PVC)]
        how = alone if volume.id is None else _one_of_several(kubectl, volume)
    return replace(proposal, commands=(*checks_before(policy), kubectl.pod(broker), *how, *after_start(policy)))


def _one_of_several(kubectl: Kubectl, volume: Volume) -> list[str]:
    """Return how to recreate one claim; the operator's annotation would delete those of healthy disks too."""
    claim = f'"{volume.claim("")}${{pod#pod/}}"'
    return [
        # kubectl would wait for the claim, which stays as long as a pod uses it (kubernetes.io/pvc-protection).
        kubectl.run("delete", "pvc", claim, "--wait=false"),
        kubectl.run("delete", POD),
        note(
            "The claim is gone once its pod is; the operator makes both again with its next reconciliation. Do not use "
            "strimzi.io/delete-pod-and-pvc here: it deletes the broker's other volumes too."
        ),
    ]


ACTION_TYPE = ActionType(
    kind=ActionKind.REPLACE_DISK,
    progress=not_seen,
    covers=frees_as_much,
    live_check=disks_replaced,
    is_done_when_back=True,
    changes_declared=False,
    for_strimzi=_for_strimzi,
)
