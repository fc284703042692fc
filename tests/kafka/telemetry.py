"""A history of records on a real telemetry cluster, the stream over it, and what comes out."""

import json
import os
import signal
import time
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import yaml

from logdirwatch import settings as configuration
from logdirwatch.kafka import telemetry_topics
from logdirwatch.kafka.clients import admin, producer, read_all, write
from logdirwatch.model import topics
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.settings import Settings
from logdirwatch_lab.config import INTERPRETED
from logdirwatch_lab.demo import tables
from logdirwatch_lab.demo.services import Service
from tests.support.waiting import DEADLINE_S, wait_until

TOPICS = topics.TOPICS
NAMES = [topic.name for topic in TOPICS]


def fresh_topics(settings: Settings) -> None:
    """Empty the telemetry cluster: all its topics are deleted and made again."""
    _delete_topics(settings)
    telemetry_topics.create_missing(settings)


def fresh_topics_with_own_times(settings: Settings) -> None:
    """Empty the telemetry cluster; Kafka's time of each record is then the one that it is sent with."""
    _delete_topics(settings)
    create_with_own_times(settings)


def create_with_own_times(settings: Settings) -> None:
    """Make the missing telemetry topics so that Kafka's time of each record is the one that it is sent with.

    They begin so: brokers apply a change some time after it was answered, and the first records would be without it.
    """
    own_times = {"message.timestamp.type": "CreateTime"}
    with mock.patch.object(
        topics,
        "TOPICS",
        [replace(one, configs=one.configs | (own_times if one.configs.keys() & own_times else {})) for one in TOPICS],
    ):
        telemetry_topics.create_missing(settings)


def _delete_topics(settings: Settings) -> None:
    with admin(settings.telemetry) as client:
        existing = [name for name in client.list_topics() if name in NAMES]
        if existing:
            client.delete_topics(existing)
        wait_until(
            lambda: not set(client.list_topics()) & set(NAMES), DEADLINE_S, "the old telemetry topics to be gone"
        )


@dataclass
class Message:
    """One record to write, its partition and time fixed so that every run writes the same."""

    topic: str
    value: bytes | None
    timestamp_ms: int
    partition: int = 0
    key: bytes | None = None


def _needed_key(message: Message) -> bytes | None:
    """A record without a value has a key, and so has every record of a compacted topic."""
    if message.key is not None:
        return message.key
    needs_none = message.topic in {topics.METRICS, topics.EVENTS} and message.value is not None
    return None if needs_none else b"of a test"


def send(settings: Settings, messages: list[Message]) -> None:
    """Write records in order and wait for their acknowledgement."""
    client = producer(settings.telemetry, acks="all", request_timeout_ms=30_000, delivery_timeout_ms=240_000)
    try:
        sent = [client.send(m.topic, m.value, _needed_key(m), None, m.partition, m.timestamp_ms) for m in messages]
        for future in sent:
            future.get(timeout=DEADLINE_S)
    finally:
        client.close(timeout=5)


def send_records(settings: Settings, topic: str, *records: AlertRecord | ActionRecord) -> None:
    """Write alerts or actions, keyed as the stream keys them, one after the other."""
    write(settings.telemetry, topic, ((_key_of(record), msgspec.json.encode(record)) for record in records))


def _key_of(record: AlertRecord | ActionRecord) -> str:
    identity = getattr(record, "action_id", record.alert_id)
    return identity if record.revision else f"{identity}/fast"


