"""The parts that actions of every kind have."""

import re
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from logdirwatch.model.record_part import EMPTY_LIST, EMPTY_MAP, NULL, RecordPart

_BROKERS = re.compile(r"broker (\d+(?:, \d+)*)")

Commands = Annotated[list[str], Meta(description="Commands for a POSIX shell, one after the other.")]


class Target(RecordPart, frozen=True, kw_only=True):
    """What an action acts on. With the alert and the kind it is the action's identity."""

    broker: Annotated[int | None, Meta(description="Node id of the broker; null: the cluster.")] = NULL
    log_dir: Annotated[str | None, Meta(description="Path of the log directory; null: none in particular.")] = NULL
    topic: Annotated[str | None, Meta(description="The topic.")] = None
    step: Annotated[str | None, Meta(description="Which one of several actions of a kind for the same place.")] = None
    election: Annotated[str | None, Meta(description="The kind of election: preferred or unclean.")] = None
    after: Annotated[str | None, Meta(description="action_id of the action that this one follows.")] = None


class _Named(RecordPart, frozen=True):
    """A part with a name and a text."""

    def _asdict(self) -> dict[str, Any]:
        """Return its JSON object, by the name that a named tuple has for it."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        return {name: [*value] if isinstance(value, tuple) else value for name, value in fields.items()}


class Veto(_Named, frozen=True):
    """Why something must not be done."""

    name: Annotated[str, Meta(description="Name of the veto.")]
    reason: Annotated[str, Meta(description="What it found, for people.")]
    brokers: Annotated[
        tuple[int, ...] | None, Meta(description="Node ids of the brokers that it concerns, if any.")
    ] = None

    @property
    def about(self) -> tuple[int, ...]:
        """The brokers that it concerns. Releases up to 0.2.0 named them in the reason only."""
        if self.brokers is not None:
            return self.brokers
        said = _BROKERS.search(self.reason)
        return () if said is None else tuple(map(int, said[1].split(", ")))


class Precondition(_Named, frozen=True):
    """What must hold when an action is carried out."""

    name: Annotated[str, Meta(description="The condition.")]
    text: Annotated[str, Meta(description="The condition and what is known of it, for people.")]
    holds: Annotated[bool | None, Meta(description="Whether it holds; null: only the operator can see it.")] = NULL


class ReassignedPartition(RecordPart, frozen=True, kw_only=True):
    """One partition of a reassignment."""

    topic: Annotated[str, Meta(description="The topic.")]
    partition: Annotated[int, Meta(description="Number of the partition.")]
    replicas: Annotated[list[int], Meta(description="Node ids of its brokers in the order of preference.")]
    log_dirs: Annotated[
        list[str] | None, Meta(description="For each of them the path of a directory, or any: the broker chooses.")
    ] = None


class Reassignment(RecordPart, frozen=True, kw_only=True):
    """The content of ``kafka-reassign-partitions --reassignment-json-file`` (KIP-113)."""

    version: Annotated[int, Meta(description="1.")]
    partitions: Annotated[list[ReassignedPartition], Meta(description="The partitions.")]


class Undo(RecordPart, frozen=True, kw_only=True):
    """How to undo the action; empty if that is impossible, or nothing was changed."""

    text: Annotated[str | None, Meta(description="When it can be undone, or why not, for people.")] = None
    commands: Annotated[Commands | None, Meta(description="Commands that undo it.")] = None
    while_running: Annotated[Commands | None, Meta(description="Commands that stop it while it runs.")] = None
    reassignment: Annotated[
        Reassignment | None, Meta(description="Where the replicas were: the reassignment that puts them back.")
    ] = None
    configs: Annotated[
        dict[str, dict[str, str | None]] | None,
        Meta(description="The previous values, by topic and key; null: the topic had no override."),
    ] = None


class ConfigChange(RecordPart, frozen=True, kw_only=True):
    """One value of a topic's configuration that an action sets."""

    from_: Annotated[str | None, Meta(description="Its present value; null: unknown.")] = field(
        name="from", default_factory=lambda: None
    )
    to: Annotated[str | None, Meta(description="Its new value; null: the override is deleted.")] = NULL
    was: Annotated[
        str | UnsetType | None,
        Meta(description="The value before the first of several cuts.", extra_json_schema={"x-internal": True}),
    ] = UNSET
    stands: Annotated[
        str | UnsetType | None,
        Meta(description="The value that the first of several cuts set.", extra_json_schema={"x-internal": True}),
    ] = UNSET


