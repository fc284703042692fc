"""Nothing is lost and nothing is read twice: through rotation, truncation, and restarts of ours."""

import errno
import gzip
import os
import shutil

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.collect.host.tail import END_OF_FILE, Position, Tail
from tests.support.properties import examples

_OPENED = []


@pytest.fixture(autouse=True)
def _closed():
    yield
    while _OPENED:
        _OPENED.pop().close()


def follow(*args, **options):
    _OPENED.append(Tail(*args, **options))
    return _OPENED[-1]


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "server.log"
    path.write_text("old\n")
    return path


def append(path, text):
    with path.open("a") as file:
        file.write(text)


def rotate(path, name):
    path.rename(path.with_name(name))
    path.write_text("")


def older(path, seconds):
    """Make ``path`` look as if it had been written to that long ago."""
    at = path.stat().st_mtime - seconds
    os.utime(path, (at, at))


def read(tail):
    return "".join("|" if piece is END_OF_FILE else piece.decode() for piece in tail.read())


def restarted(tail, path, held_bytes=0):
    """Return the tail of another process, which knows no more than what was saved."""
    saved = msgspec.json.encode(tail.position(held_bytes))
    tail.close()
    return follow(path, msgspec.json.decode(saved, type=Position))


def test_the_first_start_begins_at_the_end(log):
    tail = follow(log)
    assert read(tail) == ""
    append(log, "new\n")
    assert read(tail) == "new\n"
    assert read(tail) == ""


def test_it_may_begin_some_way_before_the_end(log):
    assert read(follow(log, back_bytes=2)) == "d\n"
    assert read(follow(log, back_bytes=1_000)) == "old\n"


def test_a_file_that_is_renamed_is_read_to_its_end_before_the_new_one(log):
    tail = follow(log)
    read(tail)
    append(log, "last\n")
    rotate(log, "server.log.2026-03-01-16")
    append(log, "first\n")
    assert read(tail) == "last\n|first\n"


def test_copy_and_truncate_begins_the_file_again(log):
    tail = follow(log)
    append(log, "one\n")
    read(tail)
    shutil.copy(log, log.with_name("server.log.1"))
    os.truncate(log, 0)
    append(log, "2\n")
    assert read(tail) == "|2\n"


def test_a_truncated_file_that_has_grown_past_the_old_size_is_recognised_by_its_beginning(log):
    tail = follow(log)
    read(tail)
    os.truncate(log, 0)
    append(log, "much more than before\n")
    assert read(tail) == "|much more than before\n"


def test_a_restart_goes_on_where_it_was(log):
    tail = follow(log)
    read(tail)
    append(log, "done, begun")
    read(tail)
    tail = restarted(tail, log, held_bytes=len("begun"))
    append(log, " and ended\n")
    assert read(tail) == "begun and ended\n"


def test_what_was_rotated_away_while_nobody_read_is_read_first_oldest_first(log):
    tail = follow(log)
    read(tail)
    tail = restarted(tail, log)
    append(log, "a\n")
    rotate(log, "server.log.2026-03-01-16")
    append(log, "b\n")
    rotate(log, "server.log.2026-03-01-17")
    append(log, "c\n")
    with gzip.open(log.with_name("server.log.0.gz"), "wt") as packed:
        packed.write("z\n")
    log.with_name("server.log.2026-02-27-00").write_text("long done\n")
    for name, seconds in (("2026-02-27-00", 90), ("2026-03-01-16", 60), ("2026-03-01-17", 30)):
        older(log.with_name(f"server.log.{name}"), seconds)
    assert read(tail) == "a\n|b\n|c\n"


@pytest.mark.parametrize(
    "name", ["server.log-20261126", "server-20261126.log", "server.log.2026-11-26-10", "server.log.1"]
)
def test_a_restart_finds_what_logrotate_renamed_by_a_date(log, name):
    tail = follow(log)
    read(tail)
    tail = restarted(tail, log)
    append(log, "a\n")
    rotate(log, name)
    older(log.with_name(name), 30)
    for other in ("server.log-20261125.gz", "server.logger", "controller.log", "server-start.log"):
        log.with_name(other).write_text("another one\n")
    append(log, "b\n")
    assert read(tail) == "a\n|b\n"


def test_when_the_file_that_was_read_is_gone_the_present_one_is_read_from_its_beginning(log):
    tail = follow(log)
    read(tail)
    tail = restarted(tail, log)
    (log.parent / "other").write_text("")
    log.unlink()
    log.write_text("all of it\n")
    assert read(tail) == "all of it\n"


def test_an_old_inode_given_to_a_new_file_is_not_taken_for_the_old_file(log):
    tail = follow(log)
    read(tail)
    tail = restarted(tail, log)
    log.write_text("new and longer than the old one\n")  # in place: the same inode
    assert read(tail) == "new and longer than the old one\n"


