"""The telemetry cluster: a log for each topic, and the consumer through which product code reads it."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from kafka import TopicPartition
from kafka.errors import KafkaConnectionError

from logdirwatch.errors import UserError
from logdirwatch.model import topics
from tests.simulation.clock import Host, Process

IDLE_MS = 10_000
"""How long a poll waits for records at most: an idle process need not be simulated twice a second."""


FOREIGN_KEY = b"foreign"
"""The key of records that are not the product's."""


class Entry(NamedTuple):
    """A record; its names are those of kafka-python's ``ConsumerRecord``."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


class Log:
    """A topic of one partition; with ``has_append_time`` its records have the time of the broker that takes them."""

    def __init__(self, name: str, host: Host, *, has_append_time: bool) -> None:
        self.name, self.end, self.begin = name, 0, 0
        self.entries: list[Entry] = []
        self._host, self._has_append_time = host, has_append_time

    def append(self, key: bytes | None, value: bytes | None, create_ms: int) -> Entry:
        """Write a record that its producer created at ``create_ms`` of its own clock."""
        at_ms = self._host.wall_ms() if self._has_append_time else create_ms
        entry = Entry(self.name, 0, self.end, at_ms, key, value)
        self.entries.append(entry)
        self.end += 1
        return entry

    def read(self, offset: int, until: int | None = None) -> list[Entry]:
        """Return the records from ``offset`` on, before ``until``."""
        start = bisect_left(self.entries, offset, key=lambda entry: entry.offset)
        stop = None if until is None else bisect_left(self.entries, until, key=lambda entry: entry.offset)
        return self.entries[start:stop]

    def compact(self) -> None:
        """Keep the last record of each key, except of those without one."""
        last = {entry.key: entry.offset for entry in self.entries}
        self.entries = [entry for entry in self.entries if entry.key is None or last[entry.key] == entry.offset]


class Telemetry:
    """The topics; ``cut_off`` are the hosts that cannot reach the cluster, ``unreadable`` topics nobody can read."""

    def __init__(self, host: Host, *, has_append_time: bool) -> None:
        self.host = host
        self.logs = {topic.name: Log(topic.name, host, has_append_time=has_append_time) for topic in topics.TOPICS}
        self.cut_off: set[str] = set()
        self.unreadable: set[str] = set()
        self.listeners: list[Callable[[Entry], None]] = []

    def append(self, topic: str, key: bytes | None, value: bytes | None, create_ms: int) -> None:
        """Write a record, and tell everybody who follows."""
        entry = self.logs[topic].append(key, value, create_ms)
        for listener in self.listeners:
            listener(entry)

    def reaches(self, host: Host) -> bool:
        """Tell whether a host reaches the cluster."""
        return host.name not in self.cut_off

    def check(self, host: Host, names: Iterator[str] | tuple[str, ...] = ()) -> None:
        """Raise what a client raises that does not reach the cluster, or a topic that cannot be read."""
        if not self.reaches(host) or self.unreadable & set(names):
            raise KafkaConnectionError("the telemetry cluster does not answer")

    def latest(self, topic: str) -> dict[bytes, Entry]:
        """Return the last record of every key."""
        return {entry.key: entry for entry in self.logs[topic].entries if entry.key is not None}

    @contextmanager
    def consumer(self, host: Host, process: Process) -> Iterator["Consumer"]:
        """Yield a consumer of a process; raises UserError when the cluster cannot be reached."""
        if not self.reaches(host):
            process.pause(3_000)
            raise UserError("no telemetry broker answers")
        client = Consumer(self, host, process)
        self.listeners.append(client.heard)
        try:
            yield client
        finally:
            self.listeners.remove(client.heard)


class Consumer:
    """``kafka.KafkaConsumer`` as far as the product uses it, without a group."""

    config: Mapping[str, Any] = {"bootstrap_servers": ["telemetry:9092"]}

    def __init__(self, telemetry: Telemetry, host: Host, process: Process) -> None:
        self._telemetry, self._host, self._process = telemetry, host, process
        self._at: dict[TopicPartition, int] = {}

    def heard(self, entry: Entry) -> None:
        """End the wait of a poll for a record of an assigned topic."""
        if TopicPartition(entry.topic, 0) in self._at:
            self._process.wake(20)

    def topics(self) -> set[str]:
        """Return the names of the topics."""
        self._telemetry.check(self._host)
        return set(self._telemetry.logs)

    def partitions_for_topic(self, name: str) -> set[int]:
        """Return the one partition."""
        self._telemetry.check(self._host)
        return {0} if name in self._telemetry.logs else set()

    def beginning_offsets(self, partitions: Any, timeout_ms: Any = None) -> dict[TopicPartition, int]:
        """Return the first offsets."""
        del timeout_ms
        self._telemetry.check(self._host, tuple(part.topic for part in partitions))
        return {part: self._telemetry.logs[part.topic].begin for part in partitions}

    def end_offsets(self, partitions: Any, timeout_ms: Any = None) -> dict[TopicPartition, int]:
        """Return the next offsets."""
        del timeout_ms
        self._telemetry.check(self._host, tuple(part.topic for part in partitions))
        return {part: self._telemetry.logs[part.topic].end for part in partitions}

    def assign(self, partitions: Any) -> None:
        """Read from some partitions, from their beginning."""
        self._at = {part: self._telemetry.logs[part.topic].begin for part in partitions}

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on at an offset."""
        self._at[partition] = offset

    def seek_to_beginning(self) -> None:
        """Go on at the beginning of every partition."""
        self.assign(list(self._at))

    def position(self, partition: TopicPartition) -> int:
        """Return the next offset to be read."""
        return self._at[partition]

    def poll(self, timeout_ms: int) -> dict[TopicPartition, list[Entry]]:
        """Return what is new; wait for it, if there is nothing."""
        found = self._new()
        if not found and timeout_ms:
            self._process.pause(max(timeout_ms, IDLE_MS))
            found = self._new()
        return found

    def _new(self) -> dict[TopicPartition, list[Entry]]:
        if not self._telemetry.reaches(self._host):
            # A client that follows hears of nothing, and is told of nothing either.
            return {}
        found = {}
        for part, offset in self._at.items():
            log = self._telemetry.logs[part.topic]
            if part.topic not in self._telemetry.unreadable and offset < log.end:
                found[part] = log.read(offset)
                self._at[part] = log.end
        return {part: entries for part, entries in found.items() if entries}
