"""Sessions: what a cookie is worth, and for how long."""

import pytest

from logdirwatch.console.login import sessions
from logdirwatch.console.login.sessions import Sessions, new_identity

NOW_MS = 1_700_000_000_000
LASTING_MS = 60_000


@pytest.fixture
def opened():
    return Sessions(LASTING_MS)


def test_a_session_lasts_as_long_as_configured(opened):
    identity = opened.begin("ada", "hash", NOW_MS)
    assert opened.find(identity, NOW_MS + LASTING_MS - 1).user == "ada"
    assert opened.find(identity, NOW_MS + LASTING_MS) is None


def test_one_that_was_ended_is_over_for_every_copy_of_the_cookie(opened):
    identity = opened.begin("ada", "hash", NOW_MS)
    cookie = opened.cookie(identity)
    opened.end(identity)
    assert opened.find(opened.identity(cookie), NOW_MS) is None


def test_a_cookie_is_believed_only_as_it_was_signed(opened):
    identity = opened.begin("ada", "hash", NOW_MS)
    cookie = opened.cookie(identity)
    assert opened.identity(cookie) == identity
    name, _, signature = cookie.rpartition(".")
    # Not its last character, of which base64 ignores two bits.
    changed = f"{name}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}"
    for forged in (
        "",
        ".",
        identity,
        f"{identity}.",
        changed,
        f"x{cookie}",
        Sessions(LASTING_MS).cookie(identity),
        "é",
    ):
        assert opened.identity(forged) is None


def test_a_form_s_token_belongs_to_one_cookie(opened):
    first, second = new_identity(), new_identity()
    assert opened.is_csrf(first, opened.csrf(first))
    for wrong in ("", "x", "é", opened.csrf(second), opened.cookie(first).rpartition(".")[2]):
        assert not opened.is_csrf(first, wrong)


def test_no_two_sessions_have_one_id(opened):
    assert len({opened.begin("ada", "hash", NOW_MS) for _ in range(20)}) == 20


def test_of_too_many_the_oldest_ends(opened, monkeypatch):
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 2)
    first, second, third = (opened.begin(name, "hash", NOW_MS) for name in ("ada", "bob", "cyd"))
    assert [opened.find(one, NOW_MS) is not None for one in (first, second, third)] == [False, True, True]


def test_a_notice_is_shown_once(opened):
    session = opened.find(opened.begin("ada", "hash", NOW_MS), NOW_MS)
    session.notice = sessions.Notice("done", False)
    assert session.taken_notice() == ("done", False)
    assert session.taken_notice() is None
