"""``replace_disk``: replace and format a failed disk, or remove its directory from ``log.dirs``."""

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.action_type import NO_RELIEF, ActionType, FixRole, always_valid, frees_as_much
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
    restart_steps,
)
from logdirwatch.plan.actions.progress import not_seen
from logdirwatch.plan.actions.strimzi_resources import DELETE_POD_AND_PVC, POD, Kubectl, Volume, kubectl_of, volume_of
from logdirwatch.plan.availability import leadership
from logdirwatch.plan.availability.fault_tolerance import complete_copies, lost_partitions
from logdirwatch.plan.availability.offline_log_dirs import OfflineEvidence
from logdirwatch.plan.cluster.layout import Partition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import QUORUM, note
from logdirwatch.plan.proposal import EXAMPLES, Policy, Precondition, ProposedAction, effect
from logdirwatch.plan.reassignment.log_dir_removal import leaving
from logdirwatch.plan.reassignment.replacement_replicas import Repair, nothing_fits, unplaced
from logdirwatch.plan.vetoes import restart_vetoes
from logdirwatch.text.units import human_bytes, human_ratio
from logdirwatch.text.words import counted, some_of

SAVE_DATA = "save_data"


def save_data(directory: LogDir, proof: OfflineEvidence, snapshot: ClusterSnapshot) -> ProposedAction | None:
    """Return how to save data that only a failed disk holds before it is replaced; None if it holds no last copy."""
    broker, path = directory.broker, shlex.quote(directory.path)
    alone = _only_there(directory, lost_partitions(directory.place, snapshot), snapshot)
    if not alone:
        return None
    labels = [partition.label for partition in alone]
    folders = " ".join(shlex.quote(f"{directory.path}/{label}") for label in labels[:EXAMPLES])
    array = array_of(directory, proof)
    device = array.device if array else f"/dev/{proof.device}" if proof.device else "DEVICE"
    steps = (
        f"mount -o remount,ro {path}: nothing more is written to a dying disk",
        f"cp -a {folders} OTHER_DISK/",
        (
            f"where that meets I/O errors: ddrescue {device} IMAGE MAPFILE onto another disk, mount the image "
            "read-only, and copy from there"
        ),
        "once the new directory is formatted, and before the broker starts: copy the saved folders into it",
    )
    return ProposedAction(
        kind=ActionKind.INVESTIGATE,
        target={"broker": broker, "log_dir": directory.path, "step": SAVE_DATA},
        reason=f"save the data that only {directory.path} of broker {broker} holds before its disk is replaced: "
        f"{some_of(labels)}; it can be put into the new directory before the start",
        expected=effect(saves={"count": len(labels), "examples": labels[:EXAMPLES]}),
        commands=tuple(note(f"On broker {broker}'s host: {step}.") for step in steps),
    )


def replace_disk(
    directory: LogDir, repair: Repair, snapshot: ClusterSnapshot, policy: Policy, proof: OfflineEvidence | None = None
) -> ProposedAction:
    """Return the replacement of a disk: what it holds is copied again, and last copies on it are lost.

    ``proof`` names the device and the evidence that it fails.
    """
    broker, tools = directory.broker, policy.tools
    lost = lost_partitions(directory.place, snapshot)
    alone, is_running = _only_there(directory, lost, snapshot), snapshot.is_alive(broker)
    is_zookeeper = snapshot.is_zookeeper(broker)
    formatted = "" if is_zookeeper else ", format it"
    again = _copies_again(lost, snapshot, policy)
    least = _least_disk_bytes(directory, again["bytes"], policy)
    array = array_of(directory, proof or OfflineEvidence())
    text = f"replace {_disk(array, proof)} under {directory.path} of broker {broker}"
    between = [
        note(f"On broker {broker}'s host: {text}, mount it empty and give it to Kafka's user."),
        *format_steps(broker, snapshot, policy),
    ]
    return ProposedAction(
        kind=ActionKind.REPLACE_DISK,
        target={"broker": broker, "log_dir": directory.path},
        reason=f"{text}{formatted} and restart: the replicas assigned there are copied again"
        f"{_new_disk(directory, least, policy)}{_gone_with_it(alone)}{nothing_fits(repair)}{_evidence(proof)}",
        expected={
            **restart_effect(broker, lost, snapshot, status="online"),
            "copies_again": again,
            "device": None if proof is None else proof.device,
            "new_disk": {"least_bytes": least, "was_bytes": directory.total_bytes},
            "lost_with_it": {"count": len(alone), "examples": [p.label for p in alone[:EXAMPLES]]},
            "unfinished_copies": _unfinished_copies(directory, lost, snapshot),
            "leave_log_dirs": leaving(directory, lost, snapshot, policy).as_data(),
            **unplaced(repair),
        },
        preconditions=(*_lost_array(array), *_preconditions(directory, alone, snapshot, proof)),
        vetoes=restart_vetoes.against_stopping(snapshot, broker) if is_running else (),
        commands=(
            *([] if is_zookeeper else [tools.call(QUORUM, "describe", "--replication")]),
            *restart_steps(broker, snapshot, policy, between, is_running=is_running),
            *rejoin_steps(directory, snapshot, policy),
        ),
        undo={"text": "a replaced disk cannot be undone"},
        data_loss=bool(alone),
    )


