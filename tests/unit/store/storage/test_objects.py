"""Folders of an object store, and tables in them, against a server of S3's protocol: no Java, no Spark."""

import multiprocessing
import uuid

import obstore
import pytest
from obstore.exceptions import AlreadyExistsError

from logdirwatch.cli.reading.tables.delta_files import DeltaFiles
from logdirwatch.errors import UserError
from logdirwatch.store import first_version
from logdirwatch.store.delta_log.entries import encoded, file_name
from logdirwatch.store.direct.arrow import arrow_rows
from logdirwatch.store.direct.newest import Newest
from logdirwatch.store.direct.rewriting import read_columns
from logdirwatch.store.direct.table import ConflictError, DirectTable
from logdirwatch.store.storage.folder import folder_at
from logdirwatch.store.storage.options import of_extra
from tests.support import s3
from tests.unit.store.direct.test_table import SCHEMA, TABLE, guest

WRITERS, FILES = 3, 40


@pytest.fixture(scope="module")
def conf():
    with s3.server() as endpoint:
        yield s3.properties(endpoint)


@pytest.fixture
def url():
    return f"s3a://{s3.BUCKET}/{uuid.uuid4()}"


@pytest.fixture
def folder(conf, url):
    return folder_at(f"{url}/{TABLE.name}", of_extra(conf))


@pytest.fixture
def newest(folder):
    entry = first_version.actions(TABLE, SCHEMA, {}, "an-id", 1)
    assert folder.create(file_name(0), encoded(entry))
    return Newest(folder, TABLE)


def created(url, conf, writer, begin):
    """Create the same objects as the other writers; return those that this one created."""
    folder = folder_at(url, of_extra(conf))
    begin.wait()
    return [name for name in map(str, range(FILES)) if folder.create(f"log/{name}", f"{writer} {name}".encode())]


def test_of_several_processes_that_create_an_object_one_does(conf, url, folder):
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, context.Pool(WRITERS) as pool:
        begin, place = manager.Barrier(WRITERS), f"{url}/{TABLE.name}"
        winners = pool.starmap(created, [(place, conf, writer, begin) for writer in range(WRITERS)])
    names = sorted(folder.sizes("log"))
    content = dict(zip(names, folder.read([f"log/{name}" for name in names]), strict=True))
    assert content == {name: f"{writer} {name}".encode() for writer, won in enumerate(winners) for name in won}
    assert sum(map(len, winners)) == FILES


def test_a_put_whose_answer_was_lost_and_that_was_repeated_is_ones_own(folder, monkeypatch):
    put = obstore.put

    def put_twice(*args, **options):
        put(*args, **options)
        with pytest.raises(AlreadyExistsError):
            put(*args, **options)
        raise AlreadyExistsError("as it was")

    monkeypatch.setattr(obstore, "put", put_twice)
    assert folder.create("a", b"ours")
    monkeypatch.undo()
    assert not folder.create("a", b"theirs")


def test_a_folder_lists_reads_tags_and_deletes_its_objects(folder):
    assert (folder.sizes("log"), folder.tag("log/a")) == ({}, None)
    folder.create("log/a", b"one")
    folder.write("log/inner/b", b"two")
    assert folder.sizes("log") == {"a": 3}
    before = folder.tag("log/a")
    folder.write("log/a", b"other")
    assert folder.tag("log/a") not in (None, before)
    folder.delete("log/a")
    assert folder.sizes("log") == {}
    with pytest.raises(FileNotFoundError):
        folder.read(["log/a"])


def rows(newest):
    table = DirectTable(newest)
    return sorted(table.read(table.all_files()).to_pylist(), key=str)


def test_a_table_in_an_object_store_is_written_and_read_as_one_in_a_folder(newest, folder, url, conf):
    for name in ("ada", "bob"):
        DirectTable(newest).commit([arrow_rows(TABLE, [guest(name)])])
    table = DirectTable(newest)
    assert read_columns(table).rows.to_pylist() == rows(newest)[::-1]
    table.commit([arrow_rows(TABLE, [guest("cyd")])], [table.files()[0]])
    assert [row["guest"] for row in rows(newest)] == ["ada", "cyd"]
    with pytest.raises(ConflictError):
        table.commit([arrow_rows(TABLE, [guest("dan")])])
    found = DeltaFiles(url, of_extra(conf)).select(TABLE.name, "SELECT guest FROM t ORDER BY guest")
    assert [row["guest"] for row in found] == ["ada", "cyd"]
    assert len([name for name in folder.sizes("") if name.endswith(".parquet")]) == 3


def test_the_log_of_a_table_in_an_object_store_is_check_pointed(newest, folder):
    for number in range(11):
        DirectTable(newest).commit([arrow_rows(TABLE, [guest(str(number))])])
    for version in range(10):
        folder.delete(file_name(version))
    assert len(rows(Newest(folder, TABLE))) == 11


@pytest.mark.parametrize("damage", [b"", b'{"commitInfo"'])
def test_damage_of_a_log_in_an_object_store_is_named(newest, folder, url, conf, damage):
    folder.write(file_name(0), damage)
    with pytest.raises(UserError, match=f"its log is damaged: the entry {file_name(0)} is"):
        DeltaFiles(url, of_extra(conf)).select(TABLE.name, "SELECT guest FROM t")
    with pytest.raises(UserError, match=f"its log is damaged: the entry {file_name(0)} is"):
        newest.snapshot()


def test_a_store_that_does_not_answer_is_one_line_and_no_damage(conf, url):
    away = {**conf, "spark.hadoop.fs.s3a.endpoint": "http://127.0.0.1:1"}
    with pytest.raises(UserError) as ended:
        DeltaFiles(url, of_extra(away)).select(TABLE.name, "SELECT guest FROM t")
    assert "cannot be read" in str(ended.value)
    assert not any(word in str(ended.value) for word in ("damaged", "rebuild", "\n"))
