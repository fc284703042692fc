"""Read-only checks on the host of an offline directory, by cause."""

import shlex
from collections.abc import Sequence
from dataclasses import replace

from logdirwatch.model.vocabulary import Cause, KernelTrouble
from logdirwatch.parse.kernel_log.lines import kernel_error
from logdirwatch.parse.os_errors import os_error_in
from logdirwatch.plan.actions.brokers import damaged_file
from logdirwatch.plan.availability.fault_tolerance import fault_tolerance_of
from logdirwatch.plan.availability.offline_log_dirs import OfflineLogDirs
from logdirwatch.plan.cluster.snapshot import LogDir
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.proposal import ProposedAction
from logdirwatch.text.words import some_of

_NO_FORMAT = "do not format it: the data is presumably intact"
_NAMED = 5
_POOL = (
    "extend the thin pool below {places}: it has no room left, whatever the file system says is free; lvs -a -o "
    "+data_percent,metadata_percent names it, lvextend -L +SIZE VG/POOL extends it"
)
_WHY = {
    Cause.FAILED: "find out what failed under {places}: the broker got an I/O error and nothing names the device; a "
    "dying disk gives one, and so do a lost path, a server that does not answer, and a file system that shut itself "
    "down. Replace only a device that the kernel's log or SMART condemns; where neither does, repair what they name "
    "and restart the broker: then nothing has to be copied",
    Cause.UNKNOWN: "find out why {places} {are} offline: nothing proves that a disk broke, so replace and format "
    "nothing; if the look finds the device sound, restart the broker",
    Cause.READ_ONLY: "check the mount of {places}: it is read-only. Mount it writable again, or restart the pod, which "
    "mounts it again; " + _NO_FORMAT,
    Cause.REMOUNT: "check the mount of {places}: the mount or the path to the storage is lost or stale. Mount it "
    "again, or restart the pod, which mounts it again; " + _NO_FORMAT,
    Cause.RENAME_REFUSED: "see what {places} {are} mounted from (findmnt): the broker was refused to rename what it "
    "had just written. A share (SMB, Azure Files, NFS) and Windows refuse that while a file is open, whoever owns it: "
    "move Kafka's data to block storage, then restart the broker. On a disk of its own compare the folder's owner",
    Cause.FULL: "find out what ran out in {places}, where the broker found no space although the volume has some: "
    "inodes, a quota, the pool below a thin volume, or the chunks for metadata of btrfs",
}


def look(found: ProposedAction, away: OfflineLogDirs, directories: Sequence[LogDir], cause: Cause) -> ProposedAction:
    """Return ``found``, the runbook step, as checks on the broker's host for directories with one cause."""
    places = f"{some_of((d.path for d in directories), _NAMED)} of broker {away.broker}"
    why = _POOL if cause is Cause.FULL and _is_of_pool(away, directories) else _WHY.get(cause, "")
    reason = why.format(places=places, are="is" if len(directories) == 1 else "are")
    error = os_error_in(away.proofs[directories[0].path].said or "")
    if error is not None and error.remedy is not None:
        reason = f"repair what took {places} offline; the error condemns no disk: {error.remedy}"
    if cause is Cause.DAMAGED_FILE:
        reason = f"in {places} " + damaged_file.remedy(away.proofs[directories[0].path].said or "")
    return replace(
        found,
        reason=reason + _said(away, directories),
        expected={**found.expected, "endurance": fault_tolerance_of(away.lost(directories), away.snapshot)},
        commands=(
            *(note(f"On broker {away.broker}'s host: {step}") for step in _steps(directories, cause)),
            *found.commands,
        ),
    )


def _steps(directories: Sequence[LogDir], cause: Cause) -> list[str]:
    """Return the commands to run on the host, the quickest first."""
    paths = " ".join(shlex.quote(directory.path) for directory in directories[:_NAMED])
    first = shlex.quote(directories[0].path)
    if cause is Cause.DAMAGED_FILE:
        return [damaged_file.LOOK]
    if cause is Cause.RENAME_REFUSED:
        return [f"findmnt -o SOURCE,FSTYPE,OPTIONS --target {first} (cifs, smb3 or nfs: a share); namei -l {paths}"]
    if cause is Cause.FULL:
        return [
            f"df -h -- {paths}; df -i -- {paths} (inodes)",
            (
                f"quota, repquota or xfs_quota -x -c 'report -h' of the file system below {first}; for CephFS "
                f"getfattr -n ceph.quota.max_bytes -- {first}"
            ),
            "lvs -a (Data% and Meta% of a thin pool)",
            f"btrfs filesystem usage {first} (where it is btrfs: Metadata used, and Unallocated left for more of it)",
        ]
    seen = [
        f"ls -la -- {paths}; df -h -- {paths}; df -i -- {paths}",
        f"findmnt --target {first} (is it mounted, is it ro, does the server of a share answer?); mount | grep -w ro",
        "dmesg -T | tail -200 (an I/O error names its device: smartctl -a /dev/DEVICE; no such line clears the disk)",
        f"in the broker's log the first LogDirFailureChannel line that names {first}, and the exception below it",
    ]
    if cause in {Cause.UNKNOWN, Cause.FAILED}:
        return seen
    return [
        *seen[1:3],
        (
            f"once the device answers: umount and mount {first} again (first the check that a file system asks for), "
            "or mount -o remount,rw; in Kubernetes delete the pod, the volume is mounted again"
        ),
    ]


def _is_of_pool(away: OfflineLogDirs, directories: Sequence[LogDir]) -> bool:
    """Tell whether the kernel reports a full thin pool below every directory."""
    lines = [(away.proofs[directory.path].kernel_error, away.proofs[directory.path].said) for directory in directories]
    return all(any(_is_pool_line(line) for line in told if line) for told in lines)


def _is_pool_line(line: str) -> bool:
    error = kernel_error(line)
    return error is not None and error.trouble is KernelTrouble.POOL_FULL


def _said(away: OfflineLogDirs, directories: Sequence[LogDir]) -> str:
    """Return the first line of the broker's log, the kernel or the host about these directories."""
    for directory in directories:
        proof = away.proofs[directory.path]
        lines = dict.fromkeys(line for line in (proof.said, proof.kernel_error) if line)
        if lines:
            return f" ({directory.path}: {'; '.join(lines)})"
    return ""
