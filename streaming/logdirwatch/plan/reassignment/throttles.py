"""Limits that are set: those that hold back replicas and moves, and those that belong to somebody else.

A limit without a move holds back replicas that fell behind, and the next move (KIP-73). Whose it is nobody can tell but
by its value: what an action set it takes away itself, everything else is a matter of whoever set it.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from logdirwatch.model.vocabulary import (
    LOG_DIR_THROTTLE,
    REPLICATION_THROTTLES,
    THROTTLED_REPLICAS,
    ActionKind,
)
from logdirwatch.plan.availability import leadership
from logdirwatch.plan.capacity.copy_rates import is_limit
from logdirwatch.plan.cluster.snapshot import Facts, Partition, Topic
from logdirwatch.plan.commands.configs import set_broker_value
from logdirwatch.plan.commands.throttles import Limit, Limits, of_copies
from logdirwatch.plan.proposal import Draft, Policy, Precondition, Veto, effect
from logdirwatch.report.words import counted

SETS_LIMITS = "sets_limits"
"""In ``expected`` of a plan that sets limits: which, with their values."""
_EXAMPLES = 5


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
    found = Limits(rates, limits.topics)
    return Draft(
        kind=ActionKind.CLEAR_THROTTLES,
        target=target,
        reason=f"take away {_said(rates, limits.topics)}: the move that needed it is over, and what falls behind "
        "catches up slowly under it",
        expected=effect(needs_ms=0, clears=_clears(rates, limits.topics)),
        preconditions=() if "after" in target else (agreed(_said(rates, limits.topics)),),
        vetoes=_still_needed(rates, limits.topics, facts),
        commands=tuple(policy.tools.clear_limits(found)),
        undo={"commands": policy.tools.set_limits(found)},
    )


def unset(limits: Limits, facts: Facts) -> Limits:
    """Return the limits that a plan may set: those for which nobody set one, as the last inventory read them."""
    return limits.only(limit for limit in limits if _in_force(limit, facts) is None)


def still_ours(limits: Limits, facts: Facts) -> Limits:
    """Return the limits that still have the value that a plan gave them."""
    return limits.only(limit for limit in limits if _in_force(limit, facts) == limit.value)


def limits_of_copies(arriving: Collection[tuple[Partition, int]], rate: int, facts: Facts) -> Limits:
    """Return the limits for new replicas, each a partition and its new broker: where they arrive, and at its leader."""
    ends = [(partition.topic, partition.partition, broker) for partition, broker in arriving]
    leading = ((partition, leadership.standing_now(partition, facts).leader) for partition, _ in arriving)
    return of_copies(ends, [(p.topic, p.partition, leader) for p, leader in leading if leader is not None], rate)


def _in_force(limit: Limit, facts: Facts) -> str | None:
    """Return the value that an entity has; None where nothing is set, or nobody knows."""
    if limit.entity == "topics":
        topic = facts.topics.get(limit.name)
        return None if topic is None else _lists(topic).get(limit.key)
    broker = facts.brokers.get(int(limit.name))
    rate = None if broker is None else _rates(broker.configs).get(limit.key)
    return None if rate is None else str(rate)


def raise_draft(broker: int, key: str, limit: int, wanted: int, policy: Policy) -> Draft:
    """Return a higher limit for moves that this one never lets end; it goes with the move that needs it."""
    return Draft(
        kind=ActionKind.CLEAR_THROTTLES,
        target={"broker": broker, "log_dir": None, "step": f"raise {key}"},
        reason=f"raise {key} of broker {broker} from {limit} to {wanted} bytes/s: under the limit the running moves "
        "never end, as more is written to what they copy",
        expected=effect(needs_ms=0, throttle_bytes_per_s=wanted, raises={"broker": broker, "key": key}),
        preconditions=(agreed(f"{key}={limit} of broker {broker}"),),
        commands=(set_broker_value(policy.tools, broker, key, wanted),),
        undo={"commands": [set_broker_value(policy.tools, broker, key, limit)]},
    )


def agreed(limits: str) -> Precondition:
    """Ask for the word of whoever set limits: that they are in the way makes them nobody's less."""
    return Precondition("throttle_agreed", f"whoever set {limits} agrees, or is not to be found", None)


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
    return (
        Veto(
            "move_needs_throttle",
            f"{counted(len(moved), 'replica still moves', 'replicas still move')} under it: {named}",
        ),
    )


def _said(rates: Mapping[int, Mapping[str, int]], topics: Mapping[str, Mapping[str, str]]) -> str:
    told = [f"{key} of broker {broker}" for broker, found in rates.items() for key in found]
    if topics:
        told.append(f"the lists of throttled replicas of {', '.join(sorted(topics)[:_EXAMPLES])}")
    return ", ".join(told)
