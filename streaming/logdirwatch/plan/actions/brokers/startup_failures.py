"""Remedies for a broker whose own log says why it is down.

No remedy deletes what may be a last copy: folders are moved aside.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from logdirwatch.model.broker_failures import BrokerFailureReason as Reason
from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.brokers import BrokerAwayEvidence
from logdirwatch.model.records import AlertRecord
from logdirwatch.parse.broker_log.causes import damaged_file
from logdirwatch.parse.os_errors import os_error_in
from logdirwatch.plan.actions.brokers import investigate
from logdirwatch.plan.actions.brokers.investigate import (
    UNAVAILABLE,
    UNDER_REPLICATED,
    Runbook,
    on_host_of,
    quorum_status,
)
from logdirwatch.text.words import some_of


class Remedy(NamedTuple):
    """What to do before the next start, and read-only commands for the broker's host."""

    text: str
    look: tuple[str, ...] = ()


_META = "cat DIR/meta.properties, DIR being each of log.dirs and metadata.log.dir"
_META_ZOOKEEPER = "cat DIR/meta.properties, DIR being each of log.dirs"
_MOUNTS = "findmnt; df -h; ls -la DIR, DIR being each of log.dirs"
_DIRECTORY = "journalctl -k; findmnt; df -h; df -i; ls -la DIR, DIR being the directory that its log names"
_KILLED = "journalctl -k | grep -i 'out of memory', which names the process that was killed"
_SETTINGS = "grep -v '^#' server.properties"

