"""Kafka's admin side as far as executions meet it: reassignments, copies between directories, throttles, the ISR.

A tick is some seconds, in which copies proceed at their rates. Sources: Kafka 4.3.1 ``ReplicationControlManager``
(reassignments and their cancellation), ``PartitionReassignmentReplicas``, ``ReplicaManager`` (directories), KIP-73
(throttles), KIP-860 (replication factors).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from logdirwatch.execute.calls import Call, ChangeConfig, ElectLeaders, PlaceReplicas, Reassign
from logdirwatch.execute.ports import NoAnswerError, RefusedError
from logdirwatch.execute.seen import Copy, Entity, Held, PartitionSeen, Seen
from logdirwatch.execute.step_kinds.cancel import Cancel
from logdirwatch.execute.step_kinds.elect import Elect
from logdirwatch.execute.step_kinds.move import Move
from logdirwatch.execute.step_kinds.order import Order
from logdirwatch.execute.step_kinds.set_config import SetConfig
from logdirwatch.execute.step_kinds.throttle import Throttle
from logdirwatch.execute.steps import Step
from logdirwatch.execute.surroundings import Around, Surroundings
from logdirwatch.model.vocabulary import (
    FOLLOWER_THROTTLE,
    LEADER_THROTTLE,
    LOG_DIR_THROTTLE,
    THROTTLED_FOLLOWERS,
    THROTTLED_LEADERS,
)
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.layout import TopicPartition as Key
from logdirwatch.plan.commands.throttles import Limit

OFFLINE = 56


@dataclass
class Partition:
    """One partition as the controller knows it."""

    replicas: tuple[int, ...]
    isr: set[int]
    size_bytes: int
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def goal(self) -> tuple[int, ...]:
        """Its replicas when no reassignment runs, or when the running one has ended."""
        return tuple(broker for broker in self.replicas if broker not in self.removing)

    @property
    def kept(self) -> tuple[int, ...]:
        """Its replicas without the running reassignment: what a cancellation leaves."""
        return tuple(broker for broker in self.replicas if broker not in self.adding)


@dataclass
class Kafka:
    """A cluster; ``log_dirs`` has the capacity of each directory in bytes."""

    log_dirs: dict[LogDirId, int]
    partitions: dict[Key, Partition] = field(default_factory=dict)
    logs: dict[Held, Copy] = field(default_factory=dict)
    futures: dict[Held, Copy] = field(default_factory=dict)
    configs: dict[Entity, dict[str, str]] = field(default_factory=dict)
    others_bytes: dict[LogDirId, int] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)
    offline: set[LogDirId] = field(default_factory=set)
    wished: dict[Held, str] = field(default_factory=dict)
    """The directories that replicas were given before they existed."""
    min_isr: int = 1
    written_bytes_per_s: int = 0
    """How fast each partition grows."""
    unthrottled_bytes_per_s: float = 60.0
    foreign_rate: str = "7"
    """The throttle that somebody else sets on a broker."""
    has_acl: bool = True
    """Whether the execution's user may still see and change anything."""
    has_policy: bool = False
    """Whether a policy of the cluster refuses every change of a configuration (KIP-133)."""
    ids: dict[str, int] = field(default_factory=dict)
    """How often each topic was created: its identity."""
    _rests: object = None
    """What stays as it is, however much time passes."""

    def __post_init__(self) -> None:
        for broker in self.brokers:
            self.configs.setdefault(("brokers", str(broker)), {})

    @property
    def brokers(self) -> tuple[int, ...]:
        """All brokers, also the dead."""
        return tuple(sorted({broker for broker, _ in self.log_dirs}))

    def paths(self, broker: int) -> list[str]:
        """Return the directories of a broker."""
        return [path for number, path in sorted(self.log_dirs) if number == broker]

    def create(self, key: Key, placed: Mapping[int, str], size_bytes: int) -> None:
        """Create a partition with its replicas in sync."""
        if ("topics", key[0]) not in self.configs:
            self.ids[key[0]] = self.ids.get(key[0], 0) + 1
        self.partitions[key] = Partition(tuple(placed), set(placed), size_bytes)
        self.configs.setdefault(("topics", key[0]), {})
        self.logs |= {(*key, broker): Copy(path, size_bytes) for broker, path in placed.items()}

    def path(self, held: Held) -> str:
        """Return the directory of a replica."""
        return self.logs[held].path

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        self.configs.pop(("topics", topic), None)
        for held in [*self.logs, *self.futures]:
            if held[0] == topic:
                self._drop(held)
        self.partitions = {key: one for key, one in self.partitions.items() if key[0] != topic}

    def create_again(self, topic: str) -> None:
        """Delete a topic and create it again, where it was."""
        placed = {
            key: {one: self.path((*key, one)) for one in found.replicas if (*key, one) in self.logs}
            for key, found in self.partitions.items()
            if key[0] == topic
        }
        self.delete(topic)
        for key, paths in placed.items():
            if paths:
                self.create(key, paths, 0)

    def die(self, broker: int) -> None:
        """Kill a broker; where its new replicas were to be is in its memory only (``LogManager``)."""
        self.dead.add(broker)
        self.wished = {held: path for held, path in self.wished.items() if held[2] != broker}

    def replace(self, broker: int) -> None:
        """Start a broker with empty disks under the same id; without another replica that is in sync it is lost."""
        for held in [held for held in (*self.logs, *self.futures) if held[2] == broker]:
            partition = self.partitions[held[:2]]
            if partition.isr - {broker}:
                partition.isr.discard(broker)
                self._drop(held)
        self.die(broker)
        self.dead.discard(broker)

    def revive(self) -> None:
        """Start all brokers that are dead."""
        self.dead.clear()

    def fail(self, place: LogDirId) -> None:
        """Take a directory offline."""
        self.offline.add(place)

    def fill(self, place: LogDirId, ratio: float) -> None:
        """Fill that part of the room that is left in a directory."""
        room = self.log_dirs[place] - self.used_bytes(place)
        self.others_bytes[place] = self.others_bytes.get(place, 0) + int(room * ratio)

    def settle(self) -> None:
        """Let all brokers know what was changed last."""

    # -- time

    def tick(self, seconds: float) -> None:
        """Let time pass: copies proceed, directories fill, in-sync replicas change, reassignments end."""
        before = self._state()
        for held in list(self.futures):
            self._copy_within(held, seconds)
        for key, partition in self.partitions.items():
            self._write(key, partition, seconds)
            for broker in partition.replicas:
                self._follow((*key, broker), partition, seconds)
        self._fill()
        for key, partition in self.partitions.items():
            self._judge(key, partition)
        self._rests = before if before == self._state() else None

    def is_at_rest(self) -> bool:
        """Tell whether time alone changes nothing any more."""
        return self._rests is not None and self._rests == self._state()

    def _state(self) -> object:
        """Return all that is waited for: not how much producers write to what is in sync."""
        in_sync = {(*key, broker) for key, one in self.partitions.items() for broker in one.isr}
        logs = {held: copy.path if held in in_sync else copy for held, copy in self.logs.items()}
        return logs, dict(self.futures), self.offline | self.dead, in_sync

    def _write(self, key: Key, partition: Partition, seconds: float) -> None:
        """Let producers write: what is in sync has it at once."""
        if self.leader(key) is not None:
            partition.size_bytes += int(self.written_bytes_per_s * seconds)
            for held in ((*key, broker) for broker in partition.isr - self.dead):
                self.logs[held] = Copy(self.logs[held].path, partition.size_bytes)

    def _copy_within(self, held: Held, seconds: float) -> None:
        future, log = self.futures[held], self.logs.get(held)
        if log is None or not all(self._serves(held[2], path) for path in (log.path, future.path)):
            return
        copied = min(log.size_bytes, future.size_bytes + int(self.within_rate(held) * seconds))
        self.futures[held] = Copy(future.path, copied)
        if copied == log.size_bytes:
            self.logs[held] = self.futures.pop(held)

    def _follow(self, held: Held, partition: Partition, seconds: float) -> None:
        """Let a replica fetch from its leader."""
        broker, leader = held[2], self.leader(held[:2])
        log = self.logs.get(held)
        if broker in self.dead or leader is None:
            return
        if log is None:
            path = self._chosen(held)
            if path is None:
                return
            log = self.logs[held] = Copy(path, 0)
        if broker != leader and self._serves(broker, log.path):
            copied = min(partition.size_bytes, log.size_bytes + int(self.copy_rate(held, leader) * seconds))
            self.logs[held] = Copy(log.path, max(copied, log.size_bytes))

    def copy_rate(self, held: Held, leader: int | None) -> float:
        """Return how fast a replica catches up, in bytes/s: the smaller of both ends' throttles, where it is listed."""
        topic, number, broker = held
        lists = self.configs.get(("topics", topic), {})
        ends = ((broker, FOLLOWER_THROTTLE, THROTTLED_FOLLOWERS), (leader, LEADER_THROTTLE, THROTTLED_LEADERS))
        return min(
            self._rate(end, rate) if _lists(lists.get(listed), number, end) else self.unthrottled_bytes_per_s
            for end, rate, listed in ends
        )

    def within_rate(self, held: Held) -> float:
        """Return how fast a replica is copied to another directory of its broker, in bytes/s."""
        return self._rate(held[2], LOG_DIR_THROTTLE)

    def _rate(self, broker: int | None, key: str) -> float:
        value = self.configs.get(("brokers", str(broker)), {}).get(key)
        return self.unthrottled_bytes_per_s if not value else float(value)

    def _chosen(self, held: Held) -> str | None:
        """Return where a replica is created: where it was wished, or in the directory with the fewest replicas."""
        broker, wished = held[2], self.wished.pop(held, None)
        serving = [path for number, path in sorted(self.log_dirs) if number == broker and self._serves(broker, path)]
        if wished in serving:
            return wished
        held_by = {
            path: sum(log.path == path for one, log in self.logs.items() if one[2] == broker) for path in serving
        }
        return min(serving, key=held_by.__getitem__, default=None)

    def lag(self, held: Held) -> None:
        """Let a replica lack half of its log, and fall out of the in-sync ones."""
        self.partitions[held[:2]].isr.discard(held[2])
        self.logs[held] = Copy(self.logs[held].path, self.logs[held].size_bytes // 2)

    def _fill(self) -> None:
        """Take directories offline that are full."""
        for place, capacity in self.log_dirs.items():
            if place not in self.offline and self.used_bytes(place) > capacity:
                self.offline.add(place)

    def used_bytes(self, place: LogDirId) -> int:
        """Return what lies in a directory."""
        copies = [*self.logs.items(), *self.futures.items()]
        ours = sum(copy.size_bytes for held, copy in copies if (held[2], copy.path) == place)
        return ours + self.others_bytes.get(place, 0)

    def _judge(self, key: Key, partition: Partition) -> None:
        """Update the in-sync replicas, and end a reassignment whose new replicas are in sync."""
        fit = {broker for broker in partition.replicas if self._is_fit((*key, broker), partition)}
        # The last one stays in the set when it goes away: nobody else may lead.
        partition.isr = fit or set(sorted(partition.isr)[:1])
        if (partition.adding or partition.removing) and set(partition.goal) <= fit:
            gone, partition.replicas = partition.removing, partition.goal
            partition.adding = partition.removing = ()
            partition.isr &= set(partition.replicas)
            for broker in gone:
                self._drop((*key, broker))

    def _is_fit(self, held: Held, partition: Partition) -> bool:
        log = self.logs.get(held)
        if log is None or not self._serves(held[2], log.path):
            return False
        is_member = held[2] in partition.isr and not self._lost_all(partition, held)
        return is_member or log.size_bytes >= partition.size_bytes

    def _lost_all(self, partition: Partition, held: Held) -> bool:
        return self.logs[held].size_bytes < partition.size_bytes and held[2] in partition.adding

    def leader(self, key: Key) -> int | None:
        """Return the first replica in sync that serves."""
        partition = self.partitions[key]
        in_sync = (one for one in partition.replicas if one in partition.isr and (*key, one) in self.logs)
        return next((one for one in in_sync if self._serves(one, self.logs[(*key, one)].path)), None)

    def _serves(self, broker: int, path: str) -> bool:
        return broker not in self.dead and (broker, path) not in self.offline

    def _drop(self, held: Held) -> None:
        for known in (self.logs, self.futures, self.wished):
            known.pop(held, None)

    # -- requests: what an execution sees, and what it asks for

    def look(self, step: Step | None, limits: Sequence[Limit]) -> Seen:
        """See ``execute.run.Cluster``."""
        if isinstance(step, Move | Order | Elect | Cancel):
            return self._look_at(step.keys, step.brokers)
        entities = {(one.entity, one.name) for one in limits}
        if isinstance(step, SetConfig):
            entities.add((step.entity, step.name))
        elif isinstance(step, Throttle):
            throttled = {(one.entity, one.name) for one in step.limits}
            dead = {("brokers", str(broker)) for broker in self.dead} & throttled
            configs = {entity: self._config(entity) for entity in sorted(throttled - dead)}
            ids = self._ids({name for entity, name in throttled if entity == "topics"})
            return Seen(configs=configs, silent=frozenset(int(name) for _, name in dead), topic_ids=ids)
        named = {name for entity, name in entities if entity == "topics"}
        return Seen(configs={entity: self._config(entity) for entity in sorted(entities)}, topic_ids=self._ids(named))

    def _ids(self, topics: Iterable[str]) -> dict[str, str]:
        return {topic: f"{topic}/{self.ids[topic]}" for topic in topics if ("topics", topic) in self.configs}

    def _look_at(self, keys: Iterable[Key], brokers: Iterable[int]) -> Seen:
        wanted, asked = set(keys), set(brokers)
        answering = asked - self.dead
        return Seen(
            partitions={
                key: PartitionSeen(one.replicas, tuple(sorted(one.isr)), one.adding, one.removing, self.leader(key))
                for key, one in self.partitions.items()
                if key in wanted
            },
            replicas={held: log for held, log in self.logs.items() if held[:2] in wanted and held[2] in answering},
            futures={held: log for held, log in self.futures.items() if held[:2] in wanted and held[2] in answering},
            log_dirs={place: OFFLINE * (place in self.offline) for place in self.log_dirs if place[0] in answering},
            silent=frozenset(asked - answering),
            topic_ids=self._ids({topic for topic, _ in wanted}),
        )

    def _config(self, entity: Entity) -> dict[str, str | None]:
        if entity not in self.configs:
            raise RefusedError(f"{entity[1]} does not exist")
        if entity[0] == "brokers" and int(entity[1]) in self.dead:
            raise NoAnswerError(f"broker {entity[1]} does not answer")
        return dict(self.configs[entity])

    def look_around(self, ours: Around) -> Surroundings:
        """See ``execute.watch.Outlook``."""
        throttles = {
            Limit(*entity, key, value)
            for entity, values in self.configs.items()
            for key, value in values.items()
            if "throttled" in key or key == LOG_DIR_THROTTLE
            if entity[1] in ours.topics or (entity[0] == "brokers" and int(entity[1]) not in self.dead)
        }
        return Surroundings(
            under_min_isr=frozenset(key for key, one in self.partitions.items() if len(one.isr) < self.min_isr),
            reassigned={key: one.goal for key, one in self.partitions.items() if one.adding or one.removing},
            throttles=frozenset(throttles),
            brokers=frozenset(set(self.brokers) - self.dead),
            used_ratios={
                place: self.used_bytes(place) / self.log_dirs[place]
                for place in ours.destinations
                if place[0] not in self.dead and place not in self.offline
            },
        )

    def call(self, call: Call) -> None:
        """See ``execute.run.Cluster``."""
        self._rests = None
        if isinstance(call, ChangeConfig):
            self._change(call)
        elif isinstance(call, PlaceReplicas):
            _each(self._place, call.paths)
        elif isinstance(call, Reassign):
            reassign = partial(self.reassign, changes_factor=call.changes_factor)
            _each(reassign, call.replicas)
        elif isinstance(call, ElectLeaders):
            pass

    def _change(self, call: ChangeConfig) -> None:
        self._config((call.entity, call.name))  # raises where there is no such entity, or no answer
        values = self.configs[call.entity, call.name]
        values.pop(call.key, None)
        if call.value is not None:
            values[call.key] = call.value

    def _place(self, held: Held, path: str) -> None:
        broker, log = held[2], self.logs.get(held)
        if broker in self.dead:
            raise NoAnswerError(f"broker {broker} does not answer")
        if (broker, path) not in self.log_dirs or (broker, path) in self.offline:
            raise RefusedError(f"{path} of broker {broker} is offline")
        if log is None:
            self.wished[held] = path
            return
        if log.path == path:
            self.futures.pop(held, None)
        elif self.futures.get(held, Copy("", 0)).path != path:
            self.futures[held] = Copy(path, 0)

    def reassign(self, key: Key, replicas: tuple[int, ...] | None, *, changes_factor: bool) -> None:
        """Begin, replace or cancel (None) the reassignment of a partition."""
        partition = self.partitions.get(key)
        if partition is None:
            raise RefusedError(f"{key[0]}-{key[1]} does not exist")
        if replicas is None:
            self._cancel(key, partition)
            return
        if not set(replicas) <= set(self.brokers):
            raise RefusedError("no such broker")
        if len(replicas) != len(partition.goal) and not changes_factor:
            raise RefusedError("the replication factor is another one (KIP-860)")
        before = partition.replicas
        partition.replicas = (*replicas, *(one for one in before if one not in replicas))
        partition.adding = tuple(one for one in replicas if one not in before or one in partition.adding)
        partition.removing = tuple(one for one in before if one not in replicas)
        if not partition.adding and not partition.removing:
            partition.replicas = replicas
        self._judge(key, partition)

    def _cancel(self, key: Key, partition: Partition) -> None:
        """Cancel; Kafka answers that none runs with an error that the caller takes for done."""
        if not (partition.adding or partition.removing):
            return
        if not partition.isr & set(partition.kept):
            raise RefusedError("none of the replicas that would be left is in sync")
        gone, partition.replicas = partition.adding, partition.kept
        partition.adding = partition.removing = ()
        partition.isr &= set(partition.replicas)
        for broker in gone:
            self._drop((*key, broker))


def _each(change: Callable[[Any, Any], None], wanted: Mapping[Any, Any]) -> None:
    """Make each change for itself, as Kafka does (KIP-455); raise the first error afterwards."""
    for error in [error for key, value in wanted.items() if (error := _error_of(change, key, value)) is not None]:
        raise error


def _error_of(change: Callable[[Any, Any], None], key: Any, value: Any) -> Exception | None:
    try:
        change(key, value)
    except (NoAnswerError, RefusedError) as error:
        return error
    return None


def _lists(value: str | None, number: int, broker: int | None) -> bool:
    return value is not None and (value == "*" or f"{number}:{broker}" in value.split(","))
