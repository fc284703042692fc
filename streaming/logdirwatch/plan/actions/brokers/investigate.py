"""``investigate``: the runbook step of an alert that has no other action yet, and read-only checks on a host."""

import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from logdirwatch.collect.kafka.answers import Quorum
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import (
    COPY_AGAIN,
    FREE_SPACE,
    STOPPING_STEPS,
    ActionKind,
    Cause,
    FullBy,
    KernelTrouble,
)
from logdirwatch.parse.broker_log.causes import damaged_file
from logdirwatch.parse.kernel_log.lines import kernel_error
from logdirwatch.parse.os_errors import os_error_in
from logdirwatch.plan.actions.action_type import ActionType, Relief, frees_as_much
from logdirwatch.plan.actions.brokers.restart_broker import against_restart_now
from logdirwatch.plan.actions.parts import check, host_notes
from logdirwatch.plan.actions.progress import not_seen
from logdirwatch.plan.availability.fault_tolerance import complete_copies, fault_tolerance_of, lost_together
from logdirwatch.plan.availability.offline_log_dirs import OfflineEvidence, OfflineLogDirs, log_line, used_text
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import LOG_DIRS, QUORUM, REASSIGN, TOPICS, Tools, describe_configs, note
from logdirwatch.plan.proposal import EXAMPLES, Policy, ProposedAction
from logdirwatch.plan.vetoes import restart_vetoes
from logdirwatch.text.units import human_rate, human_ratio
from logdirwatch.text.words import some_of

Step = Callable[[Tools, AlertRecord], str]


@dataclass(frozen=True)
class Runbook:
    """What to find out and read-only commands for it; ``zookeeper`` replaces it on clusters with ZooKeeper."""

    text: str
    steps: tuple[Step, ...]
    zookeeper: "Runbook | None" = None

    @property
    def on_zookeeper(self) -> "Runbook":
        """The same for a cluster with ZooKeeper, which has no metadata quorum to query."""
        found = self.zookeeper or self
        return replace(found, steps=tuple(step for step in found.steps if step is not quorum_status))


def look_at(alert: AlertRecord, runbook: Runbook, policy: Policy, *, has_zookeeper: bool = False) -> ProposedAction:
    """Return the runbook step of an alert."""
    runbook = runbook.on_zookeeper if has_zookeeper else runbook
    commands = (step(policy.tools, alert) for step in runbook.steps)
    return check({"broker": alert.broker, "log_dir": alert.log_dir}, str(alert.rule), runbook.text, commands)


def on_host_of(look: str) -> Step:
    """Return a manual step on the host of the alert's broker."""
    return lambda _, alert: note(f"On broker {alert.broker}'s host: {look}")


def describe_log_dirs(tools: Tools, alert: AlertRecord) -> str:
    """Describe the log directories of the alert's broker."""
    chosen = () if alert.broker is None else ("--broker-list", str(alert.broker))
    return tools.call(LOG_DIRS, "--describe", *chosen)


def _tool(*words: str) -> Step:
    return lambda tools, _: tools.call(*words)


def where_it_runs(command: str) -> Step:
    """Return a command of logdirwatch, to be run where it runs."""
    return lambda _, __: note(f"Where logdirwatch runs: {command}")


describe_all_log_dirs = _tool(LOG_DIRS, "--describe")
quorum_status = _tool(QUORUM, "describe", "--status")
list_reassignments = _tool(REASSIGN, "--list")
UNAVAILABLE = _tool(TOPICS, "--describe", "--unavailable-partitions")
UNDER_MIN_ISR = _tool(TOPICS, "--describe", "--under-min-isr-partitions")
UNDER_REPLICATED = _tool(TOPICS, "--describe", "--under-replicated-partitions")
show_status = where_it_runs("logdirwatch status")
list_topics = where_it_runs("logdirwatch topics list")


def select_rejected(tools: Tools, alert: AlertRecord) -> str:  # noqa: ARG001 - one signature for every step
    """Say which table counts rejected records."""
    return note("SELECT topic, reason, count(*), max(offset) FROM rejected_records GROUP BY topic, reason")


ASK_TO_RAISE = "ask_to_raise_limits"
_NAMED_LIMITS = 5


def ask_to_raise(
    target: Mapping[str, Any], limits: Mapping[tuple[int, str, int], int], then: str, policy: Policy, **expected: Any
) -> ProposedAction:
    """Return the request to those who set throttles to raise them; ``then`` says what that gives.

    ``limits`` are throttles by broker, key and rate, and the least rate to raise each to.
    """
    raised = sorted(limits.items())
    named = [
        f"{key}={human_rate(limit)} of broker {broker} to at least {human_rate(wanted)}"
        for (broker, key, limit), wanted in raised
    ]
    more = f" and {len(named) - _NAMED_LIMITS} more" if len(named) > _NAMED_LIMITS else ""
    asked = [
        {"broker": broker, "key": key, "from_bytes_per_s": limit, "to_bytes_per_s": wanted}
        for (broker, key, limit), wanted in raised
    ]
    reason = f"ask those who set the limit to raise {', '.join(named[:_NAMED_LIMITS])}{more}; {then}"
    brokers = sorted({broker for broker, _, _ in limits})
    commands = (describe_configs(policy.tools, "brokers", broker) for broker in brokers)
    return check(target, ASK_TO_RAISE, reason, commands, **expected, asked_limits=asked)


