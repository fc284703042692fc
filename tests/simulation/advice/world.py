"""A small cluster as a model of its own: bytes, retention, copies; sizes are piecewise linear in time.

Time is in seconds from the moment of the advice, sizes in bytes, rates in bytes per second. A replica grows at the rate
at which its partition is written until it holds what its retention keeps, and stays so. A copy needs room at its
destination from its first byte; the source is free a minute after its end. A lower retention takes effect after the
next check and the deletion delay, six minutes later at most. A directory that reaches its size is lost.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

MIB, GIB = 1 << 20, 1 << 30
HOUR_S, DAY_S = 3600, 86_400
DELETION_S = 360
SWAP_S = 60
SEGMENT_BYTES = GIB
HORIZON_S = 2 * DAY_S

Drawn = TypeVar("Drawn")
LogDirId = tuple[int, str]
Key = tuple[str, int]
SOURCE = 1, "/d1"
FULL = 0.76, 0.8, 0.84, 0.87, 0.9, 0.93, 0.96
LOW_FROM = 1_000_000
"""From this seed on the directory may also begin below the planner's target; earlier worlds stay as they were."""


@dataclass(frozen=True, slots=True)
class TopicModel:
    """One topic: ``rate`` is what each partition is written, ``age_s`` how far back it goes, ``keeps_s`` its retention.

    ``floor_s`` is what its owner's rule keeps, None without a rule; ``unread_ratio`` None: no group reads it.
    """

    name: str
    rate: float
    age_s: float
    keeps_s: float
    places: tuple[tuple[LogDirId, ...], ...]
    floor_s: float | None = None
    unread_ratio: float | None = 0.0
    policy: str = "delete"
    keeps_bytes: float | None = None

    @property
    def size_bytes(self) -> float:
        """Bytes of each replica now."""
        return self.rate * self.age_s

    @property
    def cap(self) -> float:
        """The bytes at which a replica stops growing."""
        if self.policy == "compact":
            return float("inf") if self.age_s < self.keeps_s else self.size_bytes
        kept = self.rate * self.keeps_s
        return max(self.size_bytes if self.age_s >= self.keeps_s else 0.0, min(kept, self.keeps_bytes or kept))

    @property
    def growth(self) -> float:
        """The growth of each replica now."""
        return self.rate if self.size_bytes < self.cap * (1 - 1e-9) else 0.0


@dataclass(frozen=True, slots=True)
class World:
    """One drawn cluster: ``totals`` are sizes of directories, ``others`` bytes that are no replica.

    ``away`` are brokers that are down, ``broken`` directories that are offline; ``throttles`` are rates in bytes per
    second that somebody set for what brokers receive. Without ``is_growth_known`` there was one inventory only.
    """

    seed: int
    totals: Mapping[LogDirId, float]
    others: Mapping[LogDirId, float]
    topics: tuple[TopicModel, ...]
    racks: Mapping[int, str | None]
    away: frozenset[int] = frozenset()
    broken: frozenset[LogDirId] = frozenset()
    cordoned: frozenset[LogDirId] = frozenset()
    throttles: Mapping[int, int] = field(default_factory=dict)
    is_growth_known: bool = True

    def used(self, place: LogDirId) -> float:
        """Bytes in use in a directory now."""
        held = (t.size_bytes for t in self.topics for places in t.places for one in places if one == place)
        return self.others[place] + sum(held)

    def growth(self, place: LogDirId) -> float:
        """Growth of a directory now."""
        return sum(t.growth for t in self.topics for places in t.places for one in places if one == place)

    @property
    def brokers(self) -> list[int]:
        """Every broker."""
        return sorted({broker for broker, _ in self.totals})

    def topic(self, name: str) -> TopicModel:
        """The topic of this name."""
        return next(topic for topic in self.topics if topic.name == name)


