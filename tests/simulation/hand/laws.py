"""What must hold at every call of an execution, at every tick and at its end, whatever others do meanwhile.

The laws share no code with what decides: they look at the model, and at who did what last.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from logdirwatch.execute.calls import Call, ChangeConfig, PlaceReplicas, Reassign
from logdirwatch.execute.seen import Copy, Entity, Held
from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, REPLICATION_THROTTLES, THROTTLED_REPLICAS
from logdirwatch.plan.cluster.assignment import Assignment
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.layout import TopicPartition as Key
from logdirwatch.plan.reassignment.rolling import SHORT_MS
from tests.simulation.hand.kafka import Kafka

NOTICED_TICKS = 4
"""Within so many ticks an execution notices that its throttle is gone, even if others set one meanwhile."""


@dataclass
class Authors:
    """Who changed each thing last; nobody: it is as it was before the execution."""

    moves: dict[Key, str] = field(default_factory=dict)
    cancelled: dict[Key, str] = field(default_factory=dict)
    copies: dict[Held, str] = field(default_factory=dict)
    values: dict[tuple[Entity, str], str] = field(default_factory=dict)


@dataclass(frozen=True)
class RolledPart:
    """One copy of those that begin one after the other: from which directory to which one."""

    key: Key
    source: LogDirId
    target: LogDirId
    size_bytes: int
    takes_ms: int

    def is_at(self, place: LogDirId, kafka: Kafka) -> bool:
        """Tell whether it takes room in a directory: it is there, or on its way there."""
        held, partition = (*self.key, place[0]), kafka.partitions.get(self.key)
        if self.source[0] != self.target[0]:
            return held in kafka.logs or (partition is not None and place[0] in partition.adding)
        return any(copies.get(held, Copy("", 0)).path == place[1] for copies in (kafka.logs, kafka.futures))

    def runs(self, kafka: Kafka) -> bool:
        """Tell whether it is being copied to its target."""
        partition = kafka.partitions.get(self.key)
        if self.source[0] == self.target[0]:
            return kafka.futures.get((*self.key, self.target[0]), Copy("", 0)).path == self.target[1]
        return partition is not None and self.target[0] in partition.adding


@dataclass
class Rolled:
    """What begins one after the other, in directories that have only so much room for it."""

    parts: tuple[RolledPart, ...] = ()
    room: dict[LogDirId, int] = field(default_factory=dict)
    kept_s: float = 0
    """How long old files stay."""
    ids: dict[str, int] = field(default_factory=dict)
    _now_s: float = 0
    _last: dict[tuple[RolledPart, LogDirId], float] = field(default_factory=dict)

    def look(self, kafka: Kafka, seconds: float) -> None:
        """Note what takes room where, after some time."""
        self._now_s += seconds
        for part in self.parts:
            for place in (part.source, part.target):
                if part.is_at(place, kafka):
                    self._last[part, place] = self._now_s

    def wrong(self, kafka: Kafka) -> Iterator[tuple[str, tuple[object, ...]]]:
        """Yield what is wrong after something has begun."""
        for place, room in self.room.items():
            coming = sum(
                part.size_bytes * (self._counts(part, place, kafka) - (part.source == place)) for part in self.parts
            )
            if coming > max(0, room):
                yield "a directory gets more than it has room for", (place, coming, room)
        running = [part for part in self.parts if part.runs(kafka)]
        for broker, is_within in {(part.target[0], part.source[0] == part.target[0]) for part in running}:
            beside = [
                part for part in running if part.target[0] == broker and (part.source[0] == part.target[0]) is is_within
            ]
            if len(beside) > 1 and sum(part.takes_ms for part in beside) > SHORT_MS:
                yield "long copies run beside each other on one broker", (broker, len(beside))

    def _counts(self, part: RolledPart, place: LogDirId, kafka: Kafka) -> int:
        if place not in {part.source, part.target}:
            return 0
        was_there = self._now_s - self._last.get((part, place), -self.kept_s - 1) < self.kept_s
        return int(part.is_at(place, kafka) or was_there)


US, OTHERS = "we", "others"


class Laws:
    """Collects what is broken."""

    def __init__(self, kafka: Kafka) -> None:
        self.kafka, self.by = kafka, Authors()
        self.broken: list[str] = []
        self.planned: dict[Key, set[tuple[int, ...]]] = {}
        """The replicas of each partition that the plan leads from and to."""
        self.origins: dict[Key, set[int]] = {}
        self.targets: dict[Held, set[str]] = {}
        """Where the plan leads from and to: what others do that leads there too is taken for its own."""
        self.stages: dict[Key, set[frozenset[int]]] = {}
        """The replicas of each partition between where the plan leads from and to."""
        self.own_entries: frozenset[str] = frozenset()
        """The entries of lists of throttled replicas that the plan has."""
        self.is_back = False
        """Whether the execution takes back what it did."""
        self.planned_paths: dict[Held, set[str]] = {}
        """The same for the directories of replicas."""
        self.unanswered: set[Entity] = set()
        """Entities whose broker did not answer the execution's last request."""
        self.hazy: set[Key | Held] = set()
        """What was called, and neither answered nor seen to run: it may not have begun."""
        self.known: set[Key | Held] = set()
        """What the living process knows to have begun; its next note tells the one after it."""
        self.silent: frozenset[int] = frozenset()
        """The brokers that did not answer the execution's last look at a move."""
        self.tried: set[Key] = set()
        """Partitions for which the execution has called, or was about to."""
        self._throttled: set[Held] = set()
        self._seen: set[Held] = set()
        """The copies of others that a person has seen who went on."""
        self._unthrottled_ticks = 0
        self.is_lost = False
        """Whether a request or its answer was lost since the last tick."""
        self.is_meddled = False
        """Whether somebody else moved something, or started a broker with empty disks."""
        self.has_turned = False
        """Whether the execution takes back what it did, or did so for a while."""
        self._ids: dict[str, int] = {}
        """The topics for which the execution has called."""
        self.rolled = Rolled()
        """What begins one after the other."""
        self._begins_now = False

    def plan(self, here: Assignment, there: Assignment) -> None:
        """Say from where to where a partition is to be moved."""
        self.planned[here.key] = {here.replicas, there.replicas}
        self.origins[here.key] = {*here.replicas}
        # Of copies that begin one after the other some are there and some are not.
        mixed = product(*zip(here.replicas, there.replicas, strict=True))
        self.stages[here.key] = {frozenset(replicas) for replicas in mixed}
        self.targets |= {(*there.key, broker): {path} for broker, path in there.chosen}
        for one in (here, there):
            for broker, path in one.chosen:
                self.planned_paths.setdefault((*one.key, broker), set()).add(path)

    # -- a call of ours, before it is made

    def before(self, call: Call, *, is_revoked: bool) -> None:
        """Judge a call; where the word ``is_revoked``, nothing may be begun."""
        self._begins_now = self._begins(call)
        if is_revoked and self._begins_now:
            self._break("begins something after its word was revoked", call)
        for topic in sorted(_topics(call)):
            now = self.kafka.ids.get(topic)
            if now is not None and self._ids.setdefault(topic, now) != now:
                self._break("changes a topic that was created again", call)
        if isinstance(call, Reassign):
            for key, replicas in call.replicas.items():
                self._reassign(key, replicas)
        elif isinstance(call, PlaceReplicas):
            for held, path in call.paths.items():
                self._place(held, path)
        elif isinstance(call, ChangeConfig):
            self._change(call)

    def calling(self, call: Call) -> set[Key | Held]:
        """Note that the effect of a call is not known yet; return what it may begin."""
        found: set[Key | Held] = set()
        if isinstance(call, Reassign):
            found |= {key for key, replicas in call.replicas.items() if replicas is not None}
        elif isinstance(call, PlaceReplicas):
            found |= set(call.paths)
        self.hazy |= found
        return found

    def _begins(self, call: Call) -> bool:
        """Tell whether a call begins something; what cancels copies or cleans up does not."""
        if isinstance(call, Reassign):
            return any(replicas is not None for replicas in call.replicas.values())
        if isinstance(call, PlaceReplicas):
            return any(self._path(held) not in {None, path} for held, path in call.paths.items())
        return isinstance(call, ChangeConfig) and call.value is not None and not _is_throttle(call.key)

    def _reassign(self, key: Key, replicas: tuple[int, ...] | None) -> None:
        partition = self.kafka.partitions.get(key)
        if partition is None:
            return
        is_running = bool(partition.adding or partition.removing)
        # Kafka does not tell who began a move: one that leads where the plan does is taken for the plan's own.
        leads_there = {*partition.goal} != self.origins[key] or self.has_turned or replicas is not None
        is_kept = self._is_planned(key, partition.goal) and leads_there
        if is_running and self.by.moves.get(key) != US and not is_kept:
            self._break("overwrites or cancels somebody's reassignment", key)
        if replicas is None:
            return
        if len(replicas) < len(partition.goal):
            self._break("a smaller replication factor", key, replicas, partition.goal)
        # An order of the same replicas copies nothing.
        begins = not is_running and set(replicas) != set(partition.replicas)
        if begins and self.by.cancelled.get(key) == OTHERS and key not in self.hazy - self.known:
            self._break("begins again what somebody cancelled", key)
        elif not is_running and self.by.moves.get(key) == OTHERS and not self._is_planned(key, partition.replicas):
            self._break("changes replicas that somebody changed", key)
        elif not is_running and self.by.moves.get(key) == OTHERS and key not in self.tried and self.is_back:
            self._break("takes back what somebody else did", key)
        self.tried.add(key)

    def _place(self, held: Held, path: str) -> None:
        future = self.kafka.futures.get(held)
        targets = self.planned_paths[held] if self.has_turned else self.targets.get(held, set())
        is_kept = future is not None and future.path in targets
        if future is not None and self.by.copies.get(held) == OTHERS and future.path != path and not is_kept:
            self._break("overwrites or cancels somebody's copy", held)
        elif future is None and self._is_of_others(held) and self._path(held) not in {None, path}:
            self._break("begins again a copy that somebody cancelled or moved", held)

    def _is_of_others(self, held: Held) -> bool:
        return self.by.copies.get(held) == OTHERS and held not in self._seen | (self.hazy - self.known)

    def _is_planned(self, key: Key, replicas: tuple[int, ...]) -> bool:
        return frozenset(replicas) in self.stages[key]

    def _path(self, held: Held) -> str | None:
        log = self.kafka.logs.get(held)
        return None if log is None else log.path

    def _change(self, call: ChangeConfig) -> None:
        now = self.kafka.configs.get((call.entity, call.name), {}).get(call.key)
        by = self.by.values.get(((call.entity, call.name), call.key))
        if call.key in THROTTLED_REPLICAS:
            lost = _entries(now) - _entries(call.value) - self.own_entries
            if lost:
                self._break("removes somebody's entries of a list of throttled replicas", call, sorted(lost))
        elif now is not None and by == OTHERS and now != call.value:
            self._break("changes a value that somebody set", call, now)

    # -- after a call

    def around(self, call: Call, rates: dict[Held, float]) -> None:
        """Judge what a call has done to the rates of our copies."""
        after = self.rates()
        for held, rate in rates.items():
            if held in after and rate < self.kafka.unthrottled_bytes_per_s <= after[held]:
                self._break("a copy of ours goes on without its throttle", held, call)
        if self._begins_now and not self._is_meddled():
            for what, facts in self.rolled.wrong(self.kafka):
                self._break(what, *facts, call)

    def _is_meddled(self) -> bool:
        """Tell whether somebody else moved something, or deleted a topic or made it again."""
        is_gone = any(part.key not in self.kafka.partitions for part in self.rolled.parts)
        return self.is_meddled or is_gone or self.kafka.ids != self.rolled.ids

    def rates(self) -> dict[Held, float]:
        """Return our running copies with their rates in bytes/s."""
        kafka, found = self.kafka, dict[Held, float]()
        for key, partition in kafka.partitions.items():
            if self.by.moves.get(key) == US:
                leader = kafka.leader(key)
                found |= {(*key, one): kafka.copy_rate((*key, one), leader) for one in partition.adding}
        for held in kafka.futures:
            if self.by.copies.get(held) == US:
                found[held] = kafka.within_rate(held)
        return found

    def looked(self) -> None:
        """Note that the execution sees what runs."""
        self.known |= {key for key in self.hazy if key in self.kafka.futures or self._is_adding(key)}

    def _is_adding(self, key: Key | Held) -> bool:
        partition = self.kafka.partitions.get(key) if len(key) == 2 else None
        return partition is not None and bool(partition.adding)

    def noted(self) -> None:
        """Note that the journal tells what has begun."""
        self.hazy -= self.known
        self.known.clear()

    def killed(self) -> None:
        """Note that the process is gone: what its journal was about to call, it may have called."""
        self.known.clear()
        self.tried |= self.planned.keys()

    def forget(self, topic: str) -> None:
        """Note that a topic is another one: nobody has changed it yet."""
        for known in (self.by.moves, self.by.cancelled, self.by.copies):
            for key in [key for key in known if key[0] == topic]:
                del known[key]
        self.by.values = {at: who for at, who in self.by.values.items() if at[0] != ("topics", topic)}
        self.is_meddled = True

    def replaced(self, broker: int) -> None:
        """Note that a broker has empty disks: nobody has begun a copy between its directories."""
        for held in [held for held in self.by.copies if held[2] == broker]:
            del self.by.copies[held]
        self.is_meddled = True

    def did(self, call: Call, who: str) -> None:
        """Note whose the things are that a call changed."""
        self.is_meddled = self.is_meddled or (who == OTHERS and not isinstance(call, ChangeConfig))
        if isinstance(call, Reassign):
            for key, replicas in call.replicas.items():
                self._moved(key, replicas, who)
        elif isinstance(call, PlaceReplicas):
            for held in call.paths:
                self._placed(held, who)
        elif isinstance(call, ChangeConfig):
            self.by.values[(call.entity, call.name), call.key] = who

    def refused(self, call: Call) -> None:
        """Note that nothing of a call was made."""
        if isinstance(call, ChangeConfig):
            self.unanswered.add((call.entity, call.name))

    def did_partly(self, call: Call) -> None:
        """Note whose the things are that a call changed whose other changes were refused."""
        if isinstance(call, Reassign):
            made = {key: found for key, found in call.replicas.items() if self._is_made(key, found)}
            self.did(Reassign(made), US)
        elif isinstance(call, PlaceReplicas):
            self.did(PlaceReplicas({held: path for held, path in call.paths.items() if self._goes(held, path)}), US)

    def _is_made(self, key: Key, replicas: tuple[int, ...] | None) -> bool:
        partition = self.kafka.partitions.get(key)
        if partition is None or self.by.moves.get(key) == OTHERS:
            return False
        return replicas is not None and partition.goal == replicas and self._is_adding(key)

    def _goes(self, held: Held, path: str) -> bool:
        future = self.kafka.futures.get(held)
        return future is not None and future.path == path and self.by.copies.get(held) != OTHERS

    def _placed(self, held: Held, who: str) -> None:
        if held not in self.kafka.futures and self.by.copies.get(held, OTHERS) == OTHERS:
            self.by.copies.pop(held, None)
        else:
            self.by.copies[held] = who
            self._seen.discard(held)

    def _moved(self, key: Key, replicas: tuple[int, ...] | None, who: str) -> None:
        if replicas is None and self.by.moves.get(key) == US:
            self.by.cancelled[key] = who
        else:
            self.by.cancelled.pop(key, None)
        self.by.moves[key] = who

    def permit_again(self) -> None:
        """Let a person who has seen what others cancelled begin it again."""
        for key in self.by.cancelled:
            del self.by.moves[key]
        self.by.cancelled.clear()
        self._seen = set(self.by.copies)

    # -- time

    def tick(self, seconds: float, *, is_alive: bool) -> None:
        """Judge that time has passed, and whether the execution's process could have noticed something."""
        self.rolled.look(self.kafka, seconds)
        rates = self.rates()
        fast = [held for held in self._fast(rates) if held in self._throttled]
        self._throttled = {
            held for held, rate in rates.items() if held in fast or rate < self.kafka.unthrottled_bytes_per_s
        }
        sees = is_alive and not self.kafka.dead and self._may_change()
        # An execution that has noticed it, and whose request or its answer was lost, asks again at the next tick.
        self._unthrottled_ticks = self._unthrottled_ticks + (not self.is_lost) if fast and sees else 0
        self.is_lost = False
        if self._unthrottled_ticks == NOTICED_TICKS:
            self._break("a copy of ours runs without a throttle, and nobody notices", fast[0])

    # -- the end

    def end(self, state: str) -> None:
        """Judge an end."""
        running = self.rates()
        if state in {"done", "rolled_back"} and running:
            self._break(f"{state}, and a copy of ours runs", *running)
        if not running and not self._may_run():
            self._left(state)
        if state == "done" and not self.is_back and not self._is_meddled():
            # A topic may be deleted between the look that found it there and the last note.
            for part in (one for one in self.rolled.parts if one.key in self.kafka.partitions):
                if not part.is_at(part.target, self.kafka) or part.is_at(part.source, self.kafka):
                    self._break("done, and a replica is not where it is to be", part)
        for held in self._fast(running) if self._may_change() else ():
            if held[2] not in self.kafka.dead and held in self._throttled and self._unthrottled_ticks == 0:
                self._break(f"{state}, and a copy of ours runs without a throttle", held)

    def _may_change(self) -> bool:
        return self.kafka.has_acl and not self.kafka.has_policy

    def _may_run(self) -> bool:
        """Tell whether a planned copy runs, whoever began it, or one between directories may on a silent broker."""
        planned, futures = self.planned_paths, self.kafka.futures
        moving = [key for key in self.stages if self._is_adding(key)]
        return any(self._is_planned(key, self.kafka.partitions[key].goal) for key in moving) or any(
            held in futures and futures[held].path in paths
            if held[2] not in self.silent
            else held in futures or len(paths) > 1
            for held, paths in planned.items()
        )

    def _fast(self, rates: dict[Held, float]) -> list[Held]:
        return [held for held, rate in rates.items() if rate >= self.kafka.unthrottled_bytes_per_s]

    def _left(self, state: str) -> None:
        for (entity, key), who in self.by.values.items():
            values = self.kafka.configs.get(entity, {})
            is_reachable = entity not in self.unanswered and self.kafka.has_acl
            if who == US and _is_throttle(key) and key in values and is_reachable and self._is_own(key, values[key]):
                self._break(f"{state}, and a throttle of ours is left that nothing needs", entity, key)

    def _is_own(self, key: str, value: str) -> bool:
        return key not in THROTTLED_REPLICAS or bool(_entries(value) & self.own_entries)

    def _break(self, what: str, *facts: object) -> None:
        self.broken.append(f"{what}: {', '.join(map(str, facts))}")


def _topics(call: Call) -> set[str]:
    """Return the topics that a call is about."""
    if isinstance(call, Reassign):
        return {topic for topic, _ in call.replicas}
    if isinstance(call, PlaceReplicas):
        return {topic for topic, _, _ in call.paths}
    return {call.name} if isinstance(call, ChangeConfig) and call.entity == "topics" else set()


def _is_throttle(key: str) -> bool:
    return key in {*THROTTLED_REPLICAS, *REPLICATION_THROTTLES, LOG_DIR_THROTTLE}


def _entries(value: str | None) -> frozenset[str]:
    return frozenset(filter(None, (value or "").split(",")))
