"""A small batch, written by the driver: each record once, with its fields; of states only the newest."""

import json

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from logdirwatch.store.direct.arrow import arrow_rows, arrow_schema
from logdirwatch.store.direct.newest import DataFile, Newest
from logdirwatch.store.direct.table import DirectTable
from logdirwatch.store.rows.thin import Position
from logdirwatch.store.schema.definitions import (
    ACTIONS,
    ALERTS,
    BROKER_STATE,
    EXECUTIONS,
    LOG_DIR_SAMPLES,
    LOG_DIR_STATE,
    REJECTED_RECORDS,
    TRANSITIONS,
)
from logdirwatch.store.storage.local import LocalFolder
from logdirwatch.store.writing.direct import insert_new
from logdirwatch.store.writing.engine import ByDriver
from logdirwatch.store.writing.intake import Belief
from logdirwatch.store.writing.small_batch import by_kind
from logdirwatch.store.writing.store import HISTORIES, write_batch
from tests.spark import lake

TABLES = (*(table for table, _ in HISTORIES), BROKER_STATE, LOG_DIR_STATE)


class History:
    """A table of one file."""

    def __init__(self, table, *rows):
        self._rows, self.read_files, self.new = arrow_rows(table, rows), [], []
        times = [row[table.time] for row in rows]
        self._file = DataFile("f", 1, len(rows), min(times), max(times))

    def files(self):
        return [self._file]

    def read(self, files, columns, where):
        self.read_files += files
        return (self._rows if files else self._rows.slice(0, 0)).filter(where).select(columns)

    def commit(self, files):
        self.new += [row for rows in files for row in rows.to_pylist()]


def inserted(table, stored, *rows):
    """Return which of the rows, by their number, are appended to the stored ones, and whether those were read."""
    history, numbered = History(table, *stored), [{**row, "source_offset": at} for at, row in enumerate(rows)]
    insert_new(table, arrow_rows(table, numbered), lambda _: history)
    return sorted(row["source_offset"] for row in history.new), bool(history.read_files)


def sample(at_ms, log_dir="/d1"):
    return {"cluster": "c", "broker": 7, "log_dir": log_dir, "collector": "x", "timestamp_ms": at_ms}


def test_a_row_whose_key_is_stored_is_not_appended_again():
    stored = [sample(5), sample(6), sample(6, log_dir=None)]
    rows = sample(5), sample(6, "/d2"), sample(6, log_dir=None), sample(7), sample(5, log_dir=None)
    assert inserted(LOG_DIR_SAMPLES, stored, *rows) == ([1, 3, 4], True)
    assert inserted(LOG_DIR_SAMPLES, stored, *stored) == ([], True)


def test_a_file_of_other_times_is_not_read():
    assert inserted(LOG_DIR_SAMPLES, [sample(5)], sample(4), sample(6 + 3_600_000)) == ([0, 1], False)


@pytest.mark.parametrize(
    ("table", "key"), [(ACTIONS, {"action_id": "a", "revision": 1}), (REJECTED_RECORDS, {"topic": "t", "offset": 3})]
)
def test_a_key_without_a_time_is_found_at_another_time_of_the_batch(table, key):
    stored = [{**key, table.time: 5}]
    rows = {**key, table.time: 4}, {**key, table.time: 6}, {table.time: 7}
    assert inserted(table, stored, *rows) == ([2], True)


@pytest.fixture
def opened(tmp_path):
    for table in TABLES:
        DeltaTable.create(str(tmp_path / table.name), pa.schema(arrow_schema(table)))
    newest = {table.name: Newest(LocalFolder(str(tmp_path / table.name)), table) for table in TABLES}
    return lambda table: DirectTable(newest[table.name])


def written(opened, *records, offset=0):
    """Write records as one batch, the first of them at an offset."""
    found = [record if isinstance(record, tuple) else lake.addressed(record) for record in records]
    positions = [
        Position(topic, 0, at, lake.KAFKA_MS, key.encode(), value if isinstance(value, bytes) else value.encode())
        for at, (topic, key, value) in enumerate(found, offset)
    ]
    write_batch(by_kind(positions, Belief("home", 60_000)), lambda table, use: use(ByDriver(opened(table))))


def rows(opened, table):
    target = opened(table)
    return target.read(target.all_files()).to_pylist()


EACH_KIND = [
    (LOG_DIR_SAMPLES, lake.event(detail="x")),
    (TRANSITIONS, lake.state(transitions=[lake.transition(1)])),
    (ALERTS, lake.alert(reason="why")),
    (ACTIONS, lake.action()),
    (EXECUTIONS, lake.execution()),
    (BROKER_STATE, lake.state()),
    (LOG_DIR_STATE, lake.state(log_dirs={"/d1": "online"})),
]


@pytest.mark.parametrize(("table", "record"), EACH_KIND, ids=lambda each: getattr(each, "name", ""))
def test_a_record_that_comes_twice_is_one_row_with_its_fields(opened, table, record):
    written(opened, record)
    written(opened, record, record, offset=1)
    (row,) = rows(opened, table)
    fields = json.loads(record[2] if isinstance(record, tuple) else lake.addressed(record)[2])
    of_part = {TRANSITIONS: "transitions", LOG_DIR_STATE: "log_dirs"}.get(table)
    fields |= fields[of_part][0] if of_part else {}
    shared = {name: value for name, value in fields.items() if name in row and isinstance(value, str | int)}
    # An event is not taken for the poll of the same collector and millisecond.
    shared |= {"collector": "c1/LogDirFailure"} if table is LOG_DIR_SAMPLES else {}
    assert len(shared) >= 4
    assert shared == {name: row[name] for name in shared}


def test_a_poll_is_a_row_of_the_broker_and_one_of_each_directory_however_often_it_comes(opened):
    for offset in (0, 1):
        written(opened, lake.metrics(log_dirs=("/d1", "/d2")), lake.metrics(broker=8, log_dirs=("/d1",)), offset=offset)
    found = {(row["broker"], row["log_dir"]): row["total_bytes"] for row in rows(opened, LOG_DIR_SAMPLES)}
    of_log_dirs = dict.fromkeys([(7, "/d1"), (7, "/d2"), (8, "/d1")], lake.GIB)
    assert found == {(7, None): None, (8, None): None, **of_log_dirs}
    assert len(rows(opened, LOG_DIR_SAMPLES)) == 5


def test_only_a_newer_state_replaces_that_of_a_broker_and_its_directories(opened):
    for offset, (sequence, status) in enumerate([(5, "online"), (4, "offline"), (6, "offline"), (6, "online")]):
        written(opened, lake.state(sequence=sequence, log_dirs={"/d1": status}), offset=offset)
        expected = [(5, "online"), (5, "online"), (6, "offline"), (6, "offline")][offset]
        (broker,), (log_dir,) = rows(opened, BROKER_STATE), rows(opened, LOG_DIR_STATE)
        assert (broker["sequence"], log_dir["status"]) == expected


def test_what_cannot_be_read_is_written_once_and_heartbeats_are_not(opened):
    for offset in (0, 0):
        written(opened, (lake.topics.STATE, "k", "[]"), lake.alert(rule="heartbeat"), offset=offset)
    assert [(row["topic"], row["offset"]) for row in rows(opened, REJECTED_RECORDS)] == [(lake.topics.STATE, 0)]
    assert rows(opened, ALERTS) == []
