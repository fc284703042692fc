"""The expected effect of an action, one struct per kind.

Fields that only the planner reads back, to see the progress of the action, are marked ``x-internal`` in the schema and
may change with any release.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, TypeVar

from msgspec import UNSET, Meta, UnsetType

from logdirwatch.model.actions.parts import (
    ClearedLimits,
    Endurance,
    Examples,
    Leadership,
    LeaveLogDirs,
    Limits,
    Reassignment,
)
from logdirwatch.model.record_part import EMPTY_LIST, EMPTY_MAP, NULL, RecordPart
from logdirwatch.model.vocabulary import ActionKind

E = TypeVar("E", bound="Expected")

INTERNAL = {"x-internal": True}

Later = Annotated[int | None, "How many more partitions follow in a later action."]
InTimeBytes = Annotated[int | UnsetType | None, "Bytes that are freed before the directory is full."]
ThrottleBytesPerS = Annotated[int | None, "The rate that it sets as the limit of moves."]
SetsLimits = Annotated[Limits | None, Meta(extra_json_schema=INTERNAL), "Internal: the limits that it sets."]
Owner = Annotated[str | None, "Owner of the topic in the configuration; null: none."]
LeadershipAfter = Annotated[Leadership | None, "The predicted leaders and in-sync replicas of its partitions."]
EnduranceOf = Annotated[Endurance | None, "How many more failures its topics tolerate before they lose data or writes."]
LeavesLogDirs = Annotated[LeaveLogDirs | None, "Whether the directory may be removed from log.dirs instead."]
FullByText = Annotated[str | None, "What ran out: quota or inodes."]
UnaccountedBytesBefore = Annotated[
    int | None, Meta(extra_json_schema=INTERNAL), "Internal: bytes in use before that no replica accounts for."
]
LostWithIt = Annotated[Examples | None, "Partitions without another copy."]


class ChangedLogDir(RecordPart, frozen=True, kw_only=True):
    """The effect on one directory."""

    broker: Annotated[int, "Node id of its broker."]
    log_dir: Annotated[str, "Its path."]
    bytes: Annotated[int, "Bytes that are freed there; negative: bytes that are used."]


class Growth(RecordPart, frozen=True, kw_only=True):
    """The growth of a directory by cleanup policy."""

    bytes_per_s: Annotated[dict[str, float], "Growth by the cleanup.policy of the topics, in bytes per second."] = (
        EMPTY_MAP
    )
    replicas: Annotated[int, "How many replicas are in it."]
    replicas_known: Annotated[int, "How many of these have a known growth."]


class UnplacedReplica(RecordPart, frozen=True, kw_only=True):
    """A replica that cannot be rebuilt now."""

    partition: Annotated[str, "Its partition, as topic-partition."]
    name: Annotated[str, "Name of the reason, as in a veto."]
    reason: Annotated[str, "What it found, for people."]
    brokers: Annotated[list[int] | None, "Node ids of the brokers that it concerns, if any."] = None


UnplacedReplicas = Annotated[list[UnplacedReplica] | None, "Up to 20 replicas that cannot be rebuilt now."]
UnplacedCount = Annotated[int | None, "How many replicas cannot be rebuilt now."]
UnplacedBytes = Annotated[int | UnsetType | None, "Bytes of these."]
WouldHelp = Annotated[list[str] | None, "What would make it possible, for people."]


class Expected(RecordPart, frozen=True, kw_only=True):
    """The expected effect of every action."""

    frees_bytes: Annotated[int | None, "Bytes that the alert's own directory gains; null: none, or unknown."] = NULL
    frees_by_ms: Annotated[int | None, "When they are free, if it starts at once."] = NULL
    needs_ms: Annotated[int | None, "Time from its start until it is done."] = NULL
    on: Annotated[list[ChangedLogDir], "Every directory that gains or loses space."] = EMPTY_LIST
    time_to_full_after_ms: Annotated[
        int | None, "Time until the alert's directory is full afterwards; null: no end is forecast."
    ] = NULL
    growth_by_policy: Annotated[Growth | None, "What makes the alert's directory grow."] = None
    throttle_bytes_per_s: ThrottleBytesPerS = None
    in_time_bytes: InTimeBytes = UNSET
    leadership: LeadershipAfter = None
    endurance: EnduranceOf = None
    leave_log_dirs: LeavesLogDirs = None
    unplaced: UnplacedReplicas = None
    unplaced_count: UnplacedCount = None
    unplaced_bytes: UnplacedBytes = UNSET
    would_help: WouldHelp = None
    later: Later = None


ThenFreesBytes = Annotated[int | None, "Bytes that can then be moved there from the alert's directory."]

_KINDS: dict[ActionKind, type[Expected]] = {}
"""The structs registered by ``expected_of``, from which ``EXPECTED`` is built."""


def expected_of(kind: ActionKind) -> Callable[[type[E]], type[E]]:
    """Return the decorator for the struct of ``expected`` for actions of a kind."""

    def noted(struct: type[E]) -> type[E]:
        _KINDS[kind] = struct
        return struct

    return noted


@expected_of(ActionKind.CORDON_LOG_DIR)
class CordonExpected(Expected, frozen=True, kw_only=True):
    """``cordon_log_dir``: Kafka places no new replica in the directory."""

    is_cordoned: Annotated[bool | None, "Whether it is cordoned afterwards: true."] = None


@expected_of(ActionKind.UNCORDON_LOG_DIR)
class UncordonExpected(Expected, frozen=True, kw_only=True):
    """``uncordon_log_dir``: Kafka may place new replicas in the directory again."""

    is_cordoned: Annotated[bool | None, "Whether it is cordoned afterwards: false."] = None
    then_frees_bytes: ThenFreesBytes = None
    then_kind: Annotated[str | None, "The kind of action that moves them."] = None


@expected_of(ActionKind.LOWER_RETENTION)
class LowerRetentionExpected(Expected, frozen=True, kw_only=True):
    """``lower_retention``: a topic keeps less history."""

    keeps_ms_at_least: Annotated[
        int | None, "History that every partition keeps; null: unknown, or nothing is written."
    ] = NULL
    is_estimate: Annotated[bool | None, "Whether frees_bytes is estimated from the write rate."] = None
    owner: Owner = NULL
    wins_ms: Annotated[int | None, "How much later the directory is full because of it."] = NULL
    keeps_bytes: Annotated[int | None, "Bytes of the topic that stay."] = None
    floor_bytes: Annotated[int | None, "Bytes of it in the directory that stay under any limit."] = None
    topic_bytes_before: Annotated[
        int | None, Meta(extra_json_schema=INTERNAL), "Internal: bytes of the topic before."
    ] = None
    freed_before: Annotated[
        list[ChangedLogDir] | None, Meta(extra_json_schema=INTERNAL), "Internal: what earlier cuts of the topic freed."
    ] = None


@expected_of(ActionKind.RESTORE_RETENTION)
class RestoreRetentionExpected(Expected, frozen=True, kw_only=True):
    """``restore_retention``: a topic keeps as much history as before a cut."""

    owner: Owner = NULL


@expected_of(ActionKind.DELETE_RECORDS)
class DeleteRecordsExpected(Expected, frozen=True, kw_only=True):
    """``delete_records``: the oldest records of a topic are deleted."""

    deletes_percent: Annotated[int | None, "Share of its records that are deleted, in percent."] = None
    is_estimate: Annotated[bool | None, "Whether frees_bytes is an estimate: true."] = None
    topic_bytes_before: Annotated[
        int | None, Meta(extra_json_schema=INTERNAL), "Internal: bytes of the topic before."
    ] = None


@expected_of(ActionKind.DELETE_TOPIC_CANDIDATE)
class DeleteTopicExpected(Expected, frozen=True, kw_only=True):
    """``delete_topic_candidate``, which release 0.2.0 proposed: a topic that may be deleted."""

    owner: Owner = NULL


class GrowingTopic(RecordPart, frozen=True, kw_only=True):
    """A topic that grows in a directory."""

    topic: Annotated[str, "The topic."]
    bytes_per_s: Annotated[int, "How fast it grows there."]


@expected_of(ActionKind.THROTTLE_PRODUCERS)
class ThrottleProducersExpected(Expected, frozen=True, kw_only=True):
    """``throttle_producers``: producers get a quota until the directory has room."""

    wins_ms: Annotated[int | None, "How much later the directory is full because of it; null: never."] = NULL
    producer_byte_rate: Annotated[
        int | None, "The quota, in bytes per second on each broker (Kafka's producer_byte_rate)."
    ] = None
    growing: Annotated[list[GrowingTopic], "The topics that grow fastest there."] = EMPTY_LIST


@expected_of(ActionKind.MOVE_LOG_DIR)
class MoveLogDirExpected(Expected, frozen=True, kw_only=True):
    """``move_log_dir``: replicas move to other directories of the same broker."""

    waves: Annotated[int | None, "The number of waves, carried out one after the other."] = None
    sets_limits: SetsLimits = None


@expected_of(ActionKind.REASSIGN)
class ReassignExpected(Expected, frozen=True, kw_only=True):
    """``reassign``: replicas move to other brokers, or are rebuilt there."""

    rebuilds: Annotated[int | None, "How many partitions get a lost replica back."] = None
    copies_bytes: Annotated[int | None, "Bytes that are copied between brokers."] = None
    sets_limits: SetsLimits = None


class RunningCopy(RecordPart, frozen=True, kw_only=True):
    """A running copy of a replica."""

    topic: Annotated[str, "The topic."]
    partition: Annotated[int, "Number of the partition."]
    broker: Annotated[int, "Node id of the broker that it goes to."]
    log_dir: Annotated[str, "Path of the directory that it goes to."]
    remaining_bytes: Annotated[int | None, "Bytes still to copy."] = None


class RunningReassignment(RecordPart, frozen=True, kw_only=True):
    """A partition that is being reassigned."""

    partition: Annotated[str, "The partition, as topic-partition."]
    adding: Annotated[list[int], "Node ids of the brokers that it adds."] = EMPTY_LIST
    removing: Annotated[list[int], "Node ids of the brokers that it removes."] = EMPTY_LIST


@expected_of(ActionKind.CANCEL_MOVES)
class CancelMovesExpected(Expected, frozen=True, kw_only=True):
    """``cancel_moves``: running moves are cancelled; each partition keeps the replicas that it had."""

    spares_bytes: Annotated[int | None, "Bytes that are no longer copied."] = None
    copies: Annotated[list[RunningCopy] | None, "The copies that end."] = None
    cancels: Annotated[Reassignment | None, "The reassignments that are cancelled, as they were started."] = None
    examples: Annotated[list[RunningReassignment] | None, "Up to 20 of the partitions that are being reassigned."] = (
        None
    )


@expected_of(ActionKind.DEMOTE_LEADERS)
class DemoteLeadersExpected(Expected, frozen=True, kw_only=True):
    """``demote_leaders``: other replicas lead while a disk is suspect."""

    demotes: Annotated[int | None, "How many partitions get another preferred leader."] = None


class ElectedPartition(RecordPart, frozen=True, kw_only=True):
    """A partition of an election."""

    topic: Annotated[str, "The topic."]
    partition: Annotated[int, "Number of the partition."]


class Election(RecordPart, frozen=True, kw_only=True):
    """The content of ``kafka-leader-election --path-to-json-file``."""

    partitions: Annotated[list[ElectedPartition], "The partitions."]


class UncleanLeader(RecordPart, frozen=True, kw_only=True):
    """A partition and the broker that would lead it."""

    partition: Annotated[str, "The partition, as topic-partition."]
    leader: Annotated[int, "Node id of the broker that would lead it."]


@expected_of(ActionKind.ELECT_LEADERS)
class ElectLeadersExpected(Expected, frozen=True, kw_only=True):
    """``elect_leaders``: partitions elect a leader."""

    elections: Annotated[int | None, "How many partitions elect a leader."] = None
    election: Annotated[Election | None, "The partitions, for Kafka's tool."] = None
    examples: Annotated[list[UncleanLeader] | None, "Up to 20 partitions of an unclean election."] = None


class RaisedLimit(RecordPart, frozen=True, kw_only=True):
    """A throttle that gets a higher value."""

    broker: Annotated[int, "Node id of the broker."]
    key: Annotated[str, "The Kafka configuration key."]


@expected_of(ActionKind.CLEAR_THROTTLES)
class ClearThrottlesExpected(Expected, frozen=True, kw_only=True):
    """``clear_throttles``: throttles that nothing needs are deleted, or one is raised."""

    clears: Annotated[ClearedLimits | None, "The throttles that it deletes."] = None
    raises: Annotated[RaisedLimit | None, "The throttle that it raises."] = None


class RestartedTopic(RecordPart, frozen=True, kw_only=True):
    """A topic and its partitions in KIP-18's format."""

    topic: Annotated[str, "The topic."]
    partitions: Annotated[list[str], "Numbers of its partitions, as strings."] = EMPTY_LIST


