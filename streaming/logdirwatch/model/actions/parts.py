"""The parts that actions of every kind have."""

import re
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from logdirwatch.model.record_part import EMPTY_LIST, EMPTY_MAP, NULL, RecordPart

_BROKERS = re.compile(r"broker (\d+(?:, \d+)*)")

Commands = Annotated[list[str], "Commands for a POSIX shell, one after the other."]


class Target(RecordPart, frozen=True, kw_only=True):
    """What an action acts on. With the alert and the kind it is the action's identity."""

    broker: Annotated[int | None, "Node id of the broker; null: the cluster."] = NULL
    log_dir: Annotated[str | None, "Path of the log directory; null: none in particular."] = NULL
    topic: Annotated[str | None, "The topic."] = None
    step: Annotated[str | None, "Which one of several actions of a kind for the same place."] = None
    election: Annotated[str | None, "The kind of election: preferred or unclean."] = None
    after: Annotated[str | None, "action_id of the action that this one follows."] = None


class _Named(RecordPart, frozen=True):
    """A part with a name and a text."""

    def _asdict(self) -> dict[str, Any]:
        """Return its JSON object, by the name that a named tuple has for it."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        return {name: [*value] if isinstance(value, tuple) else value for name, value in fields.items()}


class Veto(_Named, frozen=True):
    """Why something must not be done."""

    name: Annotated[str, "Name of the veto."]
    reason: Annotated[str, "What it found, for people."]
    brokers: Annotated[tuple[int, ...] | None, "Node ids of the brokers that it concerns, if any."] = None

    @property
    def about(self) -> tuple[int, ...]:
        """The brokers that it concerns. Releases up to 0.2.0 named them in the reason only."""
        if self.brokers is not None:
            return self.brokers
        said = _BROKERS.search(self.reason)
        return () if said is None else tuple(map(int, said[1].split(", ")))


class Precondition(_Named, frozen=True):
    """What must hold when an action is carried out."""

    name: Annotated[str, "The condition."]
    text: Annotated[str, "The condition and what is known of it, for people."]
    holds: Annotated[bool | None, "Whether it holds; null: only the operator can see it."] = NULL


class ReassignedPartition(RecordPart, frozen=True, kw_only=True):
    """One partition of a reassignment."""

    topic: Annotated[str, "The topic."]
    partition: Annotated[int, "Number of the partition."]
    replicas: Annotated[list[int], "Node ids of its brokers in the order of preference."]
    log_dirs: Annotated[list[str] | None, "For each of them the path of a directory, or any: the broker chooses."] = (
        None
    )


class Reassignment(RecordPart, frozen=True, kw_only=True):
    """The content of ``kafka-reassign-partitions --reassignment-json-file`` (KIP-113)."""

    version: Annotated[int, "1."]
    partitions: Annotated[list[ReassignedPartition], "The partitions."]


class Undo(RecordPart, frozen=True, kw_only=True):
    """How to undo the action; empty if that is impossible, or nothing was changed."""

    text: Annotated[str | None, "When it can be undone, or why not, for people."] = None
    commands: Annotated[Commands | None, "Commands that undo it."] = None
    while_running: Annotated[Commands | None, "Commands that stop it while it runs."] = None
    reassignment: Annotated[Reassignment | None, "Where the replicas were: the reassignment that puts them back."] = (
        None
    )
    configs: Annotated[
        dict[str, dict[str, str | None]] | None,
        "The previous values, by topic and key; null: the topic had no override.",
    ] = None


class ConfigChange(RecordPart, frozen=True, kw_only=True):
    """One value of a topic's configuration that an action sets."""

    from_: Annotated[str | None, "Its present value; null: unknown."] = field(name="from", default_factory=lambda: None)
    to: Annotated[str | None, "Its new value; null: the override is deleted."] = NULL
    was: Annotated[
        str | UnsetType | None,
        Meta(extra_json_schema={"x-internal": True}),
        "The value before the first of several cuts.",
    ] = UNSET
    stands: Annotated[
        str | UnsetType | None,
        Meta(extra_json_schema={"x-internal": True}),
        "The value that the first of several cuts set.",
    ] = UNSET


