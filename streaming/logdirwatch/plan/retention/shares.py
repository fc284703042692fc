"""How several topics share a cut, for one directory or for all that need it: each in proportion to what it can free.

Topics of which only local copies are deleted come first, as far as possible: they lose nothing. Then those that fill
the directories, and the others only for what is still missing. A cut applies wherever the topic is, so a topic is cut
as deep as its neediest directory requires.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import partial

from logdirwatch.plan.cluster.layout import LogDirId, Topic
from logdirwatch.plan.retention.limits import RetentionCut
from logdirwatch.plan.settings import PlanSettings

MOST_OF_ONE = 0.5
"""More topics than configured give where those would lose more than this share of what they can give."""

Needed = Mapping[LogDirId, int]
"""By directory: the bytes that it needs."""
Gain = Callable[[Counter[LogDirId]], float]
"""Returns the value of a cut from the bytes that it frees in each directory."""
Make = Callable[[Topic, Gain, float], RetentionCut | None]
"""Returns the cut of a topic with this gain."""


class Turn(IntEnum):
    """When a topic gives; each turn gives all that it can before the next one."""

    LOSES_NOTHING = 0
    FILLS = 1
    FILLS_UNKNOWN_READERS = 2
    OTHERS = 3
    OTHERS_UNKNOWN_READERS = 4


def turn_of(topic: Topic, filling: frozenset[str]) -> Turn:
    """Return when a topic gives; ``filling`` are the topics whose growth fills the directory."""
    if topic.is_tiered:
        return Turn.LOSES_NOTHING
    if topic.name in filling:
        return Turn.FILLS if topic.has_known_readers else Turn.FILLS_UNKNOWN_READERS
    return Turn.OTHERS if topic.has_known_readers else Turn.OTHERS_UNKNOWN_READERS


def spread(
    deepest: Sequence[RetentionCut], needed: Needed, filling: frozenset[str], cut: Make, limits: PlanSettings
) -> list[RetentionCut]:
    """Return the cuts that free what directories need, or as much as possible.

    ``deepest`` is what each topic can give, those that free most first.
    """
    spread_turn = _one_by_one if limits.retention_spread == "fewest_topics" else _shares
    cuts: list[RetentionCut] = []
    for turn in Turn:
        alike = [most for most in deepest if turn_of(most.topic, filling) is turn]
        cuts += spread_turn(alike, left(needed, cuts), cut, limits)
    return cuts


def gain(cut: RetentionCut, needed: Needed) -> int:
    """Return the bytes that a cut frees in directories that need them."""
    return useful(needed, Counter(cut.frees))


def useful(needed: Needed, frees: Counter[LogDirId]) -> int:
    """Return the freed bytes that a directory needs: bytes elsewhere, or beyond its need, do not count."""
    return sum(min(size, needed.get(place, 0)) for place, size in frees.items())


def left(needed: Needed, cuts: Sequence[RetentionCut]) -> dict[LogDirId, int]:
    """Return the bytes that directories still need after the cuts."""
    found = {place: size - sum(cut.frees_at(place) for cut in cuts) for place, size in needed.items()}
    return {place: size for place, size in found.items() if size > 0}


def _one_by_one(deepest: Sequence[RetentionCut], needed: Needed, cut: Make, limits: PlanSettings) -> list[RetentionCut]:
    """Cut the topics that can free most first, each as far as possible."""
    cuts: list[RetentionCut] = []
    for most in deepest[: limits.retention_topics]:
        missing = left(needed, cuts)
        wanted = gain(most, missing)
        found = cut(most.topic, partial(useful, missing), wanted) if wanted > 0 else None
        cuts += [found] if found is not None else []
    return cuts


def _shares(deepest: Sequence[RetentionCut], needed: Needed, cut: Make, limits: PlanSettings) -> list[RetentionCut]:
    """Take the same share of what each topic can free in each directory, or more if another directory needs it."""
    chosen = _chosen(deepest, needed, limits.retention_topics)
    possible = {place: sum(most.frees_at(place) for most in chosen) for place in needed}
    cuts = []
    for most in chosen:
        shares = {p: -(-min(needed[p], all_) * most.frees_at(p) // all_) for p, all_ in possible.items() if all_ > 0}
        wanted = {place: share for place, share in shares.items() if share > 0}
        found = cut(most.topic, partial(_share_of, wanted), 1) if wanted else None
        cuts += [found] if found is not None else []
    return cuts


def _share_of(wanted: Needed, frees: Counter[LogDirId]) -> float:
    """Return how much of what is wanted of a topic the worst served directory gets; 1 is all of it."""
    return min(frees[place] / size for place, size in wanted.items())


def _chosen(deepest: Sequence[RetentionCut], needed: Needed, most_topics: int) -> Sequence[RetentionCut]:
    """Return the topics that free most, and more topics while any directory would take over half of what they can free.

    Further topics do not help a directory that they are not in.
    """
    possible: Counter[LogDirId] = Counter()
    found: list[RetentionCut] = []
    for most in deepest:
        is_asked_much = any(needed[place] > MOST_OF_ONE * possible[place] for place in most.frees if place in needed)
        if len(found) < most_topics or is_asked_much:
            found.append(most)
            possible.update(most.frees)
    return found
