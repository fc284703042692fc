"""Logging in and out: who gets in, from where, how often, and what the cookie and the log say."""

import re

import pytest

from logdirwatch.cli.reading.tables.delta_files import DeltaFiles
from logdirwatch.console.guard import HEADERS
from logdirwatch.console.login import users
from logdirwatch.console.login.tries import FREE_TRIES
from tests.support.login import PASSWORD, Browser, Written, console
from tests.unit.report.builders import NOW_MS

AWAY = {"REMOTE_ADDR": "10.1.2.3"}
TLS = {"wsgi.url_scheme": "https", **AWAY}
HOUR_MS = 3_600_000


class House:
    """A console over no tables, whose clock is moved by hand."""

    def __init__(self, folder):
        self.folder, self.path, self.at_ms = folder, folder / "users", NOW_MS
        self.app = self.built()

    def built(self, **login):
        files = DeltaFiles(str(self.folder / "tables"))
        return console(files, self.path, Written(lambda: self.at_ms), lambda: self.at_ms, **login)

    def browser(self, **environ):
        return Browser(self.app, **environ)


@pytest.fixture
def house(tmp_path):
    return House(tmp_path)


@pytest.fixture
def inside(house):
    browser = house.browser()
    assert browser.log_in().status_code == 303
    return browser


def is_in(browser):
    return "Log out" in browser.get("/").text


def cookie_of(answer):
    (found,) = answer.headers.getlist("Set-Cookie")
    return found


def test_who_knows_the_password_is_in_until_logging_out(house, logged):
    browser = house.browser()
    assert not is_in(browser)
    assert browser.log_in().headers["Location"] == "/"
    assert is_in(browser)
    copied = browser.client.get_cookie("logdirwatch", domain="127.0.0.1").value
    assert browser.send("/", "/logout").status_code == 303
    assert not is_in(browser)
    thief = house.browser()
    thief.client.set_cookie("logdirwatch", copied, domain="127.0.0.1")
    assert not is_in(thief)
    assert [line["event"] for line in logged] == ["console.login", "console.logout"]


@pytest.mark.parametrize(("name", "password"), [("ada", "wrong password"), ("eve", PASSWORD), ("", ""), ("ada", "")])
def test_who_does_not_gets_the_same_answer_whatever_is_wrong(house, name, password):
    browser = house.browser()
    answer = browser.log_in(name, password)
    assert answer.status_code == 403
    assert "The name or the password is wrong." in answer.text
    assert "Set-Cookie" not in answer.headers
    assert not is_in(browser)


def test_a_failed_login_is_logged_without_what_may_be_a_password(house, logged):
    house.browser().log_in("ada", "hunter2 hunter2")
    house.browser().log_in("hunter2hunter2", "x")
    assert [(line["event"], line["user"], line["address"]) for line in logged] == [
        ("console.login_failed", "ada", "127.0.0.1"),
        ("console.login_failed", "(unknown)", "127.0.0.1"),
    ]
    assert "hunter2" not in str(logged)


def test_too_many_failures_have_to_wait_even_with_the_right_password(house):
    browser = house.browser()
    for _ in range(FREE_TRIES):
        assert browser.log_in(password="wrong password").status_code == 403
    for name in ("ada", "eve"):
        answer = browser.log_in(name)
        assert answer.status_code == 429
        assert "Too many failed tries: try again in 1 s." in answer.text
    house.at_ms += 1_000
    assert browser.log_in().status_code == 303


@pytest.mark.parametrize("token", [None, "", "wrong"])
def test_a_login_form_of_another_site_is_refused(house, token):
    browser = house.browser()
    given = {**browser.forms("/login")["/login"], "name": "ada", "password": PASSWORD, "csrf": token}
    answer = browser.post("/login", {name: value for name, value in given.items() if value is not None})
    assert answer.status_code == 403
    assert "this form does not belong to your session" in answer.text
    assert not is_in(browser)


def test_a_form_without_its_cookie_is_refused(house):
    given = house.browser().forms("/login")["/login"]
    answer = house.browser().post("/login", {**given, "name": "ada", "password": PASSWORD})
    assert answer.status_code == 403


def test_the_cookie_is_another_one_after_the_login(house):
    browser = house.browser()
    browser.get("/login")
    before = browser.client.get_cookie("logdirwatch", domain="127.0.0.1").value
    browser.log_in()
    assert browser.client.get_cookie("logdirwatch", domain="127.0.0.1").value != before


