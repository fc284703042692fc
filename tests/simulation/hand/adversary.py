"""What everybody else does to a cluster while an execution runs, at any edge of look, note and call."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from logdirwatch.execute.calls import Call, ChangeConfig, PlaceReplicas, Reassign
from logdirwatch.execute.ports import NoAnswerError, RefusedError
from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, REPLICATION_THROTTLES, THROTTLED_REPLICAS, Decision
from logdirwatch.report.folding import LatestDecisions, Message
from tests.simulation.hand.kafka import Kafka
from tests.simulation.hand.laws import OTHERS, Laws


class KilledError(BaseException):
    """The process is killed here."""


class Event(NamedTuple):
    """Something that others do: at which edge, counted from the start, what, and a seed for the rest of it."""

    at: int
    deed: str
    seed: int


@dataclass
class Adversary:
    """Lets events happen at their edges."""

    kafka: Kafka
    laws: Laws
    events: list[Event]
    passed: int = 0
    words: LatestDecisions = field(default_factory=lambda: LatestDecisions(60_000))
    """The topic of decisions; ``is_revoked`` is what its order says."""
    is_revoked: bool = False
    clock_ms: int = 0
    """How far the time of day is from the time that passes."""
    losses: list[str] = field(default_factory=list)
    """What is lost of the next request, or that a person presses Ctrl-C."""
    log: list[str] = field(default_factory=list)
    draw: random.Random = field(default_factory=random.Random)

    def edge(self, where: str, *, may_kill: bool = True) -> None:
        """Let the events happen that are due."""
        self.passed += 1
        while self.events and self.events[0].at <= self.passed:
            event = self.events.pop(0)
            if event.deed == "kill" and not may_kill:
                continue
            if event.deed in {"accept", "reject"} and where == "before a look":
                # What permits an execution is read before the cluster: a call may follow this look.
                self.events.insert(0, event._replace(at=self.passed + 1))
                return
            self.log.append(f"{where} ({self.passed}): {event.deed}")
            self.draw = random.Random(event.seed)
            DEEDS[event.deed](self)

    def loses(self, what: str) -> bool:
        """Tell whether this is lost now, or happens now."""
        if what not in self.losses:
            return False
        self.losses.remove(what)
        self.log.append(what)
        return True

    def does(self, call: Call) -> None:
        """Make a call as somebody else."""
        before = self._copies()
        try:
            self.kafka.call(call)
        except (NoAnswerError, RefusedError) as refused:
            self.log.append(f"refused: {refused}")
            return
        # To ask for what is so already changes nothing.
        if isinstance(call, ChangeConfig) or before != self._copies():
            self.laws.did(call, OTHERS)

    def _copies(self) -> list[object]:
        moves: list[object] = [(one.replicas, one.adding, one.removing) for one in self.kafka.partitions.values()]
        return [*moves, *((held, copy.path) for held, copy in self.kafka.futures.items())]


def _kill(one: Adversary) -> None:
    raise KilledError


def _reject(one: Adversary) -> None:
    _say(one, Decision.REJECT)


def _accept(one: Adversary) -> None:
    _say(one, Decision.ACCEPT)


def _say(one: Adversary, decision: Decision) -> None:
    """Write a decision whose clock may be wrong by any time, and which may be of something else."""
    at_ms = one.draw.choice((1, 999_000, 1_000_000, 2_000_000))
    content = one.draw.choice(("h", "h", "other"))
    said = DecisionRecord(
        version=1, id="a", decision=decision, by="others", reason="why", at_ms=at_ms, content_hash=content
    )
    one.is_revoked = decision is Decision.REJECT or content != "h"
    one.words.take(Message(b"a", msgspec.json.encode(said), 1_000_000, 0, one.passed))


def _broker_dies(one: Adversary) -> None:
    one.kafka.die(one.draw.choice(one.kafka.brokers))


def _brokers_come_back(one: Adversary) -> None:
    one.kafka.revive()


def _disk_fails(one: Adversary) -> None:
    one.kafka.fail(one.draw.choice(sorted(one.kafka.log_dirs)))


def _disk_fills(one: Adversary) -> None:
    one.kafka.fill(one.draw.choice(sorted(one.kafka.log_dirs)), one.draw.choice((0.5, 0.9, 0.97)))


def _replica_lags(one: Adversary) -> None:
    """A replica falls out of the in-sync ones, and needs time to catch up."""
    key = one.draw.choice(sorted(one.kafka.partitions) or [("", 0)])
    partition = one.kafka.partitions.get(key)
    if partition is None or len(partition.isr) < 2:
        return
    broker = one.draw.choice(sorted(partition.isr - {one.kafka.leader(key)}))
    one.kafka.lag((*key, broker))


def _topic_is_deleted(one: Adversary) -> None:
    if one.kafka.partitions:
        topic = one.draw.choice(sorted({topic for topic, _ in one.kafka.partitions}))
        one.kafka.delete(topic)


def _move_is_cancelled(one: Adversary) -> None:
    running = [key for key, found in sorted(one.kafka.partitions.items()) if found.adding or found.removing]
    if running:
        one.does(Reassign({one.draw.choice(running): None}, changes_factor=True))
    elif one.kafka.futures:
        held = one.draw.choice(sorted(one.kafka.futures))
        one.does(PlaceReplicas({held: one.kafka.logs[held].path}))


def _replicas_change(one: Adversary) -> None:
    """Somebody moves a partition, raises or lowers its replication factor."""
    if not one.kafka.partitions:
        return
    key = one.draw.choice(sorted(one.kafka.partitions))
    now = one.kafka.partitions[key].goal
    count = max(1, min(len(one.kafka.brokers), len(now) + one.draw.choice((-1, 0, 1, 1))))
    one.does(Reassign({key: tuple(one.draw.sample(one.kafka.brokers, count))}, changes_factor=True))


def _plan_is_done(one: Adversary) -> None:
    """Somebody does the same move of a partition, or takes it back."""
    keys = sorted(one.laws.planned.keys() & one.kafka.partitions.keys())
    if keys:
        key = one.draw.choice(keys)
        one.does(Reassign({key: one.draw.choice(sorted(one.laws.planned[key]))}, changes_factor=True))


def _replica_is_placed(one: Adversary) -> None:
    if one.kafka.logs:
        held = one.draw.choice(sorted(one.kafka.logs))
        one.does(PlaceReplicas({held: one.draw.choice(one.kafka.paths(held[2]))}))


def _throttle_changes(one: Adversary) -> None:
    """Somebody deletes a throttle that is set, or sets one, of a broker or of a topic's replicas."""
    throttles = (*REPLICATION_THROTTLES, LOG_DIR_THROTTLE, *THROTTLED_REPLICAS)
    here = [(*at, key) for at, values in sorted(one.kafka.configs.items()) for key in values if key in throttles]
    if here and one.draw.random() < 0.5:
        one.does(ChangeConfig(*one.draw.choice(here), None))
        return
    if one.draw.random() < 0.5 or not one.kafka.partitions:
        key = one.draw.choice((*REPLICATION_THROTTLES, LOG_DIR_THROTTLE))
        name = str(one.draw.choice(one.kafka.brokers))
        one.does(ChangeConfig("brokers", name, key, one.draw.choice((one.kafka.foreign_rate, None))))
        return
    key = one.draw.choice(tuple(THROTTLED_REPLICAS))
    topic = one.draw.choice(sorted({topic for topic, _ in one.kafka.partitions}))
    one.does(ChangeConfig("topics", topic, key, one.draw.choice(("9:9", None))))


