"""How several topics share a cut: each in proportion to what it can free.

Topics of which only local copies are deleted come first, as far as possible: they lose nothing. Then those that fill
the directory, and the others only for what is still missing.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

from logdirwatch.plan.cluster.layout import LogDirId, Topic
from logdirwatch.plan.retention.cut import RetentionCut
from logdirwatch.plan.settings import PlanSettings

MOST_OF_ONE = 0.5
"""More topics than configured give where those would lose more than this share of what they can give."""

Make = Callable[[Topic, int], RetentionCut | None]
"""Returns the cut of a topic that frees this many bytes."""


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


class RetentionCandidate(NamedTuple):
    """A topic, the most bytes that cutting it can free in a directory, and when it gives."""

    topic: Topic
    most_bytes: int
    turn: Turn


def spread(
    candidates: Iterable[RetentionCandidate], needed: int, place: LogDirId, cut: Make, limits: PlanSettings
) -> list[RetentionCut]:
    """Return the cuts that free ``needed`` bytes in a directory, or as many as possible."""
    ranked = sorted(candidates, key=lambda candidate: (-candidate.most_bytes, candidate.topic.name))
    cuts: list[RetentionCut] = []
    for turn in Turn:
        alike = [candidate for candidate in ranked if candidate.turn is turn]
        missing = needed - sum(done.frees_at(place) for done in cuts)
        if missing > 0 and alike:
            cuts += (
                _one_by_one(alike, missing, place, cut, limits)
                if is_few(limits)
                else _shares(chosen(alike, missing, limits.retention_topics), missing, cut)
            )
    return cuts


def chosen(ranked: Sequence[RetentionCandidate], needed: int, most_topics: int) -> Sequence[RetentionCandidate]:
    """Return the topics that can free most, and more topics if these would lose more than half of it."""
    count, possible = 0, 0
    for candidate in ranked:
        if count >= most_topics and needed <= MOST_OF_ONE * possible:
            break
        count, possible = count + 1, possible + candidate.most_bytes
    return ranked[:count]


def is_few(limits: PlanSettings) -> bool:
    """Tell whether as few topics as possible are to be cut."""
    return limits.retention_spread == "fewest_topics"


def _one_by_one(
    candidates: Sequence[RetentionCandidate], needed: int, place: LogDirId, cut: Make, limits: PlanSettings
) -> list[RetentionCut]:
    """Cut the topic that can free most first, as far as possible."""
    cuts: list[RetentionCut] = []
    for topic, most, _ in candidates[: limits.retention_topics]:
        missing = needed - sum(done.frees_at(place) for done in cuts)
        found = cut(topic, min(missing, most)) if missing > 0 else None
        cuts += [found] if found is not None else []
    return cuts


def _shares(candidates: Sequence[RetentionCandidate], needed: int, cut: Make) -> list[RetentionCut]:
    """Take the same share of what each topic can free."""
    possible = sum(candidate.most_bytes for candidate in candidates)
    shares = [(one.topic, -(-min(needed, possible) * one.most_bytes // possible)) for one in candidates]
    return [found for topic, share in shares if share > 0 and (found := cut(topic, share)) is not None]