class RestartPartitions(RecordPart, frozen=True, kw_only=True):
    """Partitions in the format of KIP-18's ``/restart_partitions``."""

    version: Annotated[str, "1."]
    broker: Annotated[str, "Node id of the broker, as a string."]
    partitions: Annotated[list[RestartedTopic], "Its partitions by topic."] = EMPTY_LIST


class CopiedAgain(RecordPart, frozen=True, kw_only=True):
    """What is copied again onto a new disk, or into other directories."""

    replicas: Annotated[int, "How many replicas."]
    bytes: Annotated[int | None, "Bytes of these."] = NULL
    needs_ms: Annotated[int | None, "How long it takes at least, at the configured rate."] = NULL


@expected_of(ActionKind.RESTART_BROKER)
class RestartBrokerExpected(Expected, frozen=True, kw_only=True):
    """``restart_broker``: a broker is restarted, or started."""

    returns: Annotated[list[str] | None, "Up to 20 partitions that it brings back."] = None
    returns_count: Annotated[int | None, "How many partitions it brings back."] = None
    restart_partitions: Annotated[RestartPartitions | None, "All of these, in the format of KIP-18."] = None
    copies_again: Annotated[CopiedAgain | None, "What is copied again afterwards."] = None
    lost_with_it: LostWithIt = None