REMEDIES: Mapping[Reason, Remedy] = {
    # LogManager reads every folder's name as TOPIC-PARTITION, and the name of every .log file as an offset.
    Reason.FOREIGN_FOLDER: Remedy(
        "move the folder that is no partition out of the log directory, then start it; where it is the file system's "
        "own lost+found, let log.dirs name a folder below the mount, or remove it if it is empty; where the log quotes "
        "a name that is no number, move the file NAME.log out of the partition's folder",
        ("ls -la DIR; find DIR -name '*.log' -not -name '[0-9]*', DIR being the directory that its log names",),
    ),
    Reason.NODE_ID_MISMATCH: Remedy(
        "mount this broker's own disks, or set node.id to what their meta.properties says; do not edit meta.properties "
        "before it is clear whose data lies there",
        (_META, _MOUNTS),
    ),
    Reason.CLUSTER_ID_MISMATCH: Remedy(
        "mount the disks of this cluster: these belong to another one, or the cluster was formatted again; format "
        "them only if nothing on them is needed",
        (_META, _MOUNTS),
    ),
    # A copied directory has the directory.id of the original (KIP-858).
    Reason.DIRECTORY_ID_MISMATCH: Remedy(
        "see which directory was copied or mounted twice, and mount or name the right one; both cannot be in log.dirs",
        (_META, _MOUNTS),
    ),
    # A disk that is not mounted looks like a new one: its empty mount point would be formatted.
    Reason.NOT_FORMATTED: Remedy(
        "see whether the disk is mounted at all; format only a new, empty one (kafka-storage.sh format "
        "--ignore-formatted, with the cluster's id), a voter's metadata directory only once a majority has the data",
        (_MOUNTS, _META),
    ),
    Reason.TOPIC_ID_MISSING: Remedy(
        "move the partition's folder that its log names out of log.dirs, once other replicas of it are in sync, and "
        "start it: the replica is copied again",
        ("ls -la FOLDER, FOLDER being the one that its log names",),
    ),
    # A directory that fails while a copy is swapped in leaves two folders of one replica (KIP-113, LogManager.loadLog).
    Reason.DUPLICATE_REPLICA: Remedy(
        "of the two folders that its log names keep the one in the directory that did not fail, move the other out of "
        "log.dirs, and start it; with no other replica in sync keep a copy of both",
        ("ls -la BOTH, BOTH being the two folders",),
    ),
    Reason.DIRECTORY_LOCKED: Remedy(
        "find the process that holds the directory, a broker that has not ended or a second one, and end it before the "
        "start; never remove .lock while one runs; on NFS the server may hold the lock of a host that is gone",
        ("lsof DIR/.lock; pgrep -af kafka.Kafka",),
    ),
    Reason.NO_USABLE_DIRECTORY: Remedy(
        "repair the mount, the owner or the disk of its log directories first: the lines before it say why for each",
        (_DIRECTORY,),
    ),
    Reason.METADATA_DIRECTORY_FAILED: Remedy(
        "repair the directory of its metadata log first (space, mount, disk), or it halts again", (_DIRECTORY,)
    ),
    Reason.ALL_DIRECTORIES_FAILED: Remedy(
        "repair its log directories first (space, mount, limit, disk), or it halts again", (_DIRECTORY,)
    ),
    # Leaders leave a failed directory only once the controller has heard of it (KIP-858).
    Reason.FAILURE_NOT_TOLD: Remedy(
        "repair the directory that failed and the connection to the controllers, then start it: it stopped by itself "
        "after log.dir.failure.timeout.ms, so that others can lead",
        (_DIRECTORY,),
    ),
    Reason.METADATA_FAULT: Remedy(
        "copy its metadata directory aside, then see whether a majority of the controllers is in sync; if so, move the "
        "broker's __cluster_metadata-0 out of the way: it is fetched again at the start. Without a majority touch no "
        "voter's",
        ("kafka-dump-log.sh --cluster-metadata-decoder --files LOG, LOG being the newest of __cluster_metadata-0",),
    ),
    Reason.CORRUPT_LOG: Remedy(
        "find the partition and file in the lines around it; once other replicas are in sync move that folder out of "
        "log.dirs and start it; if the disk below fails, replace that first",
        (_DIRECTORY,),
    ),
    Reason.DAMAGED_FILE: Remedy(investigate.damaged_file_remedy(""), (investigate.LOOK_AT_DAMAGED_FILE,)),
    Reason.UNSUPPORTED_VERSION: Remedy(
        "start it with the release that it ran before, or one that supports the cluster's metadata.version; do not "
        "downgrade the cluster's features for it; where it expects version 1 and gets 0, its directories are of "
        "a broker in ZooKeeper mode: migrate the cluster, or mount others",
        (_META_ZOOKEEPER, "ls -d /opt/kafka*; kafka-features.sh --bootstrap-server HOST:PORT describe"),
    ),
    Reason.DUPLICATE_BROKER: Remedy(
        "stop the other process with its node.id if that is the wrong one; after a crash the old registration"
        " ends with its session, so that a later start succeeds",
        ("pgrep -af kafka.Kafka, on every host that may run it",),
    ),
    Reason.CONTROLLER_UNREACHABLE: Remedy(
        "see whether the quorum has a leader, and whether this host can resolve its names, reach it and log in",
        (_SETTINGS,),
    ),
    Reason.HEARTBEAT_LOST: Remedy(
        "it runs, so do not restart it first: look for long pauses (garbage collection, a disk that hangs, a machine "
        "that was suspended) and for the network to the controllers",
        ("grep -i pause GC_LOG; iostat -x 5",),
    ),
    Reason.CANNOT_BIND: Remedy(
        "end the process that has its port, or correct listeners where the address is not of this host, then start it",
        ("ss -ltnp; ip addr", _SETTINGS),
    ),
    # Java calls a refused memory map an OutOfMemoryError ("Map failed"), however much memory is left.
    Reason.OUT_OF_MEMORY: Remedy(
        "give it more memory (heap, direct or the container's, whichever its log names) before it starts: the recovery "
        "of its logs needs it; where free -m shows memory left and mmap failed, raise vm.max_map_count instead",
        ("free -m; journalctl -k | grep -i oom; cat /proc/sys/vm/max_map_count",),
    ),
    Reason.OOM_KILLED: Remedy(
        "give its host or container more memory, or its Java heap less: heap, direct memory, threads and other "
        "processes share what there is, so a larger heap makes it worse; then start it, its logs are recovered first",
        (_KILLED, "free -m; systemctl show kafka -p MemoryMax; kubectl describe pod POD"),
    ),
    Reason.LIMIT: Remedy(
        "before the start raise the limit that its log names: open files, threads or memory maps",
        ("cat /proc/sys/vm/max_map_count; systemctl show kafka -p LimitNOFILE,LimitNPROC,TasksMax",),
    ),
    Reason.TLS: Remedy(
        "put a keystore or certificate in place that is valid and readable with its password, then start it",
        ("keytool -list -v -keystore FILE",),
    ),
    Reason.LOGIN: Remedy("correct its credentials or its JAAS configuration, then start it", (_SETTINGS,)),
    Reason.CONFIGURATION: Remedy("correct the setting that its log names, then start it", (_SETTINGS,)),
    Reason.JAVA: Remedy(
        "start it with the Java release and the options that its Kafka release supports", ("java -version",)
    ),
    # Indexes are mapped into memory: there a disk that is full or fails gives a signal, not an IOException.
    Reason.CRASHED: Remedy(
        "see whether its disk is full or fails: a fault in the memory of a mapped file (SIGBUS, InternalError) means "
        "that; else read its hs_err_pid*.log, which names the signal and the frame, and change the Java release or the "
        "native library that it names",
        ("df -h; journalctl -k; ls -t hs_err_pid*.log; coredumpctl list",),
    ),
    Reason.KILLED: Remedy(
        "see who killed it before it starts again: systemd or Kubernetes when its time to start or stop was over (give "
        "it more, its logs are recovered now), the kernel for lack of memory, or a person",
        (_KILLED, "journalctl -u kafka; kubectl describe pod POD"),
    ),
    Reason.DISK_FULL: Remedy(
        "make room on the disk that its log names, or raise the quota that it names, or it stops again", (_DIRECTORY,)
    ),
    Reason.PERMISSION: Remedy(
        "give what its log names back to Kafka's user (owner, mode, SELinux label), then start it",
        ("ls -laZ DIR, DIR being the directory that its log names",),
    ),
    Reason.READ_ONLY: Remedy(
        "see in the kernel's log why the file system is read-only, repair that and mount it writable, then start it",
        (_DIRECTORY,),
    ),
    Reason.DISK_FAILED: Remedy(
        "see in the kernel's log what failed below the path that its log names: the device, the file system or the way "
        "to the storage; repair that, then start it",
        (_DIRECTORY,),
    ),
    Reason.RENAME_REFUSED: Remedy(
        "see what its directories are mounted from: a share (SMB, NFS) or Windows refuses to rename what is open; give "
        "it block storage, then start it",
        (_MOUNTS,),
    ),
    Reason.STOPPED: Remedy(
        "it was stopped cleanly: see who did that (systemd, Kubernetes, a person) and whether it is meant to come "
        "back; then start it",
        ("journalctl -u kafka; kubectl describe pod POD",),
    ),
    Reason.OTHER: Remedy(
        "fix what its log names before it starts again, or it stops again",
    ),
}


