"""What a problem affects."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from logdirwatch.model.record_part import RecordPart

AtMost = "counted once for each of their replicas"


class Affected(RecordPart, frozen=True, kw_only=True):
    """What a problem of a directory, a broker or a cluster affects; empty while unknown.

    In an alert about a directory or broker the counts are those of the broker; in one about a cluster they are sums.
    """

    replica_count: Annotated[int | UnsetType | None, Meta(description="Replicas in the alert's directories.")] = UNSET
    replica_bytes: Annotated[int | UnsetType | None, Meta(description="Bytes of these.")] = UNSET
    leaderless: Annotated[int | None, Meta(description="Partitions without a leader.")] = None
    under_min_isr: Annotated[
        int | None, Meta(description="Partitions under their minimum of in-sync replicas; of a cluster, at least.")
    ] = None
    under_min_isr_at_most: Annotated[int | None, Meta(description=f"The same, {AtMost}.")] = None
    at_min_isr: Annotated[
        int | None, Meta(description="Partitions at their minimum of in-sync replicas; of a cluster, at least.")
    ] = None
    at_min_isr_at_most: Annotated[int | None, Meta(description=f"The same, {AtMost}.")] = None
    sole_replica: Annotated[int | None, Meta(description="Partitions with a single in-sync replica left.")] = None
    internal_leaderless: Annotated[int | None, Meta(description="Partitions of internal topics without a leader.")] = (
        None
    )
    out_of_sync: Annotated[int | UnsetType | None, Meta(description="Replicas of the broker that are not in sync.")] = (
        UNSET
    )
    brokers: Annotated[int | None, Meta(description="The number of affected brokers.")] = None
    log_dirs: Annotated[int | None, Meta(description="The number of affected directories.")] = None
    examples: Annotated[
        list[str] | None, Meta(description="Up to 20 of the partitions, brokers or directories, the worst first.")
    ] = None
    hurt_topics: Annotated[
        list[str] | UnsetType | None,
        Meta(description="Up to 20 topics with a partition that has no leader or is under its minimum."),
    ] = UNSET
    hurt_groups: Annotated[
        list[str] | UnsetType | None, Meta(description="Up to 20 consumer groups of these topics.")
    ] = UNSET
