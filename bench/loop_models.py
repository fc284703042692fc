"""Seeded clusters for bench_closed_loop.py: their topics, their disks, and what happens to them in a month."""

import random
from dataclasses import dataclass
from math import pi, sin

from logdirwatch.config.section import DAY_MS, HOUR_MS
from loop_world import LogDirId, LogDirModel, PartitionId, TopicModel, World

TB = 10**12
YEARLY_FAILURES = 0.0157
"""Of all disks, in 2024, by Backblaze's published drive statistics; that of a directory here."""
DAILY_GROWTH = 6.4 ** (1 / 1461) - 1
"""LinkedIn's Kafka, by its own posts: 1.1 trillion messages a day in September 2015, 7 trillion in October 2019."""
FILL = (0.50, 0.74)
"""Mean used ratio at the beginning."""
WORST = 0.80
"""Used ratio of the fullest directory at the beginning, at most."""


@dataclass(frozen=True)
class Burst:
    topic: str
    from_ms: int
    to_ms: int
    factor: float


@dataclass
class Month:
    """One cluster and what will happen to it: the same for every policy."""

    seed: int
    world: World
    bursts: list[Burst]
    failures: list[tuple[int, LogDirId, int]]

    def rates(self, now_ms: int) -> dict[str, float]:
        """Bytes per second and partition, by topic: the day's curve, growth over the month, bursts."""
        curve = 1.0 + 0.4 * sin(2 * pi * (now_ms % DAY_MS) / DAY_MS)
        found = {
            name: topic.rate * curve * (1.0 + topic.daily_growth) ** (now_ms / DAY_MS)
            for name, topic in self.world.topics.items()
        }
        for burst in self.bursts:
            if burst.from_ms <= now_ms < burst.to_ms:
                found[burst.topic] *= burst.factor
        return found

    def events_ms(self) -> list[int]:
        """When something begins or ends by itself, in order."""
        return sorted(
            {*(at for one in self.bursts for at in (one.from_ms, one.to_ms)), *(at for at, *_ in self.failures)}
        )

    def repair_ms(self, place: LogDirId) -> int:
        """How long it takes until somebody has made room in a directory that ran full; the same for every policy."""
        times = sum(where == place for _, where in self.world.full)
        chance = random.Random(f"{self.seed}/{place}/{times}")
        return int(HOUR_MS * min(24.0, chance.lognormvariate(1.1, 0.6)))


def month(seed: int, days: int) -> Month:
    """Return the cluster of a seed."""
    rng = random.Random(seed)
    brokers, per_broker = round(3 * 10 ** rng.random()), rng.randint(1, 4)
    sizes = [rng.choice((1, 2, 4)) * TB] * per_broker
    if rng.random() < 0.25:
        sizes[-1] *= 2
    log_dirs = {
        (broker, f"/data/d{number}"): LogDirModel(total_bytes=size, other_bytes=size // 50)
        for broker in range(1, brokers + 1)
        for number, size in enumerate(sizes)
    }
    topics = [_topic(rng, number) for number in range(rng.randint(6, 14))]
    factors = {topic.name: rng.choices((1, 2, 3), (0.05, 0.25, 0.7))[0] for topic in topics}
    for topic in topics:
        topic.min_isr = max(1, factors[topic.name] - 1)
    world = World(topics, log_dirs, _placed(rng, topics, log_dirs, factors))
    world.shares = {key: rng.lognormvariate(0.0, 0.4) for key in world.replicas}
    _filled(rng, world)
    bursts = [_burst(rng, topics, days) for _ in range(_times(rng, days / 8))]
    failures = [
        (rng.randrange(days * DAY_MS), place, rng.randint(8, 48) * HOUR_MS)
        for place in log_dirs
        if rng.random() < YEARLY_FAILURES * days / 365
    ]
    return Month(seed, world, bursts, sorted(failures))


def _times(rng: random.Random, mean: float) -> int:
    return sum(rng.random() < mean / 10 for _ in range(10))


def _topic(rng: random.Random, number: int) -> TopicModel:
    retention_ms = rng.choice((1, 2, 3, 7, 7, 14)) * DAY_MS
    # Of two topics in five the owner gives nothing up.
    floor_ms = retention_ms if rng.random() < 0.4 else int(retention_ms * rng.uniform(0.3, 0.8))
    return TopicModel(
        name=f"topic-{number:02d}",
        rate=rng.lognormvariate(0.0, 0.8),
        daily_growth=DAILY_GROWTH + (rng.uniform(0.0, 0.035) if rng.random() < 0.2 else rng.uniform(-0.005, 0.005)),
        retention_ms=retention_ms,
        floor_ms=floor_ms,
        min_isr=2,
        # Of two topics nobody wrote down what their owner needs.
        known_floor_ms=floor_ms if rng.random() < 0.5 else None,
        lag_ms=_lag_ms(rng, retention_ms),
    )


def _lag_ms(rng: random.Random, retention_ms: int) -> int | None:
    """Of ten topics seven have a consumer that keeps up, one has none, two have one that is hours or days behind."""
    drawn = rng.random()
    if drawn < 0.1:
        return None
    return int(rng.uniform(0, 60_000)) if drawn < 0.8 else int(retention_ms * rng.uniform(0.05, 0.6))


def _placed(
    rng: random.Random, topics: list[TopicModel], log_dirs: dict[LogDirId, LogDirModel], factors: dict[str, int]
) -> dict[PartitionId, list[LogDirId]]:
    """Every replica where Kafka creates it: brokers in turn, the directory with the fewest logs."""
    logs, brokers = dict.fromkeys(log_dirs, 0), max(broker for broker, _ in log_dirs)
    placed: dict[PartitionId, list[LogDirId]] = {}
    for topic in topics:
        first = rng.randrange(brokers)
        for number in range(rng.choice((3, 6, 6, 12, 2 * brokers))):
            places = []
            for follower in range(factors[topic.name]):
                broker = (first + number + follower) % brokers + 1
                place = min((p for p in log_dirs if p[0] == broker), key=lambda p: (logs[p], p))
                logs[place] += 1
                places.append(place)
            placed[topic.name, number] = places
    return placed


def _filled(rng: random.Random, world: World) -> None:
    """Scale the rates so that the disks are as full as intended, and write the history that retention holds."""
    held = {
        place: sum(
            world.topics[key[0]].rate * world.shares[key] * world.topics[key[0]].retention_ms / 1000
            for key in world.held(place)
        )
        for place in world.log_dirs
    }
    room = {place: seen.total_bytes - seen.other_bytes for place, seen in world.log_dirs.items()}
    wanted = rng.uniform(*FILL) * sum(room.values()) / sum(held.values())
    most = min(WORST * room[place] / held[place] for place in held if held[place])
    for topic in world.topics.values():
        topic.rate *= min(wanted, most)
    for key, log in world.logs.items():
        topic = world.topics[key[0]]
        for hour in range(-topic.retention_ms // HOUR_MS, 0):
            log.append(int(topic.rate * world.shares[key] * HOUR_MS / 1000), (hour + 1) * HOUR_MS)


def _burst(rng: random.Random, topics: list[TopicModel], days: int) -> Burst:
    from_ms = rng.randrange(days * DAY_MS)
    return Burst(
        topic=rng.choice(topics).name,
        from_ms=from_ms,
        to_ms=from_ms + int(rng.uniform(2, 36) * HOUR_MS),
        factor=rng.uniform(2.0, 6.0),
    )
