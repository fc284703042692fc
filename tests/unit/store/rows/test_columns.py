"""Polls, host records and states as columns: every record's rows with its own values, null where it says nothing."""

import json

import pytest

from logdirwatch.model import topics
from logdirwatch.model.records import HostRecord, MetricsRecord, StateRecord
from logdirwatch.store.rows import columns
from logdirwatch.store.rows.thin import Position
from logdirwatch.store.writing.intake import Belief, as_placed, as_table, text_fields
from logdirwatch.store.writing.small_batch import by_kind

POLL = {"status": "ok", "collector": "c1", "host": "h", "metrics": {"a": 1, "b": None}, "configs": {"x": None}}
POLL |= {"partitions": {"leaderless": 2, "examples": ["t-0"]}, "moves": {"at_ms": 3}}
HOST = {"type": "host", "collector": "h1", "errors": ["no probe", "no log"]}
STATE = {"sequence": 4, "at_ms": 9, "status": "online", "since_ms": 1, "machine": "{}"}


def parsed(topic, *records):
    values = [{"version": 1, "cluster": "c", "broker": 7, "timestamp_ms": at, **one} for at, one in enumerate(records)]
    rows = [Position(topic, 1, 5 + at, 90 + at, b"k", json.dumps(value).encode()) for at, value in enumerate(values)]
    return by_kind(rows, Belief("home", 60_000))


def polls():
    log_dirs = [{"path": "/d1", "error_code": 0, "total_bytes": 10}, {"path": "/d2", "error_code": 56}]
    records = POLL | {"log_dirs": log_dirs}, {"status": "timeout", "error": "late"}, POLL | {"log_dirs": log_dirs[:1]}
    return parsed(topics.METRICS, *records).of("metrics")


def hosts():
    seen = {"path": "/d1", "volume": "v", "probe_ms": 2}
    return parsed(topics.METRICS, HOST, HOST | {"errors": [], "log_dirs": [seen]}).of("host")


def states():
    view = {"status": "online", "since_ms": 1}
    log_dirs = [view | {"path": "/d1", "strays": {"t-1": 5}}, view | {"path": "/d2", "status": "offline"}]
    health = {"leaderless": 1, "examples": ["t-0"]}
    records = {"broker": 8, "log_dirs": log_dirs, "partitions": health}, {"broker": 9, "log_dirs": []}
    return parsed(topics.STATE, *(STATE | record for record in records)).of("state")


def picked(rows, *names):
    return list(zip(*(rows.column(name).to_pylist() for name in names), strict=True))


def test_a_poll_is_a_row_of_its_own_and_one_for_each_directory():
    rows = columns.polls(polls())
    names = "kind", "timestamp_ms", "log_dir", "status", "host", "error_code", "total_bytes", "source_offset"
    assert picked(rows, *names, "kafka_timestamp_ms") == [
        ("poll", 0, None, "ok", "h", None, None, 5, 90),
        ("poll", 1, None, "timeout", None, None, None, 6, 91),
        ("poll", 2, None, "ok", "h", None, None, 7, 92),
        ("log_dir", 0, "/d1", "ok", None, 0, 10, 5, 90),
        ("log_dir", 0, "/d2", "ok", None, 56, None, 5, 90),
        ("log_dir", 2, "/d1", "ok", None, 0, 10, 7, 92),
    ]


def test_maps_and_texts_of_a_poll_stand_in_its_own_row():
    rows = columns.polls(polls())
    own, silent, of_log_dir = (rows.slice(place, 1).to_pylist()[0] for place in (0, 1, 3))
    assert (own["metrics"], own["configs"]) == ([("a", 1.0), ("b", None)], [("x", None)])
    assert json.loads(own["moves"]) == {"at_ms": 3}
    assert json.loads(own["partitions"])["examples"] == ["t-0"]
    assert (silent["metrics"], silent["configs"], silent["moves"], silent["partitions"]) == ([], None, None, None)
    assert {of_log_dir[name] for name in ("metrics", "configs", "moves", "partitions")} == {None}


def test_a_host_says_its_errors_once():
    rows = columns.hosts(hosts())
    names = "kind", "timestamp_ms", "log_dir", "error", "volume", "probe_ms"
    assert picked(rows, *names) == [
        ("host", 0, None, "no probe; no log", None, None),
        ("host", 1, None, None, None, None),
        ("host", 1, "/d1", None, "v", 2.0),
    ]


def test_a_state_is_a_broker_and_its_directories():
    brokers, log_dirs = columns.brokers(states()), columns.log_dirs(states())
    names = "broker", "sequence", "leaderless", "partition_examples", "log_dir_count", "offline_log_dirs"
    assert picked(brokers, *names) == [(8, 4, 1, ["t-0"], 2, 1), (9, 4, None, None, 0, 0)]
    assert [json.loads(record)["broker"] for record in brokers.column("record").to_pylist()] == [8, 9]
    names = "broker", "log_dir", "sequence", "status", "strays", "source_offset"
    assert picked(log_dirs, *names) == [
        (8, "/d1", 4, "online", [("t-1", 5)], 5),
        (8, "/d2", 4, "offline", None, 5),
    ]


@pytest.mark.parametrize(
    ("read", "placed"),
    [
        (columns.polls, polls),
        (columns.hosts, hosts),
        (columns.brokers, states),
        (columns.log_dirs, states),
    ],
)
def test_what_spark_parsed_has_the_same_rows(read, placed):
    assert read(as_placed(as_table(placed()))) == read(placed())
    assert read([]).num_rows == 0


@pytest.mark.parametrize("record", [MetricsRecord, HostRecord, StateRecord])
def test_records_that_are_kept_whole_have_no_field_of_any_type(record):
    assert text_fields(record) == (), "as JSON it would be another text"
