"""``delete_topic_candidate``: name a large topic that seems unused, for a person to decide; nothing deletes it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.action_type import (
    ActionType,
    FixRole,
    Relief,
    Stage,
    always_valid,
    frees_as_much,
)
from logdirwatch.plan.actions.progress import Progress, in_one_step
from logdirwatch.plan.actions.topics.delete_records import refused, serving_only
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.layout import LogDirId, Topic
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import TOPICS
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, effect, owner_of
from logdirwatch.plan.reassignment.replacement_replicas import Repair
from logdirwatch.plan.retention import retention_vetoes
from logdirwatch.plan.retention.planner import all_replicas, by_topic
from logdirwatch.text.units import human_bytes, human_ms

CONSUMER_GROUPS = "kafka-consumer-groups"
MOST_CANDIDATES = 3


def propose_candidates(source: LogDir, snapshot: ClusterSnapshot, policy: Policy, now_ms: int) -> list[ProposedAction]:
    """Return the large idle topics in a directory, for a person to decide; nothing here deletes them."""
    return propose_candidates_in([source], place_target(source), snapshot, policy, now_ms)


def propose_candidates_in(
    places: Sequence[LogDir], target: Mapping[str, Any], snapshot: ClusterSnapshot, policy: Policy, now_ms: int
) -> list[ProposedAction]:
    """Return the idle topics that are large in several directories together."""
    here = by_topic(replica for directory in places for replica in snapshot.replicas_in(directory.place))
    idle = [snapshot.topics[name] for name in here if name in snapshot.topics]
    idle = [topic for topic in idle if _may_be_named(topic, snapshot, policy, now_ms)]
    sized = [(sum(replica.size_bytes or 0 for replica in here[topic.name]), topic) for topic in idle]
    large = [(size, topic) for size, topic in sized if size >= policy.limits.idle_topic_min_bytes]
    ranked = sorted(large, key=lambda item: (-item[0], item[1].name))[:MOST_CANDIDATES]
    where = places[0].path if len(places) == 1 else f"{len(places)} directories"
    return [
        _candidate(topic, size, where, {**target, "topic": topic.name}, snapshot, policy, now_ms)
        for size, topic in ranked
    ]


def idle_for_ms(topic: Topic, snapshot: ClusterSnapshot, now_ms: int) -> int | None:
    """Return how long no replica of a topic has changed its size; None if unknown."""
    since = [replica.same_since_ms for replica in all_replicas(topic, snapshot)]
    if not since or None in since:
        return None
    return now_ms - max(at_ms for at_ms in since if at_ms is not None)


def _candidate(
    topic: Topic,
    size: int,
    where: str,
    target: Mapping[str, Any],
    snapshot: ClusterSnapshot,
    policy: Policy,
    now_ms: int,
) -> ProposedAction:
    everywhere: Counter[LogDirId] = Counter()
    for replica in all_replicas(topic, snapshot):
        everywhere[replica.place] += replica.size_bytes or 0
    idle = human_ms(idle_for_ms(topic, snapshot, now_ms))
    veto = retention_vetoes.deleted_leaderless(topic.partitions)
    return ProposedAction(
        kind=ActionKind.DELETE_TOPIC_CANDIDATE,
        target=target,
        reason=f"{topic.name} has {human_bytes(size)} in {where}, and its size has not changed for {idle}: ask "
        "whether anybody still needs it; nothing here deletes it",
        expected=effect(
            frees_bytes=size,
            on=serving_only(everywhere, snapshot),
            owner=policy.limits.topic_rule(topic.name).owner,
        ),
        preconditions=(
            Precondition("not_read", f"nobody reads {topic.name}: {_readers(topic)}", None),
            Precondition("owner_agrees", f"{owner_of(topic.name, policy)} agrees that it goes", None),
        ),
        vetoes=() if veto is None else (veto,),
        commands=(
            policy.tools.call(TOPICS, "--describe", f"--topic={topic.name}"),
            policy.tools.call(CONSUMER_GROUPS, "--describe", "--all-groups"),
        ),
        undo={"text": "a deleted topic does not come back"},
        data_loss=True,
    )


def _readers(topic: Topic) -> str:
    if any(partition.groups is None for partition in topic.partitions):
        return "no consumer group, and no consumer without one"
    return "no consumer group committed an offset of it, but a consumer without one may read it"


def _may_be_named(topic: Topic, snapshot: ClusterSnapshot, policy: Policy, now_ms: int) -> bool:
    idle = idle_for_ms(topic, snapshot, now_ms)
    is_idle = idle is not None and idle >= policy.limits.idle_topic_after_ms
    return is_idle and not _has_groups(topic) and refused(topic, snapshot, policy) is None


def _has_groups(topic: Topic) -> bool:
    """Whether a consumer group has offsets on the topic.

    Kafka drops those of a dead group (``offsets.retention.minutes``).
    """
    return any(partition.groups for partition in topic.partitions)


def room_elsewhere(
    broker: int, target: Mapping[str, Any], repair: Repair, snapshot: ClusterSnapshot, policy: Policy, now_ms: int
) -> list[ProposedAction]:
    """Return idle topics whose deletion would make room on other brokers, if room is what is missing."""
    if not any(left.veto.name == "nothing_fits" for left in repair.unplaced):
        return []
    full = [
        d for d in snapshot.directories.values() if d.broker != broker and d.is_serving and snapshot.is_alive(d.broker)
    ]
    return propose_candidates_in(full, target, snapshot, policy, now_ms)


def _progress(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:
    return in_one_step(str(action.target["topic"]) not in snapshot.topics if snapshot.topics else None, snapshot)


ACTION_TYPE = ActionType(
    kind=ActionKind.DELETE_TOPIC_CANDIDATE,
    relief=Relief(if_in_time=5, if_not=7, stage=Stage.ONLY_NAMED),
    fix_role=FixRole.NEVER,
    progress=_progress,
    covers=frees_as_much,
    reasons_against=always_valid,
    follow_up=None,
)
