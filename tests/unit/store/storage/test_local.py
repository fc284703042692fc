"""A folder on a disk: one of several writers creates a file, and what is written survives a power failure."""

import errno
import multiprocessing
import os
from pathlib import Path

import pytest

from logdirwatch.errors import UserError
from logdirwatch.store.storage.folder import folder_at, scheme_of
from logdirwatch.store.storage.local import LocalFolder

WRITERS, FILES = 4, 200


@pytest.fixture
def folder(tmp_path):
    return LocalFolder(str(tmp_path))


def created(url, writer, begin):
    """Create the same files as the other writers; return those that this one created."""
    folder = LocalFolder(url)
    begin.wait()
    return [name for name in map(str, range(FILES)) if folder.create(f"log/{name}", f"{writer} {name}".encode())]


def test_of_several_processes_that_create_a_file_one_does(tmp_path):
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, context.Pool(WRITERS) as pool:
        begin = manager.Barrier(WRITERS)
        winners = pool.starmap(created, [(str(tmp_path), writer, begin) for writer in range(WRITERS)])
    content = {name: (tmp_path / "log" / name).read_text() for name in map(str, range(FILES))}
    assert content == {name: f"{writer} {name}" for writer, names in enumerate(winners) for name in names}
    assert sum(map(len, winners)) == FILES
    assert [path.name for path in tmp_path.iterdir()] == ["log"], "no unfinished file is left over"


def test_an_existing_file_is_never_replaced_nor_is_an_empty_one(folder, tmp_path):
    assert folder.create("a", b"first")
    assert not folder.create("a", b"second")
    (tmp_path / "b").touch()
    assert not folder.create("b", b"second")
    assert folder.read(["a", "b"]) == [b"first", b""]


def test_a_link_that_nfs_made_and_reports_as_existing_was_created(folder, monkeypatch):
    """The client repeats LINK when the answer is lost (RFC 1813); the server finds the name taken, by this file."""
    link = Path.hardlink_to

    def linked_twice(path, target):
        link(path, target)
        link(path, target)

    monkeypatch.setattr(Path, "hardlink_to", linked_twice)
    assert folder.create("a", b"first")
    assert not folder.create("a", b"first"), "the same content in another file is another writer's"


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_hard_links_is_named(folder, tmp_path, monkeypatch, number):
    def refused(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "hardlink_to", refused)
    with pytest.raises(UserError, match=f"the file system of {tmp_path} has no hard links"):
        folder.create("a", b"first")
    assert list(tmp_path.iterdir()) == []


def test_another_error_is_no_conflict(folder, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(Path, "hardlink_to", full)
    with pytest.raises(OSError, match="no space"):
        folder.create("a", b"first")
    assert list(tmp_path.iterdir()) == []


class Recorder:
    """Records what is flushed and linked, in its order."""

    def __init__(self, monkeypatch):
        self.steps, self._fsync, self._link = [], os.fsync, Path.hardlink_to
        monkeypatch.setattr(os, "fsync", self._flushed)
        linked = self._linked
        monkeypatch.setattr(Path, "hardlink_to", lambda path, target: linked(path, target))  # noqa: PLW0108 - binds path

    def _flushed(self, descriptor):
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        self.steps.append(("flush", "tmp" if path.suffix == ".tmp" else path.name))
        self._fsync(descriptor)

    def _linked(self, path, target):
        self._link(path, target)
        self.steps.append(("link", path.name))


def test_an_entry_is_on_the_disk_before_it_has_its_name_and_its_name_before_it_counts(folder, monkeypatch):
    recorder = Recorder(monkeypatch)
    folder.create("log/0.json", b"entry")
    assert recorder.steps == [("flush", "tmp"), ("link", "0.json"), ("flush", "log")]


def test_a_written_file_and_its_name_are_on_the_disk(folder, tmp_path, monkeypatch):
    recorder = Recorder(monkeypatch)
    folder.write("part.parquet", b"rows")
    assert recorder.steps == [("flush", "part.parquet"), ("flush", tmp_path.name)]
    recorder.steps.clear()
    folder.flush(["part.parquet"])
    assert recorder.steps == [("flush", "part.parquet"), ("flush", tmp_path.name)]
    with pytest.raises(FileExistsError):
        folder.write("part.parquet", b"others")


def test_a_tag_is_that_of_one_file(folder, tmp_path):
    assert folder.tag("a") is None
    folder.create("a", b"first")
    before = folder.tag("a")
    assert folder.tag("a") == before
    (tmp_path / "a").rename(tmp_path / "old")
    folder.create("a", b"first")
    assert folder.tag("a") not in (None, before)


def test_a_folder_lists_reads_and_deletes_its_files(folder, tmp_path):
    (tmp_path / "log" / "inner").mkdir(parents=True)
    folder.create("log/a", b"one")
    assert folder.sizes("log") == {"a": 3}
    assert folder.sizes("nowhere") == {}
    folder.delete("log/a")
    folder.delete("log/a")
    assert folder.sizes("log") == {}
    with pytest.raises(FileNotFoundError):
        folder.read(["log/a"])


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_a_path_may_be_a_url_with_escaped_characters(tmp_path, prefix):
    (tmp_path / "a b").mkdir()
    name = "a b" if not prefix else "a%20b"
    folder = folder_at(f"{prefix}{tmp_path}/{name}", {}.get)
    assert folder.url == str(tmp_path / "a b")
    assert (folder.options, scheme_of(f"{prefix}{tmp_path}")) == (None, "file")
    folder.write("x", b"data")
    assert folder.files.get_file_info("x").size == 4


def test_a_relative_path_stays_where_it_was_when_the_process_moves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = LocalFolder("tables")
    monkeypatch.chdir("/")
    folder.create("a", b"x")
    assert (tmp_path / "tables" / "a").exists()
