"""The console without a mouse: everything is reached, in the order in which it is read, and one sees where one is."""

import pytest
from playwright.sync_api import expect

from tests.browser.night import COMMANDS, FILLING
from tests.browser.test_actions import CLIPBOARD, READ
from tests.browser.test_fleet import directory

PAGES = ["/", directory("prod", 8, FILLING), "/alerts/late", "/actions", "/actions/shrink", "/alerts/none"]
MOST_STOPS = 100
STOP = """() => {
  const element = document.activeElement, box = element.getBoundingClientRect(), style = getComputedStyle(element);
  return {
    tag: element.tagName,
    name: element.getAttribute("aria-label") || element.textContent,
    is_marked: style.outlineStyle === "solid" && parseFloat(style.outlineWidth) >= 2,
    is_in_view: box.left >= 0 && box.top >= 0 && box.left < innerWidth && box.top < innerHeight && box.width > 0,
  };
}"""
READING_ORDER = """() => [...document.querySelectorAll("a[href], button, input, summary, [tabindex]")]
  .filter(element => element.checkVisibility())
  .map(element => element.getAttribute("aria-label") || element.textContent)"""


def stops(page):
    """Where Tab goes, until it leaves the page."""
    found = []
    while len(found) < MOST_STOPS:
        page.keyboard.press("Tab")
        stop = page.evaluate(STOP)
        if stop["tag"] == "BODY":
            return found
        found.append(stop)
    raise AssertionError(f"the keyboard does not leave the page: {found[-3:]}")


@pytest.mark.parametrize("path", PAGES)
def test_tab_goes_everywhere_in_the_order_of_reading_and_shows_where_it_is(visit, path):
    page = visit.to(path, status=404 if path.endswith("none") else 200)
    found = stops(page)
    assert [stop["name"] for stop in found] == page.evaluate(READING_ORDER)
    assert [stop["name"] for stop in found if not (stop["is_marked"] and stop["is_in_view"])] == []


def test_backwards_it_goes_the_same_way(visit):
    page = visit.to("/")
    forwards = [stop["name"] for stop in stops(page)]
    page.keyboard.press("Shift+Tab")
    backwards = [page.evaluate(STOP)["name"]]
    while len(backwards) < len(forwards):
        page.keyboard.press("Shift+Tab")
        backwards.append(page.evaluate(STOP)["name"])
    assert backwards == forwards[::-1]


def test_the_skip_link_appears_and_jumps_over_the_head_of_the_page(visit):
    page = visit.to("/")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).not_to_be_in_viewport()
    page.keyboard.press("Tab")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport(ratio=1)
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("main").get_by_role("link").first).to_be_focused()


def test_enter_follows_from_the_loudest_alert_to_its_directory_and_back(visit):
    page = visit.to("/")
    while page.evaluate(STOP)["name"] != "Broker 8 /data/d3 is saturated":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("log_dir_space: prod broker 8 /data/d3")
    while page.evaluate(STOP)["name"] != "The directory":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("prod broker 8 /data/d3")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("log_dir_space: prod broker 8 /data/d3")


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_a_command_is_copied_by_a_key(visits, console, key):
    page = visits(console, permissions=CLIPBOARD).to("/actions/shrink")
    while page.evaluate(STOP)["name"] != "Copy":
        page.keyboard.press("Tab")
    page.keyboard.press(key)
    expect(page.locator("button[data-copy]").first).to_have_text("Copied")
    expect(page.locator("button[data-copy]").first).to_be_focused()
    assert page.evaluate(READ) == COMMANDS[0]