class NewDisk(RecordPart, frozen=True, kw_only=True):
    """The required size of a new disk."""

    least_bytes: Annotated[int | None, "The smallest size that holds what is copied again."] = NULL
    was_bytes: Annotated[int | None, "Size of the old one."] = NULL


@expected_of(ActionKind.REPLACE_DISK)
class ReplaceDiskExpected(RestartBrokerExpected, frozen=True, kw_only=True):
    """``replace_disk``: a disk is replaced, and what it held is copied again."""

    status: Annotated[str | None, "The directory's status afterwards: online."] = None
    device: Annotated[str | None, "The block device, if the evidence names it."] = NULL
    new_disk: Annotated[NewDisk | None, "How large the new disk must be."] = None
    unfinished_copies: Annotated[
        list[str] | None, "Partitions of which an unfinished copy is in another directory of the broker, up to 20."
    ] = None


@expected_of(ActionKind.EXPAND_DISK)
class ExpandDiskExpected(Expected, frozen=True, kw_only=True):
    """``expand_disk``: the directory's volume is enlarged."""

    total_bytes: Annotated[int | None, "The size that it should have."] = None
    total_bytes_before: Annotated[int | None, Meta(extra_json_schema=INTERNAL), "Internal: its size before."] = None


@expected_of(ActionKind.ADD_LOG_DIR)
class AddLogDirExpected(Expected, frozen=True, kw_only=True):
    """``add_log_dir``: the broker gets another directory."""

    log_dirs_before: Annotated[list[str], Meta(extra_json_schema=INTERNAL), "Internal: its present paths."] = EMPTY_LIST
    least_bytes: Annotated[int | None, "The minimum size of the new directory."] = None
    then_frees_bytes: ThenFreesBytes = None


