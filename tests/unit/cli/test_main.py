"""The command line as a whole: what is imported for what is typed, its help, and the schemas that it prints."""

import json
import subprocess
import sys

import pytest
import typer

from logdirwatch.cli import main
from logdirwatch.cli.main import COMMANDS, app, asked, ordered
from logdirwatch.reference.schemas import RECORDS


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


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (["status", "--config", "my.yaml", "--json"], ["--config", "my.yaml", "status", "--json"]),
        (
            ["alerts", "ack", "a1", "--config=my.yaml", "--debug"],
            ["--config=my.yaml", "--debug", "alerts", "ack", "a1"],
        ),
        (["actions", "show", "--", "--config"], ["actions", "show", "--", "--config"]),
        (["status", "--config"], ["--config"]),
    ],
    ids=str,
)
def test_the_options_of_every_command_may_follow_it(typed, read):
    assert ordered(typed) == read


def test_a_configuration_is_named_after_the_command(run, tmp_path):
    (tmp_path / "my.yaml").write_text("clusters: {prod: {bootstrap_servers: a:1}}")
    assert run("config", "check", "--config", "my.yaml").exit_code == 0
    assert run("config", "check", "--config", "none.yaml").exit_code == 2


@pytest.mark.parametrize(
    ("typed", "position"),
    [(["alerts", "ack", "a", "--by", "\udcff"], 5), (["\udcff"], 1), (["--config", "a", "\udcff"], 3)],
)
def test_an_argument_that_is_no_text_is_refused(run, typed, position):
    ended = run(*typed)
    assert (ended.exit_code, ended.err) == (2, f"logdirwatch: argument {position} is not text in UTF-8\n")


def test_a_command_that_is_not_there_is_told_with_those_that_are_like_it(run):
    ended = run("colect")
    assert ended.exit_code == 2
    assert "Did you mean 'collect'" in ended.err


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["alerts", "list"], "There are: ack, unack, silence,"),
        (["config", "validate"], "There are: check, reference"),
        (["ack", "a1"], "There are: alerts ack"),
    ],
    ids=str,
)
def test_where_no_command_is_like_it_those_that_there_are_are_named(run, typed, said):
    ended = run(*typed)
    assert ended.exit_code == 2
    assert said in ended.err


@pytest.mark.parametrize("typed", ["-json", "\u2014json", "\u2013json", "\u2212\u2212json", "-json=1"])
def test_an_option_with_another_dash_than_two_hyphens_is_told_with_them(run, typed):
    ended = run("alerts", typed)
    assert (ended.exit_code, ended.err.count("\n")) == (2, 1)
    assert "two hyphens begin an option: --json" in ended.err


@pytest.mark.parametrize("typed", [["--config", "", "config", "check"], ["config", "check", "--config="]], ids=str)
def test_a_variable_of_the_shell_that_was_empty_names_no_configuration(run, typed):
    assert (run(*typed).exit_code, run(*typed).err) == (2, "logdirwatch: --config names no file\n")


def test_help_names_every_command_but_the_deprecated_one(run):
    told = run("--help").out
    assert [command for command in COMMANDS if f" {command} " not in told] == ["maintain"]


def test_ctrl_c_while_a_command_is_imported_ends_it_without_a_traceback(run, monkeypatch):
    def importing(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "application", importing)
    ended = run("status")
    assert (ended.exit_code, ended.out, ended.err) == (130, "", "")


@pytest.mark.parametrize("name", RECORDS)
def test_a_schema_is_printed_as_json(run, name):
    ended = run("schema", name)
    assert ended.exit_code == 0
    assert RECORDS[name][0] in json.loads(ended.out)["title"]


def test_an_unknown_record_is_wrong_use_and_the_known_ones_are_named(run):
    ended = run("schema", "metric")
    assert ended.exit_code == 2
    assert "metrics" in ended.err


HEAVY = {
    *("aiohttp", "apprise", "databricks", "deltalake", "flask", "great_expectations", "numpy", "pandas", "pyarrow"),
    *("py4j", "pyspark", "requests", "waitress"),
}
PROGRAM = (
    "import sys; from logdirwatch.cli.main import application; application(sys.argv[1]); "
    "print(*{name.partition('.')[0] for name in sys.modules})"
)


NEEDED = {"plan": {"numpy", "pyarrow"}}  # it calculates, and reads and writes CSV


@pytest.mark.parametrize("command", ["status", "alerts", "actions", "doctor", "plan", "maintenance", "topics", "init"])
def test_a_command_for_people_imports_nothing_heavy_that_it_may_not_need(command):
    done = subprocess.run([sys.executable, "-c", PROGRAM, command], capture_output=True, text=True, check=True)
    assert HEAVY & set(done.stdout.split()) <= NEEDED.get(command, set())


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
