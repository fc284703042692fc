"""The throttles that a plan sets for its own moves, apart from those that others have set (KIP-73).

``kafka-reassign-partitions --throttle`` overwrites the throttles that brokers and topics have, and ``--verify`` without
``--preserve-throttles`` clears those of every broker of the cluster (Kafka 4.3.1
``ReassignPartitionsCommand.clearAllThrottles``). So throttles are set by name, only where none is set, and cleared by
name and value.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from logdirwatch.model.vocabulary import (
    FOLLOWER_THROTTLE,
    LEADER_THROTTLE,
    LOG_DIR_THROTTLE,
    THROTTLED_FOLLOWERS,
    THROTTLED_LEADERS,
)

ANY = "any"
"""KIP-113's word for a directory that the broker chooses; ``assignment.ANY``, whose module builds on commands."""


class Limit(NamedTuple):
    """One throttle: the type and name of its entity, its key, and its value as Kafka shows it."""

    entity: str
    name: str
    key: str
    value: str

    def __str__(self) -> str:
        return f"{self.entity} {self.name} {self.key}={self.value}"

    @property
    def text(self) -> str:
        """The throttle for people."""
        return f"{self.key}={self.value} of {self.entity.removesuffix('s')} {self.name}"


@dataclass(frozen=True)
class Limits:
    """Throttles: rates by broker and key, and the topics' lists of throttled replicas by topic and key."""

    brokers: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    topics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.brokers or self.topics)

    def __iter__(self) -> Iterator[Limit]:
        """Yield the throttles one by one, those of brokers first."""
        for broker, rates in sorted(self.brokers.items()):
            yield from (Limit("brokers", str(broker), key, str(rate)) for key, rate in sorted(rates.items()))
        for topic, lists in sorted(self.topics.items()):
            yield from (Limit("topics", topic, key, value) for key, value in sorted(lists.items()))

    def only(self, wanted: Iterable[Limit]) -> "Limits":
        """Return the throttles that are among ``wanted``."""
        kept = set(wanted)
        brokers: defaultdict[int, dict[str, int]] = defaultdict(dict)
        topics: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for limit in self:
            if limit in kept and limit.entity == "brokers":
                brokers[int(limit.name)][limit.key] = int(limit.value)
            elif limit in kept:
                topics[limit.name][limit.key] = limit.value
        return Limits(dict(brokers), dict(topics))

    def as_data(self) -> dict[str, Any]:
        """Return them in the format of action records."""
        return {
            "brokers": {str(broker): dict(rates) for broker, rates in self.brokers.items()},
            "topics": {topic: dict(lists) for topic, lists in self.topics.items()},
        }


def from_data(data: Mapping[str, Any]) -> Limits:
    """Read what :meth:`Limits.as_data` wrote."""
    return Limits({int(broker): rates for broker, rates in data["brokers"].items()}, data["topics"])


def within_brokers(brokers: Iterable[int], rate: int) -> Limits:
    """Return the throttles of copies between the directories of brokers."""
    return Limits({broker: {LOG_DIR_THROTTLE: rate} for broker in brokers})


def of_copies(arriving: Iterable[tuple[str, int, int]], sending: Iterable[tuple[str, int, int]], rate: int) -> Limits:
    """Return the throttles of copies between brokers, each end as topic, partition and broker.

    Leave out brokers that are down: only a broker itself changes its configuration (Kafka 4.3.1 ``KafkaAdminClient``,
    KAFKA-13392). Moves between directories are not throttled: a new replica created in the wrong directory would stay
    there longer.
    """
    brokers: defaultdict[int, dict[str, int]] = defaultdict(dict)
    listed: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    ends = ((arriving, FOLLOWER_THROTTLE, THROTTLED_FOLLOWERS), (sending, LEADER_THROTTLE, THROTTLED_LEADERS))
    for replicas, of_broker, of_topic in ends:
        for topic, partition, broker in sorted(set(replicas)):
            brokers[broker][of_broker] = rate
            listed[topic][of_topic].append(f"{partition}:{broker}")
    topics = {topic: {key: ",".join(found) for key, found in lists.items()} for topic, lists in listed.items()}
    return Limits(dict(brokers), topics)


def of_plan(plan: Mapping[str, Any], *, log_dir_rate: int | None, rate: int | None) -> Limits:
    """Return the throttles for a reassignment in Kafka's format, if nothing else is known about it.

    All its replicas may be new; a list that names an in-sync replica does not slow it down (KIP-73).
    """
    entries = plan["partitions"]
    within = {
        broker
        for entry in entries
        for broker, path in zip(entry["replicas"], entry.get("log_dirs") or (), strict=False)
        if path != ANY and log_dir_rate is not None
    }
    arriving = [(entry["topic"], entry["partition"], broker) for entry in entries for broker in entry["replicas"]]
    between = Limits() if rate is None else of_copies(arriving, (), rate)
    return joined((within_brokers(within, log_dir_rate or 0), between))


def joined(found: Iterable[Limits]) -> Limits:
    """Return throttles for everything: the same rates, and the union of the lists of throttled replicas."""
    brokers: defaultdict[int, dict[str, int]] = defaultdict(dict)
    lists: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for limits in found:
        for broker, rates in limits.brokers.items():
            brokers[broker] |= rates
        for topic, by_key in limits.topics.items():
            for key, entries in by_key.items():
                lists[topic][key].update(entries.split(","))
    topics = {topic: {key: ",".join(sorted(found)) for key, found in keys.items()} for topic, keys in lists.items()}
    return Limits(dict(brokers), topics)
