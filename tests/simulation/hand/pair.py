"""Two executions of one process on one cluster, on brokers and topics of their own, with everybody else between them.

Each runs in a thread of its own; one of the two goes on at a time, and which one is drawn at every edge.
"""

import random
import threading
from collections.abc import Iterable
from functools import partial

from logdirwatch.execute.calls import Call, ChangeConfig, PlaceReplicas, Reassign
from logdirwatch.execute.ports import Halt
from logdirwatch.execute.surroundings import touched
from logdirwatch.executions import is_unfinished
from logdirwatch.model.records import ExecutionRecord
from logdirwatch.plan.commands import operations
from tests.simulation.hand.adversary import Adversary, KilledError
from tests.simulation.hand.kafka import Kafka
from tests.simulation.hand.laws import OTHERS, US, Laws
from tests.simulation.hand.run import MOST_TICKS, RATE, ROOM_BYTES, EndlessError, Ran, Schedule, World, filled

BROKERS = (1, 2, 3), (4, 5, 6)
TOPICS = ("t", "u"), ("v", "w")


class Part(Kafka):
    """A part of a cluster, to draw from: some brokers and topics."""

    def __init__(self, whole: Kafka, brokers: Iterable[int]) -> None:
        self._numbers = tuple(brokers)
        super().__init__({place: size for place, size in whole.log_dirs.items() if place[0] in self._numbers})

    def added_to(self, whole: Kafka) -> None:
        """Create what was drawn."""
        for key, partition in self.partitions.items():
            placed = {broker: self.path((*key, broker)) for broker in partition.replicas}
            whole.create(key, placed, partition.size_bytes)
        whole.min_isr, whole.written_bytes_per_s = self.min_isr, self.written_bytes_per_s


class Everybody:
    """The laws of both, which learn what others do."""

    def __init__(self, laws: Iterable[Laws]) -> None:
        self._laws = list(laws)
        self.planned = {key: goals for one in self._laws for key, goals in one.planned.items()}

    def did(self, call: Call, who: str) -> None:
        """Tell both."""
        for one in self._laws:
            one.did(call, who)

    def forget(self, topic: str) -> None:
        """Tell both."""
        for one in self._laws:
            one.forget(topic)

    def replaced(self, broker: int) -> None:
        """Tell both."""
        for one in self._laws:
            one.replaced(broker)


class Apart(Laws):
    """The laws of one of the two: what the other one does is somebody else's, and nothing that it touches."""

    beside: "Apart"
    touches: frozenset[str]

    def before(self, call: Call, *, is_revoked: bool) -> None:
        """Judge a call; see Laws."""
        super().before(call, is_revoked=is_revoked)
        if shared := _named(call) & self.beside.touches:
            self._break("touches what the other execution touches", call, sorted(shared))

    def did(self, call: Call, who: str) -> None:
        """Note whose the things are that a call changed; see Laws."""
        super().did(call, who)
        if who == US:
            was = self.beside.is_meddled
            self.beside.did(call, OTHERS)
            self.beside.is_meddled = was


def _named(call: Call) -> frozenset[str]:
    if isinstance(call, ChangeConfig):
        return frozenset({f"{call.entity} {call.name}"})
    if isinstance(call, Reassign):
        brokers = {broker for replicas in call.replicas.values() for broker in replicas or ()}
        return frozenset({*(f"topics {topic}" for topic, _ in call.replicas), *(f"brokers {one}" for one in brokers)})
    held = call.paths if isinstance(call, PlaceReplicas) else ()
    return frozenset(name for topic, _, broker in held for name in (f"topics {topic}", f"brokers {broker}"))


class Between(Adversary):
    """Lets the other execution go on at some edges; a kill ends both."""

    lane: "Lane"

    def edge(self, where: str, *, may_kill: bool = True) -> None:
        """See Adversary."""
        turns = self.lane.turns
        # An end is judged as it was noted.
        if turns.draw.random() < 0.3 and where != "after a note":
            turns.hand_over(self.lane)
        is_killed, self.lane.is_killed = self.lane.is_killed, False
        if is_killed and may_kill:
            raise KilledError
        try:
            super().edge(where, may_kill=may_kill)
        except KilledError:
            self.lane.beside.is_killed = True
            raise


