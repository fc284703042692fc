"""What came out of the stream: telemetry topics read on demand, alerts as they followed each other, progress."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka import TopicPartition
from kafka.consumer.fetcher import ConsumerRecord

from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics

Record = dict[str, Any]
Place = tuple[str, int | None, str | None]
"""Rule, broker, log directory: what an alert is about."""

POLL_MS = 200
EMPTY_POLLS = 150


def _as_it_is(record: Record) -> Record:
    return record


@dataclass(frozen=True)
class Swap:
    """What is read wrong on purpose: of alerts, or of the tables' rows."""

    alert: Callable[[Record], Record] = _as_it_is
    row: Callable[[Record], Record] = _as_it_is


class Tail:
    """A telemetry topic; ``read`` returns what was added since the last call, oldest first."""

    def __init__(self, telemetry: KafkaSettings, topic: str) -> None:
        self.topic = topic
        self._stack = ExitStack()
        self._client = self._stack.enter_context(clients.consumer(telemetry, auto_offset_reset="earliest"))
        numbers = self._client.partitions_for_topic(topic)
        assert numbers, f"{topic} has no partitions"
        self._partitions = [TopicPartition(topic, number) for number in sorted(numbers)]
        self._client.assign(self._partitions)
        self._client.seek_to_beginning()

    def close(self) -> None:
        self._stack.close()

    def ends(self) -> dict[str, int]:
        """The next offset of each partition, as Spark's checkpoints spell it."""
        return {str(part.partition): end for part, end in self._client.end_offsets(self._partitions).items()}

    def has_since(self, at_ms: int) -> bool:
        """Whether there is a record of that time or later."""
        found = self._client.offsets_for_times(dict.fromkeys(self._partitions, at_ms))
        return any(offset is not None for offset in found.values())

    def read(self) -> list[ConsumerRecord]:
        ends = self._client.end_offsets(self._partitions)
        found: list[ConsumerRecord] = []
        empty = 0
        while any(self._client.position(part) < end for part, end in ends.items()):
            batches = self._client.poll(timeout_ms=POLL_MS)
            empty = 0 if batches else empty + 1
            assert empty < EMPTY_POLLS, f"{self.topic} cannot be read to its end"
            for records in batches.values():
                found += records
        return sorted(found, key=lambda record: (record.timestamp, record.partition, record.offset))


class Alerts:
    """Every revision on the alert topic in its order there, heartbeats left out."""

    def __init__(self, telemetry: KafkaSettings) -> None:
        self._tail = Tail(telemetry, topics.ALERTS)
        self._revisions: list[Record] = []

    def close(self) -> None:
        self._tail.close()

    def revisions(self) -> list[Record]:
        read = [json.loads(record.value) for record in self._tail.read() if record.value is not None]
        self._revisions += [record for record in read if record["rule"] != "heartbeat"]
        return self._revisions

    def latest(self) -> dict[str, Record]:
        """The highest revision of each alert, in the order in which the alerts came up."""
        found: dict[str, Record] = {}
        for record in self.revisions():
            known = found.get(record["alert_id"])
            if known is None or record["revision"] >= known["revision"]:
                found[record["alert_id"]] = record
        return found


def place_of(revisions: list[Record]) -> Place:
    """What an alert is about: its first revision that fires says it; an answer to the fast lane names no directory."""
    firing = [record for record in revisions if record["status"] == "firing"]
    first = min(firing or revisions, key=lambda record: record["revision"])
    return first["rule"], first["broker"], first["log_dir"]


def taken(checkpoints: str, query: str) -> dict[str, dict[str, int]]:
    """The offsets up to which a query has ended its batches: ``{topic: {partition: next offset}}``."""
    folder = Path(checkpoints) / query
    ended = [int(path.name) for path in folder.glob("commits/*") if path.name.isdecimal()]
    if not ended:
        return {}
    return json.loads((folder / "offsets" / str(max(ended))).read_text().splitlines()[-1])


def line(record: Record) -> str:
    """A revision on one line, for the message of a test that failed."""
    where = " ".join(str(part) for part in (record["broker"], record["log_dir"]) if part is not None) or "cluster"
    why = ", ".join(f"{name} {record[name]}" for name in ("cause", "reason", "merged_into") if record[name])
    return (
        f"{record['at_ms']} {record['lane']:<8} {record['severity']:<8} {record['status']:<8} "
        f"{record['rule']} [{where}] -> {record['to']} r{record['revision']} {record['alert_id'][:8]} ({why})"
    )
