"""What new states and configurations change, by what is stored."""

import json

import pyarrow as pa

from logdirwatch.model import topics
from logdirwatch.store.direct.arrow import arrow_rows
from logdirwatch.store.rows.state_changes import broker_changes, log_dir_changes
from logdirwatch.store.rows.thin import Position
from logdirwatch.store.schema.definitions import BROKER_STATE, LOG_DIR_STATE
from logdirwatch.store.writing.intake import Belief
from logdirwatch.store.writing.small_batch import by_kind

KEY = ("c", 7)


def parsed(topic, broker=7, **fields):
    status = "online" if topic == topics.STATE else "ok"
    value = {"version": 1, "cluster": "c", "broker": broker, "status": status, **fields}
    return by_kind([Position(topic, 0, 0, 99, None, json.dumps(value).encode())], Belief("home", 60_000))


def state(sequence, *paths, broker=7):
    log_dirs = [{"path": path, "status": "online", "since_ms": 1} for path in paths]
    fields = {"sequence": sequence, "at_ms": 9, "since_ms": 1, "machine": "{}", "log_dirs": log_dirs}
    return parsed(topics.STATE, broker, **fields).of("state")


def configs(at_ms, broker=7):
    return parsed(topics.METRICS, broker, timestamp_ms=at_ms, configs={"at": str(at_ms)}).of("configs")


def brokers(sequence, at_ms=None):
    configs = {"at": str(at_ms)} if at_ms else None
    row = {"cluster": "c", "broker": 7, "sequence": sequence, "configs": configs, "configs_at_ms": at_ms}
    return arrow_rows(BROKER_STATE, [row])


def log_dirs(*rows):
    names = ("broker", "log_dir", "sequence")
    return arrow_rows(LOG_DIR_STATE, [{"cluster": "c", **dict(zip(names, row, strict=True))} for row in rows])


def paths(found):
    return sorted(found.new.column("log_dir").to_pylist())


def test_a_new_broker_is_written_with_its_configuration():
    found = broker_changes(state(4), configs(8))(arrow_rows(BROKER_STATE, []))
    (row,) = found.new.to_pylist()
    assert (row["sequence"], row["configs"], row["configs_at_ms"]) == (4, [("at", "8")], 8)


def test_a_newer_state_keeps_the_newer_configuration():
    for at_ms, expected in ((8, 9), (10, 10)):
        found = broker_changes(state(4), configs(at_ms))(brokers(3, 9))
        (row,) = found.new.to_pylist()
        assert (row["configs"], row["configs_at_ms"]) == ([("at", str(expected))], expected)
        assert (found.gone, found.patched) == ({KEY}, {})


def test_each_broker_keeps_its_own_configuration():
    stored = pa.concat_tables([brokers(3, 9), brokers(3, 5).set_column(1, "broker", pa.array([8], pa.int32()))])
    new = [*state(4, broker=9), *state(4, broker=8), *state(4)]
    found = broker_changes(new, configs(10, broker=9))(stored).new
    assert dict(zip(found.column("broker").to_pylist(), found.column("configs_at_ms").to_pylist(), strict=True)) == {
        9: 10,
        8: 5,
        7: 9,
    }


def test_an_older_state_changes_nothing_but_a_newer_configuration_is_kept():
    for sequence in (4, 5, None):
        found = broker_changes(state(4), configs(10))(brokers(sequence, 9))
        assert (found.new.num_rows, found.gone) == (0, set())
        assert found.patched == {KEY: {"configs": {"at": "10"}, "configs_at_ms": 10}}
    found = broker_changes(state(4), configs(9))(brokers(4, 9))
    assert (found.new.num_rows, found.gone, found.patched) == (0, set(), {})


def test_a_configuration_alone_creates_no_broker():
    found = broker_changes([], configs(9))(arrow_rows(BROKER_STATE, []))
    assert (found.new.num_rows, found.gone, found.patched) == (0, set(), {})


def test_directories_that_a_newer_state_does_not_list_are_deleted():
    there = log_dirs((7, "/d1", 3), (7, "/d2", 3), (8, "/d2", 3))
    found = log_dir_changes(state(4, "/d1", "/d3"))(there)
    assert paths(found) == ["/d1", "/d3"]
    assert found.gone == {("c", 7, "/d1"), ("c", 7, "/d2"), ("c", 7, "/d3")}


def test_directories_of_a_newer_state_stay_as_they_are():
    for newer in (5, None):
        found = log_dir_changes(state(4, "/d1"))(log_dirs((7, "/d1", newer), (7, "/d2", 4)))
        assert (found.new.num_rows, found.gone) == (0, set())