class Lane(Schedule):
    """One of the two."""

    beside: "Lane"
    turns: "Turns"
    is_killed = False

    def __init__(self, seed: int, world: World) -> None:
        super().__init__(seed, None, lambda _: world, Between)
        laws = Apart(self.kafka)
        laws.__dict__.update(self.laws.__dict__)
        laws.touches = frozenset(touched(operations.as_data(self.found)))
        self.laws = self.edges.laws = laws
        self.others.lane = self

    def _tick(self, seconds: float, *, is_alive: bool) -> None:
        self.ticks, self.at_ms = self.ticks + 1, self.at_ms + int(seconds * 1000)
        if self.ticks > MOST_TICKS:
            raise EndlessError
        while self.turns.is_early(self):
            self.turns.hand_over(self)
        self.turns.pass_time(self.kafka)
        self.laws.tick(seconds, is_alive=is_alive)

    def _permit(self, record: ExecutionRecord) -> Halt | None:
        before = self.beside._unfinished()
        watch = self.watch
        self.watch = partial(watch, others=lambda: [*before, *self.beside._unfinished()])
        try:
            return super()._permit(record)
        finally:
            self.watch = watch

    def _judge(self, ended: ExecutionRecord) -> None:
        super()._judge(ended)
        by, reason = self.beside.laws.by, ended.reason or ""
        moves = [f"somebody else reassigns {topic}-{number} " for (topic, number), who in by.moves.items() if who == US]
        values = [
            f"{key}={self.kafka.configs[at].get(key)} of {at[0][:-1]} {at[1]}"
            for (at, key), who in by.values.items()
            if who == US and at in self.kafka.configs
        ]
        for what in (one for one in (*moves, *values) if one in reason):
            self.laws.broken.append(f"the other execution stops it: {what}")

    def _unfinished(self) -> list[ExecutionRecord]:
        return [one for one in [self._left()] if is_unfinished(one)]


class Turns:
    """Which of the two goes on, and the time of the cluster: that of the one that is behind."""

    def __init__(self, draw: random.Random, lanes: list[Lane]) -> None:
        self.draw, self._alive, self._now_ms = draw, list(lanes), lanes[0].at_ms
        self._goes_on = {id(one): threading.Semaphore(0) for one in lanes}
        self.ran: list[Ran] = []
        self.errors: list[BaseException] = []

    def run(self) -> None:
        """Run both to their ends."""
        threads = [threading.Thread(target=self._run, args=(one,)) for one in self._alive]
        for one in threads:
            one.start()
        self._goes_on[id(self._alive[0])].release()
        for one in threads:
            one.join()

    def _run(self, lane: Lane) -> None:
        self._goes_on[id(lane)].acquire()
        try:
            self.ran.append(lane.run())
        except BaseException as error:
            self.errors.append(error)
        self._alive.remove(lane)
        self._goes_on[id(lane.beside)].release()

    def hand_over(self, lane: Lane) -> None:
        """Let the other one go on until it hands over."""
        if lane.beside in self._alive:
            self._goes_on[id(lane.beside)].release()
            self._goes_on[id(lane)].acquire()

    def is_early(self, lane: Lane) -> bool:
        """Tell whether the other one has to wait first."""
        return lane.beside in self._alive and lane.beside.at_ms < lane.at_ms

    def pass_time(self, kafka: Kafka) -> None:
        """Let the time pass that has passed for both."""
        now_ms = min(one.at_ms for one in self._alive)
        if now_ms > self._now_ms:
            kafka.tick((now_ms - self._now_ms) / 1000)
            self._now_ms = now_ms


def of_pair(seed: int) -> Ran:
    """Run two executions of a seed beside each other."""
    draw = random.Random(f"pair {seed}")
    whole = Kafka({(broker, path): ROOM_BYTES for part in BROKERS for broker in part for path in ("/a", "/b")})
    worlds = []
    for brokers, topics in zip(BROKERS, TOPICS, strict=True):
        part = Part(whole, brokers)
        found = filled(draw, part, RATE, topics)
        part.added_to(whole)
        worlds.append(World(whole, found.operations, found.kind))
    lanes = [Lane(2 * seed + number, world) for number, world in enumerate(worlds)]
    turns = Turns(draw, lanes)
    everybody = Everybody(one.laws for one in lanes)
    for one, other in (lanes, lanes[::-1]):
        one.beside, one.laws.beside, one.turns = other, other.laws, turns
        one.others.laws, one.others.log = everybody, lanes[0].others.log
    turns.run()
    if turns.errors:
        raise turns.errors[0]
    broken = tuple(dict.fromkeys(text for one in turns.ran for text in one.broken))
    states = " and ".join(sorted(one.state for one in turns.ran))
    return Ran(seed, (), broken, tuple(lanes[0].others.log), states, sum(one.edges for one in turns.ran))