OF_KRAFT = frozenset(
    {Reason.NOT_FORMATTED, Reason.METADATA_DIRECTORY_FAILED, Reason.FAILURE_NOT_TOLD, Reason.METADATA_FAULT}
)
"""Reasons that exist only in KRaft mode."""

ZOOKEEPER_REMEDIES: Mapping[Reason, Remedy] = {
    Reason.NODE_ID_MISMATCH: Remedy(
        "mount this broker's own disks, or set broker.id to what their meta.properties says; do not edit "
        "meta.properties before it is clear whose data lies there",
        (_META_ZOOKEEPER, _MOUNTS),
    ),
    Reason.CLUSTER_ID_MISMATCH: Remedy(
        "mount the disks of this cluster, or correct zookeeper.connect: they belong to another one, or ZooKeeper lost "
        "its data",
        (_META_ZOOKEEPER, _MOUNTS),
    ),
    Reason.DIRECTORY_ID_MISMATCH: Remedy(REMEDIES[Reason.DIRECTORY_ID_MISMATCH].text, (_META_ZOOKEEPER, _MOUNTS)),
    Reason.UNSUPPORTED_VERSION: Remedy(
        "start it with the release that it ran before, or one that supports the cluster's "
        "inter.broker.protocol.version",
        ("ls -d /opt/kafka*", _SETTINGS),
    ),
    Reason.DUPLICATE_BROKER: Remedy(
        "stop the other process with its broker.id if that is the wrong one; after a crash the old node in ZooKeeper "
        "ends with its session, so that a later start succeeds",
        ("pgrep -af kafka.Kafka, on every host that may run it",),
    ),
    Reason.CONTROLLER_UNREACHABLE: Remedy(
        "see whether ZooKeeper has a leader, and whether this host can resolve its names, reach it and log in",
        (_SETTINGS,),
    ),
    Reason.HEARTBEAT_LOST: Remedy(
        "it runs, so do not restart it first: look for long pauses (garbage collection, a disk that hangs, a machine "
        "that was suspended) and for the network to ZooKeeper",
        ("grep -i pause GC_LOG; iostat -x 5",),
    ),
}
"""What else is done in a cluster that keeps its metadata in ZooKeeper; the other remedies hold there too, or never."""
_BY_DIRECTORIES = frozenset(
    {Reason.NO_USABLE_DIRECTORY, Reason.METADATA_DIRECTORY_FAILED, Reason.ALL_DIRECTORIES_FAILED, Reason.LIMIT}
)
"""Reasons whose remedy an error of the operating system may say better."""


