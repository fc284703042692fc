"""The ledger at the end: what lay in the topics, what came out in topics, tables and messages, and what should have."""

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from kafka.consumer.fetcher import ConsumerRecord

from logdirwatch.model import topics
from tests.chaos import ledger
from tests.chaos.history import CLUSTERS, COLLECTOR, GARBAGE, TICK_MS, Written
from tests.chaos.reference import BROKER, Reference
from tests.chaos.world import WATCHED, World
from tests.kafka.telemetry import Run

CAUGHT_UP_S = 600.0
FED = (topics.METRICS, topics.EVENTS)
# The others are rejected by nobody that stores.
STORED = topics.STREAMED


class Judge:
    """Compares a world whose history has ended with the reference."""

    def __init__(self, world: World) -> None:
        self._world, self._reference = world, Reference()
        self._lying = _lying(record for topic in FED for record in world.archive.ours(topic))
        self._reference.take(self._lying)
        self._told: list[dict[str, Any]] = []
        self._values: list[bytes] = []

    def differences(self) -> list[str]:
        """Return everything that is lost, invented or unheard."""
        world, reference = self._world, self._reference
        last_ms = max(at_ms for _, at_ms in reference.samples) - TICK_MS // 2
        world.wait_for(lambda: self._is_judged(last_ms), "detect to judge everything", CAUGHT_UP_S)
        world.is_heard()
        self._read_alerts()
        with suppress(AssertionError):
            world.wait_for(lambda: not self._tables(), "everything stored", CAUGHT_UP_S)
        ours = [record for record in self._told if record["cluster"] in CLUSTERS]
        transitions = [row | {"to": row["to_status"]} for row in world.run.rows("transitions")]
        return [
            *world.found,
            *ledger.differences("records", set(world.feeder.written) - self._known(), ()),
            *ledger.repeats(self._values),
            *ledger.of_detect(reference, ours, [row for row in transitions if row["cluster"] in CLUSTERS]),
            *ledger.of_watched(self._others(), WATCHED),
            *ledger.differences("invented messages", self._delivered() - {one["alert_id"] for one in ours}, ()),
            *self._tables(),
        ]

    def watched(self) -> list[str]:
        """Return the alerts that are about nothing in the history, a line each."""
        return sorted(map(ledger.line_of, self._others()))

    def counts(self) -> dict[str, int]:
        """Return how much there was of everything."""
        reference = self._reference
        return {
            "records": len(self._lying),
            "of them bad": reference.rejected,
            "foreign": sum(map(self._world.archive.foreign, [topic.name for topic in topics.TOPICS])),
            "lost and told": len(self._world.archive.lost),
            "events": reference.fast,
            "alerts": len(reference.lives),
            "revisions": len(self._told) - len(self._others()),
            "repeats on the topic": len(self._values) - len(self._told),
            "alerts delivered": len(self._delivered()),
            "transitions": len(reference.steps),
        }

    def _read_alerts(self) -> None:
        values = [record.value for record in self._world.archive.ours(topics.ALERTS)]
        self._values = [value for value in values if json.loads(value)["rule"] != "heartbeat"]
        by_key = {(one["alert_id"], one["revision"]): one for one in map(json.loads, self._values)}
        self._told = list(by_key.values())

    def _revisions(self) -> set[tuple[str, int]]:
        return {(one["alert_id"], one["revision"]) for one in self._told}

    def _known(self) -> set[Written]:
        """Return what of the history ever lay in Kafka, lost or not."""
        everything = (record for topic in FED for record in self._world.archive.records(topic))
        return set(_lying(everything))

    def _others(self) -> list[dict[str, Any]]:
        return [record for record in self._told if record["cluster"] not in CLUSTERS]

    def _delivered(self) -> set[str]:
        return self._world.receiver.picture.delivered(CLUSTERS)

    def _is_judged(self, last_ms: int) -> bool:
        states = self._world.states()
        brokers = {place[:2]: status for place, status in self._reference.statuses().items() if place[2] == BROKER}
        return all(
            broker in states and states[broker]["status"] == status and states[broker]["at_ms"] >= last_ms
            for broker, status in brokers.items()
        )

    def _tables(self) -> list[str]:
        run, reference = self._world.run, self._reference
        due = self._revisions()
        stored = [(row["alert_id"], row["revision"]) for row in run.rows("alerts") if row["rule"] != "heartbeat"]
        # An alert about the stream itself may be written and stored meanwhile.
        self._read_alerts()
        return [
            *ledger.differences("table alerts", stored, due | (self._revisions() & set(stored))),
            *ledger.differences("table log_dir_samples", _samples(run), reference.samples),
            *ledger.differences("statuses in tables", _statuses(run).items(), reference.statuses().items()),
            *ledger.differences("rejected records", self._rejected(), self._bad()),
        ]

    def _rejected(self) -> list[str]:
        return [row["topic"] for row in self._world.run.rows("rejected_records")]

    def _bad(self) -> list[str]:
        in_history = [record.topic for record in self._lying if not record.is_good]
        return in_history + [topic for topic in STORED for _ in range(self._world.archive.foreign(topic))]


def _samples(run: Run) -> list[tuple[Any, ...]]:
    return [
        ((row["cluster"], row["broker"], row["log_dir"]), row["timestamp_ms"])
        for row in run.rows("log_dir_samples")
        if row["collector"] == COLLECTOR and row["log_dir"]
    ]


def _statuses(run: Run) -> dict[tuple[str, int, str], str]:
    return {
        (row["cluster"], row["broker"], row.get("log_dir") or BROKER): row["status"]
        for table in ("log_dir_state", "broker_state")
        for row in run.rows(table)
        if row["cluster"] in CLUSTERS
    }


def _lying(records: Iterable[ConsumerRecord]) -> list[Written]:
    """Return the records of the history, repeats of the producer included, in the order of time."""
    bad = set(GARBAGE)
    found = [
        Written(record.topic, record.partition, record.value, record.timestamp, record.value not in bad)
        for record in records
        if record.key is None and (record.value in bad or json.loads(record.value).get("cluster") in CLUSTERS)
    ]
    return sorted(found, key=lambda record: record.timestamp_ms)
