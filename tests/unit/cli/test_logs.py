"""What a fault writes into the log: where it was, and nothing of what was in memory there."""

import structlog

from logdirwatch.cli import logs

PASSWORD = "hush-hush"


def connect(arguments):
    raise ValueError(f"no broker among {len(arguments)}")


def test_a_traceback_shows_no_variable(capsys):
    arguments = {"sasl_plain_password": PASSWORD}
    logs.to_stderr()
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
