"""Limits of moves that stayed behind: they hold back replicas that fell behind, and the next move.

``kafka-reassign-partitions`` takes them away only in a ``--verify`` that finds everything done (KIP-73).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from logdirwatch.model.vocabulary import (
    FOLLOWER_THROTTLE,
    LOG_DIR_THROTTLE,
    REPLICATION_THROTTLES,
    THROTTLED_FOLLOWERS,
    THROTTLED_REPLICAS,
    ActionKind,
)
from logdirwatch.plan.commands import Tools
from logdirwatch.plan.config_commands import delete_broker_keys, delete_topic_keys, set_broker_value
from logdirwatch.plan.draft import Draft, Policy, Veto, effect
from logdirwatch.plan.facts import Facts, Topic, TopicPartition
from logdirwatch.plan.rates import is_limit

_EXAMPLES = 5


@dataclass(frozen=True)
class Limits:
    """The limits found: rates by broker and key, and the topics' lists of throttled replicas by topic and key."""

    brokers: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    topics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.brokers or self.topics)


def limits_on(brokers: Iterable[int], topics: Iterable[Topic], facts: Facts) -> Limits:
    """Return the limits that brokers and topics have now, as the last inventory read them."""
    rates = {
        broker: _rates(facts.brokers[broker].configs) for broker in sorted(set(brokers)) if broker in facts.brokers
    }
    lists = {topic.name: _lists(topic) for topic in topics}
    return Limits({b: found for b, found in rates.items() if found}, {t: found for t, found in lists.items() if found})


def topics_throttled_on(broker: int, facts: Facts) -> list[Topic]:
    """Return the topics whose lists name a replica of the broker, or all (``ThrottledReplicaListValidator``)."""
    return [topic for topic in facts.topics.values() if any(_names(value, broker) for value in _lists(topic).values())]


def clear_draft(
    limits: Limits, facts: Facts, policy: Policy, target: Mapping[str, Any], keys: Iterable[str] | None = None
) -> Draft | None:
    """Return the end of limits that nothing needs, None without any; ``keys`` are the rates that may go, None: all."""
    allowed = None if keys is None else set(keys)
    rates = {
        broker: {key: rate for key, rate in found.items() if allowed is None or key in allowed}
        for broker, found in limits.brokers.items()
    }
    rates = {broker: found for broker, found in rates.items() if found}
    if not rates and not limits.topics:
        return None
    tools = policy.tools
    set_again = [set_broker_value(tools, b, key, rate) for b, found in rates.items() for key, rate in found.items()]
    return Draft(
        kind=ActionKind.CLEAR_THROTTLES,
        target=target,
        reason=f"take away {_said(rates, limits.topics)}: the move that needed it is over, and what falls behind "
        "catches up slowly under it",
        expected=effect(needs_ms=0, clears=_clears(rates, limits.topics)),
        vetoes=_still_needed(rates, limits.topics, facts),
        commands=tuple(clear_commands(Limits(rates, limits.topics), tools)),
        undo={"commands": set_again, "text": "the lists of replicas come back with the next move that needs them"},
    )


def clear_commands(limits: Limits, tools: Tools) -> list[str]:
    """Return the commands that take limits away."""
    return [
        *(delete_broker_keys(tools, broker, sorted(found)) for broker, found in limits.brokers.items()),
        *(delete_topic_keys(tools, topic, sorted(found)) for topic, found in sorted(limits.topics.items())),
    ]


def limit_arrivals(arriving: Collection[tuple[TopicPartition, int]], rate: int, tools: Tools) -> list[str]:
    """Return the commands that limit copies, by partition and broker, where they arrive and nowhere else (KIP-73).

    The tool's ``--throttle`` is set where they come from too, and fails when one of these brokers is away: only a
    broker itself changes its configuration (Kafka 4.3.1 ``KafkaAdminClient``, KAFKA-13392). Its ``--verify`` clears
    both alike.
    """
    listed: defaultdict[str, list[str]] = defaultdict(list)
    for (topic, partition), broker in sorted(arriving):
        listed[topic].append(f"{partition}:{broker}")
    return [
        *(set_broker_value(tools, broker, FOLLOWER_THROTTLE, rate) for broker in sorted({b for _, b in arriving})),
        *(
            tools.set_topic_config(topic, THROTTLED_FOLLOWERS, f"[{','.join(found)}]")
            for topic, found in listed.items()
        ),
    ]