@expected_of(ActionKind.RELEASE_RESERVE)
class ReleaseReserveExpected(Expected, frozen=True, kw_only=True):
    """``release_reserve``: the reserve file is deleted."""

    unaccounted_bytes_before: UnaccountedBytesBefore = NULL


@expected_of(ActionKind.RECREATE_RESERVE)
class RecreateReserveExpected(Expected, frozen=True, kw_only=True):
    """``recreate_reserve``: the reserve file is created again."""

    takes_bytes: Annotated[int | None, "Size of the file."] = None
    advised_bytes: Annotated[int | None, "The recommended size for the directory."] = NULL
    unaccounted_bytes_before: UnaccountedBytesBefore = NULL


@expected_of(ActionKind.GRANT_PERMISSION)
class GrantPermissionExpected(Expected, frozen=True, kw_only=True):
    """``grant_permission``: Kafka's user may write again, or the collector gets its ACLs."""

    status: Annotated[str | None, "The broker's status afterwards: online."] = None


@expected_of(ActionKind.RAISE_LIMIT)
class RaiseLimitExpected(Expected, frozen=True, kw_only=True):
    """``raise_limit``: a quota, the inodes or a limit of the process is raised."""

    full_by: FullByText = None


class AskedLimit(RecordPart, frozen=True, kw_only=True):
    """A throttle set by somebody else, and the value at which a move is in time."""

    broker: Annotated[int, "Node id of the broker that it is set on."]
    key: Annotated[str, "Its Kafka configuration key."]
    from_bytes_per_s: Annotated[int, "Its value now."]
    to_bytes_per_s: Annotated[int, "The lowest value that is in time."]


