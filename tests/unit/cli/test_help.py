"""What --help shows of every command."""

import pytest
import typer

from logdirwatch.cli.main import app


def paths(command, path=()):
    """Every command and group by what is typed to get there."""
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from paths(below, (*path, name))


@pytest.mark.parametrize("path", list(paths(typer.main.get_command(app))), ids=" ".join)
def test_a_flag_is_shown_without_a_value(run, path):
    ended = run(*path, "--help")
    assert ended.exit_code == 0
    assert "--help" in ended.out
    assert "<bool>" not in ended.out


def test_an_option_with_a_value_is_shown_with_it(run):
    assert "--cluster" in run("status", "--help").out
    assert "<str>" in run("status", "--help").out
