"""A known history of a small fleet, as collectors would have written it: the same for the same seed.

Every log directory follows a script of its own, drawn from the seed: calm hours, climbs over each threshold and back,
disks that fill up, that fail, that answer nonsense, events that announce a failure and events that lie. Brokers stop
answering. Of one broker's directories one fails at a time: several at once have one alert. Between all that lie
repeats, late records, clocks that are ahead, and garbage.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

METRICS, EVENTS = "logdir.metrics", "logdir.events"
METRICS_PARTITIONS, EVENTS_PARTITIONS = 6, 3
TICK_MS = 1_000
ARRIVAL_MS = 3
CLUSTERS = ("east", "west")
COLLECTOR = "chaos"
BROKERS = 3
LOG_DIRS = 4
TOTAL_BYTES = 10**12
HALF = TOTAL_BYTES // 2
RESERVE_BYTES = 40 << 20
OFFLINE, UNASKABLE = 56, -1

Record = dict[str, Any]
Answer = tuple[int, int | None]
"""What a broker answers of one directory: error code and usable bytes."""


@dataclass(frozen=True)
class Written:
    """One record to write; ``is_good`` tells whether it can be read."""

    topic: str
    partition: int
    value: bytes
    timestamp_ms: int
    is_good: bool = True


@dataclass
class Disk:
    """One directory and the rest of its script: an answer a tick, and the events just before it."""

    path: str
    total_bytes: int
    last: Answer
    script: list[tuple[Answer, list[Record]]] = field(default_factory=list)
    is_failing: bool = False


@dataclass
class Broker:
    """One broker, its disks, and how long it does not answer, or nobody asks it."""

    cluster: str
    number: int
    disks: list[Disk]
    timeouts: int = 0
    unasked: int = 0
    was_away: bool = False
    earlier: list[Record] = field(default_factory=list)

    @property
    def partition(self) -> int:
        """Where its samples lie, so that they keep their order."""
        return (self.number + BROKERS * CLUSTERS.index(self.cluster)) % METRICS_PARTITIONS


class History:
    """What happens tick by tick; ``begin_ms`` is the time of the first."""

    def __init__(self, seed: int, begin_ms: int) -> None:
        self._random = random.Random(seed)
        self._begin_ms = begin_ms
        self._tick = 0
        self.is_held = False
        """Whether nothing happens any more: brokers answer again what they answered last, and tell of no event."""
        self._brokers = [
            Broker(cluster, number, [_disk(number) for number in range(LOG_DIRS)])
            for cluster in CLUSTERS
            for number in range(BROKERS)
        ]

    def tick(self) -> list[Written]:
        """Return what one second brings."""
        at_ms = self._begin_ms + self._tick * TICK_MS
        self._tick += 1
        written = []
        for broker in self._brokers:
            if not self.is_held:
                self._may_go_away(broker)
            written += self._of_broker(broker, at_ms)
        return sorted(written + list(self._garbage(at_ms)), key=lambda record: record.timestamp_ms)

    def end(self) -> list[Written]:
        """Return the ticks after which every broker answers and every disk is calm."""
        for broker in self._brokers:
            broker.timeouts = broker.unasked = 0
            for disk in broker.disks:
                disk.script = [((0, disk.total_bytes // 2), [])] * 4
        written = []
        for _ in range(4):
            at_ms = self._begin_ms + self._tick * TICK_MS
            self._tick += 1
            for broker in self._brokers:
                written += self._of_broker(broker, at_ms)
        return sorted(written, key=lambda record: record.timestamp_ms)

    # -- brokers

    def _may_go_away(self, broker: Broker) -> None:
        """One broker of a cluster at a time, since all at once is another story."""
        if any(other.timeouts or other.unasked for other in self._brokers if other.cluster == broker.cluster):
            return
        chance = self._random.random()
        if chance < 0.01:
            broker.timeouts = self._random.randint(1, 6)
        elif chance < 0.015:
            broker.unasked = self._random.randint(1, 6)

    def _of_broker(self, broker: Broker, at_ms: int) -> Iterator[Written]:
        if broker.unasked:
            broker.unasked, broker.was_away = broker.unasked - 1, True
            return
        if broker.timeouts:
            broker.timeouts, broker.was_away = broker.timeouts - 1, True
            yield self._sample(broker, _poll(broker, at_ms, "timeout", []))
            return
        log_dirs = []
        for disk in broker.disks:
            events = []
            # What a broker answers first is what it answered last: a cause is judged by a sample just before.
            if not broker.was_away and not self.is_held:
                disk.last, events = self._next(disk, broker)
            yield from (self._event(broker, event, at_ms - TICK_MS // 2) for event in events)
            log_dirs.append(_answer(disk))
        broker.was_away = False
        record = _poll(broker, at_ms, "ok", log_dirs)
        yield self._sample(broker, record)
        yield from self._oddities(broker, record, at_ms)

    def _oddities(self, broker: Broker, record: Record, at_ms: int) -> Iterator[Written]:
        """Repeats, and records that come late and say something else: neither may change anything."""
        broker.earlier = [*broker.earlier[-9:], record]
        chance = self._random.random()
        if chance < 0.03:
            yield self._sample(broker, self._random.choice(broker.earlier), at_ms)
        elif chance < 0.05:
            late = dict(self._random.choice(broker.earlier))
            late["log_dirs"] = [{"path": log_dir["path"], "error_code": OFFLINE} for log_dir in late["log_dirs"]]
            # An own time, so that it is an own row of the history of samples.
            late["timestamp_ms"] -= 1 + TICK_MS // 4
            yield self._sample(broker, late, at_ms)

    def _sample(self, broker: Broker, record: Record, at_ms: int | None = None) -> Written:
        at_ms = record["timestamp_ms"] if at_ms is None else at_ms
        if self._random.random() < 0.01 and record["timestamp_ms"] == at_ms:
            # A clock an hour ahead is not believed: Kafka's time holds.
            record = record | {"timestamp_ms": at_ms + 3_600_000}
        return Written(METRICS, broker.partition, json.dumps(record).encode(), at_ms + ARRIVAL_MS)

    def _event(self, broker: Broker, event: Record, at_ms: int) -> Written:
        record = {"version": 1, "cluster": broker.cluster, "broker": broker.number, "timestamp_ms": at_ms} | event
        return Written(EVENTS, broker.number % EVENTS_PARTITIONS, json.dumps(record).encode(), at_ms + ARRIVAL_MS)

    # -- disks

    def _next(self, disk: Disk, broker: Broker) -> tuple[Answer, list[Record]]:
        if not disk.script:
            story = self._random.choices(
                (_calm, _climb, _climb, _fill_up, _fail, _lie, _answer_nonsense), (8, 6, 6, 3, 4, 1, 2)
            )[0]
            if story in FAILURES and any(other.is_failing for other in broker.disks if other is not disk):
                story = _calm
            disk.script, disk.is_failing = list(story(disk, self._random)), story in FAILURES
        answer = disk.script.pop(0)
        disk.is_failing = disk.is_failing and bool(disk.script)
        return answer

    def _garbage(self, at_ms: int) -> Iterator[Written]:
        if self._random.random() < 0.2:
            topic = self._random.choice((METRICS, EVENTS))
            partitions = METRICS_PARTITIONS if topic == METRICS else EVENTS_PARTITIONS
            value = self._random.choice(GARBAGE)
            yield Written(topic, self._random.randrange(partitions), value, at_ms + ARRIVAL_MS, is_good=False)


GARBAGE = (
    b"",
    b"\xff\xfe\x00",
    b"not json",
    b"[]",
    b"[" * 5_000,
    b'{"version": 2, "cluster": "east", "broker": 0}',
    b'{"version": 1, "cluster": "east", "broker": "zero", "timestamp_ms": 1, "status": "ok", "event": "LogDirFailure"}',
    b'{"version": 1, "cluster": "east", "broker": 1, "timestamp_ms": 1, "status": "splendid", "event": "LogDirParty"}',
    b'{"version": 1, "cluster": "west", "broker": -1, "timestamp_ms": NaN, "status": "ok", "event": 2}',
    b'{"version": 1, "id": "a", "decision": "acknowledge", "alert_id": "a", "by": "J\xfcrgen", "at_ms": 5}',
    b'{"version": 1, "x": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
)


def _disk(number: int) -> Disk:
    # Disks of different sizes are not taken for one volume; the first one's levels are met to the byte.
    total_bytes = TOTAL_BYTES + number * 2 * 10**9
    return Disk(f"/disks/{number}", total_bytes, (0, total_bytes // 2))


def _poll(broker: Broker, at_ms: int, status: str, log_dirs: list[Record]) -> Record:
    return {
        "type": "metrics",
        "version": 1,
        "cluster": broker.cluster,
        "broker": broker.number,
        "timestamp_ms": at_ms,
        "status": status,
        "collector": COLLECTOR,
        "interval_ms": TICK_MS,
        "log_dirs": log_dirs,
    }


def _answer(disk: Disk) -> Record:
    code, usable_bytes = disk.last
    answer: Record = {"path": disk.path, "error_code": code}
    return answer if code else answer | {"total_bytes": disk.total_bytes, "usable_bytes": usable_bytes}


Story = Iterator[tuple[Answer, list[Record]]]


def _calm(disk: Disk, drawn: random.Random) -> Story:
    yield from (((0, disk.total_bytes // 2), []) for _ in range(drawn.randint(2, 8)))


def _climb(disk: Disk, drawn: random.Random) -> Story:
    """Any level for one sample or some, on the edges of every threshold above all."""
    for _ in range(drawn.randint(1, 4)):
        percent = drawn.choice((50, 60, 70, 75, 80, 85, 90, 95, 99))
        usable_bytes = disk.total_bytes * (100 - percent) // 100 + drawn.choice(
            (-1, 1, 0 if disk.path.endswith("0") else 1)
        )
        # On the way back the limit itself is not met: half a point below it is below, above it is above.
        if percent in {70, 80, 90}:
            usable_bytes += drawn.choice((-1, 1)) * disk.total_bytes // 200
        yield from (((0, usable_bytes), []) for _ in range(drawn.randint(1, 4)))


def _fill_up(disk: Disk, drawn: random.Random) -> Story:
    """Full down into the reserve, then the broker gives the directory up; sometimes an event says so first."""
    usable_bytes = RESERVE_BYTES - drawn.choice((1, 10**6))
    yield from (((0, usable_bytes), []) for _ in range(drawn.randint(1, 3)))
    yield from _offline(disk, drawn)


def _fail(disk: Disk, drawn: random.Random) -> Story:
    """The disk dies with half of it free."""
    yield (0, disk.total_bytes // 2), []
    yield from _offline(disk, drawn)


def _offline(disk: Disk, drawn: random.Random) -> Story:
    told = [_failure(disk)] if drawn.random() < 0.6 else []
    for _ in range(drawn.randint(1, 6)):
        yield (OFFLINE, None), told
        # One event more about what is known already is answered, and changes nothing.
        told = [_failure(disk)] if drawn.random() < 0.1 else []
    yield (0, disk.total_bytes * drawn.choice((2, 13, 22, 50)) // 100), []


def _lie(disk: Disk, drawn: random.Random) -> Story:
    """An event without a failure: the next answer shows a directory as it was."""
    yield (0, disk.total_bytes // 2), []
    yield (0, disk.total_bytes // 2), [_failure(disk)]


def _answer_nonsense(disk: Disk, drawn: random.Random) -> Story:
    yield from (((UNASKABLE, None), []) for _ in range(drawn.randint(1, 3)))


def _failure(disk: Disk) -> Record:
    return {"event": "LogDirFailure", "log_dir": disk.path}


FAILURES = (_fill_up, _fail, _lie)