@dataclass(frozen=True, slots=True)
class Cut:
    """From ``at_s`` on a topic keeps no more than these seconds, or these bytes of each replica."""

    at_s: float
    topic: str
    keeps_s: float | None = None
    keeps_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class Copy:
    """A replica is copied from ``begin_s`` to ``end_s``, which includes what is written meanwhile."""

    begin_s: float
    end_s: float
    key: Key
    source: LogDirId
    destination: LogDirId


@dataclass
class Course:
    """What comes of it: by directory when it is full, and what is deleted before its time."""

    full_s: dict[LogDirId, float] = field(default_factory=dict)
    deleted: Counter[tuple[str, LogDirId]] = field(default_factory=Counter)
    peak: dict[LogDirId, float] = field(default_factory=dict)


@dataclass(slots=True)
class _Held:
    """One replica in one directory, while time passes."""

    topic: TopicModel
    size: float
    cap: float

    def growth(self) -> float:
        return self.topic.rate if self.size < self.cap * (1 - 1e-9) else 0.0


def course(world: World, copies: list[Copy], cuts: list[Cut], until_s: float = HORIZON_S) -> Course:
    """Let time pass. A copy counts at its full size from its begin: a careful reading of Kafka's order."""
    passing = _Passing(world)
    events = sorted(_events(copies, cuts, until_s), key=lambda one: one[0])
    for (from_s, _, _), (to_s, what, event) in pairwise([(0.0, "", None), *events]):
        passing.go(from_s, to_s)
        if isinstance(event, Copy):
            passing.copy(event, what)
        elif isinstance(event, Cut):
            passing.cut(event)
    return passing.found


def _events(copies: list[Copy], cuts: list[Cut], until_s: float) -> Iterator[tuple[float, str, Copy | Cut | None]]:
    for copy in copies:
        yield copy.begin_s, "begin", copy
        yield copy.end_s + SWAP_S, "end", copy
    for cut in cuts:
        yield cut.at_s + DELETION_S, "cut", cut
    yield until_s, "end", None


class _Passing:
    """A world while time passes: what every directory holds, and what is on its way."""

    def __init__(self, world: World) -> None:
        self._world, self.found = world, Course()
        self._held = {
            ((topic.name, number), place): _Held(topic, topic.size_bytes, topic.cap)
            for topic in world.topics
            for number, places in enumerate(topic.places)
            for place in places
        }
        self._arriving: dict[tuple[Key, LogDirId], LogDirId] = {}
        self._measure(0.0)

    def go(self, from_s: float, to_s: float) -> None:
        """Grow every replica, from one moment at which one of them is at its limit to the next."""
        now_s = from_s
        while now_s < to_s:
            growing = [one for one in self._held.values() if one.growth()]
            step_s = min([to_s - now_s, *((one.cap - one.size) / one.topic.rate for one in growing)])
            step_s = max(step_s, 1.0)
            before = self._levels()
            for one in growing:
                one.size = min(one.cap, one.size + one.topic.rate * step_s)
            self._measure(now_s, before, step_s)
            now_s += step_s
        if from_s == to_s:
            self._measure(to_s)

    def copy(self, copy: Copy, what: str) -> None:
        """Begin or end a copy."""
        name = copy.key, copy.source
        if name in self._held and what == "begin":
            self._arriving[name] = copy.destination
        elif name in self._held and self._arriving.pop(name, None):
            self._held[copy.key, copy.destination] = self._held.pop(name)

    def cut(self, cut: Cut) -> None:
        """Delete what a lower retention does not keep."""
        for (key, place), one in self._held.items():
            if key[0] != cut.topic or one.topic.policy == "compact":
                continue
            by_bytes = (cut.keeps_bytes or 0.0) + SEGMENT_BYTES
            limit = by_bytes if cut.keeps_s is None else one.topic.rate * cut.keeps_s
            if limit < one.size:
                self.found.deleted[key[0], place] += int(one.size - limit)
                one.size = limit
            one.cap = min(one.cap, limit)

    def _measure(self, at_s: float, before: Mapping[LogDirId, float] | None = None, step_s: float = 0.0) -> None:
        """Note the levels, and when in a step from the levels ``before`` a directory became full."""
        for place, level in self._levels().items():
            total = self._world.totals[place]
            self.found.peak[place] = max(self.found.peak.get(place, 0.0), level / total)
            if level >= total and place not in self.found.full_s:
                rise = 0.0 if before is None else level - before[place]
                part = (total - level + rise) / rise if rise > 0 else 0.0
                self.found.full_s[place] = at_s + max(0.0, part) * step_s

    def _levels(self) -> dict[LogDirId, float]:
        used = dict(self._world.others)
        for name, one in self._held.items():
            used[name[1]] += one.size
            if name in self._arriving:
                used[self._arriving[name]] += one.size
        return used


