"""What a fault writes into the log: where it was, and nothing of what was in memory there."""

import pytest
import structlog

from logdirwatch.cli import standard_streams
from tests.support.hostile import NAMES

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
    assert "test_logs.py" in said
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
