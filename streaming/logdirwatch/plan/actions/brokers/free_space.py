"""Manual steps that free space or inodes on a host, with the broker running or stopped."""

import shlex

from logdirwatch.model.vocabulary import FREE_SPACE, ActionKind, FullBy
from logdirwatch.plan.availability.fault_tolerance import complete_copies, fault_tolerance_of
from logdirwatch.plan.availability.lost_replicas import lost_partitions
from logdirwatch.plan.availability.offline_log_dirs import OfflineEvidence, log_line, used_text
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.proposal import Policy, ProposedAction, effect
from logdirwatch.plan.vetoes import restart_vetoes
from logdirwatch.text.units import human_ratio

EXAMPLES = 20
INODES = "free_inodes"


def free_inodes(directory: LogDir, proof: OfflineEvidence) -> ProposedAction:
    """Return the remedy for a file system without free inodes: a larger volume may not add any."""
    path = shlex.quote(directory.path)
    ratio, is_serving = proof.used_inodes_ratio, directory.is_serving
    used = "" if ratio is None else f" ({human_ratio(ratio)} of the inodes used)"
    left = "few are left" if is_serving else "none are left"
    after = "without inodes no segment can be made" if is_serving else "freed inodes alone do not bring it back"
    steps = (
        f"df -i -- {path}; du --inodes -x --max-depth=2 -- {path} | sort -n | tail -20",
        "remove small files that are not Kafka's; never single files of a replica, each segment has several",
        (
            "larger segment.bytes and segment.ms make fewer files of topics with many small segments; more inodes take "
            "xfs_growfs -m or a new ext4 file system (mkfs -N) on another volume"
        ),
    )
    return ProposedAction(
        kind=ActionKind.INVESTIGATE,
        target={**place_target(directory), "step": INODES},
        reason=f"free inodes in {directory.path} of broker {directory.broker}: {left}{used}{used_text(directory)}; "
        f"{after}{log_line(proof)}",
        expected=effect(full_by=str(FullBy.INODES)),
        commands=tuple(note(f"On broker {directory.broker}'s host: {step}.") for step in steps),
    )


def free_while_stopped(
    directory: LogDir, snapshot: ClusterSnapshot, policy: Policy, what: str = "is full"
) -> ProposedAction:
    """Return how to free space while the broker cannot run: what may be removed, and what must stay."""
    broker, tools = directory.broker, policy.tools
    lost = lost_partitions(directory.place, snapshot)
    spare = [p for p in lost if len(complete_copies(p, snapshot) - {broker}) > 1]
    kept = f"their other replicas are in sync: {', '.join(p.label for p in spare[:EXAMPLES])}" if spare else "none"
    is_gone = snapshot.is_gone(broker)
    steps = [
        "First lower the retention of the largest topics, or it fills again.",
        f"Remove files that are not Kafka's from {directory.path}; never single segment files.",
        "Else move whole partition directories to another log directory of this stopped broker.",
        f"Last resort: remove whole partition directories that can be copied again ({kept}).",
    ]
    return ProposedAction(
        kind=ActionKind.INVESTIGATE,
        target={**place_target(directory), "step": FREE_SPACE},
        reason=f"{directory.path} of broker {broker} {what}: free space there while the broker is stopped; freed "
        "space alone does not bring it back",
        expected=effect(
            spare_replicas=[p.label for p in spare[:EXAMPLES]], endurance=fault_tolerance_of(lost, snapshot)
        ),
        vetoes=() if is_gone else restart_vetoes.against_stopping(snapshot, broker),
        commands=(
            *([] if is_gone else tools.stop(broker) or [note(f"Stop broker {broker}.")]),
            *(note(step) for step in steps),
        ),
    )
