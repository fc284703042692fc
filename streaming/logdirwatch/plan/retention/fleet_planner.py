"""Cuts for a whole cluster: every directory gets what it needs, every topic in it contributes in proportion.

A cut applies wherever the topic is, so a topic is cut as deep as its neediest directory requires.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from logdirwatch.plan.cluster.layout import LogDirId, Replica, Topic
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import Policy, Veto
from logdirwatch.plan.retention.cut import RetentionCut
from logdirwatch.plan.retention.planner import (
    all_replicas,
    by_topic,
    cut_topic,
    cuttable,
    giving,
    held_back,
    largest_first,
)
from logdirwatch.plan.retention.shares import MOST_OF_ONE, Turn, is_few, turn_of

LOOKED_AT = 200

Needed = Mapping[LogDirId, int]


def plan_fleet_cuts(
    needed: Needed, snapshot: ClusterSnapshot, policy: Policy, refusals: Counter[Veto], filling: frozenset[str]
) -> list[RetentionCut]:
    """Cut the largest topics as far as the directories need; in each turn those that free most.

    ``filling`` are the topics whose growth fills the directories.
    """
    here = largest_first(by_topic(replica for place in needed for replica in snapshot.replicas_in(place)))
    most = [_most(name, here[name], needed, snapshot, policy, refusals) for name in list(here)[:LOOKED_AT]]
    useful = [cut for cut in most if cut is not None and gain(cut, needed) > 0]
    ranked = sorted(useful, key=lambda cut: (-gain(cut, needed), cut.topic.name))
    spread = _one_by_one if is_few(policy.limits) else _shares
    cuts: list[RetentionCut] = []
    for turn in Turn:
        alike = [cut for cut in ranked if turn_of(cut.topic, filling) is turn]
        cuts += spread(alike, left(needed, cuts), snapshot, policy)
    return cuts


def gain(cut: RetentionCut, needed: Needed) -> int:
    """Return the bytes that a cut frees in directories that need them."""
    return _useful(needed, Counter(cut.frees))


def left(needed: Needed, cuts: Sequence[RetentionCut]) -> dict[LogDirId, int]:
    """Return the bytes that directories still need after the cuts."""
    found = {place: size - sum(cut.frees_at(place) for cut in cuts) for place, size in needed.items()}
    return {place: size for place, size in found.items() if size > 0}


def _most(
    name: str,
    here: Sequence[Replica],
    needed: Needed,
    snapshot: ClusterSnapshot,
    policy: Policy,
    refusals: Counter[Veto],
) -> RetentionCut | None:
    topic = cuttable(name, here, snapshot, policy, refusals)
    if topic is None:
        return None
    found = cut_topic(topic, _giving(topic, snapshot), snapshot, policy, partial(_useful, needed), None)
    veto = held_back(topic, here, snapshot, policy, found, 0 if found is None else gain(found, needed))
    refusals.update([veto] if veto is not None else [])
    return found


def _shares(
    ranked: Sequence[RetentionCut], needed: Needed, snapshot: ClusterSnapshot, policy: Policy
) -> list[RetentionCut]:
    """Take the same share of what each topic can free in each directory, or more if another directory needs it."""
    candidates = _chosen(ranked, needed, policy.limits.retention_topics)
    possible = {place: sum(most.frees_at(place) for most in candidates) for place in needed}
    cuts = []
    for most in candidates:
        shares = {p: -(-min(needed[p], all_) * most.frees_at(p) // all_) for p, all_ in possible.items() if all_ > 0}
        wanted = {place: share for place, share in shares.items() if share > 0}
        giving_here = _giving(most.topic, snapshot)
        cut = cut_topic(most.topic, giving_here, snapshot, policy, partial(_satisfies, wanted), 1) if wanted else None
        cuts += [cut] if cut is not None else []
    return cuts


def _chosen(ranked: Sequence[RetentionCut], needed: Needed, most_topics: int) -> Sequence[RetentionCut]:
    """Return the topics that free most, and more topics while any directory would take over half of what they can free.

    Further topics do not help a directory that they are not in.
    """
    possible: Counter[LogDirId] = Counter()
    found: list[RetentionCut] = []
    for most in ranked:
        is_asked_much = any(needed[place] > MOST_OF_ONE * possible[place] for place in most.frees if place in needed)
        if len(found) < most_topics or is_asked_much:
            found.append(most)
            possible.update(most.frees)
    return found


def _one_by_one(
    ranked: Sequence[RetentionCut], needed: Needed, snapshot: ClusterSnapshot, policy: Policy
) -> list[RetentionCut]:
    """Cut the topics that can free most first, each as far as possible."""
    cuts: list[RetentionCut] = []
    for most in ranked[: policy.limits.retention_topics]:
        missing = left(needed, cuts)
        wanted = gain(most, missing)
        if wanted > 0:
            cut = cut_topic(
                most.topic, _giving(most.topic, snapshot), snapshot, policy, partial(_useful, missing), wanted
            )
            cuts += [cut] if cut is not None else []
    return cuts


def _giving(topic: Topic, snapshot: ClusterSnapshot) -> list[Replica]:
    return giving(topic, all_replicas(topic, snapshot), snapshot)


def _useful(needed: Needed, frees: Counter[LogDirId]) -> int:
    """Return the freed bytes that a directory needs: bytes elsewhere, or beyond its need, do not count."""
    return sum(min(size, needed.get(place, 0)) for place, size in frees.items())


def _satisfies(wanted: Needed, frees: Counter[LogDirId]) -> int:
    """Tell whether every directory gets what is wanted of a topic, as a gain of 1 or 0."""
    return int(all(frees[place] >= size for place, size in wanted.items()))
