"""Deciding in the browser: logging in, accepting an action, seeing it, and leaving; with and without a script."""

import threading
import time
from contextlib import contextmanager

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from logdirwatch.cli.reading.tables.delta_files import DeltaFiles
from logdirwatch.model.vocabulary import ActionStatus
from logdirwatch.observe.http_server import Server
from tests.browser.night import HOUR_MS
from tests.browser.test_axe import OPTIONS
from tests.support import login
from tests.unit.report.builders import action, alert

ALERT, ACTION = f"/alerts/{'a' * 32}", f"/actions/{'c' * 32}"


def now_ms():
    return time.time_ns() // 1_000_000


class Taken(login.Written):
    """Decisions that the stream takes up at once: an action becomes accepted in the tables."""

    def __init__(self, tables):
        super().__init__(now_ms)
        self._tables = tables

    def on_action(self, *about):
        record = super().on_action(*about)
        self._tables.actions(action(revision=2, status=ActionStatus.ACCEPTED, at_ms=now_ms(), **expiry()))
        return record


def expiry():
    return {"expires_at_ms": now_ms() + HOUR_MS}


@contextmanager
def served(app):
    """Serve an application on a free port of this machine."""
    server = Server(app, "127.0.0.1", 0, threads=2)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.port}"
    finally:
        server.stop()
        thread.join(30)
        assert not thread.is_alive()


@pytest.fixture
def decisions(tables):
    return Taken(tables)


@pytest.fixture
def address(tables, tmp_path, decisions):
    tables.alerts(alert(at_ms=now_ms(), opened_at_ms=now_ms()))
    tables.actions(action(at_ms=now_ms(), **expiry()))
    app = login.console(DeltaFiles(str(tables.root)), tmp_path / "users", decisions, now_ms)
    with served(app) as found:
        yield found


def log_in(page, password=login.PASSWORD):
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


@pytest.mark.parametrize("has_script", [True, False], ids=["script", "no script"])
def test_who_logs_in_accepts_an_action_sees_it_and_leaves(visits, address, decisions, has_script):
    visit = visits(address, java_script_enabled=has_script)
    page = visit.to(ACTION)
    expect(page.get_by_role("button", name="Accept")).to_have_count(0)
    page.get_by_role("link", name="Log in").click()
    log_in(page)
    expect(page).to_have_url(f"http://{address}{ACTION}")
    page.get_by_label("Reason to accept").fill("disk <ordered>")
    page.get_by_role("button", name="Accept").click()
    expect(page.get_by_role("main").get_by_role("status")).to_contain_text("by ada: disk <ordered>")
    expect(page.locator("h1 + p")).to_contain_text("accepted")
    expect(page.get_by_role("button", name="Accept")).to_have_count(0)
    expect(page.get_by_role("button", name="Reject")).to_be_visible()
    assert [made[1:4] for made in decisions.made] == [("c" * 32, "ada", "disk <ordered>")]
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("link", name="Log in")).to_be_visible()


def test_a_wrong_password_is_said_and_the_cookie_is_out_of_reach_of_scripts(visits, address):
    visit = visits(address)
    visit.refusals.add("status of 403 ")
    page = visit.to("/login")
    log_in(page, "wrong password")
    expect(page.get_by_role("alert")).to_have_text("The name or the password is wrong.")
    log_in(page)
    expect(page.get_by_role("button", name="Log out")).to_be_visible()
    assert page.evaluate("document.cookie") == ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_core_finds_no_violation_in_the_forms(visits, address, scheme):
    visit = visits(address, color_scheme=scheme)
    page = visit.to("/login")
    is_accessible(page)
    log_in(page)
    for path in (ALERT, ACTION):
        is_accessible(visit.to(path))


def is_accessible(page):
    found = Axe().run(page, options=OPTIONS)
    assert found.violations_count == 0, found.generate_report()
