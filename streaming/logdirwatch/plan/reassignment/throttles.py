"""The throttles that are set: those on replicas and moves, and those that belong to others.

A throttle without a move slows down replicas that fell behind, and the next move (KIP-73). Only its value shows whose
it is: an action clears what it set itself, and everything else is left to whoever set it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from logdirwatch.model.vocabulary import (
    FOLLOWER_THROTTLE,
    LEADER_THROTTLE,
    LOG_DIR_THROTTLE,
    REPLICATION_THROTTLES,
    THROTTLED_FOLLOWERS,
    THROTTLED_LEADERS,
    THROTTLED_REPLICAS,
)
from logdirwatch.plan.availability import leadership
from logdirwatch.plan.capacity.copy_rates import is_limit
from logdirwatch.plan.cluster.layout import Partition, Topic
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.commands.throttles import Limit, Limits, of_copies

SETS_LIMITS = "sets_limits"
"""The key in ``expected`` with the throttles that a plan sets."""


def limits_on(brokers: Iterable[int], topics: Iterable[Topic], snapshot: ClusterSnapshot) -> Limits:
    """Return the throttles of brokers and topics in the last inventory."""
    rates = {broker: found for broker in sorted(set(brokers)) if (found := rates_of(snapshot.configs_of(broker)))}
    return Limits(rates, {topic.name: lists for topic in topics if (lists := lists_of(topic))})


def topics_throttled_on(broker: int, snapshot: ClusterSnapshot) -> list[Topic]:
    """Return the topics whose lists name a replica of the broker, or all (``ThrottledReplicaListValidator``)."""
    return [
        topic for topic in snapshot.topics.values() if any(_names(value, broker) for value in lists_of(topic).values())
    ]


def unset(limits: Limits, snapshot: ClusterSnapshot) -> Limits:
    """Return the throttles that a plan may set: those without a value in the last inventory."""
    return limits.only(limit for limit in limits if _in_force(limit, snapshot) is None)


def still_ours(limits: Limits, snapshot: ClusterSnapshot) -> Limits:
    """Return the throttles that still have the value that a plan set."""
    return limits.only(limit for limit in limits if _in_force(limit, snapshot) == limit.value)


def limits_of_copies(arriving: Collection[tuple[Partition, int]], rate: int, snapshot: ClusterSnapshot) -> Limits:
    """Return the throttles for new replicas (partition and new broker): on the receiver and on the leader."""
    ends = [(partition.topic, partition.partition, broker) for partition, broker in arriving]
    leading = ((partition, leadership.current_leadership(partition, snapshot).leader) for partition, _ in arriving)
    return of_copies(ends, [(p.topic, p.partition, leader) for p, leader in leading if leader is not None], rate)


def _in_force(limit: Limit, snapshot: ClusterSnapshot) -> str | None:
    """Return the value of an entity; None if it is not set or unknown."""
    if limit.entity == "topics":
        topic = snapshot.topics.get(limit.name)
        return None if topic is None else lists_of(topic).get(limit.key)
    rate = rates_of(snapshot.configs_of(int(limit.name))).get(limit.key)
    return None if rate is None else str(rate)


def rates_of(configs: Mapping[str, str | None]) -> dict[str, int]:
    """Return the throttle rates among a broker's configuration values; Kafka's default is none."""
    keys = (*REPLICATION_THROTTLES, LOG_DIR_THROTTLE)
    return {key: int(value) for key in keys if (value := configs.get(key)) is not None and is_limit(value)}


def lists_of(topic: Topic) -> dict[str, str]:
    """Return a topic's lists of throttled replicas."""
    return {key: value for key in THROTTLED_REPLICAS if (value := topic.configs.get(key))}


def holding_back(partitions: Iterable[Partition], snapshot: ClusterSnapshot) -> Limits:
    """Return the throttles that slow down replicas of ``partitions`` which are out of sync, and that no move needs.

    A rate holds for the replicas that the topic's lists name: where they arrive, and on the leader that sends (KIP-73).
    """
    rates: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for partition in partitions:
        topic, leader = snapshot.topics.get(partition.topic), leadership.current_leadership(partition, snapshot).leader
        behind = leadership.live_replicas(partition, snapshot) - set(partition.isr)
        if topic is None or leader is None or not behind or partition.is_reassigned:
            continue
        for ends, key, listed in (({leader}, *_SENDS), (behind, *_RECEIVES)):
            named = {one for one in ends if _names(lists_of(topic).get(listed, ""), one, partition.partition)}
            for broker, rate in ((one, rates_of(snapshot.configs_of(one)).get(key)) for one in sorted(named)):
                if rate is not None:
                    rates[broker][key] = rate
    return Limits(rates)


_SENDS, _RECEIVES = (LEADER_THROTTLE, THROTTLED_LEADERS), (FOLLOWER_THROTTLE, THROTTLED_FOLLOWERS)


def _names(value: str, broker: int, partition: int | None = None) -> bool:
    """Tell whether a list of throttled replicas names one of a broker; of ``partition``, if one is given."""
    entries = (entry.strip().rpartition(":") for entry in value.split(","))
    named = (one for one in entries if one[2] == str(broker) and (partition is None or one[0] == str(partition)))
    return value.strip() == "*" or any(named)
