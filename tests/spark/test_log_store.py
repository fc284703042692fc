"""Spark's own commits: by a class of this package, whose jar is that of its source."""

import zipfile

import pytest
from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError

from logdirwatch.errors import UserError
from logdirwatch.settings import Settings
from logdirwatch.store import log_store
from logdirwatch.store.delta_log.entries import file_name
from logdirwatch.store.schema.definitions import ALERTS, DECISIONS
from logdirwatch.store.settings import TableSettings
from logdirwatch.store.storage.local import LocalFolder
from logdirwatch.store.tables import Tables
from tests.support import log_store_jar


def content(jar):
    with zipfile.ZipFile(jar) as opened:
        return {info.filename: opened.read(info) for info in opened.infolist()}


def test_the_jar_is_what_the_source_beside_it_compiles_to(tmp_path):
    built = log_store_jar.build(tmp_path / "built.jar")
    assert content(built) == content(log_store.JAR), "make log-store"


@pytest.fixture
def write(lake):
    """Write a file of a table's log by the log store of the session."""
    jvm, conf = lake.spark._jvm, lake.spark._jsparkSession.sessionState().newHadoopConf()
    store = jvm.logdirwatch.PutIfAbsentLogStore(conf)

    def written(name, *lines, overwrite=False):
        actions = jvm.java.util.ArrayList()
        for line in lines:
            actions.add(line)
        path = jvm.org.apache.hadoop.fs.Path(str(lake.folder / ALERTS.name / name))
        store.write(path, actions.iterator(), overwrite, conf)

    return written


def test_an_entry_that_exists_is_never_replaced_whoever_wrote_it(lake, write):
    folder = lake.folder / ALERTS.name
    write(file_name(1), "first", "second")
    assert (folder / file_name(1)).read_text() == "first\nsecond\n"
    assert not LocalFolder(str(folder)).create(file_name(1), b"third")
    assert LocalFolder(str(folder)).create(file_name(2), b"third")
    for version in (1, 2):
        with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
            write(file_name(version), "fourth")
    assert (folder / file_name(1)).read_text() == "first\nsecond\n"
    assert (folder / file_name(2)).read_text() == "third"
    assert not list(folder.glob("*.tmp"))


def test_the_hint_of_the_newest_checkpoint_is_replaced(lake, write):
    for line in ("first", "second"):
        write("_delta_log/_last_checkpoint", line, overwrite=True)
    assert (lake.folder / ALERTS.name / "_delta_log" / "_last_checkpoint").read_text() == "second\n"


def test_an_entry_without_its_data_file_is_not_written(lake, write):
    """What an entry adds is flushed to the disk before it; a file that is not there cannot be."""
    with pytest.raises(Py4JJavaError, match="NoSuchFileException"):
        write(file_name(1), '{"add":{"path":"gone.parquet"}}')
    assert not (lake.folder / ALERTS.name / file_name(1)).exists()


def test_spark_commits_to_what_the_driver_created_and_is_told_of_conflicts(lake):
    lake.spark.sql(f"INSERT INTO {lake.tables.name(DECISIONS)} (id) VALUES ('a b')")
    lake.spark.sql(f"DELETE FROM {lake.tables.name(DECISIONS)}")
    table = DeltaTable.forPath(lake.spark, str(lake.folder / DECISIONS.name))
    assert [row["version"] for row in table.history().collect()] == [2, 1, 0]


def test_an_application_that_may_lose_commits_is_refused_in_one_line(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(log_store, "_class_of", lambda *_: None)
    for path in (str(tmp_path), "s3a://bucket/tables"):
        with pytest.raises(UserError) as ended:
            Tables(spark, Settings(tables=TableSettings(path=path)))
        scheme = "s3a" if ":" in path else "file"
        assert f"--conf spark.delta.logStore.{scheme}.impl=logdirwatch.PutIfAbsentLogStore" in str(ended.value)
        assert "\n" not in str(ended.value)
    for path in ("abfss://c@account.dfs.core.windows.net/t", "gs://bucket/t", "hdfs://name/t"):
        Tables(spark, Settings(tables=TableSettings(path=path)))


@pytest.mark.parametrize("known", ["io.delta.storage.S3DynamoDBLogStore", log_store.CLASS])
def test_a_table_of_dynamodb_excludes_other_writers_but_not_the_driver(spark, monkeypatch, known):
    monkeypatch.setattr(log_store, "_class_of", lambda *_: known)
    tables = Tables(spark, Settings(tables=TableSettings(path="s3a://bucket/tables")))
    assert tables.are_direct() is (known == log_store.CLASS)


@pytest.mark.parametrize("damage", [b"", b"{"])
def test_a_table_with_a_damaged_log_stops_whoever_would_read_it_by_spark(lake, damage):
    (lake.folder / ALERTS.name / file_name(0)).write_bytes(damage)
    for use in (lake.tables.exists, lambda table: lake.tables.create_missing([table])):
        with pytest.raises(UserError, match=f"table alerts at .* its log is damaged: the entry {file_name(0)} is"):
            use(ALERTS)
    assert lake.tables.exists(DECISIONS)
