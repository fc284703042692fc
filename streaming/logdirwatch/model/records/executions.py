"""``logdir.executions``: how far an execution of an action is, written before every call."""

from typing import Annotated, Any

from msgspec import Struct

from logdirwatch.model.scalars import Bytes, ClusterName, Count, EpochMs, Name, Revision, Version
from logdirwatch.model.vocabulary import ActionKind, ExecutionState

__all__ = ("ENDED", "FINISHED", "ExecutionRecord", "ExecutionState", "OwnLimit")

FINISHED = frozenset({ExecutionState.DONE, ExecutionState.ROLLED_BACK})
"""Final states in which nothing of an execution is left to be cleaned up."""
ENDED = FINISHED | {ExecutionState.RELEASED}
"""Final states."""


class OwnLimit(Struct, frozen=True):
    """A throttle that an execution set, or was about to set: it deletes it at its end if the value is still this."""

    entity: Annotated[str, "brokers or topics."]
    name: Annotated[str, "Node id of the broker, or the topic."]
    key: Annotated[str, "Kafka configuration key."]
    value: Annotated[str, "The value; `#`: the one in the operations."]


class ExecutionRecord(Struct, frozen=True, kw_only=True):
    """``logdir.executions``, key ``execution_id``: one execution of an action by ``apply`` or ``autopilot``."""

    version: Version
    execution_id: Annotated[Name, "Identity of the execution."]
    action_id: Annotated[Name, "action_id of the action."]
    revision: Annotated[Revision, "Revision of the action that was carried out."]
    content_hash: Annotated[Name, "content_hash of the action that was carried out."]
    kind: Annotated[ActionKind, "Kind of the action."]
    cluster: ClusterName
    state: Annotated[ExecutionState, "State of the execution; done and rolled_back are ends, and stuck needs a person."]
    back: Annotated[bool, "Whether the operations are undone."]
    operations: Annotated[list[dict[str, Any]], "The operations of the action."]
    step: Annotated[Count, "How many steps are done."] = 0
    bytes: Annotated[Bytes | None, "Bytes that it copies, as planned; null: unknown."] = None
    limits: Annotated[list[OwnLimit], "Throttles that it set, or was about to set."] = []
    needs_ms: Annotated[EpochMs | None, "How long it takes, as planned, in milliseconds; null: unknown."] = None
    changed: Annotated[
        dict[str, str],
        "What it has changed, or was about to: the numbers of partitions by topic, as ranges, and configuration "
        "values as `topics NAME KEY` with an empty text. `#`: the numbers of replicas in the order of a long plan, "
        "and then where they leave.",
    ] = {}
    begun: Annotated[dict[str, str], "What of it has begun in the present step, in the same form."] = {}
    topic_ids: Annotated[dict[str, str], "Ids of the topics that it is for, by name."] = {}
    touches: Annotated[
        list[str] | None,
        "The brokers and topics that it touches, as `brokers ID` and `topics NAME`: what runs beside it touches none "
        "of them; null: the whole cluster.",
    ] = None
    by: Annotated[str, "Who started it."]
    reason: Annotated[str | None, "Why it is stuck, or has ended without its effect; null: neither."] = None
    cause_is_seen: Annotated[
        bool,
        "Whether what stopped it can be seen on the cluster and nothing of it is left there: then others wait only "
        "until that is over.",
    ] = False
    started_at_ms: Annotated[EpochMs, "When it began, in milliseconds since the epoch."]
    at_ms: Annotated[EpochMs, "When this was written, in milliseconds since the epoch."]
