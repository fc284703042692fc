"""A small batch, parsed: one row for each identity, and what was rejected."""

import json

from logdirwatch.model import topics
from logdirwatch.store.rows.thin import Position
from logdirwatch.store.writing.intake import Belief
from logdirwatch.store.writing.small_batch import by_kind

STATE = {
    "version": 1,
    "cluster": "c",
    "broker": 7,
    "at_ms": 9,
    "status": "online",
    "since_ms": 1,
    "log_dirs": [],
    "machine": "{}",
}


def batch(*records):
    positions = [
        Position(topic, 0, offset, 77, None, json.dumps(value).encode())
        for offset, (topic, value) in enumerate(records)
    ]
    return by_kind(positions, Belief("home", 60_000))


def test_the_highest_sequence_of_a_broker_stays_and_of_the_same_the_first():
    found = batch(*((topics.STATE, STATE | {"sequence": sequence}) for sequence in (4, 6, 6, 5)))
    assert [(placed.thin.rank, placed.position.offset) for placed in found.of("state")] == [(6, 1)]
    assert found.of("alert") == []


def test_rejected_records_are_counted_by_topic_and_reason_with_the_first_as_example():
    found = batch((topics.STATE, []), (topics.METRICS, []), (topics.METRICS, []), (topics.STATE, STATE))
    assert [(each.topic, each.rows, each.example) for each in found.rejected()] == [
        (topics.METRICS, 2, f"{topics.METRICS}/0/1"),
        (topics.STATE, 1, f"{topics.STATE}/0/0"),
        (topics.STATE, 1, f"{topics.STATE}/0/3"),
    ]
