"""``logdir.metrics``: what a host reports about its volumes and its kernel log."""

from typing import Annotated

from msgspec import Meta, Struct

from logdirwatch.model.scalars import Bytes, ClusterName, Count, EpochMs, LogDirPath, Name, NodeId, Version


class KernelNews(Struct, frozen=True, kw_only=True):
    """A line of the kernel's log: the trouble (``KernelTrouble``) that it reports, or its end."""

    trouble: Annotated[str, "The kind of trouble (KernelTrouble)."]
    text: Annotated[str, "The line."]
    device: Annotated[str | None, "The block device that it names; null: none."] = None
    is_over: Annotated[bool, "Whether the line reports the end of the trouble."] = False


class HostLogDir(Struct, frozen=True, kw_only=True):
    """One log directory as seen on the host, and the probe: 4 KiB written, synced, read back and compared."""

    path: LogDirPath
    total_bytes: Annotated[Bytes | None, "Size of its file system in bytes; null: unknown."] = None
    usable_bytes: Annotated[
        Bytes | None, "Bytes of the file system that the broker can still write; null: unknown."
    ] = None
    total_inodes: Annotated[Bytes | None, "Number of inodes of the file system; null: unknown."] = None
    free_inodes: Annotated[Bytes | None, "Number of its free inodes; null: unknown."] = None
    volume: Annotated[
        Name | None, "Name of its file system; two directories with the same name share its space; null: unknown."
    ] = None
    is_read_only: Annotated[bool | None, "Whether it is mounted read-only; null: unknown."] = None
    is_root_volume: Annotated[bool | None, "Whether it is on the root file system; null: unknown."] = None
    probe_ms: Annotated[
        Annotated[float, Meta(ge=0)] | None, "Duration of the probe in milliseconds; null: there was none."
    ] = None
    probe_error: Annotated[str | None, "Why the probe failed; null: it passed, or there was none."] = None
    is_reserve_there: Annotated[
        bool | None,
        "Whether the configured reserve file has its size; null: none is configured, or it could not be checked.",
    ] = None
    device: Annotated[str | None, "The block device under the directory; null: unknown."] = None
    kernel_error: Annotated[str | None, "The worst line of kernel; null: none."] = None
    kernel_cause: Annotated[
        str | None,
        "The cause of a failure that this line is evidence for: failed for an I/O error of the device, file_system, "
        "read_only, remount or full; null: none.",
    ] = None
    full_by: Annotated[
        str | None, "What ran out, where the host or the probe shows it: space, quota or inodes; null: nothing."
    ] = None
    kernel: Annotated[list[KernelNews], "Lines of the kernel's log about the device since the last record."] = []
    config_error: Annotated[
        str | None,
        "Why the host source cannot observe it at all, which says nothing about the directory; null: it can.",
    ] = None


class HostRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="host"):
    """``logdir.metrics``: the observations of the source on the broker's own host."""

    version: Version
    cluster: ClusterName
    broker: NodeId
    timestamp_ms: Annotated[EpochMs, "When the host source observed the directories, in milliseconds since the epoch."]
    collector: Annotated[Name, "Name of the host source, never that of a collector that polls."]
    interval_ms: Annotated[int, Meta(gt=0, le=2**31 - 1), "Time between two records, in milliseconds."] = 10_000
    host: Annotated[str | None, "Host name; null: unknown."] = None
    log_dirs: Annotated[list[HostLogDir], "The log directories on the host."] = []
    errors: Annotated[list[str], "Errors of the host source that belong to no directory."] = []
    log_entries: Annotated[
        Count | None, "Number of entries of the broker's log read since the host source started; null: no log is read."
    ] = None
    log_lines_not_understood: Annotated[
        Count | None, "Number of its lines in which a failure would not have been seen; null: no log is read."
    ] = None
    kernel: Annotated[
        list[KernelNews], "Lines of the kernel's log that concern the broker whatever the directory: tasks that hang."
    ] = []
    broker_started_ms: Annotated[
        EpochMs | None,
        "When the host source read in the broker's log that it started, in milliseconds since the epoch; null: it "
        "has read no start yet.",
    ] = None