class AlertSummary(RecordPart, frozen=True, kw_only=True):
    """The key facts of an action's alert."""

    rule: Annotated[str | None, "The alert's rule."] = NULL
    severity: Annotated[str, "The alert's severity."]
    broker: Annotated[int | None, "Node id of its broker; null: the cluster."] = NULL
    log_dir: Annotated[str | None, "Path of its directory; null: the broker."] = NULL
    to: Annotated[str | None, "The status in the alert."] = NULL
    cause: Annotated[str | None, "Its cause; null: it has none."] = NULL
    opened_at_ms: Annotated[int | None, "When it was opened."] = NULL
    revision: Annotated[int | None, "Its revision that the action answers."] = NULL
    summary: Annotated[str | None, "Its summary."] = NULL


class BasedOn(RecordPart, frozen=True, kw_only=True):
    """The age of the data that an action was planned on."""

    state_at_ms: Annotated[int | None, "Time of the states of brokers and directories."] = NULL
    inventory_at_ms: Annotated[int | None, "Time of the inventory of replicas."] = NULL
    topic_ids: Annotated[
        dict[str, str], "Kafka's ids of the topics that it changes, by name: it holds for no other topic of that name."
    ] = EMPTY_MAP


class Observed(RecordPart, frozen=True, kw_only=True):
    """The observed effect of an action."""

    reached: Annotated[int | None, "How many of its steps have been reached."] = None
    of: Annotated[int | None, "How many steps it has."] = None
    inventory_at_ms: Annotated[int | UnsetType | None, "Time of the inventory that shows it."] = UNSET
    is_set: Annotated[bool | None, "Whether the configuration has the value that it sets."] = None
    frees_bytes: Annotated[int | UnsetType | None, "Bytes that it freed."] = UNSET
    copies_bytes: Annotated[int | None, "Bytes that it copied."] = None
    total_bytes: Annotated[int | UnsetType | None, "Size of the directory's volume at that time."] = UNSET
    usable_bytes: Annotated[int | UnsetType | None, "Free space of that volume at that time."] = UNSET
    status: Annotated[str | UnsetType | None, "The status with which its alert ended."] = UNSET
    at_ms: Annotated[int | None, "When that was."] = None
    started_at_ms: Annotated[int | None, "When its start was observed."] = None
    took_ms: Annotated[int | None, "How long it took from then."] = None


class ActionDecision(RecordPart, frozen=True, kw_only=True):
    """A person's decision on an action."""

    decision: Annotated[str, "accept, reject, or accept_other_content: the acceptance was of another content."]
    by: Annotated[str | None, "Who."] = None
    reason: Annotated[str | None, "Why, in that person's words."] = None
    at_ms: Annotated[int, "When."]


class Limits(RecordPart, frozen=True, kw_only=True):
    """Throttles of moves."""

    brokers: Annotated[
        dict[str, dict[str, int]], "Rates in bytes per second, by node id and Kafka configuration key."
    ] = EMPTY_MAP
    topics: Annotated[
        dict[str, dict[str, str]], "Lists of throttled replicas, by topic and Kafka configuration key."
    ] = EMPTY_MAP


class ClearedLimits(RecordPart, frozen=True, kw_only=True):
    """Throttles that an action deletes."""

    brokers: Annotated[
        dict[str, dict[str, int]], "Rates in bytes per second, by node id and Kafka configuration key."
    ] = EMPTY_MAP
    topics: Annotated[dict[str, list[str]], "The Kafka configuration keys of lists of replicas, by topic."] = EMPTY_MAP


class Examples(RecordPart, frozen=True, kw_only=True):
    """A number of partitions, and some of them."""

    count: Annotated[int, "How many."]
    examples: Annotated[list[str], "Up to 20 of them, as topic-partition."] = EMPTY_LIST


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
