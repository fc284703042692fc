"""A process goes on, whatever its standard streams are."""

import io
import os
import socket
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import structlog
import typer

from logdirwatch.cli import standard_streams
from logdirwatch.errors import UserError
from tests.support.hostile import NAMES


@contextmanager
def full_disk():
    with Path("/dev/full").open("w") as device:
        yield device.fileno()


@contextmanager
def pipe_without_a_reader():
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


def filled(descriptor):
    os.set_blocking(descriptor, False)
    try:
        while os.write(descriptor, bytes(512)):
            pass
    except BlockingIOError:
        os.set_blocking(descriptor, True)


@contextmanager
def pipe_that_nobody_reads():
    reader, writer = os.pipe()
    filled(writer)
    yield writer
    os.close(writer)
    os.close(reader)


@contextmanager
def socket_that_nobody_reads():
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        filled(ours.fileno())
        yield ours.fileno()


@contextmanager
def pipe_that_does_not_wait():
    with pipe_that_nobody_reads() as writer:
        os.set_blocking(writer, False)
        yield writer


@contextmanager
def closed_descriptor():
    descriptor = os.dup(0)
    os.close(descriptor)
    yield descriptor


@contextmanager
def logging_to(monkeypatch, descriptor):
    monkeypatch.setattr(standard_streams, "PATIENCE_MS", 20)
    monkeypatch.setattr(sys, "stderr", io.StringIO() if descriptor is None else Given(descriptor))
    with standard_streams.prepared():
        standard_streams.to_stderr()
        yield structlog.get_logger("test")
    structlog.reset_defaults()


class Given:
    """A stream at a descriptor, as Python makes it at its start."""

    encoding = "ascii"

    def __init__(self, descriptor):
        self.fileno = lambda: descriptor


@pytest.mark.parametrize(
    "where",
    [
        full_disk,
        pipe_without_a_reader,
        pipe_that_nobody_reads,
        socket_that_nobody_reads,
        pipe_that_does_not_wait,
        closed_descriptor,
    ],
)
@pytest.mark.parametrize("text", ["short", "long " * 20_000, "ключ \ud800"], ids=["short", "long", "unicode"])
def test_a_line_of_the_log_that_cannot_be_written_ends_nothing(monkeypatch, where, text):
    with where() as descriptor, logging_to(monkeypatch, descriptor) as log:
        for _ in range(20):
            log.warning("collect.cluster.failed", error=text)
        sys.stderr.write(f"{text}\n")


def test_once_lines_can_be_written_again_it_is_said_that_some_are_missing(monkeypatch):
    reader, writer = os.pipe()
    with logging_to(monkeypatch, writer) as log, os.fdopen(reader, encoding="utf-8") as reading:
        log.info("first")
        filled(writer)
        for _ in range(3):
            log.info("lost")
        os.read(reader, 1 << 20)
        log.info("second")
        log.info("third")
        os.close(writer)
        lines = reading.read().splitlines()
    assert [line.split()[-1] for line in lines] == ["written", "second", "third"]


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # it stays open until the process ends
@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
def test_a_stream_that_is_closed_is_an_empty_one(monkeypatch, name):
    monkeypatch.setattr(sys, name, None)
    with standard_streams.prepared():
        standard_streams.to_stderr()
        structlog.get_logger("test").info("goes on")
        sys.stdout.write(sys.stdin.readline() if name == "stdin" else "goes on")
    structlog.reset_defaults()
    assert os.fstat(getattr(sys, name).fileno()).st_rdev == Path(os.devnull).stat().st_rdev


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device"), "standard output: No space left on device"),
        (OSError(122, "Disk quota exceeded"), "standard output: Disk quota exceeded"),
        (OSError(28, "No space left on device", "plan.json"), "plan.json: No space left on device"),
        (PermissionError(13, "Permission denied", "plan.json"), "plan.json: Permission denied"),
        (OSError(30, "Read-only file system", "/etc/x"), "/etc/x: Read-only file system"),
        (OSError(24, "Too many open files"), "Too many open files"),
        (TimeoutError("timed out"), "timed out"),
    ],
    ids=str,
)
def test_what_the_system_refuses_is_one_line(error, said):
    with pytest.raises(UserError, match=said), standard_streams.prepared():
        raise error


def test_a_working_directory_that_was_deleted_is_one_line(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    with pytest.raises(UserError, match="working directory"), standard_streams.prepared():
        pass


PASSWORD = "hush-hush"


def connect(arguments):
    raise ValueError(f"no broker among {len(arguments)}")


def test_a_traceback_shows_no_variable(capsys):
    arguments = {"sasl_plain_password": PASSWORD}
    standard_streams.to_stderr()
    try:
        connect(arguments)
    except ValueError:
        structlog.get_logger("test").exception("batch.failed", query="store")
    finally:
        structlog.reset_defaults()
    said = capsys.readouterr().err
    assert "batch.failed" in said
    assert "ValueError: no broker among 1" in said
    assert "test_standard_streams.py" in said
    assert PASSWORD not in said


@pytest.mark.parametrize("name", NAMES)
def test_what_is_logged_is_one_line_that_steers_no_terminal(capsys, name):
    standard_streams.to_stderr()
    try:
        structlog.get_logger("test").warning("query.failed", error=name, paths=[name], found={name: name})
    finally:
        structlog.reset_defaults()
    (said,) = capsys.readouterr().err.split("\n")[:-1]
    assert said.isprintable()


@pytest.mark.parametrize(("debug", "lines"), [(False, 0), (True, 1)])
def test_debug_lines_are_for_those_who_ask(capsys, debug, lines):
    standard_streams.to_stderr(debug=debug)
    try:
        structlog.get_logger("test").debug("cluster_id.unknown")
    finally:
        structlog.reset_defaults()
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", lines)


@pytest.mark.parametrize(
    ("encoding", "shown"), [("ascii", rb"\xe9 \u043a"), ("latin-1", b"\xe9 \\u043a"), ("utf-8", "é к".encode())]
)
def test_names_are_shown_in_every_locale(monkeypatch, encoding, shown):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    with standard_streams.prepared():
        sys.stdout.write("é к")
        sys.stdout.flush()
    assert written.getvalue() == shown


@pytest.mark.parametrize("columns", ["0", "1", "19", "-5", "abc", "", "10001", "9" * 20])
def test_a_width_that_is_none_is_as_if_it_were_not_set(run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    assert "Usage: logdirwatch" in run("--help").out


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # it stays open until the process ends
def test_a_command_whose_output_nobody_reads_any_more_ends_as_cat_does_and_without_a_word(monkeypatch):
    with pipe_without_a_reader() as writer:
        monkeypatch.setattr(sys, "stdout", Given(writer))
        with pytest.raises(SystemExit) as ended, standard_streams.prepared():
            typer.echo("x" * 100_000)
        assert ended.value.code == 141
        typer.echo("what was still buffered")
