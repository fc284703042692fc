"""The changes of an action to a cluster as data: its commands are rendered from it, and ``apply`` carries it out.

``op`` decides which fields of ``args``, ``expect_before`` and ``expect_after`` are used. Fields of other operations are
absent.
"""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from logdirwatch.model.actions.expected import Election
from logdirwatch.model.actions.parts import Limits, Reassignment
from logdirwatch.model.record_part import RecordPart
from logdirwatch.model.vocabulary import OperationKind


class Room(RecordPart, frozen=True, kw_only=True):
    """What a directory may take."""

    broker: Annotated[int, "Node id of the broker."]
    log_dir: Annotated[str, "Path of the log directory."]
    bytes: Annotated[int, "Bytes that may be added before the first copy begins."]


class RollingCopy(RecordPart, frozen=True, kw_only=True):
    """The move of one replica."""

    partition: Annotated[int, Meta(ge=0), "Position of its partition in the reassignment."]
    replica: Annotated[int, Meta(ge=0), "Its position in the partition's replicas."]
    bytes: Annotated[int, Meta(ge=0), "Its size."]


class Rolling(RecordPart, frozen=True, kw_only=True):
    """What decides when each copy of a reassignment begins: its brokers and its directory must be free."""

    copies: Annotated[list[RollingCopy], "Every copy, in the order in which they begin."]
    room: Annotated[list[Room], "Of every directory that a replica leaves or is moved to."]
    log_dir_bytes_per_s: Annotated[int, Meta(gt=0), "Rate of copies within a broker."]
    replication_bytes_per_s: Annotated[int, Meta(gt=0), "Rate at which a broker sends, and receives."]


class OperationArgs(RecordPart, frozen=True, kw_only=True):
    """The arguments of an operation."""

    topic: Annotated[str | None, "set_topic_config: the topic."] = None
    broker: Annotated[int | None, "set_broker_list: node id of the broker."] = None
    key: Annotated[str | None, "Kafka configuration key that is set."] = None
    value: Annotated[
        str | UnsetType | None, "set_topic_config: the new value of the topic; null: its override is deleted."
    ] = UNSET
    entries: Annotated[
        list[str] | None, "set_broker_list: the whole list; empty: the broker's own list is deleted."
    ] = None
    file: Annotated[str | None, "Of operations on partitions: name of the file that the commands write."] = None
    reassignment: Annotated[
        Reassignment | None,
        "reassign: where the replicas are to be. prefer_leaders: the order of the replicas. cancel_moves: the moves "
        "that end.",
    ] = None
    election: Annotated[Election | None, "elect_leaders: the partitions."] = None
    waves: Annotated[
        list[list[int]] | None,
        "reassign: the parts that are carried out one after the other, each a list of positions in the "
        "reassignment's partitions.",
    ] = None
    rolling: Annotated[
        Rolling | None,
        "reassign: copies begin in an order, each once its brokers and its directory are free; absent: all of a "
        "wave begin at once.",
    ] = None
    settle_ms: Annotated[
        int | None, "reassign: how long brokers keep old copies; a next wave, or what needs their room, waits."
    ] = None
    limits: Annotated[
        Limits | None,
        "reassign: throttles for the time of the copies, set where none is set. clear_throttles: the throttles that "
        "are deleted where they still have these values.",
    ] = None
    additional: Annotated[bool | None, "reassign, prefer_leaders: whether it may run beside another one."] = None


class Expectation(RecordPart, frozen=True, kw_only=True):
    """The state of a cluster before or after an operation."""

    value: Annotated[str | UnsetType | None, "The topic's effective value; null: unknown, or not an override."] = UNSET
    entries: Annotated[list[str] | None, "The broker's list."] = None
    reassignment: Annotated[Reassignment | None, "Where the replicas are."] = None


class Inverse(RecordPart, frozen=True, kw_only=True):
    """The operation that undoes another one."""

    op: Annotated[OperationKind, "The operation."]
    args: Annotated[OperationArgs, "Its arguments."]


class Operation(RecordPart, frozen=True, kw_only=True):
    """One change to a cluster."""

    op: Annotated[OperationKind, "The operation."]
    args: Annotated[OperationArgs, "Its arguments."]
    expect_before: Annotated[Expectation, "The state of the cluster before it."]
    expect_after: Annotated[Expectation, "The state of the cluster after it."]
    inverse: Annotated[Inverse, "The operation that undoes it."]