def _every_move_is_cancelled(one: Adversary) -> None:
    """Somebody cancels whatever runs, as Kafka's tool and Cruise Control do."""
    running = {key: None for key, found in sorted(one.kafka.partitions.items()) if found.adding or found.removing}
    if running:
        one.does(Reassign(running, changes_factor=True))
    for held in sorted(one.kafka.futures):
        one.does(PlaceReplicas({held: one.kafka.logs[held].path}))


def _move_is_replaced(one: Adversary) -> None:
    """Somebody gives what is being moved other places, as Cruise Control does."""
    running = [key for key, found in sorted(one.kafka.partitions.items()) if found.adding or found.removing]
    if running:
        key = one.draw.choice(running)
        count = len(one.kafka.partitions[key].goal)
        one.does(Reassign({key: tuple(one.draw.sample(one.kafka.brokers, count))}, changes_factor=True))


def _replicas_are_reordered(one: Adversary) -> None:
    if one.kafka.partitions:
        key = one.draw.choice(sorted(one.kafka.partitions))
        now = one.kafka.partitions[key].goal
        one.does(Reassign({key: tuple(one.draw.sample(now, len(now)))}, changes_factor=True))


def _configs_are_reset(one: Adversary) -> None:
    """An operator deletes what topics have and their resources do not declare, as Strimzi does."""
    for entity, values in sorted(one.kafka.configs.items()):
        for key in sorted(values):
            if entity[0] == "topics":
                one.does(ChangeConfig(*entity, key, None))


