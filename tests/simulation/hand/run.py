"""One schedule of one seed: a cluster, an execution with its journal, and everybody else."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_in
from typing import NamedTuple

from msgspec.structs import replace

from logdirwatch.autopilot.standing import revoked
from logdirwatch.execute.begin import undone
from logdirwatch.execute.calls import Call, ChangeConfig
from logdirwatch.execute.patience import LONGEST_LOOK_MS
from logdirwatch.execute.ports import Halt, NoAnswerError, Ports, RefusedError, StopAskedError
from logdirwatch.execute.run import carry_out, rolling_back, stopped
from logdirwatch.execute.seen import PartitionSeen, Seen
from logdirwatch.execute.step_kinds.move import Move
from logdirwatch.execute.steps import Step, steps_of
from logdirwatch.execute.surroundings import Around, Surroundings
from logdirwatch.execute.watch import Watch, is_over
from logdirwatch.executions import hold_of, is_unfinished
from logdirwatch.model.actions.operations import Operation, Rolling, RollingCopy, Room
from logdirwatch.model.records import ExecutionRecord
from logdirwatch.model.vocabulary import THROTTLED_REPLICAS, ActionKind, ExecutionState
from logdirwatch.plan.cluster.assignment import ANY, Assignment, to_json
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.layout import TopicPartition as Key
from logdirwatch.plan.commands import operations
from logdirwatch.plan.commands.throttles import Limit, Limits, of_copies, within_brokers
from tests.simulation.hand.adversary import DEEDS, Adversary, Event, KilledError, drawn
from tests.simulation.hand.kafka import Kafka
from tests.simulation.hand.laws import US, Laws, Rolled, RolledPart

RATE = 30
SIZE_BYTES = 1_200
ROOM_BYTES = 8_000
NEEDS_MS = 120_000
NOTHING = Around(frozenset(), frozenset(), frozenset())
MOST_TICKS = 24_000
"""No copy takes so long; an execution that has not ended by then has no end."""


class Ran(NamedTuple):
    """What a schedule came to."""

    seed: int
    events: tuple[Event, ...]
    broken: tuple[str, ...]
    log: tuple[str, ...]
    state: str
    edges: int


class World(NamedTuple):
    """A cluster, and what is to be carried out on it."""

    kafka: Kafka
    operations: list[Operation]
    kind: ActionKind


class EndlessError(Exception):
    """The execution does not end."""


@dataclass
class Edges:
    """The cluster as the execution sees it, with everybody else between its requests."""

    kafka: Kafka
    others: Adversary
    laws: Laws
    _last: tuple[tuple[Key, ...], int, Seen] | None = None
    """What was last seen of a move, and how many events were still to come."""

    def look(self, step: Step | None, limits: Sequence[Limit]) -> Seen:
        """See ``execute.run.Cluster``."""
        self.others.edge("before a look")
        if self._loses("an answer is lost"):
            raise NoAnswerError("lost")
        asked = {(one.entity, one.name) for one in limits}
        self.laws.unanswered |= asked
        if not self.kafka.has_acl:
            raise RefusedError("not authorized")
        seen = self.kafka.look(step, limits)
        self.laws.unanswered -= asked
        if isinstance(step, Move):
            self.laws.silent = seen.silent
            self.laws.looked()
            last, self._last = self._last, (step.keys, len(self.others.events), seen)
            if last is not None and last[:2] == self._last[:2] and self.others.loses("metadata are late"):
                return replace_in(seen, partitions=_late(seen, last[2]))
        return seen

    def look_around(self, ours: Around) -> Surroundings:
        """See ``execute.watch.Outlook``."""
        if not self.kafka.has_acl:
            raise RefusedError("not authorized")
        return self.kafka.look_around(ours)

    def call(self, call: Call) -> None:
        """See ``execute.run.Cluster``."""
        self.laws.before(call, is_revoked=self.others.is_revoked and not self.laws.is_back)
        if not self.kafka.has_acl or (self.kafka.has_policy and isinstance(call, ChangeConfig)):
            self.laws.refused(call)
            raise RefusedError("not authorized" if not self.kafka.has_acl else "refused by a policy")
        if self._loses("a request is lost"):
            self.laws.refused(call)
            raise NoAnswerError("lost")
        rates, begins = self.laws.rates(), self.laws.calling(call)
        try:
            self.kafka.call(call)
        except RefusedError:
            # Of several changes those were made that nothing speaks against.
            self.laws.did_partly(call)
            raise
        self.laws.did(call, US)
        self.laws.around(call, rates)
        self.others.log.append(f"WE {call}")
        if self._loses("an answer is lost"):
            raise NoAnswerError("lost")
        self.laws.known |= begins
        self.others.edge("after a call")

    def _loses(self, what: str) -> bool:
        is_lost = self.others.loses(what)
        self.laws.is_lost |= is_lost
        return is_lost


def _late(seen: Seen, last: Seen) -> dict[Key, PartitionSeen]:
    """Return partitions as a broker shows them that has older metadata than the controller, which tells what moves."""
    found = {}
    for key, one in seen.partitions.items():
        old = last.partitions.get(key, one)
        is_moving = bool(one.adding or one.removing)
        found[key] = one._replace(isr=old.isr, leader=old.leader, replicas=one.replicas if is_moving else old.replicas)
    return found


class Schedule:
    """The world of one seed, and the events in it: those of the seed, or others."""

    def __init__(
        self,
        seed: int,
        events: Sequence[Event] | None = None,
        world: Callable[[random.Random], World] | None = None,
        others: type[Adversary] = Adversary,
    ) -> None:
        self._draw = draw = random.Random(seed)
        self.seed = seed
        self.kafka, self.found, kind = (world or (_world if seed > 0 else _small_world))(draw)
        self.laws = Laws(self.kafka)
        self.laws.own_entries = frozenset(_entries(self.found))
        for here, there in _pairs(self.found):
            self.laws.plan(here, there)
        self.laws.rolled = _rolled_of(self.found, self.kafka)
        self.events = tuple(drawn(random.Random(f"events {seed}")) if events is None else events)
        self.others = others(self.kafka, self.laws, list(self.events))
        self.edges = Edges(self.kafka, self.others, self.laws)
        self.journal: list[ExecutionRecord] = []
        self._judged: ExecutionRecord | None = None
        self.at_ms, self.ticks = 1_000_000, 0
        self.record = _record(self.found, kind)
        self.watch = Watch(self.edges, lambda: self.at_ms)

    def run(self) -> Ran:
        """Run it to its end; at most twice a person repairs the cluster and goes on or undoes it."""
        record = self.record
        try:
            for resumed in range(3):
                record = self._ended(record)
                undoes = not record.back and self._draw.random() < 0.2
                if resumed == 2 or not (undoes or record.state is ExecutionState.STUCK):
                    break
                record = self._repaired(record, undoes=undoes)
        except EndlessError:
            self.laws.broken.append("no end")
        broken, log = tuple(dict.fromkeys(self.laws.broken)), tuple(self.others.log)
        return Ran(self.seed, self.events, broken, log, str(self._left().state), self.others.passed)

    def _ended(self, record: ExecutionRecord) -> ExecutionRecord:
        """Let the process live until the execution ends; it is started again after each kill."""
        while True:
            try:
                ended = self._live(record)
            except KilledError:
                record = self._left()
                self.laws.killed()
                self._pass(self._draw.choice((1, 3, 20)))
                if record.state is not ExecutionState.STUCK:
                    continue
                ended = record
            # A process that was killed before it wrote anything has left the end as it was judged.
            if ended is not self._judged:
                self._judge(ended)
            self._judged = ended
            return ended

    def _repaired(self, record: ExecutionRecord, *, undoes: bool) -> ExecutionRecord:
        self.kafka.revive()
        self.kafka.has_acl, self.kafka.has_policy = True, False
        self.laws.permit_again()
        self._pass(self._draw.choice((0, 1, 20)))
        self.watch = Watch(self.edges, lambda: self.at_ms)
        if undoes:
            self.others.log.append("a person undoes it")
            return undone([record], "a person", self.at_ms)
        self.others.log.append("a person goes on")
        return replace(record, by="a person")

    def _left(self) -> ExecutionRecord:
        return self.journal[-1] if self.journal else self.record

    def _live(self, record: ExecutionRecord) -> ExecutionRecord:
        ports = Ports(
            self.edges, self._note, self.others.log.append, self._pause, self._now, self._permit, self._monotonic
        )
        answer = "g"
        while True:
            try:
                return stopped(record, "stopped by a person", ports) if answer == "s" else carry_out(record, ports)
            except StopAskedError as asked:
                record = asked.record
            answer = self._draw.choice("gsr")
            self.others.log.append(f"a person says {answer}")
            record = rolling_back(record, ports) if answer == "r" else record

    def _note(self, record: ExecutionRecord) -> None:
        self.others.edge("before a note")
        self.laws.is_back = record.back
        self.laws.has_turned = record.back or record.state is ExecutionState.CANCELLING
        self.journal.append(record)
        self.laws.noted()
        self.others.log.append(f"NOTE {record.state} {record.reason or ''}")
        if is_unfinished(record):
            self.others.edge("after a note")

    def _pause(self, seconds: float) -> bool:
        self.others.edge("in a pause")
        # When nothing can change any more, an execution's patience need not be passed in small steps.
        is_over = not self.others.events and self.kafka.is_at_rest()
        self._tick(LONGEST_LOOK_MS / 1_000 if is_over else seconds, is_alive=True)
        return self.others.loses("Ctrl-C")

    def _pass(self, ticks: int) -> None:
        for _ in range(ticks):
            self.others.edge("while it is down", may_kill=False)
            self._tick(2.0, is_alive=False)

    def _tick(self, seconds: float, *, is_alive: bool) -> None:
        self.ticks, self.at_ms = self.ticks + 1, self.at_ms + int(seconds * 1000)
        if self.ticks > MOST_TICKS:
            raise EndlessError
        self.kafka.tick(seconds)
        self.laws.tick(seconds, is_alive=is_alive)

    def _now(self) -> int:
        return self.at_ms + self.others.clock_ms

    def _monotonic(self) -> int:
        return self.at_ms

    def _permit(self, record: ExecutionRecord) -> Halt | None:
        said = next(iter(self.others.words.records[::-1]), None)
        reason = None if record.back else revoked(said, record, self.at_ms)
        return self.watch(record) if reason is None else Halt(reason)

    def _judge(self, ended: ExecutionRecord) -> None:
        self.kafka.settle()
        self.laws.end(str(ended.state))
        if ended.state is ExecutionState.STUCK and not ended.reason:
            self.laws.broken.append("stuck without a reason")
        if ended.state is ExecutionState.STUCK or ended.cause_is_seen:
            self._hold(ended)

    def _hold(self, ended: ExecutionRecord) -> None:
        """Judge that nothing else begins after a stop while its cause lasts, or something of it is left."""
        if hold_of([ended]) != ended:
            self.laws.broken.append("a stop that holds nobody")
        if not ended.cause_is_seen:
            return
        if ended.limits or self.laws.rates():
            self.laws.broken.append("a stop passes by itself, and something of it is left")
        lacking = [f"{topic}-{number} has fewer" for topic, number in self.kafka.look_around(NOTHING).under_min_isr]
        if any((ended.reason or "").startswith(one) for one in lacking) and is_over(ended, self.edges):
            self.laws.broken.append("what stopped it lasts, and others may begin")


def of_seed(seed: int) -> Ran:
    """Run the schedule of a seed."""
    return Schedule(seed).run()


def of_story(story: tuple[int, tuple[Event, ...]]) -> Ran:
    """Run a schedule with given events."""
    return Schedule(*story).run()


def every(worlds: int, ways: int) -> Iterator[tuple[int, tuple[Event, ...]]]:
    """Yield every event at every edge of small worlds, in some ways each: three brokers, two partitions."""
    for seed in range(-worlds, 0):
        for at in range(1, Schedule(seed, ()).run().edges + 1):
            for deed in DEEDS:
                yield from ((seed, (Event(at, deed, way),)) for way in range(ways))


def shrunk(ran: Ran, law: str) -> Ran:
    """Return a run with as few of its events as break the same law."""
    for event in ran.events:
        fewer = Schedule(ran.seed, [one for one in ran.events if one is not event]).run()
        if any(one.startswith(law) for one in fewer.broken):
            return shrunk(fewer, law)
    return ran


# -- what is drawn


def _world(draw: random.Random) -> World:
    brokers = draw.choice((2, 3, 3, 4))
    kafka = Kafka({(broker, path): ROOM_BYTES for broker in range(1, brokers + 1) for path in ("/a", "/b")})
    return filled(draw, kafka, RATE)


def filled(draw: random.Random, kafka: Kafka, rate: int, topics: Sequence[str] = ("t", "u")) -> World:
    """Return the world of drawn partitions on a cluster; ``rate`` is that of its throttles, in bytes/s."""
    for number in range(draw.randint(1, 3)):
        placed = draw.sample(kafka.brokers, draw.randint(1, min(3, len(kafka.brokers))))
        topic = draw.choice(topics)
        kafka.create((topic, number), {one: draw.choice(kafka.paths(one)) for one in placed}, SIZE_BYTES)
    kafka.min_isr = draw.choice((1, 1, 2))
    kafka.written_bytes_per_s = draw.choice((0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, RATE + 1)) if draw.random() < 0.5 else 0
    return World(kafka, *_operations(draw, kafka, rate))


def _small_world(draw: random.Random) -> World:
    kafka = Kafka({(broker, path): ROOM_BYTES for broker in (1, 2, 3) for path in ("/a", "/b")})
    for number in range(2):
        kafka.create(("t", number), dict.fromkeys(draw.sample((1, 2, 3), 2), "/a"), SIZE_BYTES)
    return World(kafka, *_operations(draw, kafka, RATE))


def _operations(draw: random.Random, kafka: Kafka, rate: int) -> tuple[list[Operation], ActionKind]:
    """Return what is to be carried out: moves between brokers or directories, or a cut."""
    kind = draw.choice((ActionKind.REASSIGN, ActionKind.REASSIGN, ActionKind.MOVE_LOG_DIR, ActionKind.LOWER_RETENTION))
    if kind is ActionKind.LOWER_RETENTION:
        return [
            operations.topic_config(draw.choice(sorted(kafka.partitions))[0], "retention.ms", "5", now="9", old=None)
        ], kind
    keys = draw.sample(sorted(kafka.partitions), draw.randint(1, len(kafka.partitions)))
    if draw.random() < 0.5:
        return [rolled(draw, kafka, keys, kind, rate)], kind
    pairs = [(_here(key, kafka), _there(key, kafka, kind, draw)) for key in keys]
    there, here = [one for _, one in pairs], [one for one, _ in pairs]
    limits = throttles(pairs, kind, rate) if draw.random() < 0.8 else Limits()
    waves = [[number] for number in range(len(keys))] if draw.random() < 0.4 else []
    settle_ms = draw.choice((None, 4_000))
    made = operations.reassign(
        to_json(there), to_json(here), "f.json", limits=limits, back=limits, waves=waves, settle_ms=settle_ms
    )
    return [made], kind


def rolled(
    draw: random.Random, kafka: Kafka, keys: Sequence[tuple[str, int]], kind: ActionKind, rate: int
) -> Operation:
    """Return an operation whose copies begin one after the other, several of one partition among them."""
    pairs = [_moved(key, kafka, kind, draw) for key in keys]
    there, here = [one for _, one in pairs], [one for one, _ in pairs]
    sizes = [max(log.size_bytes for held, log in kafka.logs.items() if held[:2] == key) for key in keys]
    copies = [
        RollingCopy(partition=number, replica=at, bytes=sizes[number])
        for number, one in enumerate(there)
        for at, path in enumerate(one.log_dirs)
        if path != ANY
    ]
    draw.shuffle(copies)
    # Often for one copy more, so that others wait until something has left.
    largest = max(sizes)
    room = {place: draw.choice((6 * largest, largest + largest // 12)) for place in kafka.log_dirs}
    left, is_possible = dict(room), True
    for copy in copies:
        source, target = (
            (side[copy.partition].replicas[copy.replica], side[copy.partition].log_dirs[copy.replica])
            for side in (here, there)
        )
        is_possible = is_possible and copy.bytes <= left[target]
        left[source] += copy.bytes
        left[target] -= copy.bytes
    if not is_possible:
        # Not even one after the other: nothing would wait but for ever.
        room, left = ({place: more + 6 * largest for place, more in each.items()} for each in (room, left))
    limits = throttles(pairs, kind, rate) if draw.random() < 0.8 else Limits()
    # At the low rate a copy is long, and has its lane for itself.
    rates = draw.choice((1, rate)), draw.choice((1, rate))
    ways = (_rolling(copies, room, *rates), _rolling(copies[::-1], left, *rates))
    return operations.reassign(
        to_json(there), to_json(here), "f.json", limits=limits, back=limits, settle_ms=20_000, rolling=ways
    )


def _rolling(copies: list[RollingCopy], room: Mapping[LogDirId, int], within: int, between: int) -> Rolling:
    named = [Room(broker=broker, log_dir=path, bytes=size) for (broker, path), size in room.items()]
    return Rolling(copies=copies, room=named, log_dir_bytes_per_s=within, replication_bytes_per_s=between)


def _moved(key: tuple[str, int], kafka: Kafka, kind: ActionKind, draw: random.Random) -> tuple[Assignment, Assignment]:
    """Return from where and to where some replicas of a partition are moved; the others have no directory."""
    here = _here(key, kafka)
    free = [one for one in kafka.brokers if one not in here.replicas]
    moving = draw.sample(range(len(here.replicas)), draw.randint(1, len(here.replicas)))
    places = {}
    for at in moving:
        broker, path = here.replicas[at], here.log_dirs[at]
        if kind is ActionKind.REASSIGN and free and draw.random() < 0.8:
            broker = free.pop(draw.randrange(len(free)))
            places[at] = broker, draw.choice(kafka.paths(broker))
        else:
            places[at] = broker, next(one for one in kafka.paths(broker) if one != path)
    before = tuple(path if at in places else ANY for at, path in enumerate(here.log_dirs))
    after = [places.get(at, (broker, ANY)) for at, broker in enumerate(here.replicas)]
    there = Assignment(*key, tuple(broker for broker, _ in after), tuple(path for _, path in after))
    return Assignment(*key, here.replicas, before), there


def _here(key: tuple[str, int], kafka: Kafka) -> Assignment:
    replicas = kafka.partitions[key].replicas
    return Assignment(*key, replicas, tuple(kafka.path((*key, one)) for one in replicas))


def _there(key: tuple[str, int], kafka: Kafka, kind: ActionKind, draw: random.Random) -> Assignment:
    here = _here(key, kafka)
    number = draw.randrange(len(here.replicas))
    free = [one for one in kafka.brokers if one not in here.replicas]
    replicas, paths = list(here.replicas), list(here.log_dirs)
    if kind is ActionKind.REASSIGN and free:
        replicas[number] = draw.choice(free)
        paths = [ANY] * len(paths)
        paths[number] = draw.choice((*kafka.paths(replicas[number]), ANY))
    else:
        (paths[number],) = set(kafka.paths(replicas[number])) - {paths[number]}
    return Assignment(*key, tuple(replicas), tuple(paths))


def throttles(pairs: list[tuple[Assignment, Assignment]], kind: ActionKind, rate: int) -> Limits:
    """Return the throttles of moves, each from where and to where, in bytes/s."""
    within = {broker for here, there in pairs for broker in there.replicas if broker in here.replicas}
    if kind is ActionKind.MOVE_LOG_DIR:
        return within_brokers(within, rate)
    arriving = [(*here.key, one) for here, there in pairs for one in {*here.replicas} ^ {*there.replicas}]
    sending = [(*here.key, one) for here, there in pairs for one in {*here.replicas, *there.replicas}]
    found = of_copies(arriving, sending, rate)
    rates = {broker: dict(values) for broker, values in found.brokers.items()}
    for broker, values in within_brokers(within, rate).brokers.items():
        rates.setdefault(broker, {}).update(values)
    return Limits(rates, found.topics)


def _limits(found: list[Operation]) -> Iterator[Limit]:
    for one in operations.as_data(found):
        yield from operations.limits_of(operations.from_record([one])[0].args)


def _entries(found: list[Operation]) -> Iterator[str]:
    for limit in _limits(found):
        if limit.key in THROTTLED_REPLICAS:
            yield from limit.value.split(",")


def _pairs(found: list[Operation]) -> Iterator[tuple[Assignment, Assignment]]:
    for step in steps_of(operations.as_data(found), back=False):
        if isinstance(step, Move):
            yield from ((step.here[one.key], one) for one in step.there)


def _rolled_of(found: list[Operation], kafka: Kafka) -> Rolled:
    """Return what begins one after the other, for the laws."""
    for one in found:
        there, here, rolling = one.args.reassignment, one.inverse.args.reassignment, one.args.rolling
        if there is None or here is None or rolling is None:
            continue
        parts = []
        for copy in rolling.copies:
            sides = here.partitions[copy.partition], there.partitions[copy.partition]
            source, target = ((side.replicas[copy.replica], (side.log_dirs or [])[copy.replica]) for side in sides)
            rate = rolling.log_dir_bytes_per_s if source[0] == target[0] else rolling.replication_bytes_per_s
            key = sides[0].topic, sides[0].partition
            parts.append(RolledPart(key, source, target, copy.bytes, copy.bytes * 1000 // rate))
        room = {(each.broker, each.log_dir): each.bytes for each in rolling.room}
        kept_s = (one.args.settle_ms or 0) / 1_000
        found_ = Rolled(tuple(parts), room, kept_s, dict(kafka.ids))
        found_.look(kafka, 0)
        return found_
    return Rolled(ids=dict(kafka.ids))


def _record(found: list[Operation], kind: ActionKind) -> ExecutionRecord:
    return ExecutionRecord(
        version=1,
        execution_id="e",
        action_id="a",
        revision=1,
        content_hash="h",
        kind=kind,
        cluster="c",
        state=ExecutionState.CHECKED,
        back=False,
        operations=operations.as_data(found),
        needs_ms=NEEDS_MS,
        by="somebody",
        started_at_ms=1,
        at_ms=1,
    )
