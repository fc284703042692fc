"""What to do: commands that are copied exactly as they are, and the record itself."""

import json
import time

import pytest
from playwright.sync_api import expect

from tests.browser.night import COMMANDS, HOUR_MS
from tests.support import hostile
from tests.unit.report.builders import action

READ = "navigator.clipboard.readText()"
CLIPBOARD = ["clipboard-read", "clipboard-write"]
ODD = ["\n  leading end of a line and spaces", "trailing end of a line\n", "tab\tand  two spaces", "\r\nboth\r\n"]


def write(tables, *commands):
    now_ms = int(time.time() * 1000)
    tables.actions(action(commands=list(commands), at_ms=now_ms, expires_at_ms=now_ms + HOUR_MS))


def copied(page):
    """What each button of the page copies, in their order."""
    found = []
    for button in page.locator("button[data-copy]").all():
        button.click()
        expect(button).to_have_text("Copied")
        found.append(page.evaluate(READ))
    return found


def test_open_actions_lead_to_their_commands_and_to_their_alert(visit):
    page = visit.to("/")
    page.get_by_role("link", name="Actions").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Open actions")
    expect(page.locator("tbody td.text a")).to_have_text(["lower_retention", "expand_disk"])
    page.get_by_role("link", name="lower_retention").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("lower_retention: prod broker 7 /data/d1")
    page.get_by_role("link", name="The alert behind it").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("log_dir_space")


def test_a_button_copies_exactly_the_command(visits, console):
    page = visits(console, permissions=CLIPBOARD).to("/actions/shrink")
    assert copied(page) == list(COMMANDS)


def test_hostile_commands_are_copied_to_the_letter(visits, consoles, tables):
    commands = [*hostile.ARGUMENTS, *ODD]
    write(tables, *commands)
    page = visits(consoles(), permissions=CLIPBOARD).to(f"/actions/{'c' * 32}")
    assert copied(page) == commands


def test_where_a_page_may_not_copy_the_command_is_selected_for_the_keyboard(visits, consoles, tables):
    """Browsers let no page copy that came over plain HTTP from another machine."""
    write(tables, *COMMANDS)
    address = consoles("0.0.0.0", console__password="correct horse battery")
    port = address.rpartition(":")[2]
    user = {"username": "logdirwatch", "password": "correct horse battery"}
    away = visits(f"console.test:{port}", http_credentials=user)
    page = away.to(f"/actions/{'c' * 32}")
    assert page.evaluate("isSecureContext") is False
    for number, command in enumerate(COMMANDS):
        button = page.locator("button[data-copy]").nth(number)
        button.click()
        expect(button).to_have_text("Selected: press Ctrl-C")
        assert page.evaluate("getSelection().toString()") == command


@pytest.mark.parametrize("path", ["/actions/shrink", "/actions/grow"])
def test_the_record_is_there_as_json(visit, path):
    page = visit.to(path)
    page.get_by_role("link", name="as JSON").click()
    expect(page).to_have_url(f"http://{visit.address}{path}.json")
    record = json.loads(page.locator("body").inner_text())
    assert record["action_id"] == path.rpartition("/")[2]
    assert record["commands"] == (list(COMMANDS) if path.endswith("shrink") else [])


def test_an_action_without_commands_offers_nothing_to_copy(visit):
    page = visit.to("/actions/grow")
    assert page.locator("button[data-copy]").count() == 0
    assert "The volume can grow" in visit.reads()
