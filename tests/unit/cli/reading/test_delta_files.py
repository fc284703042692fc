"""The tables read without Spark, those of an earlier release too."""

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
