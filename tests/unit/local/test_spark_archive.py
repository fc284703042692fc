"""The archive of Spark's classes: written once below a cluster, kept beside the jars, then used."""

import re
from pathlib import Path

import pytest

from logdirwatch.local import spark_archive


@pytest.fixture(autouse=True)
def java(monkeypatch):
    monkeypatch.setattr(spark_archive, "find_java", lambda: ("java", 'openjdk version "17.0.15"'))


def recorded(folder, home):
    return Path(re.search(r"-XX:ArchiveClassesAtExit=(\S+)", spark_archive.java_options(home, folder))[1])


def test_the_first_stream_writes_it_and_the_next_one_uses_it(tmp_path):
    folder = tmp_path / "cluster"
    folder.mkdir()
    (tmp_path / "jars").mkdir()
    written = recorded(folder, tmp_path)
    assert written.parent == folder
    written.write_bytes(b"classes")
    spark_archive.keep(folder, tmp_path)
    kept = tmp_path / "jars" / written.name
    assert kept.read_bytes() == b"classes"
    assert f"-XX:SharedArchiveFile={kept}" in spark_archive.java_options(tmp_path, folder)


def test_one_that_is_there_stays_and_nothing_half_is_left(tmp_path):
    folder = tmp_path / "cluster"
    folder.mkdir()
    (tmp_path / "jars").mkdir()
    written = recorded(folder, tmp_path)
    (tmp_path / "jars" / written.name).write_bytes(b"first")
    written.write_bytes(b"second")
    spark_archive.keep(folder, tmp_path)
    assert [path.read_bytes() for path in (tmp_path / "jars").iterdir()] == [b"first"]


def test_without_jars_nothing_is_kept(tmp_path):
    folder = tmp_path / "cluster"
    folder.mkdir()
    recorded(folder, tmp_path).write_bytes(b"classes")
    spark_archive.keep(folder, tmp_path)
    assert not (tmp_path / "jars").exists()


def test_another_java_has_another_archive(tmp_path, monkeypatch):
    first = recorded(tmp_path, tmp_path)
    monkeypatch.setattr(spark_archive, "find_java", lambda: ("java", 'openjdk version "21.0.1"'))
    assert recorded(tmp_path, tmp_path) != first
