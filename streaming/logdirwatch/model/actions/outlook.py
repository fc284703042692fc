"""The effect of an action on leaders, in-sync replicas and fault tolerance."""

from typing import Annotated

from logdirwatch.model.actions.parts import Veto
from logdirwatch.model.record_part import EMPTY_LIST, EMPTY_MAP, NULL, RecordPart


class LeadershipStep(RecordPart, frozen=True, kw_only=True):
    """The state of an action's partitions after one of its steps."""

    step: Annotated[str, "now, copied, stopped, started, demoted, cancelled or preferred (an election)."]
    leaderless: Annotated[int, "How many partitions have no leader."]
    under_min_isr: Annotated[int, "How many have fewer in-sync replicas than their minimum, as far as it is known."]
    led_anew: Annotated[int, "How many have another leader than before the step."]


class PartitionState(RecordPart, frozen=True, kw_only=True):
    """A partition's leader and in-sync replicas."""

    leader: Annotated[int | None, "Node id of its leader; null: none."] = NULL
    isr: Annotated[list[int], "Node ids of its in-sync replicas."] = EMPTY_LIST


class LeadershipExample(RecordPart, frozen=True, kw_only=True):
    """One partition step by step."""

    partition: Annotated[str, "The partition, as topic-partition."]
    now: Annotated[PartitionState | None, "As it is."] = None
    copied: Annotated[PartitionState | None, "When its new replicas are in sync."] = None
    stopped: Annotated[PartitionState | None, "While the broker is stopped."] = None
    started: Annotated[PartitionState | None, "When the broker is back."] = None
    demoted: Annotated[PartitionState | None, "With another order of preference."] = None
    cancelled: Annotated[PartitionState | None, "When its reassignment is cancelled."] = None
    preferred: Annotated[PartitionState | None, "After a preferred election."] = None


class Harm(RecordPart, frozen=True, kw_only=True):
    """Partitions that an action harms in one way."""

    partitions: Annotated[int, "How many."]
    step: Annotated[str, "The first step after which it is so."]
    examples: Annotated[list[str], "Up to 20 of them, as topic-partition."] = EMPTY_LIST


class Leadership(RecordPart, frozen=True, kw_only=True):
    """The predicted leaders and in-sync replicas, step by step."""

    partitions: Annotated[int, "The number of partitions."]
    steps: Annotated[list[LeadershipStep], "The steps in their order."] = EMPTY_LIST
    examples: Annotated[list[LeadershipExample], "Up to 20 partitions, those that lose their leader first."] = (
        EMPTY_LIST
    )
    becomes_leaderless: Annotated[Harm | None, "Partitions that lose their leader by it."] = None
    falls_under_min_isr: Annotated[
        Harm | None, "Partitions that fall under their minimum of in-sync replicas by it."
    ] = None


class TopicEndurance(RecordPart, frozen=True, kw_only=True):
    """How many more failures a topic tolerates before it loses data or writes, by its weakest partition."""

    topic: Annotated[str, "The topic."]
    partition: Annotated[str, "Its weakest partition, as topic-partition."]
    copies: Annotated[int, "The number of its known complete copies."]
    survives: Annotated[int, "How many more disks or brokers may fail while a copy is left; -1: no copy is known."]
    racks: Annotated[int | None, "How many more racks may fail; null: racks are unknown."] = NULL
    writes_survive: Annotated[
        int | None, "How many more may fail while writes with acks=all continue; below 0: they are refused already."
    ] = NULL
    warnings: Annotated[
        list[str], "What is weak by design: replication_factor_1, min_isr_is_replication_factor, min_isr_1."
    ] = EMPTY_LIST


class Endurance(RecordPart, frozen=True, kw_only=True):
    """How many more failures topics tolerate before they lose data or writes."""

    topics: Annotated[int, "The number of topics."]
    without_copy: Annotated[int, "Topics with a partition without a known complete copy."]
    next_failure_loses_data: Annotated[int, "Topics with a partition that has a single copy left."]
    writes_stopped: Annotated[int, "Topics with a partition that refuses writes with acks=all."]
    next_failure_stops_writes: Annotated[int, "Topics with a partition that refuses them after one more failure."]
    writes_unknown: Annotated[int, "Topics whose minimum is unknown."]
    warnings: Annotated[dict[str, int], "How many topics are weak by design, by the kind of weakness."] = EMPTY_MAP
    examples: Annotated[list[TopicEndurance], "Up to 20 topics, the weakest first."] = EMPTY_LIST


class LeaveLogDirs(RecordPart, frozen=True, kw_only=True):
    """Whether a directory may be removed from ``log.dirs``: the broker's other ones must hold its replicas."""

    fits: Annotated[bool | None, "Whether they can; null: unknown."] = NULL
    replicas: Annotated[int, "How many replicas are in it."]
    needs_bytes: Annotated[int | None, "Bytes of these."] = NULL
    missing_bytes: Annotated[int | None, "Bytes that do not fit."] = NULL
    why_not: Annotated[Veto | None, "Why it must not be removed; null: nothing prevents it."] = NULL
