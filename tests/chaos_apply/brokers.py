"""Real brokers in the place of the model of ``tests.simulation.hand``: the same schedules, laws and adversaries."""

import contextlib
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafka.admin import NewTopic
from kafka.errors import KafkaError, UnknownTopicOrPartitionError

from logdirwatch.execute.admin import AdminCluster
from logdirwatch.execute.calls import Call, ChangeConfig, PlaceReplicas
from logdirwatch.execute.ports import NoAnswerError, RefusedError
from logdirwatch.execute.seen import Entity, Held, Seen
from logdirwatch.execute.step_kinds.move import Move
from logdirwatch.execute.steps import Step
from logdirwatch.execute.surroundings import Around, Surroundings
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, REPLICATION_THROTTLES
from logdirwatch.plan.cluster.assignment import ANY, Assignment
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.layout import TopicPartition as Key
from logdirwatch.plan.commands.throttles import Limit
from logdirwatch_lab.cluster import LocalCluster
from logdirwatch_lab.fill import FillWith
from tests.simulation.hand.kafka import Kafka, Partition
from tests.simulation.hand.run import EndlessError
from tests.support.waiting import DEADLINE_S, wait_until

MIB = 1 << 20
RECORDS = 4
"""Of half a MiB each, in every partition."""
TICK_S, SETTLED_S = 0.3, 2.0
MOST_S = 900
"""Longer than the longest patience of an execution at this pace."""
MOST_USED_RATIO = 0.8


