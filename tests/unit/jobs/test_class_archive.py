"""The archive of Spark's classes: the first stream of an installation writes it, later ones use it."""

import re
from pathlib import Path

import pytest

from logdirwatch.jobs import class_archive


@pytest.fixture
def jars(tmp_path):
    folder = tmp_path / "jars" / "spark-4.2"
    folder.mkdir(parents=True)
    (folder / "connector.jar").write_bytes(b"classes")
    return [folder / "connector.jar"]


@pytest.fixture(autouse=True)
def ended():
    """Give back the locks of a test that did not."""
    yield
    class_archive.keep()


def recorded(jars):
    return Path(re.search(r"-XX:ArchiveClassesAtExit=(\S+)", class_archive.java_options(jars, records=True))[1])


def used(jars):
    return Path(re.search(r"-XX:SharedArchiveFile=(\S+)", class_archive.java_options(jars, records=False))[1])


def write(jars, content=b"archive"):
    recorded(jars).write_bytes(content)
    class_archive.keep()
    return used(jars)


def test_the_first_stream_writes_it_beside_the_jars_and_later_ones_use_it(jars):
    kept = write(jars)
    assert kept.read_bytes() == b"archive"
    assert kept.parent == jars[0].parent.parent
    assert "ArchiveClassesAtExit" not in class_archive.java_options(jars, records=True)


def test_what_does_not_record_starts_without_one(jars):
    assert class_archive.java_options(jars, records=False) == ""


def test_one_stream_at_a_time_writes_it(jars):
    recorded(jars)
    assert class_archive.java_options(jars, records=True) == ""
    class_archive.keep()
    assert recorded(jars)


def test_a_stream_that_was_killed_leaves_none(jars):
    recorded(jars).write_bytes(b"a part")
    class_archive.keep(is_whole=False)
    assert [path.suffix for path in jars[0].parent.parent.glob("spark-classes*")] == [".lock"]


def test_other_jars_have_another_one_and_the_older_goes(jars):
    older = write(jars)
    jars[0].write_bytes(b"more classes")
    assert write(jars, b"another") != older
    assert [path.read_bytes() for path in jars[0].parent.parent.glob("*.jsa")] == [b"another"]


def test_another_java_has_another_one(jars, tmp_path, monkeypatch):
    write(jars)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("another")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert class_archive.java_options(jars, records=False) == ""


def test_installations_that_share_a_home_leave_each_others_alone(jars, tmp_path, monkeypatch):
    kept = write(jars)
    monkeypatch.setattr(class_archive, "_pyspark", lambda: tmp_path)
    assert write(jars, b"another").parent == kept.parent
    assert kept.exists()


def test_where_nothing_can_be_written_there_is_none(jars, monkeypatch):
    lock = recorded(jars).with_suffix(".lock")
    class_archive.keep()
    lock.unlink()
    lock.mkdir()
    assert class_archive.java_options(jars, records=True) == ""
    lock.rmdir()
    monkeypatch.setattr(class_archive.fcntl, "flock", lambda *_: (_ for _ in ()).throw(PermissionError))
    assert class_archive.java_options(jars, records=True) == ""