def remedy_of(reason: object, *, has_zookeeper: bool = False) -> Remedy:
    """Return the remedy for a recorded reason; a general one for reasons that this release does not know."""
    known = Reason(reason) if reason in set(Reason) else Reason.OTHER
    if not has_zookeeper:
        return REMEDIES[known]
    return ZOOKEEPER_REMEDIES.get(known) or REMEDIES[Reason.OTHER if known in OF_KRAFT else known]


def as_its_log_says(alert: AlertRecord) -> Runbook | None:
    """Return the remedy for a broker whose log, or whose kernel's, says why it is away.

    No text of a log becomes part of a command.
    """
    shown = read_as(alert.evidence, BrokerAwayEvidence)
    # During maintenance its log says why it stopped, which was the intention.
    if shown.maintenance is not None:
        return None
    if not shown.log_says:
        return _storage_answers(shown.hangs) if shown.hangs else None
    with_kraft, with_zookeeper = (
        _as_said(remedy_of(shown.log_reason, has_zookeeper=has_zookeeper), shown) for has_zookeeper in (False, True)
    )
    return replace(_runbook(with_kraft, shown.log_says), zookeeper=_runbook(with_zookeeper, shown.log_says))


def _storage_answers(hangs: Sequence[str]) -> Runbook:
    return Runbook(
        "find out why the storage that the broker waits for does not answer, and do not restart the broker before it "
        "does: a process that waits for it cannot be killed, and df and ls hang there too. Its host's kernel says: "
        f"{some_of(hangs, 3)}",
        (
            on_host_of("cat /proc/mounts; dmesg -T | tail -200; nfsstat -m, then ping the server that the mount names"),
            UNDER_REPLICATED,
        ),
    )


def _as_said(remedy: Remedy, shown: BrokerAwayEvidence) -> Remedy:
    """Return a remedy with the limit or the file that the log names."""
    said = shown.log_says or ""
    # This comes first: such a line may quote an error of the operating system whose remedy would be another one.
    if shown.log_reason == Reason.DAMAGED_FILE or damaged_file(said) is not None:
        return Remedy(investigate.damaged_file_remedy(said), (investigate.LOOK_AT_DAMAGED_FILE,))
    error = os_error_in(said)
    if error is None:
        return remedy
    if error.remedy is not None and shown.log_reason in _BY_DIRECTORIES:
        return remedy._replace(text=f"before the start: {error.remedy}")
    if shown.log_reason != Reason.LIMIT or error.limit is None or error.limit.raised_by is None:
        return remedy
    text = f"before the start raise the limit of {error.limit.name}"
    return Remedy(text, (error.limit.shown_by, error.limit.raised_by))


def _runbook(remedy: Remedy, log_says: str) -> Runbook:
    looks = tuple(on_host_of(look) for look in remedy.look)
    return Runbook(f"{remedy.text}. Its log says: {log_says}", (*looks, quorum_status, UNAVAILABLE))
