"""``logdir.inventory``: replicas, topics and scans."""

from typing import Annotated

from msgspec import Meta, Struct

from logdirwatch.model.scalars import (
    BrokerId,
    Bytes,
    ClusterName,
    CollectorName,
    Count,
    LogDirPath,
    Long,
    Name,
    NodeId,
    PartitionNumber,
    PartNumber,
    ScanTime,
    TopicName,
    Version,
)


class Placement(Struct, frozen=True, kw_only=True):
    """One replica in one log directory."""

    topic: TopicName
    partition: PartitionNumber
    size_bytes: Annotated[Bytes | None, "Bytes of its live segments; null: unknown."] = None
    offset_lag: Annotated[
        Long | None, "Lag in records: of a replica to the high watermark, of a copy to its original; null: unknown."
    ] = None
    is_future: Annotated[bool, "Whether this is the copy in progress of a move between directories."] = False


class ReplicasRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="replicas"):
    """``logdir.inventory``: the replicas of one directory at one scan, in ``parts`` records of one timestamp."""

    version: Version
    cluster: ClusterName
    broker: NodeId
    log_dir: LogDirPath
    timestamp_ms: ScanTime
    replicas: Annotated[list[Placement], "The replicas in the directory."]
    collector: CollectorName = ""
    part: PartNumber = 0
    parts: Annotated[
        int, Meta(ge=1, le=2**31 - 1), "Number of records with the replicas of the directory at this scan."
    ] = 1


class PartitionInfo(Struct, frozen=True, kw_only=True):
    """One partition as metadata describes it."""

    partition: PartitionNumber
    leader: Annotated[
        Annotated[int, Meta(ge=-1, le=2**31 - 1)] | None, "Node id of its leader; null or -1: it has none."
    ]
    replicas: Annotated[list[BrokerId], "Node ids of its brokers, the preferred leader first."]
    isr: Annotated[list[BrokerId], "Node ids of the brokers in sync."]
    offline_replicas: Annotated[list[BrokerId], "Node ids of the brokers whose replica Kafka reports as offline."] = []
    elr: Annotated[list[BrokerId] | None, "Node ids of the eligible leader replicas (KIP-966); null: unknown."] = None
    last_known_elr: Annotated[
        list[BrokerId] | None, "Node ids of the last known eligible leader replicas; null: unknown."
    ] = None
    adding: Annotated[
        list[BrokerId] | None,
        "Node ids of the brokers that a running reassignment adds, empty without one; null: unknown.",
    ] = None
    removing: Annotated[
        list[BrokerId] | None,
        "Node ids of the brokers that a running reassignment removes, empty without one; null: unknown.",
    ] = None
    groups: Annotated[Count | None, "Number of consumer and share groups that read it; null: unknown."] = None
    slowest_group: Annotated[
        str | None, "Consumer or share group with the most unread records; null: unknown, or no group."
    ] = None
    unread_ratio: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        "Share of the offsets that this group has not read, from 0 to 1 in steps of 0.05; null: unknown, or no group.",
    ] = None


class TopicRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="topic"):
    """``logdir.inventory``: one topic's partitions and effective configuration at one scan."""

    version: Version
    cluster: ClusterName
    topic: TopicName
    partitions: Annotated[list[PartitionInfo], "Its partitions."]
    timestamp_ms: ScanTime = 0
    configs: Annotated[
        dict[str, str | None],
        "The topic's configuration in effect, by Kafka configuration key; null where a key has no value.",
    ] = {}
    overridden: Annotated[
        list[str] | None, "Keys of configs that are set on the topic itself, the others are inherited; null: unknown."
    ] = None
    is_internal: Annotated[bool, "Whether Kafka reports the topic as internal."] = False
    topic_id: Annotated[
        Name | None, "Kafka's id of the topic (KIP-516): another topic of its name has another one; null: unknown."
    ] = None
    collector: CollectorName = ""
    part: PartNumber = 0
    parts: Annotated[
        int, Meta(ge=1, le=2**31 - 1), "Number of records with the partitions of the topic at this scan."
    ] = 1


class ScanRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="scan"):
    """``logdir.inventory``: the end of a scan."""

    version: Version
    cluster: ClusterName
    timestamp_ms: ScanTime
    topics: Annotated[Count, "Number of topics that it listed."]
    is_complete: Annotated[bool, "Whether it listed every topic: those that it did not list were deleted."]
    collector: CollectorName = ""


InventoryRecord = ReplicasRecord | TopicRecord | ScanRecord