@dataclass
class Run:
    """The stream over a folder of its own: started, stopped, killed, and read."""

    folder: Path
    base: Settings
    overrides: dict[str, Any] = field(default_factory=dict)
    queries: tuple[str, ...] = ("fast_lane", "detect", "store")
    under: tuple[str, ...] = ()
    """The command that runs the stream, such as one that sets its clock."""
    service: Service | None = None
    left_open: dict[str, set[int]] = field(default_factory=dict)
    """The batches of each query that an earlier kill has cut: open from the start on, whatever the stream does."""

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        content = {
            "home": str(self.base.home_path),
            "default_cluster": "fallback",
            "telemetry": self.base.telemetry.model_dump(),
            "tables": {"path": str(self.folder / "tables")},
            "checkpoints": {"path": str(self.folder / "checkpoints")},
            "detect": {"state_refresh_ms": 0, "silence_min_ms": 86_400_000},
            "stream": {
                "driver_memory": "1g",
                # Every run's input must be the same, offset by offset.
                "pipeline_interval_ms": 0,
                "store_trigger": "2 seconds",
                "detect_trigger": "500 milliseconds",
                "stop_timeout_ms": 1_000,
                "driver_java_options": self.base.stream.driver_java_options,
                "extra": INTERPRETED,
            },
        } | self.overrides
        # What Spark keeps for a while stays there when it is killed.
        options = [*content["stream"].get("driver_java_options", "").split(), f"-Djava.io.tmpdir={self.folder}"]
        content["stream"] = content["stream"] | {"driver_java_options": " ".join(dict.fromkeys(options))}
        self.config = self.folder / "logdirwatch.yaml"
        self.config.write_text(yaml.safe_dump(content))
        self.settings = configuration.load(self.config)

    def start(self) -> None:
        chosen = [word for query in self.queries for word in ("--query", query)]
        words = ["--config", str(self.config), "stream", *chosen]
        self.service = Service("stream", words, self.folder / "stream.log", self.under).start()

    def stop(self) -> int | None:
        service, self.service = self.service, None
        return None if service is None else service.stop()

    def kill(self) -> None:
        """Kill driver, JVM and Python workers at once."""
        os.killpg(self.service.pid, signal.SIGKILL)
        self.stop()
        self.left_open = {query: self.uncommitted(query) for query in self.queries}

    def uncommitted(self, query: str) -> set[int]:
        """The batches of a query whose offsets are written and whose commit is not."""
        return self._batches(query, "offsets") - self._batches(query, "commits")

    def _batches(self, query: str, kind: str) -> set[int]:
        try:
            names = os.listdir(self.folder / "checkpoints" / query / kind)  # noqa: PTH208 - the fastest way to look
        except FileNotFoundError:
            return set()
        return {int(name) for name in names if name.isdecimal()}

    def kill_inside_a_batch(self, query: str, deadline_s: float = 180.0) -> set[int]:
        """Kill while a batch of ``query`` is open that no earlier kill has cut; return the batches that were cut."""
        earlier = self.left_open.get(query, set())
        end_s = time.monotonic() + deadline_s
        while not self.uncommitted(query) - earlier:
            self.service.check()
            assert time.monotonic() < end_s, f"no batch of {query} began within {deadline_s:g} s; {self.service.tail()}"
            # A batch lasts much longer, and without a pause this takes a whole processor.
            time.sleep(0.005)
        self.kill()
        return self.uncommitted(query) - earlier

    def wait_for(self, condition, message: str, deadline_s: float = DEADLINE_S):
        def seen():
            self.service.check()
            return condition()

        return wait_until(seen, deadline_s, lambda: f"{message}; {self.service.tail()}", pause_s=0.3)

    def values(self, topic: str) -> list[tuple[bytes, bytes]]:
        """Every record of a topic as (key, value), repeats included."""
        return [(record.key, record.value) for record in read_all(self.settings.telemetry, topic)]

    def alerts(self) -> dict[tuple[str, int], set[bytes]]:
        """The different values of each (alert_id, revision) on the topic, heartbeats left out."""
        found = defaultdict(set)
        for _, value in self.values(topics.ALERTS):
            record = json.loads(value)
            if record["rule"] != "heartbeat":
                found[record["alert_id"], record["revision"]].add(value)
        return dict(found)

    def states(self) -> dict[tuple[str, int], dict[str, Any]]:
        """The latest state record of each broker."""
        latest: dict[tuple[str, int], dict[str, Any]] = {}
        for _, value in self.values(topics.STATE):
            record = json.loads(value)
            key = record["cluster"], record["broker"]
            if key not in latest or record["sequence"] >= latest[key]["sequence"]:
                latest[key] = record
        return latest

    def rows(self, table: str, without: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        """A table's rows without what may differ between runs: where in a topic they came from, and ``without``."""
        left_out = {"source_topic", "source_partition", "source_offset", *without}
        found = tables.rows(self.settings.tables_path, table)
        kept = [{name: value for name, value in row.items() if name not in left_out} for row in found]
        return sorted(kept, key=repr)
