"""``console add-user``: the password comes from standard input, never from an argument, and is never shown."""

import io
import stat
import sys

import pytest

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
    ("name", "password", "said"), [("ada", "short", "at least 12"), ("a b", PASSWORD, "a user's name has")]
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