def world_of(seed: int) -> World:
    """Return the cluster of a seed: the first directory of broker 1 is the one that fills."""
    rng = random.Random(seed)
    count = rng.randint(2, 4)
    dirs = rng.choice((1, 1, 2, 2, 3))
    places = [(broker, f"/d{number}") for broker in range(1, count + 1) for number in range(1, dirs + 1)]
    has_racks = rng.random() < 0.3
    racks = {broker: f"r{broker % 3}" if has_racks else None for broker in range(1, count + 1)}
    topics = tuple(_topic(rng, f"t{number}", places, count) for number in range(rng.randint(2, 5)))
    others = {place: float(rng.choice((0, 0, 2, 20)) * GIB) for place in places}
    bare = World(seed, dict.fromkeys(places, 1.0), others, topics, racks)
    ratios = {place: rng.choice((0.1, 0.3, 0.5, 0.65, 0.8)) for place in places}
    ratios[SOURCE] = rng.choice(FULL if seed < LOW_FROM else (0.5, 0.68, *FULL))
    totals = {place: max(bare.used(place) / ratios[place], (100 if place != SOURCE else 1) * GIB) for place in places}
    rest = [place for place in places if place != SOURCE]
    return World(
        seed,
        totals,
        others,
        topics,
        racks,
        away=frozenset(_some(rng, list(range(2, count + 1)), 0.15)),
        broken=frozenset(_some(rng, rest, 0.1)),
        cordoned=frozenset(_some(rng, rest, 0.15)),
        throttles={broker: rng.choice((3, 20)) * 10**6 for broker in _some(rng, list(range(1, count + 1)), 0.1)},
        is_growth_known=rng.random() < 0.85,
    )


def _some(rng: random.Random, of: list[Drawn], chance: float) -> list[Drawn]:
    """Return one of them, now and then."""
    return [rng.choice(of)] if of and rng.random() < chance else []


def _topic(rng: random.Random, name: str, places: list[LogDirId], count: int) -> TopicModel:
    factor = rng.choice((1, 2, 2, 3, 3))
    rate = 10 ** rng.uniform(4.5, 7.5)
    keeps_s = rng.choice((1, 1, 2, 3, 7)) * float(DAY_S)
    age_s = keeps_s if rng.random() < 0.5 else keeps_s * rng.uniform(0.1, 0.99)
    assignments = []
    for number in range(rng.choice((1, 1, 2, 4))):
        brokers = [1] if rng.random() < 0.7 else [rng.randint(1, count)]
        others = [broker for broker in range(1, count + 1) if broker not in brokers]
        rng.shuffle(others)
        brokers += others[: min(factor, count) - 1]
        if number % 2:
            brokers.reverse()
        paths = sorted({path for _, path in places})
        assignments.append(tuple((b, "/d1" if b == 1 and rng.random() < 0.7 else rng.choice(paths)) for b in brokers))
    floor_s = keeps_s * rng.choice((0.25, 0.5, 1.0)) if rng.random() < 0.5 else None
    unread = rng.choice((0.0, 0.0, 0.0, 0.5, None))
    policy = "compact" if rng.random() < 0.1 else "delete"
    keeps_bytes = rate * keeps_s * rng.uniform(0.3, 1.0) if rng.random() < 0.15 and age_s < 0.3 * keeps_s else None
    return TopicModel(name, rate, age_s, keeps_s, tuple(assignments), floor_s, unread, policy, keeps_bytes)
