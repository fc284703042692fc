"""The tables themselves: made once, told by comments, read by anyone, and merged beside other writers."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace as changed
from threading import Barrier

import pytest
from delta.exceptions import ConcurrentAppendException
from deltalake import DeltaTable
from msgspec.structs import replace

from logdirwatch.errors import UserError
from logdirwatch.settings import Settings
from logdirwatch.store import first_version
from logdirwatch.store import tables as store_tables
from logdirwatch.store.delta_log.entries import encoded
from logdirwatch.store.schema.definitions import ALERTS, BROKER_STATE, DECISIONS, LOG_DIR_SAMPLES, TABLES, TOPIC_STATE
from logdirwatch.store.settings import TableSettings
from logdirwatch.store.storage.local import LocalFolder
from logdirwatch.store.tables import Tables, retried, within
from tests.spark.lake import Lake, scan_end, topic
from tests.support.waiting import DEADLINE_S

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


def tables_in(spark, folder):
    return Tables(spark, Settings(tables=TableSettings(path=str(folder))))


def first_entry(folder):
    """Return the actions of version 0 by name, without what differs from table to table."""
    lines = (folder / first_version.FILE_NAME).read_text().splitlines()
    entry = {name: action for line in lines for name, action in json.loads(line).items()}
    for action, name in (("metaData", "id"), ("metaData", "createdTime"), ("commitInfo", "timestamp")):
        del entry[action][name]
    for name in ("engineInfo", "txnId"):
        entry["commitInfo"].pop(name, None)
    parameters = entry["commitInfo"]["operationParameters"]
    parameters["properties"] = json.loads(parameters["properties"])
    entry["metaData"]["schemaString"] = json.loads(entry["metaData"]["schemaString"])
    entry["protocol"]["writerFeatures"].sort()
    return entry


def detail(tables, table):
    """Return what Delta says about a table, without what differs from table to table."""
    told = tables.delta(table).detail().head().asDict()
    return {name: told[name] for name in told if name not in ("id", "location", "createdAt", "lastModified")}


def test_a_table_is_the_same_whether_spark_creates_it_or_its_log_entry_is_written(
    spark, empty_tables, tmp_path, monkeypatch
):
    monkeypatch.setattr(first_version, "can_write", lambda *_: False)
    by_sql, written = tables_in(spark, tmp_path), tables_in(spark, empty_tables)
    compared = (BROKER_STATE, LOG_DIR_SAMPLES, ALERTS)
    by_sql.create_missing(compared)
    for table in compared:
        assert "logdirwatch/" in (empty_tables / table.name / first_version.FILE_NAME).read_text()
        assert first_entry(empty_tables / table.name) == first_entry(tmp_path / table.name)
        assert detail(written, table) == detail(by_sql, table)
        assert written.read(table).schema.jsonValue() == by_sql.read(table).schema.jsonValue()


def test_creating_all_tables_runs_no_spark_job(spark, tmp_path):
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.nextJobId()
    tables_in(spark, tmp_path).create_missing(TABLES.values())
    assert scheduler.nextJobId() == before


def test_of_several_that_create_a_table_at_once_one_does(spark, tmp_path):
    begin, writers = Barrier(4), range(4)
    lines = {str(n): first_version.actions(DECISIONS, '{"type":"struct","fields":[]}', {}, str(n), 0) for n in writers}
    path = tmp_path / DECISIONS.name

    def write(table_id):
        begin.wait(DEADLINE_S)
        return table_id if first_version.write(spark.newSession(), LocalFolder(str(path)), lines[table_id]) else None

    with ThreadPoolExecutor(len(writers)) as pool:
        (winner,) = filter(None, pool.map(write, lines))
    assert (path / first_version.FILE_NAME).read_bytes() == encoded(lines[winner])


def test_a_table_that_exists_is_not_created_again_after_its_first_entry_expired(spark, tmp_path):
    tables, log = tables_in(spark, tmp_path), tmp_path / DECISIONS.name / "_delta_log"
    tables.create_missing([DECISIONS])
    spark.sql(f"ALTER TABLE {tables.name(DECISIONS)} SET TBLPROPERTIES ('delta.checkpointInterval' = '1')")
    spark.sql(f"INSERT INTO {tables.name(DECISIONS)} (id) VALUES ('a')")
    assert list(log.glob("*.checkpoint.parquet"))
    (log.parent / first_version.FILE_NAME).unlink()
    tables_in(spark.newSession(), tmp_path).create_missing([DECISIONS])
    assert not (log.parent / first_version.FILE_NAME).exists()


def test_default_properties_of_the_session_apply_to_new_tables(spark, tmp_path):
    key = "spark.databricks.delta.properties.defaults.checkpointInterval"
    session = spark.newSession()
    session.conf.set(key, "7")
    tables = tables_in(session, tmp_path)
    tables.create_missing([DECISIONS])
    assert tables.delta(DECISIONS).detail().head()["properties"]["delta.checkpointInterval"] == "7"


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
    with pytest.raises(UserError, match="only one stream may write it") as caught:
        retried("merge into alerts", endless)
    assert endless.calls == store_tables.ATTEMPTS
    assert caught.value.__cause__ is None


def test_no_span_means_no_row():
    assert within("t.at_ms", []) == "false"
    assert within("t.at_ms", [(1, 2), (5, 5)]) == "t.at_ms BETWEEN 1 AND 2 OR t.at_ms BETWEEN 5 AND 5"


LATER = ("groups", "slowest_group", "unread_ratio")


def test_a_table_of_an_earlier_release_is_written_to_with_its_new_columns(lake, tmp_path):
    """Two streams start at once, and both add them."""
    old = Lake(lake.spark, tmp_path / "earlier")
    earlier = changed(TOPIC_STATE, columns=tuple(each for each in TOPIC_STATE.columns if each.name not in LATER))
    old.tables.create_missing([table for table in TABLES.values() if table is not TOPIC_STATE] + [earlier])
    assert not set(LATER) & set(old.tables.read(TOPIC_STATE).columns)
    names = ", ".join(f"`{name}`" for name in earlier.names)
    lake.scan(topic("t", (7, 8)), topic("u", (7,)), scan_end(2))
    lake.spark.sql(
        f"INSERT INTO {old.tables.name(TOPIC_STATE)} ({names}) SELECT {names} FROM {lake.tables.name(TOPIC_STATE)}"
    )
    begin = Barrier(2)

    def start(each):
        begin.wait(DEADLINE_S)
        each.tables.create_missing(TABLES.values())

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(start, [Lake(lake.spark, tmp_path / "earlier") for _ in range(2)]))
    later = topic("t", (7, 8), scan=1)
    later = replace(later, partitions=[replace(each, groups=3, slowest_group="g") for each in later.partitions])
    old.scan(later, topic("u", (7,), scan=1), scan_end(2, scan=1))
    assert old.rows("topic_state", "topic", "groups", "slowest_group") == [("t", 3, "g"), ("u", None, None)]
