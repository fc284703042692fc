"""The tables read without Spark, those of an earlier release too."""

import subprocess
import sys

import pytest

from logdirwatch.cli.reading.tables.delta_files import DeltaFiles
from logdirwatch.cli.reading.tables.reader import COLUMNS
from logdirwatch.store.schema.definitions import BROKER_STATE, LOG_DIR_STATE
from tests.support.delta import Written
from tests.unit.report.rows import broker, log_dir

NEWER = {
    BROKER_STATE.name: (broker, ("metadata_mode", "not_reported")),
    LOG_DIR_STATE.name: (log_dir, ("capacity_source",)),
}


@pytest.mark.parametrize("name", NEWER)
def test_columns_that_a_table_of_an_earlier_release_lacks_are_null(tmp_path, name):
    row, columns = NEWER[name]
    Written(tmp_path).write(name, row(), without=columns)
    (found,) = DeltaFiles(str(tmp_path)).rows(name)
    assert set(found) == set(COLUMNS[name])
    assert [found[column] for column in columns] == [None] * len(columns)


def test_a_table_that_was_never_written_has_no_rows(tmp_path):
    tables = DeltaFiles(str(tmp_path))
    assert tables.rows(BROKER_STATE.name) is None
    assert list(tables.select_columns(BROKER_STATE.name, ["broker"], "true")) == []


def test_reading_loads_no_pandas_which_takes_longer_than_the_tables_of_a_large_fleet(tmp_path):
    Written(tmp_path).write(BROKER_STATE.name, broker(7))
    code = """
import sys
from logdirwatch.cli.reading.tables.delta_files import DeltaFiles
tables = DeltaFiles(sys.argv[1])
query = "SELECT broker FROM t"
print([list(read("broker_state", query)) for read in (tables.select, tables.stream)], "pandas" in sys.modules)
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert told == "[[{'broker': 7}], [{'broker': 7}]] False\n"


@pytest.mark.parametrize(
    ("reason", "is_damage"),
    [
        ("Unable to open file /t/part-0.snappy.parquet: Permission denied (os error 13)", False),
        ("Unable to open file /t/part-0.snappy.parquet: Too many open files (os error 24)", False),
        ("Unable to open file /t/part-0.snappy.parquet: No such file or directory (os error 2)", True),
        ("part-0.snappy.parquet: Parquet error: EOF", True),
    ],
)
def test_a_file_that_may_not_be_read_is_not_called_damaged(tmp_path, reason, is_damage):
    Written(tmp_path).write(BROKER_STATE.name, broker(7))
    told = DeltaFiles(str(tmp_path))._unreadable(BROKER_STATE.name, Exception(reason))
    assert ("restore or rebuild it" in told) is is_damage
    assert reason.rpartition(": ")[2] in told
