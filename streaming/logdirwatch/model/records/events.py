"""``logdir.events``: an event of a log directory."""

from typing import Annotated

from msgspec import Meta, Struct

from logdirwatch.model.scalars import Count, EpochMs, Name, NodeId, Version


class EventRecord(Struct, frozen=True, kw_only=True):
    """``logdir.events``: KIP-112's form (version, broker, event) and ours, which adds the rest."""

    version: Version
    broker: NodeId
    event: Annotated[
        str | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)], "Name of the event, or its number in KIP-112's form."
    ]
    cluster: Annotated[
        Name | None, "Kafka cluster, by its name in the configuration; null: the only one that is configured."
    ] = None
    log_dir: Annotated[Name | None, "Path of the log directory; null: the event does not name one."] = None
    cause: Annotated[str | None, "Why it is offline; null: unknown."] = None
    timestamp_ms: Annotated[
        EpochMs | None, "When it happened, in milliseconds since the epoch; null: at the Kafka timestamp of the record."
    ] = None
    detail: Annotated[str | None, "The log line or the observation behind it; null: none."] = None
    collector: Annotated[str | None, "Name of the collector or host source that wrote it; null: a broker wrote it."] = (
        None
    )
    topic: Annotated[Name | None, "The topic; null: the event is not about a partition."] = None
    partition: Annotated[Count | None, "Number of the partition; null: the event is not about a partition."] = None
    full_by: Annotated[
        str | None, "What ran out if the cause is full: space, quota or inodes; null: unknown, or another cause."
    ] = None
    device: Annotated[str | None, "The block device in the line; null: none is named."] = None
    reason: Annotated[
        str | None,
        "The reason of some events: of BrokerFailure one of BrokerFailureReason, of PartitionFailed "
        "coordinator_load, of BrokerTaskFailed and BrokerTaskResumed the task; null: none.",
    ] = None
    logs_loaded: Annotated[
        Count | None, "Of LogsLoaded: logs of the directory that the starting broker has loaded; null: none."
    ] = None
    logs_total: Annotated[Count | None, "Of LogsLoaded: all logs of the directory; null: not reported."] = None
