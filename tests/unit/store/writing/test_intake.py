"""Records as thin rows, without Spark."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.model import topics
from logdirwatch.store.writing.intake import Belief, Position, thin_rows

METRICS = {"version": 1, "cluster": "c", "broker": 7, "timestamp_ms": 5, "status": "ok"}
STATE = {"version": 1, "cluster": "c", "broker": 7, "sequence": 4, "at_ms": 9, "status": "online", "since_ms": 1}
BELIEVED = Belief("home", 60_000)
TRANSITION = {"transition_id": "t", "cluster": "c", "broker": 7, "log_dir": None, "from": None, "to": "online"}


def rows(topic, record, key=None):
    value = record if record is None or isinstance(record, bytes) else json.dumps(record).encode()
    return thin_rows(Position(topic, 0, 3, 77, key, value), BELIEVED)


def test_a_poll_is_one_row_and_its_configs_another():
    assert [row.kind for row in rows(topics.METRICS, METRICS)] == ["metrics"]
    both = rows(topics.METRICS, METRICS | {"configs": {"log.dirs": "/d"}})
    assert [(row.kind, row.rank, row.broker) for row in both] == [("metrics", 0, 7), ("configs", 5, 7)]


@pytest.mark.parametrize(
    ("topic", "record", "kind"),
    [
        (topics.METRICS, {"type": "host", "broker": 7, "collector": "h"}, "host"),
        (topics.EVENTS, {"broker": 7, "event": "LogDirFailure", "log_dir": "/d"}, "event"),
        (topics.INVENTORY, {"type": "replicas", "broker": 7, "log_dir": "/d", "replicas": []}, "replicas"),
        (topics.INVENTORY, {"type": "topic", "topic": "t", "partitions": []}, "topic"),
        (topics.INVENTORY, {"type": "scan", "topics": 0, "is_complete": True}, "scan"),
    ],
)
def test_a_row_says_what_record_it_is_of(topic, record, kind):
    (row,) = rows(topic, {"version": 1, "cluster": "c", "timestamp_ms": 5} | record)
    assert (row.kind, row.cluster, row.at_ms, row.broker) == (kind, "c", 5, record.get("broker"))


def test_a_clock_too_far_ahead_of_kafka_counts_as_kafkas():
    for ahead_ms, expected in ((60_000, 60_077), (60_001, 77)):
        (row,) = rows(topics.METRICS, METRICS | {"timestamp_ms": 77 + ahead_ms})
        assert (row.at_ms, json.loads(row.body)["timestamp_ms"]) == (expected, expected)
    event = {"version": 1, "cluster": "c", "broker": 7, "event": "LogDirFailure", "log_dir": "/d"}
    (row,) = rows(topics.EVENTS, event | {"timestamp_ms": 90_000})
    assert row.at_ms == 77


def test_a_scan_of_a_clock_too_far_ahead_of_kafka_is_refused():
    end = {"version": 1, "type": "scan", "cluster": "c", "topics": 0, "is_complete": True}
    topic = {"version": 1, "type": "topic", "cluster": "c", "topic": "t", "partitions": []}
    listed = {"version": 1, "type": "replicas", "cluster": "c", "broker": 7, "log_dir": "/d", "replicas": []}
    for record in (end, topic, listed):
        (row,) = rows(topics.INVENTORY, record | {"timestamp_ms": 60_077})
        assert row.at_ms == 60_077
        (row,) = rows(topics.INVENTORY, record | {"timestamp_ms": 60_078})
        assert (row.kind, row.cluster) == ("rejected", "c")
        assert row.reason == "more than 60000 ms ahead of Kafka's time of the record - at `$.timestamp_ms`"


def test_every_part_of_a_scan_is_a_row_of_its_own():
    end = {"version": 1, "cluster": "c", "timestamp_ms": 5}
    topic = end | {"type": "topic", "topic": "t", "partitions": []}
    listed = end | {"type": "replicas", "broker": 7, "log_dir": "/d", "replicas": []}
    for record in (topic, listed):
        found = [rows(topics.INVENTORY, record | {"part": part, "parts": 2}) for part in (0, 1)]
        assert len({row.identity for (row,) in found}) == 2


def test_partitions_that_failed_in_one_millisecond_are_events_of_their_own():
    failed = {"version": 1, "cluster": "c", "broker": 7, "event": "PartitionFailed", "log_dir": "/d", "timestamp_ms": 5}
    places = [("t", 0), ("t", 1), ("u", 0)]
    found = [rows(topics.EVENTS, failed | {"topic": name, "partition": number}) for name, number in places]
    assert len({row.identity for (row,) in found}) == 3


def test_heartbeats_and_what_the_stream_tells_of_itself_are_no_rows():
    heartbeat = {"version": 1, "type": "heartbeat", "cluster": "c", "timestamp_ms": 5}
    assert rows(topics.METRICS, heartbeat) == []
    assert rows(topics.METRICS, {"version": 1, "type": "pipeline", "query": "store", "timestamp_ms": 5}) == []


def test_a_state_record_ranks_by_its_sequence_and_its_transitions_stand_alone():
    record = STATE | {
        "log_dirs": [],
        "machine": "",
        "transitions": [TRANSITION | {"reason": "r", "at_ms": 8, "origin": "o"}],
    }
    found = rows(topics.STATE, record)
    assert [(row.kind, row.rank, row.at_ms) for row in found] == [("state", 4, 9), ("transition", 0, 8)]
    assert found[0].identity == "c/7"


def test_a_broker_is_deleted_under_the_identity_of_its_state():
    (row,) = rows(topics.STATE, None, b"eu/prod/7")
    assert (row.kind, row.cluster, row.broker, row.identity, row.rank) == ("deleted", "eu/prod", 7, "eu/prod/7", 3)


def test_every_broker_id_that_kafka_has_can_be_deleted():
    (row,) = rows(topics.STATE, None, b"c/2147483647")
    assert (row.kind, row.broker) == ("deleted", 2**31 - 1)
    assert rows(topics.STATE, None, b"c/2147483648") == rows(topics.STATE, None, b"c/99999999999") == []


def test_tombstones_of_alerts_and_of_keys_that_name_no_broker_say_nothing():
    assert rows(topics.ALERTS, None, b"a1") == rows(topics.STATE, None, b"nonsense") == []


def test_what_may_hold_anything_is_json_text_in_the_body():
    record = {"version": 1, "alert_id": "a", "revision": 1, "status": "firing", "rule": "log_dir_space"}
    place = {
        "severity": "page",
        "cluster": "c",
        "broker": None,
        "log_dir": None,
        "from": None,
        "to": "x",
        "cause": None,
    }
    rest = {"opened_at_ms": 1, "at_ms": 2, "lane": "fast", "evidence": {"a": [1, {"b": None}]}, "affected": {}}
    (row,) = rows(topics.ALERTS, record | place | rest | {"summary": "s"})
    body = json.loads(row.body)
    assert json.loads(body["evidence"]) == {"a": [1, {"b": None}]}
    assert body["affected"] == "{}"
    assert row.at_ms == 1


@given(st.sampled_from(topics.STREAMED), st.none() | st.binary(), st.none() | st.binary())
def test_no_bytes_stop_the_intake(topic, key, value):
    found = thin_rows(Position(topic, 0, 0, 0, key, value), BELIEVED)
    assert {row.kind for row in found} <= {"rejected", "deleted"}
