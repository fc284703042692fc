"""``logdir.actions``, and what people decide: ``logdir.decisions``."""

from typing import Annotated, Any

from msgspec import Struct

from logdirwatch.model.actions.parts import BasedOn
from logdirwatch.model.record_part import converted
from logdirwatch.model.scalars import BrokerId, ClusterName, Count, EpochMs, Long, Name, Revision, StatusReason, Version
from logdirwatch.model.vocabulary import ActionKind, ActionStatus, ClusterOwner, Decision, Rule, Severity


class ActionRecord(Struct, frozen=True, kw_only=True):
    """``logdir.actions``: one revision of one recommendation."""

    version: Version
    action_id: Annotated[Name, "Identity of the action."]
    revision: Annotated[Revision, "Revision number; the highest one of an action is current."]
    status: Annotated[ActionStatus, "Status of the action."]
    kind: Annotated[ActionKind, "Kind of the action."]
    alert_id: Annotated[Name, "alert_id of the alert that it answers."]
    alert: Annotated[dict[str, Any], "The alert's key facts."]
    cluster: ClusterName
    target: Annotated[dict[str, Any], "What the action acts on."]
    reason: Annotated[str, "Why it is recommended, for people."]
    expected: Annotated[dict[str, Any], "Its expected effect, by kind."]
    preconditions: Annotated[list[dict[str, Any]], "What must be true when it is carried out."]
    vetoes: Annotated[list[dict[str, Any]], "Why it must not be carried out now; empty if there is no reason."]
    data_loss: Annotated[bool, "Whether it deletes the only copy of data."]
    requires_approval: Annotated[bool, "Whether it must be accepted before it is carried out."]
    expires_at_ms: Annotated[Long, "When it expires unless it is accepted, in milliseconds since the epoch."]
    commands: Annotated[
        list[str], "Commands to paste into a POSIX shell, in order; lines that begin with # are for people."
    ]
    reassignment: Annotated[
        dict[str, Any] | None, "Content of the file for kafka-reassign-partitions; null: no reassignment."
    ]
    configs: Annotated[
        dict[str, Any] | None,
        "Values of topic configurations that it sets, by topic and Kafka configuration key; null: none.",
    ]
    undo: Annotated[dict[str, Any], "How it is undone."]
    based_on: Annotated[dict[str, Any], "The age of the data that it was planned on, and the topics that it is for."]
    at_ms: Annotated[Long, "Time of this revision, in milliseconds since the epoch."]
    observed: Annotated[dict[str, Any] | None, "What was observed of its execution; null: nothing yet."] = None
    status_reason: StatusReason = None
    decision: Annotated[dict[str, Any] | None, "The decision about it; null: none."] = None
    position: Annotated[
        Count | None,
        "Position among the actions of its alert, from 0: the least invasive first, followed by those that gain "
        "time and those that protect other data; null: a record of an older release.",
    ] = None
    content_hash: Annotated[
        Name | None,
        "Hash of what it would do, without its texts: an acceptance is valid only for the content that was "
        "accepted; null: unknown.",
    ] = None
    operations: Annotated[
        list[dict[str, Any]] | None,
        "What it does to the cluster, in order: the commands say the same; null: only a person can carry it out, or "
        "a record of an older release.",
    ] = None
    owner: Annotated[
        ClusterOwner | None,
        "What declares the configuration of the cluster: the action is written for it; null: nothing, or a record "
        "of an older release.",
    ] = None

    @property
    def topic_ids(self) -> dict[str, str]:
        """Kafka's ids of the topics that it is for, by name; empty where they are not known, or not readable."""
        return converted(self.based_on, BasedOn).topic_ids


class AlertPattern(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The pattern of a silence that is not about one alert.

    A misspelt field, or one of a later release, is an error: without it the pattern would match more than was meant.
    """

    cluster: Annotated[Name | None, "Kafka cluster, by its name in the configuration; null: all."] = None
    rule: Annotated[Rule | None, "Rule of the alerts; null: all."] = None
    broker: Annotated[BrokerId | None, "Node id of the broker; null: all."] = None
    log_dir: Annotated[Name | None, "Path of the log directory, as a shell pattern; null: all."] = None


class DecisionRecord(Struct, frozen=True, kw_only=True):
    """``logdir.decisions``: a decision about an alert, an action or a broker.

    A decision that ends at its ``at_ms`` ends an earlier one. ``cluster`` and ``broker`` are required for maintenance
    and for the decision that a disk is healthy.
    """

    version: Version
    id: Annotated[
        Name, "alert_id or action_id; cluster/broker for maintenance and for the decision that a disk is healthy."
    ]
    decision: Annotated[Decision, "The decision."]
    by: Annotated[Name, "Who decided."]
    reason: Annotated[str, "Why, in that person's words."]
    at_ms: Annotated[
        EpochMs,
        "When, in milliseconds since the epoch; of the decisions of one kind about one id the last on the topic "
        "counts.",
    ]
    until_ms: Annotated[
        EpochMs | None, "When the decision ends, in milliseconds since the epoch; null: it has no end."
    ] = None
    cluster: Annotated[Name | None, "Kafka cluster, by its name in the configuration; null: the id says enough."] = None
    broker: Annotated[BrokerId | None, "Node id of the broker; null: the id says enough."] = None
    owner: Annotated[Name | None, "Who takes care of it; null: nobody was named."] = None
    severity: Annotated[Severity | None, "Highest severity that an acknowledgement or silence covers; null: all."] = (
        None
    )
    revision: Annotated[Revision | None, "Revision of the alert or action that the person saw; null: unknown."] = None
    matching: Annotated[
        AlertPattern | None, "Pattern of a silence that is not about one alert; null: it is about one."
    ] = None
    log_dir: Annotated[Name | None, "Path of the log directory whose disk is healthy; null: no particular one."] = None
    content_hash: Annotated[
        Name | None,
        "content_hash of the action that was accepted or rejected; null: a decision about an alert or broker, or by "
        "a program that does not name it.",
    ] = None
