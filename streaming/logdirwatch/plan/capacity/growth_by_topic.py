"""Whose growth fills a directory: how fast its topics grow, known or by subtraction.

Two inventories show how fast a replica grows. What a directory grows beyond all that is known can only be of topics
whose growth is not known yet, unless copies arrive there, or files that are not Kafka's lie there.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from logdirwatch.plan.capacity.timing import deleted_until_full, growth_until_full
from logdirwatch.plan.cluster.layout import Topic
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import NAMED
from logdirwatch.text.units import human_rate, human_ratio
from logdirwatch.text.words import some_of

FOREIGN_RATIO = 0.1
"""Files that are no replica are named from this share of a directory on."""
FOREIGN_MS = 900_000
"""As much must lie there as such growth adds in this time: the sizes of replicas are older than the free space."""
MOST = 0.75
"""The fastest topics that together have this share of the growth fill the directory."""
ALIKE = 0.5
"""So does one that grows at least this much as fast as the slowest of them."""


class Growth(NamedTuple):
    """How fast a topic grows in a directory; of several ``topics`` it is not known which of them does."""

    topics: tuple[str, ...]
    bytes_per_s: float

    @property
    def label(self) -> str:
        """The topics and their rate, as a text."""
        of = "" if len(self.topics) == 1 else ", one of them or all: their growth is not known yet"
        return f"{some_of(self.topics, NAMED)} ({human_rate(self.bytes_per_s)}{of})"


def growth_by_topic(directory: LogDir, snapshot: ClusterSnapshot) -> list[Growth]:
    """Return the growth of a directory until it is full by topic, the fastest first; empty if none is known."""
    rates: defaultdict[str, float] = defaultdict(float)
    unknown: set[str] = set()
    for replica in snapshot.replicas_in(directory.place):
        rate = snapshot.growth_of(replica)
        if rate is None:
            unknown.add(replica.topic)
        else:
            rates[replica.topic] += max(0.0, rate)
    rest = (directory.outlook_bytes_per_s or 0.0) - sum(rates.values())
    for topic, deleted in deleted_until_full(directory).items():
        rates[topic] -= deleted
    found = [Growth((topic,), rate) for topic, rate in rates.items()]
    if rates and unknown and rest > 0 and not _is_explained_otherwise(directory, snapshot):
        suspects = tuple(sorted(unknown))
        # Of a single one also what is known of its other partitions.
        known = rates.get(suspects[0], 0.0) if len(suspects) == 1 else 0.0
        found = [one for one in found if one.topics != suspects]
        found.append(Growth(suspects, rest + known))
    return sorted((one for one in found if one.bytes_per_s > 0), key=lambda one: (-one.bytes_per_s, one.topics))


def filling_topics(directory: LogDir, snapshot: ClusterSnapshot) -> frozenset[str]:
    """Return the topics that most of a directory's growth comes from; empty if that is not known.

    Those that grow about alike are all among them: then nobody is an innocent neighbour.
    """
    found = growth_by_topic(directory, snapshot)
    total = _total(directory, found)
    names: set[str] = set()
    had, least = 0.0, 0.0
    for one in found:
        if had < MOST * total:
            had, least = had + one.bytes_per_s, one.bytes_per_s
        elif one.bytes_per_s < ALIKE * least:
            break
        names.update(one.topics)
    return frozenset(names) if had >= MOST * total else frozenset()


def has_runaway(directory: LogDir, snapshot: ClusterSnapshot) -> bool:
    """Tell whether topics fill a directory in which most bytes are of others."""
    filling, here = filling_topics(directory, snapshot), snapshot.replicas_in(directory.place)
    own = sum(replica.size_bytes or 0 for replica in here if replica.topic in filling)
    return bool(filling) and 2 * own < sum(replica.size_bytes or 0 for replica in here)


def told(directories: Iterable[LogDir], snapshot: ClusterSnapshot) -> str:
    """Say which topics' growth fills the directories; empty if nothing grows, or if that is not known."""
    rates: defaultdict[tuple[str, ...], float] = defaultdict(float)
    filling: set[str] = set()
    total = 0.0
    for directory in directories:
        found = growth_by_topic(directory, snapshot)
        total += _total(directory, found)
        filling |= filling_topics(directory, snapshot)
        for one in found:
            rates[one.topics] += one.bytes_per_s
    mine = sorted((key for key in rates if filling.issuperset(key)), key=lambda key: (-rates[key], key))
    if not mine or total <= 0:
        return ""
    named = some_of([_named(key, snapshot) for key in mine], NAMED)
    share = human_ratio(sum(rates[key] for key in mine) / total, 0)
    return f"; {share} of the growth of {human_rate(total)} is in {named}"


def _total(directory: LogDir, found: Iterable[Growth]) -> float:
    return max(growth_until_full(directory), sum(one.bytes_per_s for one in found))


def _named(topics: tuple[str, ...], snapshot: ClusterSnapshot) -> str:
    policies = {policy_of(snapshot.topics.get(topic)) for topic in topics}
    policy = " or ".join(sorted(f"{policy} cleanup policy" if policy == UNKNOWN else policy for policy in policies))
    return f"{' or '.join(topics[:NAMED])} ({policy})"


def _is_explained_otherwise(directory: LogDir, snapshot: ClusterSnapshot) -> bool:
    is_copied = any(place == directory.place for place, _ in snapshot.layout.catching_up)
    foreign, total = directory.unaccounted_bytes, directory.total_bytes
    return is_copied or (foreign is not None and total is not None and foreign >= FOREIGN_RATIO * total)


def foreign_growth(directory: LogDir, snapshot: ClusterSnapshot) -> float:
    """Return the growth that no replica explains, if it is most of a directory's; else, or if not known, 0."""
    rates = [snapshot.growth_of(replica) for replica in snapshot.replicas_in(directory.place)]
    growth = directory.outlook_bytes_per_s or 0.0
    rest = growth - sum(max(0.0, rate or 0.0) for rate in rates)
    is_copied = any(place == directory.place for place, _ in snapshot.layout.catching_up)
    return 0.0 if None in rates or is_copied or rest < MOST * growth else rest


DELETE, COMPACT, BOTH, UNKNOWN = "delete", "compact", "compact,delete", "unknown"


def growth_by_policy(directory: LogDir, snapshot: ClusterSnapshot) -> dict[str, Any] | None:
    """Return the growth of replicas by cleanup policy, in bytes per second; None if none is known.

    A replica that shrank between two inventories keeps its previous rate, so no share is negative.
    """
    here = snapshot.replicas_in(directory.place)
    known = [(replica, rate) for replica in here if (rate := snapshot.growth_of(replica)) is not None]
    if not known:
        return None
    rates: defaultdict[str, float] = defaultdict(float)
    for replica, rate in known:
        rates[policy_of(snapshot.topics.get(replica.topic))] += max(0.0, rate)
    return {"bytes_per_s": dict(rates), "replicas": len(here), "replicas_known": len(known)}


def policy_of(topic: Topic | None) -> str:
    """Return a topic's cleanup policy, its parts in a fixed order."""
    value = None if topic is None else topic.configs.get("cleanup.policy")
    parts = {part.strip() for part in (value or "").split(",")} - {""}
    known = {frozenset({DELETE}): DELETE, frozenset({COMPACT}): COMPACT, frozenset({DELETE, COMPACT}): BOTH}
    return known.get(frozenset(parts), UNKNOWN)
