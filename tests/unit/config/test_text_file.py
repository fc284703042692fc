"""Text files that people write."""

from pathlib import Path

import pytest

from logdirwatch.config.text_file import read
from logdirwatch.console.login import users
from logdirwatch.errors import UserError


@pytest.mark.parametrize("written", [b"slack://a\n", b"\xef\xbb\xbfslack://a\n", b"\xef\xbb\xbfslack://a\r\n"])
def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path, written):
    (tmp_path / "urls").write_bytes(written)
    assert read(str(tmp_path / "urls"), "key").splitlines() == ["slack://a"]


@pytest.mark.parametrize(
    ("path", "reason"), [("/dev/zero", "more than 10000000 characters"), ("/", "Is a directory"), ("/none", "No such")]
)
def test_what_is_no_such_file_is_one_line_that_names_its_key(path, reason):
    with pytest.raises(UserError, match=f"^key {path}: {reason}") as ended:
        read(path, "key")
    assert ended.value.exit_code == 2


def test_a_file_of_users_has_an_end_too(monkeypatch):
    monkeypatch.setattr(users, "_is_open_to_others", lambda _: False)
    with pytest.raises(UserError, match="more than 10000000 characters"):
        users.read(Path("/dev/zero"))
