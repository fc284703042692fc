"""``logdir.actions``: a revision of a recommended action."""

from typing import Annotated, Any

from msgspec import Struct

from logdirwatch.model.scalars import ClusterName, Count, Long, Name, Revision, StatusReason, Version
from logdirwatch.model.vocabulary import ActionKind, ActionStatus, ClusterOwner


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
    based_on: Annotated[dict[str, Any], "The age of the data that it was planned on."]
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
