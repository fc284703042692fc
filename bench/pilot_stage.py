"""The cluster that bench_autopilot.py's incidents happen on: made ready, filled, read back, and made clean again."""

import random
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from logdirwatch.kafka import clients
from logdirwatch.model.vocabulary import (
    FOLLOWER_THROTTLE,
    LEADER_THROTTLE,
    LOG_DIR_THROTTLE,
    THROTTLED_FOLLOWERS,
)
from logdirwatch.settings import Settings
from logdirwatch_lab import probes
from logdirwatch_lab.cluster import LocalCluster
from logdirwatch_lab.fill import BALLAST, FillWith, Target, place_topic
from logdirwatch_lab.volumes import volumes_of
from pilot_incidents import CROWDED_RATIO, FLOOR_BYTES, FLOOR_MS, RETENTION_MS, Foreign, Incident
from tests.chaos_apply.rounds import CORDON, World
from tests.kafka.applying import MIB, limits_left, now, watched
from tests.support.waiting import DEADLINE_S, wait_until

RECORD_BYTES = 16 << 10
VALUE = random.Random(0).randbytes(RECORD_BYTES)
STEP_S = 0.1
THEIRS = "theirs"
THEIR_BYTES = 3 * MIB
EMPTY_RATIO = 0.05
ASKED_TIMES = 3
KEYS = (FOLLOWER_THROTTLE, LEADER_THROTTLE, LOG_DIR_THROTTLE, CORDON)

Place = tuple[int, int]
"""Broker, and index of the directory."""
Key = tuple[str, int]


