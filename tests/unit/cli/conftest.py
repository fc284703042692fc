"""The command line, run in this process exactly as the ``logdirwatch`` command runs it."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import structlog

from logdirwatch.cli.main import main
from logdirwatch.kafka import clients
from tests.unit.cli.telemetry import Telemetry


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    exit_code: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch, capsys, tmp_path) -> Iterator[Callable[..., Ended]]:
    """Run ``logdirwatch ARGUMENTS`` in an empty folder without configuration; what a traceback shows fails the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOGDIRWATCH_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("LOGDIRWATCH_CONFIG", raising=False)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["logdirwatch", *arguments])
        exit_code = 0
        try:
            main()
        except SystemExit as ended:
            exit_code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Ended(exit_code, out, err)

    yield run
    structlog.reset_defaults()  # a command's log lines go to the standard error of its test only


@pytest.fixture
def telemetry(monkeypatch) -> Telemetry:
    """Stand in for the telemetry cluster."""
    fake = Telemetry()
    for name in ("read_all", "follow", "producer"):
        monkeypatch.setattr(clients, name, getattr(fake, name))
    return fake
