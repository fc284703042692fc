"""``repair_file_system``: repair a file system on a healthy disk while its broker is stopped."""

import shlex

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.brokers.restart_broker import REPAIR, restart_effect, restart_steps
from logdirwatch.plan.availability.offline_log_dirs import OfflineEvidence, OfflineLogDirs, log_line
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction
from logdirwatch.plan.vetoes import restart_vetoes


def _steps(device: str) -> tuple[str, str]:
    """Return how to check and repair a file system."""
    repaired = (
        f"xfs_repair {device}, or fsck -f {device}. Where xfs_repair asks for -L, mount and unmount first to replay "
        "its log; -L throws data away"
    )
    return f"xfs_repair -n {device}, or fsck -n {device}", repaired


def _btrfs_steps(device: str) -> tuple[str, str]:
    """Return the same for btrfs: fsck does nothing there, and the repair of ``btrfs check`` can make damage worse."""
    repaired = (
        "mount it and btrfs scrub start -B MOUNT, which repairs what has a second copy; where dmesg names files beyond "
        "that, move the whole partition folders aside, if other replicas are in sync. btrfs check --repair comes last"
    )
    return f"btrfs check --readonly {device}; btrfs device stats {device}", repaired


def _is_btrfs(proof: OfflineEvidence) -> bool:
    return any("btrfs" in line.lower() for line in (proof.said, proof.kernel_error) if line)


def repair_file_system(
    directory: LogDir, proof: OfflineEvidence, away: OfflineLogDirs | None, snapshot: ClusterSnapshot, policy: Policy
) -> ProposedAction:
    """Return the repair of a file system while its broker is stopped; ``away`` None: the broker is down anyway."""
    broker, path = directory.broker, shlex.quote(directory.path)
    device = f"/dev/{proof.device}" if proof.device else "DEVICE"
    looked, repaired = _btrfs_steps(device) if _is_btrfs(proof) else _steps(device)
    steps = (
        f"On broker {broker}'s host: umount {path}; first look only: {looked}.",
        f"Repair it: {repaired}. Do not format: other copies may be needed first.",
        f"Mount {path} again, and see that it is writable by Kafka's user.",
    )
    is_running = away is not None and snapshot.is_alive(broker)
    returns = [] if away is None else away.lost([directory])
    return ProposedAction(
        kind=ActionKind.RESTART_BROKER,
        target={**place_target(directory), "step": REPAIR},
        reason=f"stop broker {broker}, repair the file system of {directory.path}, and start it: the disk below may be "
        f"sound, so nothing is formatted{log_line(proof)}",
        expected=restart_effect(broker, returns, snapshot),
        preconditions=(
            Precondition("device_is_sound", "the kernel's log and SMART show no I/O error of the device itself", None),
            *((restart_vetoes.quorum_safe(snapshot, broker),) if is_running else ()),
            *((restart_vetoes.writes_go_on(snapshot, broker),) if is_running else ()),
        ),
        vetoes=restart_vetoes.against_stopping(snapshot, broker) if is_running else (),
        commands=tuple(restart_steps(broker, snapshot, policy, [note(step) for step in steps], is_running=is_running)),
        undo={"text": "a repaired file system cannot be made as it was"},
    )
