"""Which commands are imported for what is typed."""

import pytest

from logdirwatch.cli import main
from logdirwatch.cli.main import COMMANDS, asked


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["collect"], ["collect"]),
        (["watch-host", "--once"], ["watch-host"]),
        (["--debug", "--config", "status", "alerts", "--json"], ["alerts"]),
        (["--config=my.yaml", "plan", "--help"], ["plan"]),
        (["--help"], []),
        (["-h", "status"], []),
        (["--version"], []),
        (["--config"], []),
        (["colect"], []),
        ([], []),
    ],
    ids=str,
)
def test_a_command_is_imported_alone_and_for_anything_else_all_are(typed, expected):
    assert asked(typed) == expected


def test_a_command_that_is_not_there_is_told_with_those_that_are_like_it(run):
    ended = run("colect")
    assert ended.exit_code == 2
    assert "Did you mean 'collect'" in ended.err


def test_help_names_every_command_but_the_deprecated_one(run):
    told = run("--help").out
    assert [command for command in COMMANDS if f" {command} " not in told] == ["maintain"]


def test_ctrl_c_while_a_command_is_imported_ends_it_without_a_traceback(run, monkeypatch):
    def importing(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "application", importing)
    ended = run("status")
    assert (ended.exit_code, ended.out, ended.err) == (130, "", "")
