"""What mends an offline directory whose disk is sound: a limit, a quota, inodes, a permission, a file system."""

import shlex

from logdirwatch.model.vocabulary import ActionKind, FullBy
from logdirwatch.plan.actions.brokers.restart_broker import restart_effect, restart_steps
from logdirwatch.plan.availability.offline_log_dirs import Away, Proof
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.snapshot import Directory, Facts
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.proposal import Draft, Policy, Precondition, effect
from logdirwatch.plan.vetoes import restart_vetoes
from logdirwatch.report.units import human_ratio

QUOTA, INODES, REPAIR = "quota", "free_inodes", "repair_file_system"
"""Steps that name what one kind of action does here."""

# What Java and glibc say of a limit, and where it is set; the first that is found decides.
_LIMITS = (
    ("Too many open files in system", "the kernel's open files (sysctl fs.file-max)"),
    ("Too many open files", "open files of the broker's process (LimitNOFILE, ulimit -n)"),
    ("Map failed", "memory maps (sysctl vm.max_map_count)"),
    ("Cannot allocate memory", "memory maps (sysctl vm.max_map_count) or memory"),
    ("File too large", "the size of a file (LimitFSIZE, ulimit -f)"),
)
_ANY_LIMIT = "open files (LimitNOFILE) or memory maps (vm.max_map_count)"


def raise_limit(away: Away, proof: Proof) -> Draft:
    """Return the way back from an exhausted limit of the operating system: the disks themselves are well."""
    which = next((where for text, where in _LIMITS if text in (proof.said or "")), _ANY_LIMIT)
    text = f"raise the limit that broker {away.broker} ran into: {which}; its disks are fine"
    return Draft(
        kind=ActionKind.RAISE_LIMIT,
        target=away.target,
        reason=text,
        expected=effect(),
        commands=(note(f"On broker {away.broker}'s host: {text}."),),
    )


def raise_quota(directory: Directory, proof: Proof) -> Draft:
    """Return the way back from a disk quota: a bigger volume changes nothing of it."""
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
    return Draft(
        kind=ActionKind.RAISE_LIMIT,
        target={**place_target(directory), "step": QUOTA},
        reason=f"raise the disk quota of {directory.path} of broker {directory.broker}, or free space under it: the "
        f"quota is reached{_used(directory)}{_line(proof)}",
        expected=effect(full_by=str(FullBy.QUOTA)),
        commands=tuple(note(f"On broker {directory.broker}'s host: {step}.") for step in steps),
    )


def free_inodes(directory: Directory, proof: Proof) -> Draft:
    """Return the way back from a file system without inodes: a bigger volume may not bring any."""
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
    return Draft(
        kind=ActionKind.INVESTIGATE,
        target={**place_target(directory), "step": INODES},
        reason=f"free inodes in {directory.path} of broker {directory.broker}: {left}{used}{_used(directory)}; "
        f"{after}{_line(proof)}",
        expected=effect(full_by=str(FullBy.INODES)),
        commands=tuple(note(f"On broker {directory.broker}'s host: {step}.") for step in steps),
    )


def let_write(away: Away, directory: Directory) -> Draft:
    """Return what lets the broker's user write in a directory again."""
    path = shlex.quote(directory.path)
    steps = (
        f"namei -l {path}; ls -ldZ -- {path} (owner, mode, SELinux context of every folder on the path)",
        f"give it back to the broker's user: chown -R, chmod u+rwX, restorecon -R -- {path}; in Kubernetes fsGroup",
    )
    return Draft(
        kind=ActionKind.GRANT_PERMISSION,
        target=place_target(directory),
        reason=f"let broker {away.broker}'s user write in {directory.path} again: its disk is fine"
        f"{_line(away.proofs[directory.path])}",
        expected=effect(),
        commands=tuple(note(f"On broker {away.broker}'s host: {step}.") for step in steps),
    )


def repair_file_system(directory: Directory, proof: Proof, away: Away | None, facts: Facts, policy: Policy) -> Draft:
    """Return the repair of a file system while its broker is stopped; ``away`` None where the broker is down anyway."""
    broker, path = directory.broker, shlex.quote(directory.path)
    device = f"/dev/{proof.device}" if proof.device else "DEVICE"
    steps = (
        f"On broker {broker}'s host: umount {path}; first look only: xfs_repair -n {device}, or fsck -n {device}.",
        (
            f"Repair it: xfs_repair {device}, or fsck -f {device}. Where xfs_repair asks for -L, mount and unmount "
            "first to replay its log; -L throws data away. Do not format: other copies may be needed first."
        ),
        f"Mount {path} again, and see that it is writable by Kafka's user.",
    )
    is_running = away is not None and facts.is_alive(broker)
    returns = [] if away is None else away.lost([directory])
    return Draft(
        kind=ActionKind.RESTART_BROKER,
        target={**place_target(directory), "step": REPAIR},
        reason=f"stop broker {broker}, repair the file system of {directory.path}, and start it: the disk below may be "
        f"sound, so nothing is formatted{_line(proof)}",
        expected=restart_effect(broker, returns, facts),
        preconditions=(
            Precondition("device_is_sound", "the kernel's log and SMART show no I/O error of the device itself", None),
            *((restart_vetoes.quorum_safe(facts, broker),) if is_running else ()),
            *((restart_vetoes.writes_go_on(facts, broker),) if is_running else ()),
        ),
        vetoes=restart_vetoes.against_stopping(facts, broker) if is_running else (),
        commands=tuple(restart_steps(broker, policy, [note(step) for step in steps], is_running=is_running)),
        undo={"text": "a repaired file system cannot be made as it was"},
    )


def _used(directory: Directory) -> str:
    if directory.used_bytes is None or not directory.total_bytes:
        return ""
    return f" while {human_ratio(directory.used_bytes / directory.total_bytes)} of the volume's space is used"


def _line(proof: Proof) -> str:
    return "" if proof.said is None else f" ({proof.said})"
