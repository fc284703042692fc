"""The effect of an action on leaders, in-sync replicas and fault tolerance."""

from typing import Annotated

from msgspec import Meta

from logdirwatch.model.actions.parts import Veto
from logdirwatch.model.record_part import EMPTY_LIST, EMPTY_MAP, NULL, RecordPart


class LeadershipStep(RecordPart, frozen=True, kw_only=True):
    """The state of an action's partitions after one of its steps."""

    step: Annotated[
        str, Meta(description="now, copied, stopped, started, demoted, cancelled or preferred (an election).")
    ]
    leaderless: Annotated[int, Meta(description="How many partitions have no leader.")]
    under_min_isr: Annotated[
        int, Meta(description="How many have fewer in-sync replicas than their minimum, as far as it is known.")
    ]
    led_anew: Annotated[int, Meta(description="How many have another leader than before the step.")]


class PartitionState(RecordPart, frozen=True, kw_only=True):
    """A partition's leader and in-sync replicas."""

    leader: Annotated[int | None, Meta(description="Node id of its leader; null: none.")] = NULL
    isr: Annotated[list[int], Meta(description="Node ids of its in-sync replicas.")] = EMPTY_LIST


class LeadershipExample(RecordPart, frozen=True, kw_only=True):
    """One partition step by step."""

    partition: Annotated[str, Meta(description="The partition, as topic-partition.")]
    now: Annotated[PartitionState | None, Meta(description="As it is.")] = None
    copied: Annotated[PartitionState | None, Meta(description="When its new replicas are in sync.")] = None
    stopped: Annotated[PartitionState | None, Meta(description="While the broker is stopped.")] = None
    started: Annotated[PartitionState | None, Meta(description="When the broker is back.")] = None
    demoted: Annotated[PartitionState | None, Meta(description="With another order of preference.")] = None
    cancelled: Annotated[PartitionState | None, Meta(description="When its reassignment is cancelled.")] = None
    preferred: Annotated[PartitionState | None, Meta(description="After a preferred election.")] = None


class Harm(RecordPart, frozen=True, kw_only=True):
    """Partitions that an action harms in one way."""

    partitions: Annotated[int, Meta(description="How many.")]
    step: Annotated[str, Meta(description="The first step after which it is so.")]
    examples: Annotated[list[str], Meta(description="Up to 20 of them, as topic-partition.")] = EMPTY_LIST


class Leadership(RecordPart, frozen=True, kw_only=True):
    """The predicted leaders and in-sync replicas, step by step."""

    partitions: Annotated[int, Meta(description="The number of partitions.")]
    steps: Annotated[list[LeadershipStep], Meta(description="The steps in their order.")] = EMPTY_LIST
    examples: Annotated[
        list[LeadershipExample], Meta(description="Up to 20 partitions, those that lose their leader first.")
    ] = EMPTY_LIST
    becomes_leaderless: Annotated[Harm | None, Meta(description="Partitions that lose their leader by it.")] = None
    falls_under_min_isr: Annotated[
        Harm | None, Meta(description="Partitions that fall under their minimum of in-sync replicas by it.")
    ] = None


class TopicEndurance(RecordPart, frozen=True, kw_only=True):
    """How many more failures a topic tolerates before it loses data or writes, by its weakest partition."""

    topic: Annotated[str, Meta(description="The topic.")]
    partition: Annotated[str, Meta(description="Its weakest partition, as topic-partition.")]
    copies: Annotated[int, Meta(description="The number of its known complete copies.")]
    survives: Annotated[
        int, Meta(description="How many more disks or brokers may fail while a copy is left; -1: no copy is known.")
    ]
    racks: Annotated[int | None, Meta(description="How many more racks may fail; null: racks are unknown.")] = NULL
    writes_survive: Annotated[
        int | None,
        Meta(
            description="How many more may fail while writes with acks=all continue; below 0: they are refused already."
        ),
    ] = NULL
    warnings: Annotated[
        list[str],
        Meta(description="What is weak by design: replication_factor_1, min_isr_is_replication_factor, min_isr_1."),
    ] = EMPTY_LIST


class Endurance(RecordPart, frozen=True, kw_only=True):
    """How many more failures topics tolerate before they lose data or writes."""

    topics: Annotated[int, Meta(description="The number of topics.")]
    without_copy: Annotated[int, Meta(description="Topics with a partition without a known complete copy.")]
    next_failure_loses_data: Annotated[int, Meta(description="Topics with a partition that has a single copy left.")]
    writes_stopped: Annotated[int, Meta(description="Topics with a partition that refuses writes with acks=all.")]
    next_failure_stops_writes: Annotated[
        int, Meta(description="Topics with a partition that refuses them after one more failure.")
    ]
    writes_unknown: Annotated[int, Meta(description="Topics whose minimum is unknown.")]
    warnings: Annotated[
        dict[str, int], Meta(description="How many topics are weak by design, by the kind of weakness.")
    ] = EMPTY_MAP
    examples: Annotated[list[TopicEndurance], Meta(description="Up to 20 topics, the weakest first.")] = EMPTY_LIST


class LeaveLogDirs(RecordPart, frozen=True, kw_only=True):
    """Whether a directory may be removed from ``log.dirs``: the broker's other ones must hold its replicas."""

    fits: Annotated[bool | None, Meta(description="Whether they can; null: unknown.")] = NULL
    replicas: Annotated[int, Meta(description="How many replicas are in it.")]
    needs_bytes: Annotated[int | None, Meta(description="Bytes of these.")] = NULL
    missing_bytes: Annotated[int | None, Meta(description="Bytes that do not fit.")] = NULL
    why_not: Annotated[Veto | None, Meta(description="Why it must not be removed; null: nothing prevents it.")] = NULL