def test_a_missing_file_is_said_once_and_read_from_its_beginning_when_it_comes(tmp_path, logged):
    path = tmp_path / "server.log"
    tail = follow(path)
    for _ in range(5):
        assert read(tail) == ""
    path.write_text("hello\n")
    assert read(tail) == "hello\n"
    assert read(tail) == ""
    said = [(line["log_level"], line["event"], line["path"]) for line in logged]
    assert said == [
        ("warning", "host.log.failed", str(path)),
        ("warning", "host.log.recovered", str(path)),
    ]


def test_a_file_that_vanishes_under_the_reader_is_said_once_and_followed_when_it_is_back(log, logged):
    tail = follow(log)
    read(tail)
    log.unlink()
    for _ in range(5):
        assert read(tail) == ""
    assert [line["error"] for line in logged] == ["No such file or directory"]
    log.write_text("back\n")
    assert read(tail) == "|back\n"


def test_a_moment_without_a_file_in_the_middle_of_a_rotation_is_not_worth_a_line(log, logged):
    tail = follow(log)
    for number in range(5):
        read(tail)
        log.rename(log.with_name(f"server.log.{number}"))
        read(tail)
        log.write_text("")
    assert logged == []


def test_a_path_that_is_no_file_is_one_warning_too(tmp_path, logged):
    tail = follow(tmp_path)
    for _ in range(4):
        assert read(tail) == ""
    assert [line["error"] for line in logged] == ["Is a directory"]


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "loop"])
def test_what_is_no_file_takes_no_time_and_the_file_that_comes_in_its_place_is_read(tmp_path, logged, kind):
    path = tmp_path / "server.log"
    make = {"pipe": os.mkfifo, "folder": os.mkdir, "device": lambda at: at.symlink_to("/dev/zero")}
    make.get(kind, lambda at: at.symlink_to(at.name))(path)
    tail = follow(path)
    assert [read(tail) for _ in range(5)] == [""] * 5
    assert [line["event"] for line in logged] == ["host.log.failed"]
    path.rmdir() if kind == "folder" else path.unlink()
    path.write_text("")
    read(tail)
    append(path, "new\n")
    assert read(tail) == "new\n"


def fails(code, times=1):
    """Return a function that raises an error of the operating system a few times."""
    left = [times]

    def call(*_, **__):
        left[0] -= 1
        raise OSError(code, os.strerror(code))

    return call


@pytest.mark.parametrize("code", [errno.EACCES, errno.ELOOP, errno.ENOTDIR, errno.ENOENT])
def test_while_the_path_leads_nowhere_the_open_file_is_read(log, logged, monkeypatch, code):
    tail = follow(log)
    read(tail)
    with monkeypatch.context() as lost:
        lost.setattr(type(log), "stat", fails(code))
        append(log, "a\n")
        assert read(tail) == "a\n"
        assert read(tail) == ""
    append(log, "b\n")
    assert read(tail) == "b\n"
    assert [line["event"] for line in logged] == ["host.log.failed", "host.log.recovered"]


def test_in_a_folder_that_cannot_be_listed_a_rotation_is_followed(log, monkeypatch):
    tail = follow(log)
    read(tail)
    monkeypatch.setattr(type(log), "iterdir", fails(errno.EACCES))
    append(log, "last\n")
    rotate(log, "server.log.1")
    append(log, "first\n")
    assert list(tail.read()) == [b"last\n", END_OF_FILE, b"first\n"]


@pytest.mark.parametrize("is_same", [True, False])
def test_a_file_whose_disk_went_away_is_opened_again_where_it_was(log, monkeypatch, is_same):
    tail = follow(log)
    append(log, "a\n")
    read(tail)
    with monkeypatch.context() as gone:
        gone.setattr(os, "fstat", fails(errno.ESTALE))
        assert read(tail) == ""
    if not is_same:
        log.rename(log.with_name("elsewhere"))
        log.write_text("")
    append(log, "b\n")
    assert list(tail.read()) == ([b"b\n"] if is_same else [END_OF_FILE, b"b\n"])


def test_a_position_that_was_never_read_on_from_stays_what_it_was(tmp_path):
    saved = Position(inode=1, offset=7)
    tail = follow(tmp_path / "none", saved)
    read(tail)
    assert tail.position() == saved


STEPS = st.lists(
    st.one_of(st.just("read"), st.just("rotate"), st.just("restart"), st.text("ab\n", min_size=1, max_size=5)),
    max_size=25,
)


@examples(20)
@given(steps=STEPS)
def test_whatever_happens_between_reads_every_byte_is_read_once_and_in_order(tmp_path_factory, steps):
    log = tmp_path_factory.mktemp("tail") / "server.log"
    log.write_text("head\n")
    tail, written, seen = follow(log), "", ""
    read(tail)
    for number, step in enumerate([*steps, "read"]):
        if step == "read":
            seen += read(tail).replace("|", "")
        elif step == "rotate":
            rotate(log, f"server.log.{number}")
            _age_all_but(log)
        elif step == "restart":
            tail = restarted(tail, log)
        else:
            append(log, step)
            written += step
    assert seen == written


def _age_all_but(log):
    """Put a second between the files, as there is between two rotations."""
    for path in log.parent.glob("server.log*"):
        if path != log:
            older(path, 1)