def raise_draft(broker: int, key: str, limit: int, wanted: int, policy: Policy) -> Draft:
    """Return a higher limit for moves that this one never lets end; it goes with the move that needs it."""
    tools = policy.tools
    return Draft(
        kind=ActionKind.CLEAR_THROTTLES,
        target={"broker": broker, "log_dir": None, "step": f"raise {key}"},
        reason=f"raise {key} of broker {broker} from {limit} to {wanted} bytes/s: under the limit the running moves "
        "never end, as more is written to what they copy",
        expected=effect(needs_ms=0, throttle_bytes_per_s=wanted, raises={"broker": broker, "key": key}),
        commands=(set_broker_value(tools, broker, key, wanted),),
        undo={"commands": [set_broker_value(tools, broker, key, limit)]},
    )


def are_cleared(clears: Mapping[str, Any], facts: Facts) -> bool:
    """Tell whether none of the limits that an action named is set any more."""
    of_brokers = any(
        key in _rates(facts.brokers[int(number)].configs)
        for number, keys in clears["brokers"].items()
        if int(number) in facts.brokers
        for key in keys
    )
    of_topics = any(
        set(keys) & set(_lists(facts.topics[name])) for name, keys in clears["topics"].items() if name in facts.topics
    )
    return not of_brokers and not of_topics


def _rates(configs: Mapping[str, str | None]) -> dict[str, int]:
    keys = (*REPLICATION_THROTTLES, LOG_DIR_THROTTLE)
    return {key: int(value) for key in keys if (value := configs.get(key)) is not None and is_limit(value)}


def _lists(topic: Topic) -> dict[str, str]:
    return {key: value for key in THROTTLED_REPLICAS if (value := topic.configs.get(key))}


def _names(value: str, broker: int) -> bool:
    return value.strip() == "*" or any(entry.rpartition(":")[2].strip() == str(broker) for entry in value.split(","))


def _clears(rates: Mapping[int, Mapping[str, int]], topics: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    return {
        "brokers": {str(broker): dict(found) for broker, found in rates.items()},
        "topics": {topic: sorted(found) for topic, found in topics.items()},
    }


def _still_needed(
    rates: Mapping[int, Mapping[str, int]], topics: Mapping[str, Mapping[str, str]], facts: Facts
) -> tuple[Veto, ...]:
    """Refuse while a move runs that the limit holds back: without it the move would take all that there is (KIP-73)."""
    is_between = bool(topics) or any(set(found) & set(REPLICATION_THROTTLES) for found in rates.values())
    moving = [facts.partitions[key] for key in sorted(facts.layout.moving) if key in facts.partitions]
    moved = [partition.label for partition in moving if is_between and partition.is_reassigned]
    within = {broker for broker, found in rates.items() if LOG_DIR_THROTTLE in found}
    copies = [copy for found in facts.layout.copies_of.values() for copy in found]
    moved += [f"{copy.topic}-{copy.partition}" for copy in copies if copy.broker in within]
    if not moved:
        return ()
    named = ", ".join(moved[:_EXAMPLES])
    return (Veto("move_needs_throttle", f"{len(moved)} replicas still move under it: {named}"),)


def _said(rates: Mapping[int, Mapping[str, int]], topics: Mapping[str, Mapping[str, str]]) -> str:
    told = [f"{key} of broker {broker}" for broker, found in rates.items() for key in found]
    if topics:
        told.append(f"the lists of throttled replicas of {', '.join(sorted(topics)[:_EXAMPLES])}")
    return ", ".join(told)
