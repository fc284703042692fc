"""What a problem affects."""

from typing import Annotated

from msgspec import UNSET, UnsetType

from logdirwatch.model.record_part import RecordPart

AtMost = "counted once for each of their replicas"


class Affected(RecordPart, frozen=True, kw_only=True):
    """What a problem of a directory, a broker or a cluster affects; empty while unknown.

    In an alert about a directory or broker the counts are those of the broker; in one about a cluster they are sums.
    """

    replica_count: Annotated[int | UnsetType | None, "Replicas in the alert's directories."] = UNSET
    replica_bytes: Annotated[int | UnsetType | None, "Bytes of these."] = UNSET
    leaderless: Annotated[int | None, "Partitions without a leader."] = None
    under_min_isr: Annotated[
        int | None, "Partitions under their minimum of in-sync replicas; of a cluster, at least."
    ] = None
    under_min_isr_at_most: Annotated[int | None, f"The same, {AtMost}."] = None
    at_min_isr: Annotated[int | None, "Partitions at their minimum of in-sync replicas; of a cluster, at least."] = None
    at_min_isr_at_most: Annotated[int | None, f"The same, {AtMost}."] = None
    sole_replica: Annotated[int | None, "Partitions with a single in-sync replica left."] = None
    internal_leaderless: Annotated[int | None, "Partitions of internal topics without a leader."] = None
    out_of_sync: Annotated[int | UnsetType | None, "Replicas of the broker that are not in sync."] = UNSET
    brokers: Annotated[int | None, "The number of affected brokers."] = None
    log_dirs: Annotated[int | None, "The number of affected directories."] = None
    examples: Annotated[list[str] | None, "Up to 20 of the partitions, brokers or directories, the worst first."] = None
    hurt_topics: Annotated[
        list[str] | UnsetType | None, "Up to 20 topics with a partition that has no leader or is under its minimum."
    ] = UNSET
    hurt_groups: Annotated[list[str] | UnsetType | None, "Up to 20 consumer groups of these topics."] = UNSET
