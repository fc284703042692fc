"""Names that want to be more than names, strangers, and other machines."""

import time
from itertools import product
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import expect

from logdirwatch.report.words import place
from tests.browser.night import HOUR_MS
from tests.support import hostile
from tests.unit.report.builders import action, alert
from tests.unit.report.rows import broker, log_dir

USER = {"username": "logdirwatch", "password": "correct horse battery"}
MEANINGFUL = frozenset("<>\"'&{%\0\r\n\x1b\u202e")
"""What a browser could take for more than a letter."""
SHOWN = {MEANINGFUL.intersection(name): (number, name) for number, name in enumerate(hostile.NAMES)}
"""Names as different as a browser sees them."""
OURS = """() => ({
  scripts: [...document.scripts].map(script => script.src),
  strangers: document.querySelectorAll("img, iframe, object, embed, base, style, [onerror], [onload]").length,
  forms: [...document.forms].filter(form => form.method !== "get" || new URL(form.action).origin !== origin).length,
  handlers: [...document.querySelectorAll("*")]
    .filter(element => [...element.attributes].some(attribute => /^on|^style$/.test(attribute.name))).length,
})"""


def write_hostile(tables):
    """Each hostile name as everything that a name can be."""
    now_ms = int(time.time() * 1000)
    for number, name in enumerate(hostile.NAMES):
        where = {"cluster": name, "broker": number, "log_dir": name}
        tables.write("broker_state", broker(number, name, rack=name, host=name, at_ms=now_ms))
        tables.write("log_dir_state", log_dir(number, name, cluster=name, reason=name, cause=name, at_ms=now_ms))
        tables.write("transitions", {**where, "from_status": name, "to_status": name, "reason": name, "at_ms": now_ms})
        tables.write("replica_state", {**where, "topic": name, "partition": 0, "is_future": False, "status": name})
        told = {"summary": name, "evidence": {name: name}, "opened_at_ms": now_ms, "at_ms": now_ms}
        tables.alerts(alert(f"{number:032}", **where, **told))
        target = {"target": {"log_dir": name, "topic": name}, "commands": [name], "reason": name, "cluster": name}
        more = {"at_ms": now_ms, "expires_at_ms": now_ms + HOUR_MS, "undo": {"text": name, "commands": [name]}}
        tables.actions(action(f"{number:032}", alert_id=f"{number:032}", **target, **more))


def is_ours(page):
    """Assert that a page has its own script and nothing of a stranger's."""
    found = page.evaluate(OURS)
    address = urlsplit(page.url)
    assert found == {
        "scripts": [f"http://{address.netloc}/static/console.js"],
        "strangers": 0,
        "forms": 0,
        "handlers": 0,
    }


def test_hostile_names_are_names_on_every_page(visits, consoles, tables):
    write_hostile(tables)
    visit = visits(consoles())
    page = visit.to("/")
    is_ours(page)
    links = page.locator("a.cell").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert len(links) == len(hostile.NAMES)
    for number, name in SHOWN.values():
        visit.to(next(link for link in links if f"broker={number}&" in link))
        is_ours(page)
        assert page.locator("h1").text_content() == place(name, number, name)
        for kind in ("alerts", "actions"):
            visit.to(f"/{kind}/{number:032}")
            is_ours(page)
    visit.to("/actions")
    is_ours(page)


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7*7 }}"])
def test_a_hostile_address_stays_text(visit, name):
    page = visit.to(f"/directory?cluster={quote(name)}&broker=7&log_dir={quote(name)}", status=404)
    is_ours(page)
    expect(page.get_by_role("alert")).to_have_text(f"{name} broker 7 {name} is not in the tables")


def test_a_script_that_came_in_all_the_same_would_not_run(visits, console):
    """The policy is a second wall: what it holds back is said to the page's console, and asked of nobody."""
    visit = visits(console, names=["console.test:1"])
    page = visit.to("/")
    visit.refusals.add("Content Security Policy")
    title = page.title()
    with page.expect_event("requestfailed") as failed:
        page.evaluate("""() => {
          const script = document.createElement("script");
          script.textContent = "document.title = 'pwned'";
          const image = document.createElement("img");
          image.src = "http://console.test:1/stolen";
          document.body.append(script, image);
        }""")
    assert (failed.value.url, failed.value.failure) == ("http://console.test:1/stolen", "csp")
    expect(page).to_have_title(title)
    assert any("script-src" in fault for fault in visit.faults)


def test_every_request_goes_to_the_console_and_style_and_script_come(visit):
    page = visit.to("/")
    assert {urlsplit(url).netloc for url in visit.seen} == {visit.address}
    assert {urlsplit(url).path for url in visit.seen} >= {
        "/",
        "/static/pico.css",
        "/static/console.css",
        "/static/console.js",
    }
    assert page.locator(".skip").evaluate("link => getComputedStyle(link).position") == "absolute"


def test_without_the_password_there_is_nothing_to_see(visits, consoles, tables):
    tables.write("broker_state", broker())
    tables.write("log_dir_state", log_dir())
    for wrong, path in product(
        ({"password": "wrong"}, {"username": "stranger"}), ("/", "/actions", "/static/console.css")
    ):
        # A console of its own, because tries soon have to wait.
        address = consoles(console__password=USER["password"])
        page = visits(address, http_credentials={**USER, **wrong}).to(path, status=401)
        assert page.locator("body").inner_text().strip() == "authentication required"
    known = visits(address, http_credentials=USER)
    page = known.to("/")
    expect(page.get_by_role("rowheader")).to_contain_text("broker 7")
    assert page.locator(".skip").evaluate("link => getComputedStyle(link).position") == "absolute"


def test_a_stranger_s_name_for_this_machine_is_refused(visits, console):
    visit = visits(f"console.test:{console.rpartition(':')[2]}")
    visit.refusals |= {"Refused to apply style", "Refused to execute script"}
    page = visit.to("/", status=403)
    expect(page.get_by_role("alert")).to_contain_text("answers only at its configured address")
    assert page.locator("a.cell").count() == 0
