"""What happens in a run: faults drawn from a seed, each a line of plain data that the shrinker may leave out."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from logdirwatch.model import topics
from tests.simulation.brokers import TOTAL_BYTES, Broker, Disk
from tests.simulation.stream import POINTS
from tests.simulation.topics import FOREIGN_KEY
from tests.support import bad

if TYPE_CHECKING:
    from tests.simulation.run import Simulation

HOUR_MS = 3_600_000
INTERVALS_MS = (15_000, 30_000, 60_000, 60_000)
ROUNDS = {15_000: 60, 30_000: 48, 60_000: 40}
"""How many a run has, by the interval of the polls: some promises are of polls, others of minutes."""


CLUSTER, SERVICE, RECORDS = "cluster", "service", "records"
"""What a fault is of: the monitored cluster, the service itself, or records that must change nothing."""


class Fault(NamedTuple):
    """One fault: what happens to what, when, for how long, and how much of it."""

    at_ms: int
    kind: str
    where: str
    lasts_ms: int
    size: int

    def __str__(self) -> str:
        return f"{self.at_ms / 1000:8.1f} s  {self.kind}: {self.where}, for {self.lasts_ms / 1000:.1f} s ({self.size})"


class Story(NamedTuple):
    """Everything that a seed decides: the fleet, its clocks, and the faults."""

    seed: int
    interval_ms: int
    brokers: int
    disks: int
    collectors: int
    has_append_time: bool
    faults: tuple[Fault, ...]

    @property
    def ends_ms(self) -> int:
        """How long it takes."""
        return ROUNDS[self.interval_ms] * self.interval_ms

    def __str__(self) -> str:
        fleet = f"{self.brokers} brokers with {self.disks} directories each, {self.collectors} collector(s)"
        times = "LogAppendTime" if self.has_append_time else "CreateTime"
        head = f"seed {self.seed}: {fleet}, a poll every {self.interval_ms // 1000} s, {times}"
        return "\n".join([head, *map(str, self.faults)])


Draw = Callable[[random.Random, "Story"], str]
Act = Callable[["Simulation", Fault], None]


@dataclass(frozen=True)
class Kind:
    """One kind of fault; only while one of the service lasts, and a while after, some promises are kept later."""

    where: Draw
    begin: Act
    end: Act
    rounds: tuple[int, int]
    of: str = SERVICE
    sizes: tuple[int, ...] = (0,)


def story_of(seed: int) -> Story:
    """Return the story of a seed."""
    draw = random.Random(seed)
    story = Story(
        seed=seed,
        interval_ms=draw.choice(INTERVALS_MS),
        brokers=draw.randint(1, 3),
        disks=draw.randint(1, 3),
        collectors=draw.choice((1, 1, 2)),
        has_append_time=draw.random() < 0.3,
        faults=(),
    )
    names = [
        name
        for of, most in ((CLUSTER, 4), (SERVICE, 3), (RECORDS, 3))
        for name in draw.choices(
            [name for name, kind in KINDS.items() if kind.of == of], k=draw.randint(2 if of == CLUSTER else 0, most)
        )
    ]
    return story._replace(faults=tuple(sorted(_fault(name, draw, story) for name in names)))


def _fault(name: str, draw: random.Random, story: Story) -> Fault:
    kind = KINDS[name]
    at_ms, where = draw.randrange(story.interval_ms, story.ends_ms // 2), kind.where(draw, story)
    low, high = (min(rounds * story.interval_ms, story.ends_ms // 2) for rounds in kind.rounds)
    return Fault(at_ms, name, where, draw.randint(low, high), draw.choice(kind.sizes))


# What is drawn.


def _a_disk(draw: random.Random, story: Story) -> str:
    return f"{draw.randint(1, story.brokers)} /d{draw.randrange(story.disks)}"


def _a_broker(draw: random.Random, story: Story) -> str:
    return str(draw.randint(1, story.brokers))


def _a_collector(draw: random.Random, story: Story) -> str:
    return f"c{draw.randint(1, story.collectors)}"


def _a_host(draw: random.Random, story: Story) -> str:
    return draw.choice((_a_collector(draw, story), "stream", "notify"))


def _a_watcher(draw: random.Random, story: Story) -> str:
    return draw.choice((_a_collector(draw, story), "stream"))


def _any(*names: str) -> Draw:
    return lambda draw, _: draw.choice(names)


# What it does.


def _disk(run: "Simulation", fault: Fault) -> Disk:
    number, path = fault.where.split()
    return run.cluster.brokers[int(number)].disks[path]


def _fails(run: "Simulation", fault: Fault) -> None:
    _disk(run, fault).is_failed = True


def _is_repaired(run: "Simulation", fault: Fault) -> None:
    _disk(run, fault).is_failed = False


def _fills(run: "Simulation", fault: Fault) -> None:
    """Fill to ``size`` percent in half of the time."""
    disk, now_ms = _disk(run, fault), run.scheduler.now_ms
    wanted = TOTAL_BYTES * fault.size // 100 - disk.used_at(now_ms)
    disk.grow(now_ms, max(0, wanted * 2000 // fault.lasts_ms))
    run.scheduler.after(fault.lasts_ms // 2, lambda: disk.grow(run.scheduler.now_ms, 0))


def _is_emptied(run: "Simulation", fault: Fault) -> None:
    _disk(run, fault).grow(run.scheduler.now_ms, 0, TOTAL_BYTES * 2 // 5)


def _tells_no_size(run: "Simulation", fault: Fault) -> None:
    _disk(run, fault).tells_no_size = True


def _tells_size(run: "Simulation", fault: Fault) -> None:
    _disk(run, fault).tells_no_size = False


def _broker(run: "Simulation", fault: Fault) -> Broker:
    return run.cluster.brokers[int(fault.where)]


def _turns(state: str) -> Act:
    return lambda run, fault: _broker(run, fault).turn(state, run.scheduler.now_ms)


def _crash_loop(run: "Simulation", fault: Fault) -> None:
    ends_ms = run.scheduler.now_ms + fault.lasts_ms

    def turn() -> None:
        broker = _broker(run, fault)
        if run.scheduler.now_ms < ends_ms:
            _turns("up" if broker.state == "down" else "down")(run, fault)
            run.scheduler.after(100_000 if broker.state == "down" else 120_000, turn)

    turn()


def _collector_dies(run: "Simulation", fault: Fault) -> None:
    run.collectors[fault.where].kill()


def _collector_starts(run: "Simulation", fault: Fault) -> None:
    run.start_collector(fault.where)


def _stream_crashes(run: "Simulation", fault: Fault) -> None:
    """Crash inside the next batch of a query, or at once; it starts again when the fault ends."""
    name, _, point = fault.where.partition(" ")
    run.stream.restart_ms = fault.lasts_ms
    if point and name in run.stream.queries:
        run.stream.queries[name].crash_at = point
    else:
        run.stream.kill(fault.lasts_ms)


def _stream_runs(run: "Simulation", fault: Fault) -> None:
    """End the fault: what has not crashed does not any more, and what crashed late starts again now."""
    del fault
    for query in run.stream.queries.values():
        query.crash_at = ""
    if not run.stream.queries:
        run.stream.start()


def _nothing(run: "Simulation", fault: Fault) -> None:
    del run, fault


def _loses_checkpoint(run: "Simulation", fault: Fault) -> None:
    run.stream.restart_ms = fault.lasts_ms
    run.stream.lose_checkpoint(fault.where)


def _notify_dies(run: "Simulation", _: Fault) -> None:
    run.notify.kill()


def _notify_starts(run: "Simulation", _: Fault) -> None:
    run.start_notify()


def _is_suspended(run: "Simulation", fault: Fault) -> None:
    run.hosts[fault.where].suspend()


def _is_resumed(run: "Simulation", fault: Fault) -> None:
    run.hosts[fault.where].resume()


def _is_cut_off(run: "Simulation", fault: Fault) -> None:
    run.telemetry.cut_off |= set(run.hosts) if fault.where == "all" else {fault.where}


def _is_back(run: "Simulation", fault: Fault) -> None:
    run.telemetry.cut_off -= set(run.hosts) if fault.where == "all" else {fault.where}
    run.stream.look_again()


def _is_unreadable(run: "Simulation", fault: Fault) -> None:
    run.telemetry.unreadable.add(fault.where)


def _is_readable(run: "Simulation", fault: Fault) -> None:
    run.telemetry.unreadable.discard(fault.where)
    run.stream.look_again()


def _are_late(run: "Simulation", fault: Fault) -> None:
    run.network[fault.where].late_ms = fault.size


def _are_in_time(run: "Simulation", fault: Fault) -> None:
    run.network[fault.where].late_ms = 0


def _come_twice(run: "Simulation", fault: Fault) -> None:
    run.network[fault.where].copies = 2


def _come_once(run: "Simulation", fault: Fault) -> None:
    run.network[fault.where].copies = 1


def _foreign(run: "Simulation", fault: Fault) -> None:
    value = FOREIGN[fault.size]
    run.telemetry.append(fault.where, FOREIGN_KEY, value, run.scheduler.host.wall_ms())


def _compacts(run: "Simulation", fault: Fault) -> None:
    run.telemetry.logs[fault.where].compact()


def _receiver_refuses(run: "Simulation", _: Fault) -> None:
    run.receiver.is_up = False


def _receiver_accepts(run: "Simulation", _: Fault) -> None:
    run.receiver.is_up = True


def _receiver_is_slow(run: "Simulation", fault: Fault) -> None:
    run.receiver.answers_after_ms = fault.size


def _receiver_is_fast(run: "Simulation", _: Fault) -> None:
    run.receiver.answers_after_ms = 200


def _steps(run: "Simulation", fault: Fault) -> None:
    run.hosts[fault.where].ahead_ms += fault.size


FOREIGN = (
    "Größe".encode("latin-1"),
    b"[" * 100_000,
    b"null",
    b"0",
    b'{"version":1,"n":1' + b"0" * 5_000 + b"}",
    b"",
    *(value for _, value, _ in bad.RECORDS if value is not None and len(value) < 20_000),
)
ANY_FOREIGN = tuple(range(len(FOREIGN)))
CRASHES = ("", *(f" {point}" for point in POINTS))
KINDS = {
    "a disk fails": Kind(_a_disk, _fails, _is_repaired, (4, 60), of=CLUSTER),
    "a disk fills": Kind(_a_disk, _fills, _is_emptied, (12, 60), of=CLUSTER, sizes=(80, 90, 97, 100)),
    "no size": Kind(_a_disk, _tells_no_size, _tells_size, (4, 50), of=CLUSTER),
    "a broker is down": Kind(_a_broker, _turns("down"), _turns("up"), (2, 40), of=CLUSTER),
    "a broker hangs": Kind(_a_broker, _turns("hung"), _turns("up"), (2, 40), of=CLUSTER),
    "a crash loop": Kind(_a_broker, _crash_loop, _turns("up"), (8, 40), of=CLUSTER),
    "a collector dies": Kind(_a_collector, _collector_dies, _collector_starts, (0, 30)),
    "the stream crashes": Kind(
        _any(*(f"{name}{point}" for name in ("detect", "fleet") for point in CRASHES)),
        _stream_crashes,
        _stream_runs,
        (0, 20),
    ),
    "a checkpoint is lost": Kind(_any("detect", "fleet"), _loses_checkpoint, _nothing, (0, 4)),
    "notify dies": Kind(_any("notify"), _notify_dies, _notify_starts, (0, 20)),
    "a host is suspended": Kind(_a_watcher, _is_suspended, _is_resumed, (1, 30)),
    "the host of notify is suspended": Kind(_any("notify"), _is_suspended, _is_resumed, (1, 30)),
    "a host is cut off": Kind(
        lambda draw, story: draw.choice(("all", _a_host(draw, story))), _is_cut_off, _is_back, (1, 20)
    ),
    "a topic is unreadable": Kind(
        _any(topics.METRICS, topics.STATE, topics.ALERTS, topics.DECISIONS), _is_unreadable, _is_readable, (1, 20)
    ),
    "records come late": Kind(_a_collector, _are_late, _are_in_time, (1, 20), sizes=(10_000, 40_000, 90_000)),
    "records come twice": Kind(_a_collector, _come_twice, _come_once, (1, 20), of=RECORDS),
    "a foreign record": Kind(
        _any(topics.METRICS, topics.EVENTS, topics.STATE), _foreign, _nothing, (0, 0), sizes=ANY_FOREIGN, of=RECORDS
    ),
    "a foreign record for notify": Kind(
        _any(topics.ALERTS, topics.DECISIONS, topics.NOTIFICATIONS),
        _foreign,
        _nothing,
        (0, 0),
        sizes=ANY_FOREIGN,
        of=RECORDS,
    ),
    "a topic is compacted": Kind(
        _any(topics.STATE, topics.ALERTS, topics.NOTIFICATIONS), _compacts, _nothing, (0, 0), of=RECORDS
    ),
    "a receiver refuses": Kind(_any("ops"), _receiver_refuses, _receiver_accepts, (1, 20)),
    "a receiver is slow": Kind(_any("ops"), _receiver_is_slow, _receiver_is_fast, (1, 20), sizes=(5_000, 9_000)),
    "a clock is stepped": Kind(_a_host, _steps, _nothing, (0, 0), sizes=(-HOUR_MS, HOUR_MS)),
}
"""Every kind of fault."""
