"""The password of the console: who gets in, how often it may be guessed, and what the log says of it."""

import base64

import pytest
from pydantic import ValidationError

from logdirwatch.console.login.tries import FORGOTTEN_AFTER_MS, FREE_TRIES
from logdirwatch.console.pages import application
from logdirwatch.console.settings import ConsoleSettings
from logdirwatch.report.status.snapshot import Patience

PASSWORD = "correct horse battery"
PATIENCE = Patience(state_ms=60_000, inventory_ms=300_000, proof_ms=3_600_000, skew_ms=60_000)
ADDRESSES = [f"10.0.0.{number}" for number in range(1, 9)]


class House:
    """A console beyond this machine, whose monotonic clock is moved by hand; its wall clock stands still."""

    def __init__(self, **settings):
        self.at_ms = 5_000
        settings = ConsoleSettings(listen="0.0.0.0:8787", password=PASSWORD, **settings)
        self.app = application(None, settings, PATIENCE, lambda: 1, monotonic_ms=lambda: self.at_ms)

    def browser(self):
        return self.app.test_client()

    def asked(self, password, address=ADDRESSES[0], user="logdirwatch", browser=None, path="/favicon.ico"):
        given = base64.b64encode(f"{user}:{password}".encode()).decode()
        headers = {} if password is None else {"Authorization": f"Basic {given}"}
        environ = {"REMOTE_ADDR": address}
        return (browser or self.browser()).get(path, headers=headers, environ_overrides=environ)

    def guesses(self, number, **more):
        return [self.asked(f"guess {one}", **more).status_code for one in range(number)]


@pytest.fixture
def house():
    return House()


@pytest.mark.parametrize("listen", ["0.0.0.0:8787", "127.0.0.1:8787", "[::]:8787"])
@pytest.mark.parametrize("password", ["", "x", "x" * 11])
def test_a_short_password_is_refused_wherever_it_listens(listen, password):
    with pytest.raises(ValidationError, match="at least 12 characters"):
        ConsoleSettings(listen=listen, password=password)


@pytest.mark.parametrize("path", ["/", "/favicon.ico", "/static/style.css", "/alerts", "/nowhere", "/login"])
def test_nothing_is_shown_without_the_password(house, path):
    answer = house.asked(None, path=path)
    assert (answer.status_code, answer.headers["WWW-Authenticate"][:5]) == (401, "Basic")


@pytest.mark.parametrize(
    "header",
    [
        "Basic \xff\xff",
        "",
        "Basic",
        "Basic !",
        "Basic Og==",
        "Bearer x",
        "Digest username=logdirwatch",
        "Basic " + "A" * 5_000,
    ],
)
def test_credentials_of_another_form_open_nothing(house, header):
    answer = house.browser().get("/favicon.ico", headers={"Authorization": header})
    assert answer.status_code == 401


def test_who_knows_the_password_may_ask_as_often_as_needed(house, logged):
    assert {house.asked(PASSWORD).status_code for _ in range(50)} == {200}
    assert logged == []


def test_after_a_few_failures_each_try_has_to_wait_twice_as_long(house):
    waits_s = []
    for _ in range(4):
        codes = house.guesses(50)
        assert set(codes[FREE_TRIES if not waits_s else 1 :]) == {429}
        waits_s.append(int(house.asked("guess").headers["Retry-After"]))
        house.at_ms += waits_s[-1] * 1_000
    assert waits_s == [1, 2, 4, 8]
    assert house.asked(PASSWORD).status_code == 200


def test_while_it_waits_the_right_password_is_not_told_from_others(house):
    house.guesses(FREE_TRIES)
    assert house.asked(PASSWORD).status_code == house.asked("wrong").status_code == 429


def test_one_account_is_guessed_from_many_addresses_no_faster(house):
    codes = [house.asked("wrong", address=address).status_code for address in ADDRESSES]
    assert codes == [401] * FREE_TRIES + [429] * (len(ADDRESSES) - FREE_TRIES)


def test_the_name_of_the_account_is_guessed_no_faster(house):
    codes = [house.asked(PASSWORD, user=f"user {number}").status_code for number in range(10)]
    assert codes == [401] * FREE_TRIES + [429] * (10 - FREE_TRIES)


@pytest.mark.parametrize("address", [ADDRESSES[0], ADDRESSES[1]])
def test_who_guesses_does_not_lock_out_a_browser_that_was_in(house, address):
    browser = house.browser()
    assert house.asked(PASSWORD, address=address, browser=browser).status_code == 200
    assert 429 in house.guesses(50)
    assert house.asked(PASSWORD, address=address, browser=browser).status_code == 200


def test_a_browser_that_was_in_guesses_no_faster_and_its_mark_opens_nothing(house):
    browser = house.browser()
    answer = house.asked(PASSWORD, browser=browser)
    assert {"HttpOnly", "SameSite=Strict"} <= set(answer.headers["Set-Cookie"].split("; "))
    assert house.asked(None, browser=browser).status_code == 401
    assert house.guesses(5, browser=browser) == [401] * FREE_TRIES + [429] * 2
    assert house.asked("wrong").status_code == 401


@pytest.mark.parametrize("mark", ["", "x", "a.b", "é", "A" * 43 + "." + "B" * 43])
def test_a_forged_mark_changes_nothing(house, mark):
    codes = []
    for number in range(5):
        browser = house.browser()
        browser.set_cookie("logdirwatch-known", f"{mark}{number}" if mark else "")
        codes.append(house.asked("wrong", browser=browser).status_code)
    assert codes == [401] * FREE_TRIES + [429] * 2


def test_failures_are_forgotten_in_time(house):
    house.guesses(FREE_TRIES)
    house.at_ms += FORGOTTEN_AFTER_MS
    assert house.guesses(FREE_TRIES) == [401] * FREE_TRIES


def test_each_failure_is_a_line_and_each_wait_one_without_what_was_typed(house, logged):
    house.guesses(100, user="hunter2 hunter2")
    house.at_ms += 1_000
    house.guesses(100)
    assert [(line["event"], line["address"]) for line in logged] == [
        *[("console.password_failed", ADDRESSES[0])] * FREE_TRIES,
        ("console.password_delayed", ADDRESSES[0]),
        ("console.password_failed", ADDRESSES[0]),
        ("console.password_delayed", ADDRESSES[0]),
    ]
    assert "guess" not in str(logged)
    assert "hunter2" not in str(logged)