def test_the_cookie_is_for_this_console_only(inside, house):
    cookie = cookie_of(house.browser().log_in())
    assert {"HttpOnly", "SameSite=Strict", "Path=/", f"Max-Age={8 * 3600}"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    assert "Domain" not in cookie


def test_over_tls_the_cookie_never_travels_in_the_clear(house):
    browser = house.browser(**TLS)
    cookie = cookie_of(browser.log_in())
    assert cookie.startswith("__Host-logdirwatch=")
    assert "Secure" in cookie.split("; ")
    assert is_in(browser)


@pytest.mark.parametrize(
    "change", [lambda value: value[:-1] + "!", lambda value: value.partition(".")[0], lambda _: "x"]
)
def test_a_forged_cookie_opens_nothing(inside, change):
    value = inside.client.get_cookie("logdirwatch", domain="127.0.0.1").value
    inside.client.set_cookie("logdirwatch", change(value), domain="127.0.0.1")
    assert not is_in(inside)


def test_a_session_ends_in_time(inside, house):
    house.at_ms += 8 * HOUR_MS - 1
    assert is_in(inside)
    house.at_ms += 1
    assert not is_in(inside)


def test_a_user_who_is_removed_or_has_another_password_is_out(inside, house):
    kept = house.path.read_text()
    house.path.write_text("")
    assert not is_in(inside)
    house.path.write_text(kept)
    assert is_in(inside)
    users.add(house.path, "ada", "another password")
    assert not is_in(inside)


def test_a_file_that_others_can_read_lets_nobody_in_and_hides_no_page(inside, house, logged):
    house.path.chmod(0o644)
    assert not is_in(inside)
    assert "others can read it" in logged[-1]["error"]
    answer = house.browser().log_in()
    assert answer.status_code == 503
    assert "scrypt" not in answer.text


@pytest.mark.parametrize(
    ("environ", "status"),
    [
        ({}, 303),
        ({"REMOTE_ADDR": "::1"}, 303),
        (TLS, 303),
        (AWAY, 403),
        ({"REMOTE_ADDR": "unknown"}, 403),
        ({"HTTP_X_FORWARDED_FOR": "10.1.2.3"}, 403),
        ({"HTTP_VIA": "1.1 proxy"}, 403),
    ],
)
def test_a_password_is_taken_only_where_nobody_can_listen(house, environ, status):
    given = house.browser().forms("/login")["/login"]
    browser = house.browser(**environ)
    shown, forms = browser.get("/login").text, browser.forms("/login").get("/login", {})
    answer = browser.post("/login", {**given, **forms, "name": "ada", "password": PASSWORD})
    assert answer.status_code == status
    assert ("not encrypted" in shown) == (status == 403)


def test_behind_a_proxy_only_what_came_to_it_over_tls_counts(house):
    house.app = house.built(behind_tls_proxy=True)
    assert "not encrypted" in house.browser().get("/login").text
    assert house.browser(**TLS).log_in().status_code == 303


def test_a_cookie_that_comes_in_the_clear_from_elsewhere_opens_nothing(inside):
    inside.environ = AWAY
    assert not is_in(inside)


@pytest.mark.parametrize(
    ("asked", "led"),
    [
        ("/actions/c", "/actions/c"),
        ("/?q=a", "/?q=a"),
        ("", "/"),
        ("//evil.test", "/"),
        ("/\\evil.test", "/"),
        ("https://evil.test", "/"),
        ("javascript:alert(1)", "/"),
        ("/\r\nSet-Cookie: a=b", "/"),
        ("/\t/evil.test", "/"),
    ],
)
def test_it_goes_on_with_a_page_of_this_console_only(house, asked, led):
    browser = house.browser()
    given = browser.forms("/login")["/login"]
    answer = browser.post("/login", {**given, "name": "ada", "password": PASSWORD, "next": asked})
    assert answer.headers["Location"] == led


def test_every_page_leads_to_the_login_and_back(house):
    page = house.browser().get("/alerts?q=broker:7").text
    assert re.findall(r'<a href="(/login[^"]*)">Log in</a>', page) == ["/login?next=/alerts?q%3Dbroker:7"]


def test_who_is_in_needs_no_second_login(inside):
    answer = inside.get("/login?next=/actions")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/actions")


def test_a_form_may_be_sent_to_this_console_only(house):
    policy = house.browser().get("/login").headers["Content-Security-Policy"]
    assert "form-action 'self';" in policy
    assert policy == HEADERS["Content-Security-Policy"]


def test_a_large_form_is_refused(inside):
    assert inside.post("/logout", {"csrf": "x" * 100_000}).status_code == 413