class AlertSummary(RecordPart, frozen=True, kw_only=True):
    """The key facts of an action's alert."""

    rule: Annotated[str | None, Meta(description="The alert's rule.")] = NULL
    severity: Annotated[str, Meta(description="The alert's severity.")]
    broker: Annotated[int | None, Meta(description="Node id of its broker; null: the cluster.")] = NULL
    log_dir: Annotated[str | None, Meta(description="Path of its directory; null: the broker.")] = NULL
    to: Annotated[str | None, Meta(description="The status in the alert.")] = NULL
    cause: Annotated[str | None, Meta(description="Its cause; null: it has none.")] = NULL
    opened_at_ms: Annotated[int | None, Meta(description="When it was opened.")] = NULL
    revision: Annotated[int | None, Meta(description="Its revision that the action answers.")] = NULL
    summary: Annotated[str | None, Meta(description="Its summary.")] = NULL


class BasedOn(RecordPart, frozen=True, kw_only=True):
    """The age of the data that an action was planned on."""

    state_at_ms: Annotated[int | None, Meta(description="Time of the states of brokers and directories.")] = NULL
    inventory_at_ms: Annotated[int | None, Meta(description="Time of the inventory of replicas.")] = NULL


class Observed(RecordPart, frozen=True, kw_only=True):
    """The observed effect of an action."""

    reached: Annotated[int | None, Meta(description="How many of its steps have been reached.")] = None
    of: Annotated[int | None, Meta(description="How many steps it has.")] = None
    inventory_at_ms: Annotated[int | UnsetType | None, Meta(description="Time of the inventory that shows it.")] = UNSET
    is_set: Annotated[bool | None, Meta(description="Whether the configuration has the value that it sets.")] = None
    frees_bytes: Annotated[int | UnsetType | None, Meta(description="Bytes that it freed.")] = UNSET
    copies_bytes: Annotated[int | None, Meta(description="Bytes that it copied.")] = None
    total_bytes: Annotated[int | UnsetType | None, Meta(description="Size of the directory's volume at that time.")] = (
        UNSET
    )
    usable_bytes: Annotated[int | UnsetType | None, Meta(description="Free space of that volume at that time.")] = UNSET
    status: Annotated[str | UnsetType | None, Meta(description="The status with which its alert ended.")] = UNSET
    at_ms: Annotated[int | None, Meta(description="When that was.")] = None
    started_at_ms: Annotated[int | None, Meta(description="When its start was observed.")] = None
    took_ms: Annotated[int | None, Meta(description="How long it took from then.")] = None


class ActionDecision(RecordPart, frozen=True, kw_only=True):
    """A person's decision on an action."""

    decision: Annotated[
        str, Meta(description="accept, reject, or accept_other_content: the acceptance was of another content.")
    ]
    by: Annotated[str | None, Meta(description="Who.")] = None
    reason: Annotated[str | None, Meta(description="Why, in that person's words.")] = None
    at_ms: Annotated[int, Meta(description="When.")]


class Limits(RecordPart, frozen=True, kw_only=True):
    """Throttles of moves."""

    brokers: Annotated[
        dict[str, dict[str, int]],
        Meta(description="Rates in bytes per second, by node id and Kafka configuration key."),
    ] = EMPTY_MAP
    topics: Annotated[
        dict[str, dict[str, str]],
        Meta(description="Lists of throttled replicas, by topic and Kafka configuration key."),
    ] = EMPTY_MAP


class ClearedLimits(RecordPart, frozen=True, kw_only=True):
    """Throttles that an action deletes."""

    brokers: Annotated[
        dict[str, dict[str, int]],
        Meta(description="Rates in bytes per second, by node id and Kafka configuration key."),
    ] = EMPTY_MAP
    topics: Annotated[
        dict[str, list[str]], Meta(description="The Kafka configuration keys of lists of replicas, by topic.")
    ] = EMPTY_MAP


class Examples(RecordPart, frozen=True, kw_only=True):
    """A number of partitions, and some of them."""

    count: Annotated[int, Meta(description="How many.")]
    examples: Annotated[list[str], Meta(description="Up to 20 of them, as topic-partition.")] = EMPTY_LIST
