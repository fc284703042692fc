"""The file of users: what is in it, who may read it, and what is said of it."""

import os
import stat

import pytest

from logdirwatch.console.login import users
from logdirwatch.errors import UserError

PASSWORD = "correct horse battery"


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "users"
    users.add(found, "ada", PASSWORD)
    return found


def test_a_password_is_kept_as_a_salted_scrypt_hash_that_only_its_owner_can_read(path):
    users.add(path, "bob", PASSWORD)
    text = path.read_text()
    hashes = users.read(path)
    assert PASSWORD not in text
    assert list(hashes) == ["ada", "bob"]
    assert hashes["ada"] != hashes["bob"]
    assert hashes["ada"].startswith("scrypt:")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["users"]


def test_only_the_right_password_of_a_user_is_right(path):
    known = users.Users(path)
    assert known.hash_for("ada", PASSWORD) == users.read(path)["ada"]
    assert known.hash_for("ada", f"{PASSWORD} ") is None
    assert known.hash_for("eve", PASSWORD) is None


def test_a_name_that_is_no_user_s_takes_as_much_work(path, monkeypatch):
    known, checked = users.Users(path), []

    def check(hashed, password):
        checked.append((hashed.partition("$")[0], password))
        return False

    monkeypatch.setattr(users, "check_password_hash", check)
    for name in ("ada", "eve"):
        assert known.hash_for(name, "guess") is None
    assert checked[0] == checked[1]


def test_another_password_ends_the_first(path):
    assert users.add(path, "ada", "another password") is True
    known = users.Users(path)
    assert known.hash_for("ada", PASSWORD) is None
    assert known.hash_for("ada", "another password") is not None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644, 0o666])
def test_a_file_that_others_can_read_or_write_is_refused_in_one_line(path, mode):
    path.chmod(mode)
    with pytest.raises(UserError, match="others can read it; allow only its owner: chmod 600") as refused:
        users.read(path)
    assert "\n" not in str(refused.value)
    with pytest.raises(UserError, match="chmod 600"):
        users.add(path, "bob", PASSWORD)


@pytest.mark.parametrize(
    ("mode", "is_taken"), [(0o440, True), (0o640, True), (0o460, False), (0o444, False), (0o644, False)]
)
@pytest.mark.parametrize("owner", [0, 10001])
def test_a_file_of_root_may_be_read_by_a_group_as_kubernetes_mounts_secrets(path, monkeypatch, owner, mode, is_taken):
    path.chmod(mode)
    found = os.stat_result((stat.S_IFREG | mode, 0, 0, 1, owner, 10001, *[0] * 4))
    monkeypatch.setattr(users.os, "fstat", lambda _: found)
    monkeypatch.setattr(users.os, "geteuid", lambda: 10001)
    if is_taken and owner == 0:
        assert list(users.read(path)) == ["ada"]
    else:
        with pytest.raises(UserError, match="others can read it"):
            users.read(path)


@pytest.mark.parametrize("line", ["ada", "ada:plain", "ada:scrypt:1:1:1$salt$hash", "a b:{}", ":{}", "x\ny:{}"])
def test_a_line_of_another_form_is_named_by_its_number_and_never_shown(path, line):
    hashed = users.read(path)["ada"]
    path.write_text(line.format(hashed))
    with pytest.raises(UserError, match=r"users: line 1 is not NAME:HASH of another user$"):
        users.read(path)


def test_one_user_twice_is_refused(path):
    path.write_text(path.read_text() * 2)
    with pytest.raises(UserError, match="line 2"):
        users.read(path)


def test_a_link_stays_one(path):
    link = path.parent / "link"
    link.symlink_to(path.name)
    users.add(link, "bob", PASSWORD)
    assert link.is_symlink()
    assert list(users.read(path)) == ["ada", "bob"]


def test_comments_and_empty_lines_are_left_out(path):
    path.write_text(f"# people on call\n\n{path.read_text()}")
    assert list(users.read(path)) == ["ada"]


@pytest.mark.parametrize("name", ["", "a:b", "a b", "ada\n", "<b>", "é", "x" * 65])
def test_a_name_that_will_not_do_is_refused(path, name):
    with pytest.raises(UserError, match="a user's name has"):
        users.add(path, name, PASSWORD)


@pytest.mark.parametrize("password", ["", "x" * 11, "x" * 1025])
def test_a_password_that_will_not_do_is_refused(path, password):
    with pytest.raises(UserError, match="a password has"):
        users.add(path, "bob", password)


def test_a_file_that_is_missing_says_how_it_is_made(tmp_path):
    with pytest.raises(UserError, match="No such file or directory; write it with: logdirwatch console add-user NAME"):
        users.read(tmp_path / "users")


def test_a_folder_that_is_missing_is_one_line(tmp_path):
    with pytest.raises(UserError, match="cannot be written: No such file or directory"):
        users.add(tmp_path / "missing" / "users", "ada", PASSWORD)
