"""``console``: as a process it answers and ends when asked; it says in one line what it cannot do."""

import functools
import io
import socket
import stat
import sys

import pytest

from tests.support.console import reached, serving
from tests.support.delta import Written
from tests.unit.report.rows import broker, log_dir


def test_it_shows_the_tables_until_it_is_asked_to_end(tmp_path):
    tables = Written(tmp_path / "tables")
    tables.write("broker_state", broker())
    tables.write("log_dir_state", log_dir())
    with serving(tables.root) as address:
        page = reached(f"http://{address}/")
        assert (page.status_code, "broker 7" in page.text) == (200, True)
    assert reached(f"http://{address}/") is None


@pytest.fixture
def console(run, monkeypatch, tmp_path):
    """Return how ``console`` is run where it is to end by itself, in this process: a start costs what 100 tests do."""
    monkeypatch.setenv("LOGDIRWATCH_TABLES__PATH", str(tmp_path / "tables"))
    return functools.partial(run, "console")


@pytest.mark.parametrize(("listen", "said"), [("0.0.0.0:8787", "set console.password"), ("8787", "expected host:port")])
def test_an_address_that_will_not_do_is_one_line(console, listen, said):
    ended = console("--listen", listen)
    assert (ended.exit_code, ended.err.count("\n")) == (2, 1)
    assert said in ended.err


@pytest.mark.parametrize(
    ("options", "port", "said"),
    [((), None, "this is no Databricks App"), (("--listen", "127.0.0.1:1"), "8000", "leave out listen")],
)
def test_an_app_that_is_none_or_that_listens_elsewhere_is_one_line(console, monkeypatch, options, port, said):
    monkeypatch.setenv("LOGDIRWATCH_CONSOLE__DATABRICKS_APP", "true")
    if port:
        monkeypatch.setenv("DATABRICKS_APP_PORT", port)
    ended = console(*options)
    assert (ended.exit_code, ended.err.count("\n")) == (2, 1)
    assert said in ended.err


def test_a_port_that_is_taken_is_one_line(console):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = console("--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert ended.exit_code == 1
    assert "Address already in use; name another --listen" in ended.err.splitlines()[-1]


PASSWORD = "correct horse battery"


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(f"console: {{login: {{users_file: {tmp_path / 'users'}}}}}\n")
    return path


def typed(monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_a_user_is_added_and_then_changed(run, config, monkeypatch):
    for told in ("added", "has another password"):
        typed(monkeypatch, f"{PASSWORD}\n")
        ended = run("--config", str(config), "console", "add-user", "ada")
        assert (ended.exit_code, ended.err) == (0, "")
        assert f"ada: {told}" in ended.out
        assert PASSWORD not in ended.out
    users = config.parent / "users"
    assert stat.S_IMODE(users.stat().st_mode) == 0o600
    assert users.read_text().startswith("ada:scrypt:")


@pytest.mark.parametrize(
    ("name", "password", "said"),
    [
        ("ada", "short", "has 12 to 1024 characters"),
        ("ada", "x" * 1025, "has 12 to 1024 characters"),
        ("ada", "not in UTF-8: \udcff", "a password is text in UTF-8"),
        ("a b", PASSWORD, "a user's name has"),
    ],
)
def test_what_will_not_do_is_one_line(run, config, monkeypatch, name, password, said):
    typed(monkeypatch, password)
    ended = run("--config", str(config), "console", "add-user", name)
    assert (ended.exit_code, ended.err.count("\n")) == (2, 1)
    assert said in ended.err
    assert password not in ended.err


def test_a_password_as_an_argument_is_refused(run, config):
    assert run("--config", str(config), "console", "add-user", "ada", PASSWORD).exit_code == 2


def test_without_a_login_in_the_configuration_it_says_so(run):
    ended = run("console", "add-user", "ada")
    assert ended.exit_code == 2
    assert "console.login.users_file is not configured" in ended.err


def test_the_console_does_not_start_with_users_that_others_can_read(run, config):
    users = config.parent / "users"
    users.write_text("")
    users.chmod(0o644)
    ended = run("--config", str(config), "console")
    assert ended.exit_code == 1
    assert "others can read it; allow only its owner: chmod 600" in ended.err
    assert ended.err.count("\n") == 1