def leave_log_dirs(directory: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> ProposedAction | None:
    """Return the restart without the failed directory, if the broker's other directories have the room (KIP-112)."""
    broker, lost = directory.broker, lost_partitions(directory.place, snapshot)
    found = leaving(directory, lost, snapshot, policy)
    if not found.fits or not lost:
        return None
    text = f"take {directory.path} out of log.dirs of broker {broker}"
    alone = _only_there(directory, lost, snapshot)
    steps = [note(f"In the server.properties of broker {broker}: {text}.")]
    return ProposedAction(
        kind=ActionKind.RESTART_BROKER,
        target={"broker": broker, "log_dir": directory.path, "step": WITHOUT_DIRECTORY},
        reason=f"{text} and restart it: its {counted(found.replicas, 'replica')} "
        f"({human_bytes(found.needs_bytes or 0)}) are copied again into its other directories, which have the room; "
        f"until its disk is replaced the broker has less space{_gone_with_it(alone)}",
        expected={
            **restart_effect(broker, lost, snapshot),
            "copies_again": _copies_again(lost, snapshot, policy),
            "lost_with_it": {"count": len(alone), "examples": [p.label for p in alone[:EXAMPLES]]},
            "leave_log_dirs": found.as_data(),
        },
        preconditions=(restart_vetoes.quorum_safe(snapshot, broker), restart_vetoes.writes_go_on(snapshot, broker)),
        vetoes=restart_vetoes.against_stopping(snapshot, broker),
        commands=tuple(restart_steps(broker, snapshot, policy, steps)),
        undo={"text": f"put {directory.path} back into log.dirs once its disk was replaced and formatted, and restart"},
        data_loss=bool(alone),
    )


def named(device: str) -> str:
    """Return a device by name; a mapped volume, which is no disk, with the command that names the disk below it."""
    return device if re.fullmatch(r"dm-\d+|25[2-4]:\d+", device) is None else f"below {device} (lsblk -s shows which)"


def _disk(array: Array | None, proof: OfflineEvidence | None) -> str:
    if array is not None:
        members = f" ({array.member})" if array.member else ""
        return f"the failed members{members} of {array} and make it again"
    return "the disk" if proof is None or proof.device is None else f"the disk {named(proof.device)}"


def _lost_array(array: Array | None) -> tuple[Precondition, ...]:
    """Require that an array is lost before formatting: with enough healthy members it can be assembled again."""
    if array is None:
        return ()
    text = f"{array} is lost: mdadm --detail {array.device} says so, and mdadm --assemble does not bring it back"
    return (Precondition("array_is_lost", text, None),)


def _evidence(proof: OfflineEvidence | None) -> str:
    """Quote the evidence that the device fails: a disk is never replaced on a guess."""
    if proof is None or not (proof.said or proof.kernel_error):
        return ""
    return f"; evidence: {' and '.join(dict.fromkeys(t for t in (proof.said, proof.kernel_error) if t))}"


def _preconditions(
    directory: LogDir, alone: Sequence[Partition], snapshot: ClusterSnapshot, proof: OfflineEvidence | None
) -> tuple[Precondition, ...]:
    of = "" if proof is None or proof.device is None else f" for {proof.device}"
    sick = f"the kernel's log or SMART confirms it{of}; a full disk needs room, not this"
    found = [Precondition("disk_is_broken", sick, None)]
    if directory.is_metadata_dir is not False and not snapshot.is_zookeeper(directory.broker):
        text = "a majority of the controllers has the committed metadata: the voter's own copy is lost with this disk"
        found.append(Precondition("quorum_caught_up", text, None))
    if alone:
        text = (
            f"the data that only this disk holds was saved, or is given up: {some_of(p.label for p in alone)}; "
            "an empty replica may be elected where it was the last one in sync, and others be cut to it"
        )
        found.append(Precondition("last_copy_saved", text, None))
    strict = restart_vetoes.writes_go_on(snapshot, directory.broker)
    return (*found, strict) if strict.holds is False else tuple(found)


def _only_there(directory: LogDir, lost: Sequence[Partition], snapshot: ClusterSnapshot) -> list[Partition]:
    """Return the lost partitions without a complete copy on any other reporting broker."""
    return [partition for partition in lost if not complete_copies(partition, snapshot) - {directory.broker}]


def _gone_with_it(alone: Sequence[Partition]) -> str:
    return f"; the data that only this disk holds is lost with it: {some_of(p.label for p in alone)}" if alone else ""


def _copies_again(lost: Sequence[Partition], snapshot: ClusterSnapshot, policy: Policy) -> dict[str, Any]:
    """Return how much is copied again, and the least time that takes at the usual rate."""
    sizes = [
        snapshot.layout.size_of(partition.key) for partition in lost if leadership.live_replicas(partition, snapshot)
    ]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    rate = policy.limits.replication_throttle_bytes_per_s
    return {"replicas": len(sizes), "bytes": total, "needs_ms": None if total is None else total * 1000 // rate}


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
        kubectl.run("delete", "pvc", claim, "--wait=false"),
        kubectl.run("delete", POD),
        note(
            "The claim is gone once its pod is; the operator makes both again with its next reconciliation. Do not use "
            "strimzi.io/delete-pod-and-pvc here: it deletes the broker's other volumes too."
        ),
    ]


ACTION_TYPE = ActionType(
    kind=ActionKind.REPLACE_DISK,
    relief=NO_RELIEF,
    fix_role=FixRole.BESIDE,
    progress=not_seen,
    covers=frees_as_much,
    reasons_against=always_valid,
    follow_up=None,
    live_check=disks_replaced,
    is_done_when_back=True,
    changes_declared=False,
    for_strimzi=_for_strimzi,
)
