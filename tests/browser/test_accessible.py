"""The console for all: by the accessibility tree, on a phone, by day and by night, without a script."""

from itertools import pairwise

import pytest
from playwright.sync_api import expect

from tests.browser import looks
from tests.browser.night import COMMANDS, FILLING, LONG, LOUDEST_FIRST
from tests.browser.test_fleet import DIRECTORIES, directory

PAGES = {
    "fleet": "/",
    "directory": directory("prod", 8, FILLING),
    "unknown": directory("prod", 9, "/data/d1"),
    "old": directory("archive", 1, "/data/old"),
    "long": directory("prod", 8, LONG),
    "alert": "/alerts/low",
    "filtered": "/?q=broker:8",
    "alerts": "/alerts",
    "actions": "/actions",
    "action": "/actions/shrink",
    "executions": "/executions",
    "execution": "/executions/stuck",
    "carried out": "/executions/over",
    "brokers": "/brokers",
    "broker": "/broker?cluster=prod&broker=8",
    "topic": "/topic?cluster=prod&topic=orders",
    "partition": "/partition?cluster=prod&topic=orders&partition=3",
    "timeline": "/timeline",
    "capacity": "/capacity?growth=1.5x",
}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
FRAME = """
- link "Skip to the content"
- banner:
  - navigation "Pages":
    - link "Fleet"
    - link "Brokers"
    - link "Alerts"
    - link "Actions"
    - link "Executions (1 stuck, 1 running)"
    - link "Timeline"
  - paragraph: /as of/
"""
FLEET = """
- main:
  - heading "Fleet" [level=1]
  - region "Open alerts":
    - heading "Open alerts" [level=2]
    - table:
      - rowgroup:
        - row:
          - columnheader "Severity"
          - columnheader "What"
          - columnheader "Open for"
      - rowgroup:
        - row:
          - cell "page"
          - cell "Broker 8 halts soon":
            - link "Broker 8 halts soon"
          - cell
  - region "archive":
    - heading "archive" [level=2]
    - status: /the present state is unknown/
  - region "prod":
    - heading "prod" [level=2]
    - table "Used space of every log directory in percent, by broker":
      - rowgroup:
        - row:
          - rowheader /broker 7 degraded, r1/
          - cell:
            - 'link "broker 7 /data/d1: online, 50 % used"'
          - cell:
            - 'link "broker 7 /data/d2: offline (failed), 97 % used"'
"""
DIRECTORY = """
- main:
  - heading "prod broker 8 /data/d3" [level=1]
  - paragraph: /saturated since/
  - term: Used
  - definition: 96.0 % of 1 TiB
  - heading "Use" [level=2]
  - navigation "Period":
    - link "6h"
    - link "24h"
    - link "7d"
  - figure:
    - img /Used between .* forecast. full at/
  - heading "Status history" [level=2]
  - table:
    - rowgroup:
      - row:
        - columnheader "When"
        - columnheader "What"
        - columnheader "From"
        - columnheader "To"
        - columnheader "Why"
    - rowgroup:
      - row /critical ■ saturated/
      - row /filling ▲▲ critical/
      - row /online ▲ filling/
  - heading "Copies in progress and largest replicas" [level=2]
  - table:
    - rowgroup:
      - row "Replica Size Records behind Status Role"
    - rowgroup:
      - row "orders-3 7 GiB 0 online leader"
      - row "payments-0 unknown unknown online unknown"
"""
ACTION = """
- main:
  - 'heading "lower_retention: prod broker 7 /data/d1" [level=1]'
  - paragraph:
    - link "The alert behind it"
    - link "The directory"
    - link "as JSON"
  - heading "Commands" [level=2]
  - button "Copy"
  - button "Copy"
"""


def tree(page):
    """What Chromium itself tells assistive technology, as (role, name)."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    told = [node for node in nodes if not node["ignored"]]
    return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in told]


@pytest.mark.parametrize(
    ("path", "content"), [("/", FLEET), (PAGES["directory"], DIRECTORY), ("/actions/shrink", ACTION)]
)
def test_a_page_has_landmarks_headings_and_names(visit, path, content):
    page = visit.to(path)
    expect(page.locator("body")).to_match_aria_snapshot(FRAME + content)


@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
def test_nothing_that_is_used_or_looked_at_is_without_a_name(visit, path):
    page = visit.to(path)
    told = tree(page)
    assert [role for role, name in told if role in {"link", "button", "image", "region"} and not name.strip()] == []
    assert [role for role, _ in told].count("main") == 1
    assert page.locator("h1").count() == 1
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.title() != ""
    levels = page.locator("h1, h2, h3").evaluate_all("found => found.map(heading => Number(heading.tagName[1]))")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("path", ["/", PAGES["directory"], "/alerts/late", "/actions"])
def test_tables_are_tables_to_chromium_too_and_each_has_headers(visit, path):
    page = visit.to(path)
    told = [role for role, _ in tree(page)]
    tables = page.locator("table")
    assert tables.count() > 0
    assert told.count("table") == tables.count()
    assert "LayoutTable" not in told
    for table in tables.all():
        assert table.locator("th[scope]").count() > 0
    assert told.count("columnheader") + told.count("rowheader") == page.locator("th").count()


@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize(("scheme", "device"), [("light", {}), ("dark", PHONE)], ids=["by day", "by night on a phone"])
def test_every_text_stands_out_and_no_page_scrolls_sideways(visits, console, scheme, device, path):
    page = visits(console, color_scheme=scheme, **device).to(path)
    assert page.evaluate(looks.SIDEWAYS) <= 0
    measured = page.evaluate(looks.FAINT, 4.5)
    assert measured["count"] > 5
    assert measured["faint"] == []
    assert (sum(measured["canvas"]) < 3 * 128) is (scheme == "dark")


def test_on_a_phone_alerts_are_read_without_scrolling_sideways(visits, console):
    page = visits(console, **PHONE).to("/")
    for row in page.get_by_role("region", name="Open alerts").locator("tbody td").all():
        box = row.bounding_box()
        assert box["x"] + box["width"] <= PHONE["viewport"]["width"]


def test_on_a_phone_the_chart_can_be_read(visits, console):
    page = visits(console, **PHONE).to(PAGES["directory"])
    assert page.locator("svg").evaluate("svg => getComputedStyle(svg).overflow") == "visible", "labels are not cut off"
    for label in page.locator("svg text").all():
        box = label.bounding_box()
        assert box["height"] >= 9, "labels must not shrink with the drawing"
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["viewport"]["width"]


def test_without_a_script_everything_is_there_but_the_button(visits, console):
    visit = visits(console, java_script_enabled=False)
    page = visit.to("/")
    assert page.locator("[aria-labelledby=open] tbody a").all_inner_texts() == list(LOUDEST_FIRST)
    assert page.get_by_role("region", name="prod").locator("a.cell").count() == len(DIRECTORIES)
    page.get_by_role("link", name="Broker 8 /data/d3 is saturated").click()
    page.get_by_role("link", name="lower_retention").click()
    assert page.locator(".command pre").all_text_contents() == list(COMMANDS)
    expect(page.locator("button[data-copy]").first).to_be_hidden()
    page.get_by_role("link", name="The alert behind it").click()
    page.get_by_role("link", name="The directory").click()
    expect(page.locator("polyline.forecast")).to_be_visible()
    assert [url for url in visit.seen if url.endswith(".js")] == []
