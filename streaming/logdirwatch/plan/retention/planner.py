"""Retention cuts: which topics lose history, how much, and what that frees, where and when.

A cut applies to every broker with a replica of the topic. Of the possible limits the one is chosen that leaves the
longest history; because the effect of a limit in bytes is certain, a limit by age must leave a tenth more. If the owner
names a minimum of history, a limit by age that frees enough is chosen: one in bytes, computed for today's write rate,
leaves less as soon as more is written. A cut frees no more than needed, and stops at the topic's floor: a minimum of
history, what a consumer group has not read, the active segment. ``retention.shares`` decides which of several topics
lose history.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial

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
    freed_bytes,
    kept_bytes,
    limits_of,
    segment_bytes,
)
from logdirwatch.plan.retention.overdue import is_reached, past_limit_bytes
from logdirwatch.plan.retention.shares import Gain, Needed, gain, spread, useful
from logdirwatch.plan.vetoes import replica_vetoes
from logdirwatch.text.units import human_bytes
from logdirwatch.text.words import counted

WORTH_AN_ESTIMATE = 1.1
REASONS = 3
LOOKED_AT = 200
"""The largest topics of a cluster are looked at."""


def plan_cuts(source: LogDir, snapshot: ClusterSnapshot, policy: Policy, needed_bytes: int) -> RetentionCuts:
    """Cut ``needed_bytes`` and no more, from topics according to the configured spread."""
    standing = replica_vetoes.first(
        [replica_vetoes.retention_frees_nothing(source), replica_vetoes.no_free_bytes(source)]
    )
    if standing is not None:
        return RetentionCuts(vetoes=(standing,))
    refusals: Counter[Veto] = Counter()
    here = largest_first(by_topic(snapshot.replicas_in(source.place)))

    def cut(topic: Topic, gain: Gain, wanted: float | None) -> RetentionCut | None:
        return cut_topic(topic, giving(topic, here[topic.name], snapshot), snapshot, policy, gain, wanted)

    found: list[RetentionCut] = []
    for name, mine in here.items():
        rejected = replica_vetoes.rejected_cut(snapshot, {**place_target(source), "topic": name})
        refusals.update([rejected] if rejected is not None else [])
        topic = cuttable(name, mine, snapshot, policy, refusals) if rejected is None else None
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
    if topic is None:
        return None
    tiered = [
        retention_vetoes.tiered_storage_off(topic, snapshot),
        retention_vetoes.remote_copies_off(topic),
        retention_vetoes.leaderless_archives_nothing(topic),
    ]
    veto = replica_vetoes.first(
        [
            replica_vetoes.internal_topic(topic, policy.limits),
            replica_vetoes.never_touch(topic.name, policy.limits),
            replica_vetoes.not_deleted_by_retention(topic),
            *(tiered if topic.is_tiered else [retention_vetoes.kept_for_ever(topic, here, policy)]),
            retention_vetoes.high_watermark_stands(topic),
            *(replica_vetoes.partition_moving(snapshot, partition) for partition in topic.partitions),
            *(replica_vetoes.partition_claimed(snapshot, partition) for partition in topic.partitions),
            replica_vetoes.cut_elsewhere(snapshot, topic.name),
        ]
    )
    refusals.update([veto] if veto is not None else [])
    return topic if veto is None else None


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
    return replica_vetoes.first(
        [
            _deletion_stands(topic, here, snapshot),
            retention_vetoes.owner_minimum(topic, policy),
            retention_vetoes.consumers_unread(topic, snapshot, policy),
            retention_vetoes.remote_copy_lags(topic),
            _segments_stay(topic, here),
            retention_vetoes.history_minimum(topic, here, snapshot, policy),
        ]
    )


def _deletion_stands(topic: Topic, here: Iterable[Replica], snapshot: ClusterSnapshot) -> Veto | None:
    """Veto a topic whose old segments are seen to stay: no limit frees anything before they are deleted again."""
    stuck = next((replica for replica in here if not is_reached(replica, snapshot)), None)
    if stuck is None:
        return None
    why = f"broker {stuck.broker} does not delete old segments of {topic.name}"
    if past_limit_bytes(stuck, snapshot):
        why = f"{topic.name} is past its present limit on broker {stuck.broker}"
    return Veto("deletion_stands", f"{why}: no lower limit frees anything there")


def _segments_stay(topic: Topic, here: Sequence[Replica]) -> Veto | None:
    """Say what a topic keeps as no limit deletes the newest segments of a replica; None if a replica has more."""
    name, segment = topic.name, segment_bytes(topic)
    sizes = [replica.size_bytes for replica in here if replica.size_bytes is not None]
    if len(sizes) < len(here):
        unknown = counted(len(here) - len(sizes), "replica", "replicas")
        return Veto("sizes_unknown", f"the size of {unknown} of {name} is not known")
    limit = kept_bytes(topic)
    if any(freed_bytes(size, 0, segment) for size in sizes) and (limit is None or limit > segment):
        return None
    kept = f"{counted(len(here), 'replica keeps', 'replicas keep')} {human_bytes(sum(sizes))}"
    return Veto(
        "one_segment_left",
        f"{name} has no more than one segment a replica to give; its {kept}: smaller segments (segment.bytes, now "
        f"{human_bytes(segment)}), or fewer partitions, would make it possible",
    )
