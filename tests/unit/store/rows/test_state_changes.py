"""What new states and configurations change, decided row by row."""

import json

from logdirwatch.model import topics
from logdirwatch.store.rows.state_changes import broker_changes, log_dir_changes
from logdirwatch.store.rows.thin import Position
from logdirwatch.store.writing.intake import Belief
from logdirwatch.store.writing.small_batch import by_kind

KEY = ("c", 7)


def parsed(topic, **fields):
    value = {"version": 1, "cluster": "c", "broker": 7, "status": "online" if topic == topics.STATE else "ok", **fields}
    return by_kind([Position(topic, 0, 0, 99, None, json.dumps(value).encode())], Belief("home", 60_000))


def state(sequence, *paths):
    log_dirs = [{"path": path, "status": "online", "since_ms": 1} for path in paths]
    return parsed(topics.STATE, sequence=sequence, at_ms=9, since_ms=1, machine="{}", log_dirs=log_dirs).of("state")


def configs(at_ms):
    return parsed(topics.METRICS, timestamp_ms=at_ms, configs={"at": str(at_ms)}).of("configs")


def stored(sequence, at_ms=None):
    return {KEY: {"sequence": sequence, "configs": [("at", str(at_ms))] if at_ms else None, "configs_at_ms": at_ms}}


def log_dir(sequence, path, broker=7):
    return {("c", broker, path): {"sequence": sequence}}


def test_a_new_broker_is_written_with_its_configuration():
    (row,) = broker_changes(state(4), configs(8))({}).written.values()
    assert (row["sequence"], row["configs"], row["configs_at_ms"]) == (4, {"at": "8"}, 8)


def test_a_newer_state_keeps_the_newer_configuration():
    for at_ms, expected in ((8, ([("at", "9")], 9)), (10, ({"at": "10"}, 10))):
        (row,) = broker_changes(state(4), configs(at_ms))(stored(3, 9)).written.values()
        assert (row["configs"], row["configs_at_ms"]) == expected


def test_an_older_state_changes_nothing_but_a_newer_configuration_is_kept():
    for sequence in (4, 5):
        found = broker_changes(state(4), configs(10))(stored(sequence, 9))
        assert (found.written, found.patched) == ({}, {KEY: {"configs": {"at": "10"}, "configs_at_ms": 10}})
    assert not broker_changes(state(4), configs(9))(stored(4, 9)).keys


def test_a_configuration_alone_creates_no_broker():
    assert not broker_changes([], configs(9))({}).keys


def test_directories_that_a_newer_state_does_not_list_are_deleted():
    there = {**log_dir(3, "/d1"), **log_dir(3, "/d2"), **log_dir(3, "/d2", broker=8)}
    found = log_dir_changes(state(4, "/d1", "/d3"))(there)
    assert found.written.keys() == {("c", 7, "/d1"), ("c", 7, "/d3")}
    assert found.deleted == {("c", 7, "/d2")}


def test_directories_of_a_newer_state_stay_as_they_are():
    there = {**log_dir(5, "/d1"), **log_dir(4, "/d2")}
    assert not log_dir_changes(state(4, "/d1"))(there).keys