@expected_of(ActionKind.INVESTIGATE)
class InvestigateExpected(Expected, frozen=True, kw_only=True):
    """``investigate``: a person checks something, or does what no command can."""

    full_by: FullByText = None
    strays: Annotated[dict[str, int] | None, "Bytes of stray replicas, by topic-partition."] = None
    spare_replicas: Annotated[list[str] | None, "Up to 20 partitions in the directory that can be copied again."] = None
    saves: Annotated[Examples | None, "Partitions without another copy."] = None
    endangered: Annotated[int | None, "How many partitions are without a leader, or close to it."] = None
    led_again_by_return_of: Annotated[
        dict[str, int] | None, "How many leaderless partitions the return of each broker brings back, by node id."
    ] = None
    in_log_dirs: Annotated[bool | UnsetType | None, "Whether log.dirs names the directory."] = UNSET
    under_way_bytes: Annotated[int | None, "Bytes that running moves free."] = None
    then_needs_ms: Annotated[int | UnsetType | None, "The duration of the moves that it makes possible."] = UNSET
    back_bytes: Annotated[int | None, "Bytes that can then be moved off the alert's directory."] = None
    asked_limits: Annotated[list[AskedLimit] | None, "Throttles of others that must be raised for that."] = None
    array: Annotated[str | UnsetType | None, "The RAID array below the directory, one of whose members failed."] = UNSET
    member: Annotated[str | UnsetType | None, "The member that failed."] = UNSET


EXPECTED: Mapping[ActionKind, type[Expected]] = {kind: _KINDS[kind] for kind in ActionKind}
"""The struct of ``expected`` by the kind of an action."""