class Brokers(Kafka):
    """A cluster of real brokers; what it has is read again after every call and every tick."""

    def __init__(self, disks: LocalCluster, admin: Any, monitored: KafkaSettings, name: str) -> None:
        log_dirs = {(one.id, path): 0 for one in disks.state().brokers for path in one.log_dirs}
        super().__init__(log_dirs, unthrottled_bytes_per_s=float(1 << 40), foreign_rate=str(3 * MIB))
        self._disks, self._admin, self._monitored, self._name = disks, admin, monitored, name
        self._cluster = AdminCluster(admin)
        self._until_s = time.monotonic() + MOST_S

    def create(self, key: Key, placed: Mapping[int, str], size_bytes: int) -> None:
        """Create a topic of one partition, with its replicas in their directories."""
        topic = f"{key[0]}{key[1]}-{self._name}"
        self._admin.create_topics([NewTopic(topic, replica_assignments={0: list(placed)})])
        wished = PlaceReplicas({(topic, 0, broker): path for broker, path in placed.items()})
        wait_until(lambda: _is_taken(self._cluster, wished), DEADLINE_S, "the brokers to know the topic")
        writing = clients.producer(self._monitored, max_block_ms=20_000)
        for _ in range(RECORDS):
            writing.send(topic, value=b"x" * (MIB // 2), partition=0).get(timeout=30)
        clients.discard(writing, 1)
        super().create((topic, 0), placed, size_bytes)
        wait_until(lambda: self._is_placed(topic, placed), DEADLINE_S, "the replicas to be where they were placed")

    def _is_placed(self, topic: str, placed: Mapping[int, str]) -> bool:
        self.refresh()
        return {held[2]: copy.path for held, copy in self.logs.items() if held[0] == topic} == dict(placed)

    # -- what others do

    def delete(self, topic: str) -> None:
        """Delete a topic, whichever broker has just died."""
        wait_until(lambda: self._is_deleted(topic), DEADLINE_S, "the topic to be deleted")
        self.refresh()

    def _is_deleted(self, topic: str) -> bool:
        try:
            self._admin.delete_topics([topic])
        except UnknownTopicOrPartitionError:
            return True
        except KafkaError:
            return False
        return True

    def create_again(self, topic: str) -> None:
        """Delete a topic: no partition has its name afterwards."""
        self.delete(topic)

    def replace(self, broker: int) -> None:
        """Kill a broker: its disks are needed."""
        self.die(broker)

    def die(self, broker: int) -> None:
        """Kill a broker, unless another one is dead: the others are needed as controllers."""
        if not self.dead:
            self._disks.kill(broker)
            super().die(broker)

    def revive(self) -> None:
        """Start what is dead."""
        for broker in self.dead:
            self._disks.start(broker)
        super().revive()

    def fail(self, place: LogDirId) -> None:
        """Break the directory of that broker that has no metadata of the cluster."""
        if place[0] not in self.dead:
            self._disks.break_log_dir(place[0], 1)

    def fill(self, place: LogDirId, ratio: float) -> None:
        """Fill the directory of that broker that has no metadata of the cluster."""
        broker = self._disks.space(place[0], 1)
        if place[0] not in self.dead and broker is not None and not self.offline:
            used = broker.used_ratio
            self._disks.fill(place[0], 1, FillWith.FILE, until_ratio=used + (1 - used) * ratio)

    def lag(self, held: Held) -> None:
        """Hold a broker up for a while."""
        if held[2] not in self.dead:
            self._disks.pause(held[2])
            time.sleep(2)
            self._disks.resume(held[2])

    # -- time, and what is seen

    def tick(self, seconds: float) -> None:
        """Let a little time pass, whatever ``seconds`` is: copies are small."""
        if time.monotonic() > self._until_s:
            raise EndlessError
        time.sleep(TICK_S)
        self.refresh()

    def settle(self) -> None:
        """See ``Kafka``: brokers learn of changes from the controller a moment later."""
        time.sleep(SETTLED_S)
        self.refresh()

    def call(self, call: Call) -> None:
        """See ``execute.run.Cluster``."""
        try:
            self._cluster.call(call)
        finally:
            self.refresh()

    def look(self, step: Step | None, limits: Sequence[Limit]) -> Seen:
        """See ``execute.run.Cluster``."""
        return self._cluster.look(step, limits)

    def look_around(self, ours: Around) -> Surroundings:
        """See ``execute.watch.Outlook``."""
        return self._cluster.look_around(ours)

    def refresh(self) -> None:
        """Read partitions, replicas and throttles; what does not answer stays as it was seen last."""
        with contextlib.suppress(NoAnswerError, RefusedError):
            self._read()

    def _read(self) -> None:
        everywhere = {key: Assignment(*key, self.brokers, (ANY,) * len(self.brokers)) for key in self.partitions}
        seen = self._cluster.look(Move(tuple(everywhere.values()), everywhere), ()) if everywhere else Seen()
        self.partitions = {
            key: Partition(one.replicas, set(one.isr), 0, one.adding, one.removing)
            for key, one in seen.partitions.items()
        }
        self.logs = {held: copy for held, copy in seen.replicas.items() if held[:2] in self.partitions}
        self.futures = {held: copy for held, copy in seen.futures.items() if held[:2] in self.partitions}
        self.offline = {place for place, error in seen.log_dirs.items() if error}
        entities = [("brokers", str(broker)) for broker in self.brokers if broker not in self.dead]
        entities += [("topics", topic) for topic, _ in self.partitions]
        for entity in [one for one in self.configs if one[0] == "topics" and one not in entities]:
            del self.configs[entity]
        for entity in entities:
            with contextlib.suppress(NoAnswerError, RefusedError):
                self.configs[entity] = self._set(entity)

    def _set(self, entity: Entity) -> dict[str, str]:
        found = self._cluster.look(None, [Limit(*entity, LOG_DIR_THROTTLE, "1")]).configs[entity]
        return {key: value for key, value in found.items() if value is not None}

    # -- afterwards

    def __enter__(self) -> "Brokers":
        return self

    def __exit__(self, *_: object) -> None:
        """Mend what others did, so that the next schedule begins as the first one."""
        self.revive()
        for broker in self.brokers:
            if (broker, self.paths(broker)[1]) in self.offline or is_spent(self._disks, broker, 1):
                self._disks.restore(broker, 1)
        self.refresh()
        self._admin.delete_topics(sorted({topic for topic, _ in self.partitions}))
        for broker in map(str, self.brokers):
            for key in (*REPLICATION_THROTTLES, LOG_DIR_THROTTLE):
                clear = ChangeConfig("brokers", broker, key, None)
                wait_until(
                    lambda clear=clear: _is_taken(self._cluster, clear), DEADLINE_S, f"broker {broker} to answer"
                )


def is_spent(disks: LocalCluster, broker: int, log_dir: int) -> bool:
    """Tell whether a directory has too little room for another round."""
    space = disks.space(broker, log_dir)
    return space is None or space.used_ratio > MOST_USED_RATIO


def wrong(name: str, log: Iterable[str], found: Iterable[str]) -> str:
    """Return what happened in a schedule, and what is wrong about it."""
    return "\n  ".join((f"{name}:", *log, *(f"WRONG {one}" for one in found)))


def _is_taken(cluster: AdminCluster, call: Call) -> bool:
    try:
        cluster.call(call)
    except NoAnswerError:
        return False
    return True
