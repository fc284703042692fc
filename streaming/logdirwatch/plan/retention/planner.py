"""Retention cuts: which topics lose history, how much, and what that frees, where and when.

A cut applies to every broker with a replica of the topic. Of the possible limits the one is chosen that leaves the
longest history; because the effect of a limit in bytes is certain, a limit by age must leave a tenth more. If the owner
names a minimum of history, a limit by age that frees enough is chosen: one in bytes, computed for today's write rate,
leaves less as soon as more is written. A cut frees no more than needed, and stops at the topic's floor: a minimum of
history, what a consumer group has not read, the active segment. How several topics share a cut is in :func:`spread`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import partial

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.capacity.growth_by_topic import filling_topics
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.layout import LogDirId, Replica, Topic
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Policy, Veto
from logdirwatch.plan.retention import retention_vetoes
from logdirwatch.plan.retention.limits import (
    RetentionCut,
    RetentionCuts,
    RetentionLimit,
    limits_of,
)
from logdirwatch.plan.retention.overdue import is_reached, past_limit_bytes
from logdirwatch.plan.settings import PlanSettings

# How several topics share a cut, for one directory or for all that need it: each in proportion to what it can free.
# Topics of which only local copies are deleted come first, as far as possible: they lose nothing. Then those that fill
# the directories, and the others only for what is still missing. A cut applies wherever the topic is, so a topic is cut
# as deep as its neediest directory requires.
MOST_OF_ONE = 0.5
"""More topics than configured give where those would lose more than this share of what they can give."""

Needed = Mapping[LogDirId, int]
"""By directory: the bytes that it needs."""
Gain = Callable[[Counter[LogDirId]], float]
"""Returns the value of a cut from the bytes that it frees in each directory."""
Make = Callable[[Topic, Gain, float], RetentionCut | None]
"""Returns the cut of a topic with this gain."""


class Turn(IntEnum):
    """When a topic gives; each turn gives all that it can before the next one.

    Of topics alike, first those of which nobody is known to need what goes: who reads is known, and it is not the last
    value of a key.
    """

    LOSES_NOTHING = 0
    FILLS = 1
    FILLS_UNKNOWN_READERS = 2
    OTHERS = 3
    OTHERS_UNKNOWN_READERS = 4


def turn_of(topic: Topic, filling: frozenset[str]) -> Turn:
    """Return when a topic gives; ``filling`` are the topics whose growth fills the directory."""
    if topic.is_tiered:
        return Turn.LOSES_NOTHING
    is_spare = topic.has_known_readers and not topic.is_compacted
    if topic.name in filling:
        return Turn.FILLS if is_spare else Turn.FILLS_UNKNOWN_READERS
    return Turn.OTHERS if is_spare else Turn.OTHERS_UNKNOWN_READERS


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


WORTH_AN_ESTIMATE = 1.1
REASONS = 3
LOOKED_AT = 200
"""The largest topics of a cluster are looked at."""


def plan_cuts(source: LogDir, snapshot: ClusterSnapshot, policy: Policy, needed_bytes: int) -> RetentionCuts:
    """Cut ``needed_bytes`` and no more, from topics according to the configured spread."""
    # The retention task does not run on offline logs (KIP-18), and without a free byte a segment that is rolled before
    # one is deleted takes the directory offline (KIP-928).
    if not source.is_serving:
        text = f"retention frees nothing in {source.path}: it is {source.status}"
        return RetentionCuts(vetoes=(Veto("retention_frees_nothing", text),))
    if source.usable_bytes == 0:
        text = f"{source.path} has no free byte left, so a retention cut may fail there"
        return RetentionCuts(vetoes=(Veto("no_free_bytes", text),))
    refusals: Counter[Veto] = Counter()
    here = largest_first(by_topic(snapshot.replicas_in(source.place)))

    def cut(topic: Topic, gain: Gain, wanted: float | None) -> RetentionCut | None:
        return cut_topic(topic, giving(topic, here[topic.name], snapshot), snapshot, policy, gain, wanted)

    found: list[RetentionCut] = []
    for name, mine in here.items():
        if snapshot.decisions.is_rejected(ActionKind.LOWER_RETENTION, {**place_target(source), "topic": name}):
            refusals[Veto("rejected", f"a lower retention of {name} was rejected")] += 1
            continue
        topic = cuttable(name, mine, snapshot, policy, refusals)
        deepest = None if topic is None else cut(topic, lambda frees: frees[source.place], None)
        most = 0 if deepest is None else deepest.frees_at(source.place)
        veto = None if topic is None else held_back(topic, mine, snapshot, policy, deepest, most)
        refusals.update([veto] if veto is not None else [])
        found += [deepest] if deepest is not None and most > 0 else []
    found.sort(key=lambda most: (-most.frees_at(source.place), most.topic.name))
    cuts = spread(found, {source.place: needed_bytes}, filling_topics(source, snapshot), cut, policy.limits)
    if sum(done.frees_at(source.place) for done in cuts) >= needed_bytes:
        return RetentionCuts(tuple(cuts))
    reasons = tuple(veto for veto, _ in refusals.most_common(REASONS))
    nothing = Veto("nothing_to_cut", f"no topic in {source.path} has anything to give")
    return RetentionCuts(tuple(cuts), reasons or (() if cuts else (nothing,)))


def plan_fleet_cuts(
    needed: Needed, snapshot: ClusterSnapshot, policy: Policy, refusals: Counter[Veto], filling: frozenset[str]
) -> list[RetentionCut]:
    """Cut the largest topics as far as the directories of a cluster need.

    ``filling`` are the topics whose growth fills the directories.
    """
    here = largest_first(by_topic(replica for place in needed for replica in snapshot.replicas_in(place)))

    def cut(topic: Topic, gain: Gain, wanted: float | None) -> RetentionCut | None:
        mine = giving(topic, all_replicas(topic, snapshot), snapshot)
        return cut_topic(topic, mine, snapshot, policy, gain, wanted)

    found: list[RetentionCut] = []
    for name in list(here)[:LOOKED_AT]:
        topic = cuttable(name, here[name], snapshot, policy, refusals)
        if topic is None:
            continue
        deepest = cut(topic, partial(useful, needed), None)
        most = 0 if deepest is None else gain(deepest, needed)
        veto = held_back(topic, here[name], snapshot, policy, deepest, most)
        refusals.update([veto] if veto is not None else [])
        found += [deepest] if deepest is not None and most > 0 else []
    found.sort(key=lambda most: (-gain(most, needed), most.topic.name))
    return spread(found, needed, filling, cut, policy.limits)


def cuttable(
    name: str, here: Iterable[Replica], snapshot: ClusterSnapshot, policy: Policy, refusals: Counter[Veto]
) -> Topic | None:
    """Return a topic whose retention may be lowered; otherwise count why not.

    ``here`` are its replicas that should free space.
    """
    topic = snapshot.topics.get(name)
    if topic is None or snapshot.leaves_alone(topic):
        return None
    against = [*retention_vetoes.against_loss(topic, here, snapshot, policy)]
    if all(partition.leader is None for partition in topic.partitions):
        # A segment goes only once the high watermark has passed it (UnifiedLog.deletableSegments).
        text = f"no partition of {name} has a leader: its high watermark stands still"
        against.append(Veto("high_watermark_stands", text))
    refusals.update(against[:1])
    return None if against else topic


def cut_topic(
    topic: Topic, here: Sequence[Replica], snapshot: ClusterSnapshot, policy: Policy, gain: Gain, wanted: float | None
) -> RetentionCut | None:
    """Return the cut of a topic that frees ``wanted`` bytes and leaves the longest history.

    ``here`` are its replicas that should free space. ``wanted`` None: as much as possible, computed for these replicas.
    """
    everywhere = here if wanted is None else giving(topic, all_replicas(topic, snapshot), snapshot)
    promised = policy.limits.topic_rule(topic.name).min_retention_ms is not None
    best: RetentionCut | None = None
    for way in limits_of(topic, here, snapshot, policy):
        limit = _limit(way, here, gain, wanted, snapshot)
        cut = RetentionCut(way, limit, dict(+_frees(way, everywhere, limit, snapshot)), way.keeps_ms(limit))
        best = cut if best is None or _is_better(cut, best, gain, wanted, is_promised=promised) else best
    return best


def giving(topic: Topic, replicas: Iterable[Replica], snapshot: ClusterSnapshot) -> list[Replica]:
    """Return the replicas of a topic whose old segments are deleted.

    Serving, with a leader, so that the high watermark moves, and where deletion is not seen to stand still.
    """
    led = {partition.key for partition in topic.partitions if partition.leader is not None}
    return [
        replica
        for replica in replicas
        if replica.key in led
        and replica.place in snapshot.directories
        and snapshot.directories[replica.place].is_serving
        and is_reached(replica, snapshot)
    ]


def all_replicas(topic: Topic, snapshot: ClusterSnapshot) -> list[Replica]:
    """Return every replica of a topic."""
    return [replica for partition in topic.partitions for replica in snapshot.replicas_of(partition.key)]


def by_topic(replicas: Iterable[Replica]) -> dict[str, list[Replica]]:
    """Return replicas grouped by topic, in their order."""
    found: dict[str, list[Replica]] = {}
    for replica in replicas:
        found.setdefault(replica.topic, []).append(replica)
    return found


def largest_first(found: dict[str, list[Replica]]) -> dict[str, list[Replica]]:
    """Return topics with their replicas, those with most bytes first: messages name the largest."""

    def rank(name: str) -> tuple[int, str]:
        return -sum(replica.size_bytes or 0 for replica in found[name]), name

    return {name: found[name] for name in sorted(found, key=rank)}


def _limit(
    way: RetentionLimit, giving: Sequence[Replica], gain: Gain, wanted: float | None, snapshot: ClusterSnapshot
) -> int:
    """Find the highest limit that frees enough, in whole units: a lower limit never frees less."""
    low, high = 0, (way.highest - way.lowest) // way.unit
    while wanted is not None and low < high:
        middle = (low + high + 1) // 2
        if gain(_frees(way, giving, way.lowest + middle * way.unit, snapshot)) >= wanted:
            low = middle
        else:
            high = middle - 1
    return way.lowest + low * way.unit


def _frees(way: RetentionLimit, giving: Sequence[Replica], limit: int, snapshot: ClusterSnapshot) -> Counter[LogDirId]:
    found: dict[LogDirId, list[Replica]] = {}
    for replica in giving:
        found.setdefault(replica.place, []).append(replica)
    return Counter(
        {place: snapshot.on_disk_bytes(place, way.freed(replicas, limit)) for place, replicas in found.items()}
    )


def _is_better(cut: RetentionCut, than: RetentionCut, gain: Gain, wanted: float | None, *, is_promised: bool) -> bool:
    """Whether a later limit, an estimate, beats the certain one before it: enough bytes first, then more history.

    ``is_promised``: the owner names a minimum of history, which a limit by age keeps at any write rate.
    """
    mine, other = gain(Counter(cut.frees)), gain(Counter(than.frees))
    if wanted is None:
        return mine > other
    if min(mine, other) < wanted:
        return mine > other or (is_promised and mine * WORTH_AN_ESTIMATE >= other)
    if cut.keeps_ms is None or than.keeps_ms is None:
        return is_promised
    return is_promised or cut.keeps_ms > WORTH_AN_ESTIMATE * than.keeps_ms


def held_back(
    topic: Topic,
    here: Sequence[Replica],
    snapshot: ClusterSnapshot,
    policy: Policy,
    deepest: RetentionCut | None,
    most: int,
) -> Veto | None:
    """Say which floor leaves nothing to cut, or which readers keep the deepest cut from freeing more than ``most``."""
    if deepest is not None and most > 0:
        is_held = deepest.way.is_held_by_readers
        return retention_vetoes.consumers_unread(topic, snapshot, policy) if is_held else None
    # No limit frees anything before old segments are deleted again.
    if (stuck := next((replica for replica in here if not is_reached(replica, snapshot)), None)) is not None:
        why = f"broker {stuck.broker} does not delete old segments of {topic.name}"
        if past_limit_bytes(stuck, snapshot):
            why = f"{topic.name} is past its present limit on broker {stuck.broker}"
        return Veto("deletion_stands", f"{why}: no lower limit frees anything there")
    return next(retention_vetoes.nothing_to_give(topic, here, snapshot, policy), None)