def _throttles_are_cleared(one: Adversary) -> None:
    """``kafka-reassign-partitions --verify`` of somebody deletes the throttles of all brokers and topics."""
    throttles = {*REPLICATION_THROTTLES, LOG_DIR_THROTTLE, *THROTTLED_REPLICAS}
    for entity, values in sorted(one.kafka.configs.items()):
        for key in sorted(throttles & values.keys()):
            one.does(ChangeConfig(*entity, key, None))


def _throttles_are_set(one: Adversary) -> None:
    """``--additional --throttle`` of somebody sets the rates of all brokers, and a topic's lists to its replicas."""
    for broker in one.kafka.brokers:
        for key in REPLICATION_THROTTLES:
            one.does(ChangeConfig("brokers", str(broker), key, one.kafka.foreign_rate))
    if one.kafka.partitions:
        topic, number = one.draw.choice(sorted(one.kafka.partitions))
        for key in THROTTLED_REPLICAS:
            one.does(ChangeConfig("topics", topic, key, f"{number}:9"))


def _list_is_edited(one: Adversary) -> None:
    """Somebody adds a replica to a list of throttled ones, or takes one out of it."""
    lists = [
        (entity, key, values[key].split(","))
        for entity, values in sorted(one.kafka.configs.items())
        for key in THROTTLED_REPLICAS
        if values.get(key)
    ]
    if lists:
        entity, key, entries = one.draw.choice(lists)
        left = [*entries, "9:9"] if one.draw.random() < 0.5 else one.draw.sample(entries, len(entries) - 1)
        one.does(ChangeConfig(*entity, key, ",".join(left) or None))


def _topic_is_created_again(one: Adversary) -> None:
    if one.kafka.partitions:
        topic = one.draw.choice(sorted({topic for topic, _ in one.kafka.partitions}))
        one.kafka.create_again(topic)
        one.laws.forget(topic)


def _broker_restarts(one: Adversary) -> None:
    """A broker dies and is back before anybody looks: what it has in memory only is lost."""
    broker = one.draw.choice(one.kafka.brokers)
    if broker not in one.kafka.dead:
        one.kafka.die(broker)
        one.kafka.revive()


def _broker_is_replaced(one: Adversary) -> None:
    broker = one.draw.choice(one.kafka.brokers)
    one.kafka.replace(broker)
    one.laws.replaced(broker)


def _acl_changes(one: Adversary) -> None:
    """The permissions of the execution's user are deleted, or are back."""
    one.kafka.has_acl = not one.kafka.has_acl


def _policy_changes(one: Adversary) -> None:
    one.kafka.has_policy = not one.kafka.has_policy


def _clock_is_set(one: Adversary) -> None:
    one.clock_ms = one.draw.choice((-3_600_000, -90_000, 0, 90_000, 3_600_000))


def _metadata_are_late(one: Adversary) -> None:
    one.losses.append("metadata are late")


def _retention_changes(one: Adversary) -> None:
    if one.kafka.partitions:
        topic = one.draw.choice(sorted({topic for topic, _ in one.kafka.partitions}))
        one.does(ChangeConfig("topics", topic, "retention.ms", one.draw.choice(("77", None))))


def _answer_is_lost(one: Adversary) -> None:
    one.losses.append("an answer is lost")


def _request_is_lost(one: Adversary) -> None:
    one.losses.append("a request is lost")


def _ctrl_c(one: Adversary) -> None:
    one.losses.append("Ctrl-C")


DEEDS: dict[str, Callable[[Adversary], None]] = {
    deed.__name__.strip("_"): deed
    for deed in (
        _accept,
        _acl_changes,
        _answer_is_lost,
        _broker_dies,
        _broker_is_replaced,
        _broker_restarts,
        _brokers_come_back,
        _clock_is_set,
        _configs_are_reset,
        _ctrl_c,
        _disk_fails,
        _disk_fills,
        _every_move_is_cancelled,
        _kill,
        _list_is_edited,
        _metadata_are_late,
        _move_is_cancelled,
        _move_is_replaced,
        _plan_is_done,
        _policy_changes,
        _reject,
        _replica_is_placed,
        _replica_lags,
        _replicas_are_reordered,
        _replicas_change,
        _request_is_lost,
        _retention_changes,
        _throttle_changes,
        _throttles_are_cleared,
        _throttles_are_set,
        _topic_is_created_again,
        _topic_is_deleted,
    )
}


def drawn(draw: random.Random) -> list[Event]:
    """Draw some events, most of them at different edges."""
    count = draw.choice((0, 1, 1, 2, 2, 3, 4, 6))
    last = draw.choice((10, 40, 120))
    names = sorted(DEEDS)
    return sorted(Event(draw.randint(1, last), draw.choice(names), draw.randrange(1 << 20)) for _ in range(count))
