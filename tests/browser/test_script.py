"""What the script adds: a filter at a key, light and dark, local time, ages that go on, and looking again in place."""

import re

from playwright.sync_api import expect

from logdirwatch.text.units import human_ms
from tests.browser import looks
from tests.browser.night import FILLING
from tests.browser.test_fleet import directory

TOKYO = {"timezone_id": "Asia/Tokyo", "locale": "en-GB"}


def test_a_slash_leads_to_the_filter_and_enter_narrows_the_page(visit):
    page = visit.to("/")
    page.keyboard.press("/")
    field = page.get_by_role("searchbox", name="Filter")
    expect(field).to_be_focused()
    page.keyboard.type("status:saturated")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("q=status%3Asaturated$"))
    expect(page.get_by_role("searchbox", name="Filter")).to_have_value("status:saturated")
    expect(page.locator("a.cell")).to_have_text(["■ saturated, 96 %"])
    page.get_by_role("link", name="Clear").click()
    expect(page.get_by_role("searchbox", name="Filter")).to_have_value("")


def test_a_count_leads_to_what_it_counts(visit):
    page = visit.to("/")
    page.get_by_role("link", name="1 directory offline").click()
    expect(page.locator("a.cell")).to_have_text(["✖ offline (failed), 97 %"])


def test_a_topic_finds_its_directories(visit):
    page = visit.to("/?q=topic:payments")
    expect(page.get_by_role("link", name=f"broker 8 {FILLING}: saturated")).to_be_visible()
    expect(page.locator("a.cell")).to_have_count(1)


def test_light_and_dark_are_switched_and_stay_on_the_next_page(visits, console):
    page = visits(console, color_scheme="light").to("/")
    page.get_by_role("button", name="Dark or light").click()
    assert sum(page.evaluate(looks.FAINT, 4.5)["canvas"]) < 3 * 128
    page.get_by_role("link", name="Actions").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Open actions")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate(looks.FAINT, 4.5)["faint"] == []


def test_local_time_stands_beside_utc(visits, console):
    page = visits(console, **TOKYO).to(directory("prod", 8, FILLING))
    time = page.locator("dd time").first
    utc, local = time.inner_text(), time.get_attribute("data-local")
    assert (int(utc[11:13]) + 9) % 24 == int(local[:2])
    assert utc[14:19] == local[3:8]
    shown = time.evaluate("time => getComputedStyle(time, '::after').content")
    assert "attr(data-local)" in shown or local in shown


def test_ages_in_the_header_go_on(visits, consoles, tables):
    visit = visits(consoles())
    tables.write("broker_state", {"cluster": "prod", "broker": 1, "status": "online", "at_ms": 1, "since_ms": 1})
    page = visit.to("/")
    age = page.locator("[data-age-of-ms]").first
    before = age.inner_text()
    page.evaluate("shown_at -= 86_400_000")
    expect(age).not_to_have_text(before)


def test_ages_are_written_as_the_server_writes_them(visit):
    page = visit.to("/")
    for ms in (0, 59_000, 83_000, 3_599_600, 5_431_000, 86_399_999, 100_000_000, 864_000_000, 1_795_824_000_000):
        assert page.evaluate("ms => words(ms)", ms) == human_ms(ms)


def test_looking_again_keeps_the_place_and_what_is_typed(visits, consoles, tables):
    tables.write("broker_state")
    page = visits(consoles(console__refresh_s=5)).to("/")
    page.evaluate("document.querySelector('main').dataset.old = 'yes'")
    page.get_by_role("link", name="Actions").focus()
    expect(page.locator("main[data-old]")).to_have_count(0)
    expect(page.get_by_role("link", name="Actions")).to_be_focused()
    page.get_by_role("searchbox").fill("half a wo")
    page.evaluate("look_again()")
    expect(page.get_by_role("searchbox")).to_have_value("half a wo")
