"""The tables themselves: made once, told by comments, read by anyone, and merged beside other writers."""

import pytest
from delta.exceptions import ConcurrentAppendException
from deltalake import DeltaTable

from logdirwatch.errors import UserError
from logdirwatch.settings import Settings
from logdirwatch.store import tables as store_tables
from logdirwatch.store.schema.definitions import DECISIONS, TABLES
from logdirwatch.store.settings import TableSettings
from logdirwatch.store.tables import Tables, retried, within

pytestmark = pytest.mark.long


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_reader_without_spark_finds_every_column_with_its_comment(empty_tables, table):
    found = DeltaTable(f"{empty_tables}/{table.name}")
    fields = {field.name: field.metadata.get("comment") for field in found.schema().fields}
    assert fields == {column.name: column.comment for column in table.columns}
    assert found.to_pyarrow_table().num_rows == 0
    assert found.protocol().min_reader_version == 1


def test_history_is_clustered_by_cluster_and_time(spark, empty_tables):
    tables = Tables(spark, Settings(tables=TableSettings(path=str(empty_tables))))
    detail = tables.delta(DECISIONS).detail().head()
    assert (detail["clusteringColumns"], detail["description"]) == (["cluster", "at_ms"], DECISIONS.comment)


def test_a_table_of_an_earlier_release_gains_the_columns_it_lacks(spark, tmp_path):
    tables = Tables(spark, Settings(tables=TableSettings(path=str(tmp_path))))
    spark.sql(f"CREATE TABLE {tables.name(DECISIONS)} (id string, at_ms bigint) USING delta")
    spark.sql(f"INSERT INTO {tables.name(DECISIONS)} VALUES ('a', 1)")
    tables.create_missing([DECISIONS])
    assert sorted(tables.read(DECISIONS).columns) == sorted(DECISIONS.names)
    assert [row["id"] for row in tables.read(DECISIONS).collect()] == ["a"]


def test_tables_can_lie_in_a_catalog_and_schema(spark):
    spark.sql("CREATE SCHEMA IF NOT EXISTS logdirs")
    tables = Tables(spark, Settings(tables=TableSettings(catalog="spark_catalog", table_schema="logdirs")))
    for _ in range(2):
        tables.create_missing([DECISIONS])
    assert spark.table("spark_catalog.logdirs.decisions").columns == DECISIONS.names
    spark.sql("DROP SCHEMA logdirs CASCADE")


class Conflicting:
    """Another writer comes in between a number of times."""

    def __init__(self, times):
        self.left, self.calls = times, 0

    def __call__(self):
        self.calls += 1
        if self.left:
            self.left -= 1
            raise ConcurrentAppendException("files were added")
        return "done"


def test_a_merge_that_another_writer_disturbs_is_tried_again(monkeypatch):
    pauses = []
    monkeypatch.setattr(store_tables.time, "sleep", pauses.append)
    assert retried("merge", Conflicting(3)) == "done"
    assert pauses == [0.5, 1.0, 2.0]


def test_a_merge_that_is_always_disturbed_fails_in_one_line(monkeypatch):
    monkeypatch.setattr(store_tables.time, "sleep", lambda _: None)
    endless = Conflicting(100)
    with pytest.raises(UserError, match="only one application may write") as caught:
        retried("merge into alerts", endless)
    assert endless.calls == store_tables.ATTEMPTS
    assert caught.value.__cause__ is None


def test_no_span_means_no_row():
    assert within("t.at_ms", []) == "false"
    assert within("t.at_ms", [(1, 2), (5, 5)]) == "t.at_ms BETWEEN 1 AND 2 OR t.at_ms BETWEEN 5 AND 5"