PLANNED = Runbook(
    "the broker is away as planned; when it is back: logdirwatch maintenance end; restart no other broker meanwhile",
    (UNDER_REPLICATED, UNDER_MIN_ISR),
)


def _stops_broker(action: ActionRecord, snapshot: ClusterSnapshot, quorum: Quorum | None) -> Iterator[str]:
    """Yield the vetoes against stopping the broker, for steps that stop it."""
    step = action.target.get("step")
    if step in STOPPING_STEPS:
        yield from against_restart_now(action, snapshot, quorum, keeps_disks=step == COPY_AGAIN)


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
    Cause.REMOUNT: "check the mount of {places}: the mount or the path to the storage is lost or stale, or the storage "
    "does not answer (of a cloud's volume its console tells). Once it does, mount it again, or restart the pod, which "
    "mounts it again; " + _NO_FORMAT,
    Cause.RENAME_REFUSED: "see what {places} {are} mounted from (findmnt): the broker was refused to rename what it "
    "had just written. A share (SMB, Azure Files, NFS) and Windows refuse that while a file is open, whoever owns it: "
    "move Kafka's data to block storage, then restart the broker. On a disk of its own compare the folder's owner, and "
    "its attributes (lsattr): nothing immutable or append-only can be renamed",
    Cause.FULL: "find out what ran out in {places}, where the broker found no space although the volume has some: "
    "inodes, a quota, the pool below a thin volume, or the chunks for metadata of btrfs",
}
# Java reports a failed rename as SOURCE -> TARGET: only a source that is missing shows such a race.
_OWN_NAME = re.compile(r"(?<!-> )(?<!\S)\S*(?:\.[0-9a-f]{32}-(?:future|delete)|\.(?:deleted|cleaned|swap)(?![\w./-]))")
_RENAMED = (
    "Kafka itself renamed or removed that file meanwhile, as it does when it swaps a copy for its replica or deletes a "
    "topic (KAFKA-15391 is one such race): nothing is missing, and the restart is the repair"
)


def look_at_host(
    found: ProposedAction, away: OfflineLogDirs, directories: Sequence[LogDir], cause: Cause
) -> ProposedAction:
    """Return ``found``, the runbook step, as checks on the broker's host for directories with one cause."""
    places = f"{some_of((d.path for d in directories), _NAMED)} of broker {away.broker}"
    why = _POOL if cause is Cause.FULL and _is_of_pool(away, directories) else _WHY.get(cause, "")
    reason = why.format(places=places, are="is" if len(directories) == 1 else "are")
    said = away.proofs[directories[0].path].said or ""
    error = os_error_in(said)
    # One cause covers many errors, so the error's own remedy is the more exact one.
    if error is not None and error.remedy is not None:
        reason = f"repair what took {places} offline; the error is not one of the disk: {error.remedy}"
    elif error is not None and error.likely is not None:
        reason = f"{reason}. {_RENAMED if _OWN_NAME.search(said) else error.likely}"
    if cause is Cause.DAMAGED_FILE:
        reason = f"in {places} " + damaged_file_remedy(said)
    return replace(
        found,
        reason=reason + _said(away, directories),
        expected={**found.expected, "endurance": fault_tolerance_of(away.lost(directories), away.snapshot)},
        commands=(*host_notes(away.broker, *_steps(directories, cause)), *found.commands),
    )


def _steps(directories: Sequence[LogDir], cause: Cause) -> list[str]:
    """Return the commands to run on the host, the quickest first."""
    paths = " ".join(shlex.quote(directory.path) for directory in directories[:_NAMED])
    first = shlex.quote(directories[0].path)
    if cause is Cause.DAMAGED_FILE:
        return [LOOK_AT_DAMAGED_FILE]
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
    proofs = [away.proofs[directory.path] for directory in directories]
    found = ([kernel_error(line) for line in (one.kernel_error, one.said) if line] for one in proofs)
    return all(any(error is not None and error.trouble is KernelTrouble.POOL_FULL for error in one) for one in found)


def _said(away: OfflineLogDirs, directories: Sequence[LogDir]) -> str:
    """Return the first line of the broker's log, the kernel or the host about these directories."""
    for directory in directories:
        proof = away.proofs[directory.path]
        lines = dict.fromkeys(line for line in (proof.said, proof.kernel_error) if line)
        if lines:
            return f" ({directory.path}: {'; '.join(lines)})"
    return ""