class Stage:
    """One incident at a time: ``set_up``, ``pour``, what became of it, ``clear``."""

    def __init__(self, disks: LocalCluster, own: Settings, admin: Any) -> None:
        self._disks, self._own, self._admin = disks, own, admin
        self._records: dict[Key, list[tuple[int, int]]] = defaultdict(list)
        self._replicas: dict[Key, int] = {}
        self.poured_bytes = 0

    # -- before

    def set_up(self, incident: Incident) -> None:
        """Make the disks, the history, and what somebody else has under way."""
        self._records.clear()
        self.poured_bytes = 0
        for place in self._places():
            self._target(place).volumes.resize(self._target(place).volume, incident.size_bytes)
        with_others = [incident.place[0], *self._others(incident)][: incident.replicas]
        configs = {"retention.ms": str(RETENTION_MS), "min.insync.replicas": "1"}
        for name in incident.history:
            place_topic(self._target(incident.place), name, with_others, 1, configs)
        place_topic(self._target(incident.place), incident.burst, [incident.place[0]], incident.partitions, configs)
        self._write_history(incident)
        for place in self._places():
            if place != incident.place and not incident.has_room(*place):
                self._disks.fill(*place, FillWith.FILE, until_ratio=CROWDED_RATIO)
        self._intrude(incident)
        self._replicas = self._replica_counts()

    def _write_history(self, incident: Incident) -> None:
        begin_ms = now() - int(0.98 * RETENTION_MS)
        with self._producer() as producer:
            for name, size_bytes in incident.history.items():
                count = size_bytes // RECORD_BYTES
                step_ms = (now() - begin_ms) // count
                self._send(producer, (name, 0), [begin_ms + number * step_ms for number in range(count)])

    def _intrude(self, incident: Incident) -> None:
        near, far = self._others(incident)
        world = World(self._own, self._disks, self._admin, THEIRS)
        if incident.foreign is Foreign.THROTTLES:
            world.set_on_broker(incident.place[0], LOG_DIR_THROTTLE, str(8 * MIB))
            world.set_on_broker(near, LEADER_THROTTLE, str(1 << 40))
        elif incident.foreign is Foreign.REASSIGNMENT:
            place_topic(self._target((near, 0)), THEIRS, [near], 1, {THROTTLED_FOLLOWERS: "*"})
            with self._producer() as producer:
                self._send(producer, (THEIRS, 0), [now()] * (THEIR_BYTES // RECORD_BYTES))
            world.set_on_broker(far, FOLLOWER_THROTTLE, "8000")
            world.reassign(far)

    # -- the burst

    def pour(self, incident: Incident, stop: threading.Event) -> None:
        """Write the burst at its rate; what a partition does not accept is written again."""
        began_s = time.monotonic()
        keys = [(incident.burst, number) for number in range(incident.partitions)]
        with self._producer() as producer:
            while self.poured_bytes < incident.burst_bytes and not stop.is_set():
                so_far = min(incident.burst_bytes, int((time.monotonic() - began_s) * incident.bytes_per_s))
                due = so_far - self.poured_bytes
                for key in keys:
                    count = max(1, due // RECORD_BYTES // len(keys))
                    self.poured_bytes += RECORD_BYTES * self._send(producer, key, [now()] * count)
                stop.wait(STEP_S)

    def _send(self, producer: KafkaProducer, key: Key, times_ms: Sequence[int]) -> int:
        """Write a record for each time; note and return how many were acknowledged."""
        topic, partition = key
        first = self._records[key][-1][0] + 1 if self._records[key] else 0
        try:
            sent = [
                (number, at_ms, producer.send(topic, VALUE, number.to_bytes(8, "big"), None, partition, at_ms))
                for number, at_ms in enumerate(times_ms, first)
            ]
            producer.flush(timeout=30)
        except KafkaError:
            return 0
        acknowledged = [(number, at_ms) for number, at_ms, future in sent if future.succeeded()]
        self._records[key] += acknowledged
        return len(acknowledged)

    # -- what became of it

    def offline(self) -> list[str]:
        """Every directory that is offline, or whose broker does not answer."""
        found = []
        for node in self._disks.state().brokers:
            # On a busy machine a broker that serves may answer late.
            asked = (probes.log_dir_errors(node.address, node.id) for _ in range(ASKED_TIMES))
            errors = next((answer for answer in asked if answer is not None), {})
            found += [f"{node.id}:{path}" for path in node.log_dirs if errors.get(path) != 0]
        return found

    def used_ratio(self, place: Place) -> float:
        space = self._disks.space(*place)
        return 1.0 if space is None else space.used_ratio

    def lost(self) -> list[str]:
        """What policy protects and is not to be read any more; a partition without a leader cannot be asked."""
        led = {
            (topic["name"], part["partition_index"])
            for topic in self._admin.describe_topics()
            for part in topic["partitions"]
            if part["leader_id"] >= 0
        }
        found = []
        with clients.consumer(watched(self._own), auto_offset_reset="earliest") as client:
            for key in sorted(self._records.keys() & led):
                protected = self._protected(key)
                missing = protected - _numbers(client, TopicPartition(*key))
                if missing:
                    found.append(f"{len(missing)} of {len(protected)} records of {key[0]}-{key[1]}")
        return found

    def _protected(self, key: Key) -> set[int]:
        """The numbers of the records that must be there: those within the floors, and all where there is none."""
        policy, records = key[0].split("-")[0], self._records[key]
        if policy not in {"aged", "sized"}:
            return {number for number, _ in records}
        floor = {number for number, at_ms in records if at_ms >= now() - FLOOR_MS}
        newest = records[-(FLOOR_BYTES // RECORD_BYTES) :] if policy == "sized" else []
        return floor | {number for number, _ in newest}

    def shrunk(self) -> list[str]:
        """The partitions that have fewer replicas than at the beginning."""
        present = self._replica_counts()
        mine = {key: count for key, count in self._replicas.items() if key[0] != THEIRS}
        return [f"{key[0]}-{key[1]}" for key, count in mine.items() if present[key] < count]

    def limits(self) -> dict[tuple[str, str], str]:
        """Every throttle that is set anywhere."""
        found: dict[tuple[str, str], str] = {}
        for name in self._topics():
            for (who, key), value in limits_left(self._admin, name).items():
                found[name if who == "topic" else who, key] = value
        return found

    def foreign_moves(self) -> dict[Key, list[int]]:
        """Where somebody else's reassignment leads, or has led."""
        running = {
            (part.topic, part.partition): move for part, move in self._admin.list_partition_reassignments().items()
        }
        found = {}
        for topic in self._admin.describe_topics([name for name in self._topics() if name == THEIRS]):
            for part in topic["partitions"]:
                leaving = running.get((THEIRS, part["partition_index"]), {"removing_replicas": ()})["removing_replicas"]
                kept = [broker for broker in part["replica_nodes"] if broker not in leaving]
                found[THEIRS, part["partition_index"]] = sorted(kept)
        return found

    # -- afterwards

    def clear(self) -> None:
        """Make every directory serve and empty, and take all throttles and cordons away."""
        state = self._disks.state()
        for node in state.brokers:
            errors = probes.log_dir_errors(node.address, node.id) or {}
            for index, path in enumerate(node.log_dirs):
                if errors.get(path) != 0:
                    self._disks.restore(node.id, index)
        wait_until(
            lambda: probes.unfenced_brokers(self._disks.bootstrap_servers) == {node.id for node in state.brokers},
            DEADLINE_S,
            "every broker to be back",
        )
        with clients.admin(watched(self._own)) as admin:
            for node in state.brokers:
                for key in KEYS:
                    World(self._own, self._disks, admin, "").set_on_broker(node.id, key, None)
            if mine := self._topics():
                admin.delete_topics(mine)
        for place in self._places():
            target = self._target(place)
            target.volumes.view(target.volume / BALLAST).unlink(missing_ok=True)
        wait_until(self._is_empty, DEADLINE_S, lambda: f"the directories to be empty, not {self._uses()}")

    def _is_empty(self) -> bool:
        return not self._topics() and max(self._uses().values()) < EMPTY_RATIO

    def _uses(self) -> dict[Place, float]:
        return {place: self.used_ratio(place) for place in self._places()}

    def _topics(self) -> list[str]:
        return [name for name in self._admin.list_topics() if not name.startswith("__")]

    def _replica_counts(self) -> dict[Key, int]:
        found = defaultdict(int)
        for topic in self._admin.describe_topics(self._topics()):
            for part in topic["partitions"]:
                found[topic["name"], part["partition_index"]] = len(part["replica_nodes"])
        return found

    def _places(self) -> Iterator[Place]:
        for node in self._disks.state().brokers:
            yield from ((node.id, index) for index in range(len(node.log_dirs)))

    def _others(self, incident: Incident) -> list[int]:
        return [node.id for node in self._disks.state().brokers if node.id != incident.place[0]]

    def _target(self, place: Place) -> Target:
        state = self._disks.state()
        return Target(state, volumes_of(state), state.broker(place[0]), place[1])

    def _producer(self) -> "Producing":
        return Producing(self._own)


class Producing:
    """A producer that waits little for a partition that is gone."""

    def __init__(self, own: Settings) -> None:
        self._own = own

    def __enter__(self) -> KafkaProducer:
        times = {"max_block_ms": 5_000, "request_timeout_ms": 5_000, "delivery_timeout_ms": 10_000}
        self._producer = clients.producer(watched(self._own), acks="all", linger_ms=5, batch_size=256 << 10, **times)
        return self._producer

    def __exit__(self, *_: object) -> None:
        clients.discard(self._producer, 1)


def _numbers(client: KafkaConsumer, partition: TopicPartition) -> set[int]:
    """Return the numbers of the records that a partition has."""
    client.assign([partition])
    client.seek_to_beginning()
    end = client.end_offsets([partition])[partition]
    found: set[int] = set()
    while client.position(partition) < end:
        for records in client.poll(timeout_ms=500).values():
            found.update(int.from_bytes(one.key, "big") for one in records)
    return found
