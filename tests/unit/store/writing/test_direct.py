"""Rows appended to a history: those whose key it does not have."""

import pytest

from logdirwatch.store.direct.arrow import arrow_rows
from logdirwatch.store.direct.newest import DataFile
from logdirwatch.store.schema.definitions import ACTIONS, LOG_DIR_SAMPLES, REJECTED_RECORDS
from logdirwatch.store.writing.direct import insert_new


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