# Kafka parses its own small files at each start and gives up the whole directory for one that it cannot parse, so a
# restart alone changes nothing (seen on 4.3.1; CheckpointFile, PartitionMetadataFile, MetaPropertiesEnsemble).
_ALONE = "a restart alone fails at it again"
_OF_REPLICA = "or, once another replica is in sync, move the folder that it lies in out of the log directory"
_WITHOUT_IT: Mapping[str, str] = {
    "leader-epoch-checkpoint": f"Kafka writes a new one; {_OF_REPLICA}: the replica is copied again",
    # A broker in KRaft mode refuses a folder without it (LogManager: "does not have a topic ID").
    "partition.metadata": "with its folder, once another replica is in sync: the replica is copied again; with none in "
    "sync write a new one (version: 0, topic_id: as kafka-topics.sh --describe names it)",
    "recovery-point-offset-checkpoint": "Kafka then recovers every log of the directory, which takes long",
    "replication-offset-checkpoint": "Kafka then learns the high watermarks again from the replicas",
    # Nothing else remembers a start offset inside a segment (LogManager.checkpointLogStartOffsetsInDir).
    "log-start-offset-checkpoint": "records that were deleted by kafka-delete-records.sh may then appear again",
    "cleaner-offset-checkpoint": "the log cleaner then begins every log at its start",
    "meta.properties": "then run kafka-storage.sh format --ignore-formatted with the cluster's id, which writes it "
    "again and deletes nothing; with ZooKeeper the start writes it",
}
LOOK_AT_DAMAGED_FILE = (
    "ls -la FILE; head -c 300 FILE | od -c, FILE being the one that the log names: empty, or full of zeros? "
    "A loss of power damages several: head -n 2 DIR/*-checkpoint, DIR being its log directory (0 and a number in each)"
)


def damaged_file_remedy(said: str) -> str:
    """Return what to do, by the file that a line of the broker's log names."""
    file = damaged_file(said)
    if file is None:
        return f"move the damaged file that its log names aside, then restart the broker: {_ALONE}"
    without = _WITHOUT_IT.get(posixpath.basename(file), _OF_REPLICA)
    return f"move the damaged file {file} aside, then restart the broker ({without}): {_ALONE}, and its disk is fine"


ACTION_TYPE = ActionType(
    kind=ActionKind.INVESTIGATE,
    relief=Relief(if_in_time=5, if_not=6),
    progress=not_seen,
    covers=frees_as_much,
    live_check=_stops_broker,
    needs_approval=False,
    changes_declared=False,
)


INODES = "free_inodes"


def free_inodes(directory: LogDir, proof: OfflineEvidence) -> ProposedAction:
    """Return the remedy for a file system without free inodes: a larger volume may not add any."""
    path = shlex.quote(directory.path)
    ratio, is_serving = proof.used_inodes_ratio, directory.is_serving
    used = "" if ratio is None else f" ({human_ratio(ratio)} of the inodes used)"
    left = "few are left" if is_serving else "none are left"
    after = "without inodes no segment can be made" if is_serving else "freed inodes alone do not bring it back"
    steps = (
        f"df -i -- {path}; du --inodes -x --max-depth=2 -- {path} | sort -n | tail -20.",
        "remove small files that are not Kafka's; never single files of a replica, each segment has several.",
        (
            "larger segment.bytes and segment.ms make fewer files of topics with many small segments; more inodes take "
            "xfs_growfs -m or a new ext4 file system (mkfs -N) on another volume."
        ),
    )
    reason = (
        f"free inodes in {directory.path} of broker {directory.broker}: {left}{used}{used_text(directory)}; "
        f"{after}{log_line(proof)}"
    )
    notes = host_notes(directory.broker, *steps)
    return check(place_target(directory), INODES, reason, notes, full_by=str(FullBy.INODES))


def free_while_stopped(
    directory: LogDir, snapshot: ClusterSnapshot, policy: Policy, what: str = "is full"
) -> ProposedAction:
    """Return how to free space while the broker cannot run: what may be removed, and what must stay."""
    broker, lost = directory.broker, lost_together([directory.place], snapshot)
    # Two others, since the only one may fail while it is copied.
    spare = [p.label for p in lost if len(complete_copies(p, snapshot) - {broker}) > 1][:EXAMPLES]
    kept = f"their other replicas are in sync: {', '.join(spare)}" if spare else "none"
    is_gone = snapshot.is_gone(broker)
    steps = [
        "First lower the retention of the largest topics, or it fills again.",
        f"Remove files that are not Kafka's from {directory.path}; never single segment files.",
        "Else move whole partition directories to another log directory of this stopped broker.",
        f"Last resort: remove whole partition directories that can be copied again ({kept}).",
    ]
    reason = (
        f"{directory.path} of broker {broker} {what}: free space there while the broker is stopped; freed "
        "space alone does not bring it back"
    )
    stop = [] if is_gone else policy.tools.stop(broker) or [note(f"Stop broker {broker}.")]
    commands = (*stop, *map(note, steps))
    endurance = fault_tolerance_of(lost, snapshot)
    found = check(place_target(directory), FREE_SPACE, reason, commands, spare_replicas=spare, endurance=endurance)
    return found if is_gone else replace(found, vetoes=restart_vetoes.against_stopping(snapshot, broker))
