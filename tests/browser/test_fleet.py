"""What somebody who was just woken sees: the fleet, what is wrong, one directory; and what nobody knows, said so."""

import re
import time
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.night import FILLING, HOUR_MS, LONG, LOUDEST_FIRST
from tests.unit.report.builders import alert
from tests.unit.report.rows import broker, log_dir

DIRECTORIES = [
    (7, "/data/d1", "online", "50 % used"),
    (7, "/data/d2", "offline (failed)", "97 % used"),
    (8, "/data/d1", "filling", "78 % used"),
    (8, "/data/d2", "critical", "88 % used"),
    (8, FILLING, "saturated", "96 % used"),
    (8, LONG, "online", "10 % used"),
    (9, "/data/d1", "unknown", "use unknown"),
]
EMPTY = ("broker_state", "log_dir_state", "log_dir_inventory", "replica_state", "topic_state", "alerts", "actions")


def directory(cluster, broker_id, path, **more):
    return f"/directory?{urlencode({'cluster': cluster, 'broker': broker_id, 'log_dir': path, **more})}"


def facts(page):
    """The terms of a directory's page and what stands beside them."""
    return dict(zip(page.locator("dt").all_inner_texts(), page.locator("dd").all_inner_texts(), strict=True))


class TestFleet:
    @pytest.mark.parametrize(("broker_id", "path", "words", "use"), DIRECTORIES)
    def test_a_directory_tells_its_status_in_words_for_eyes_and_for_ears(self, visit, broker_id, path, words, use):
        page = visit.to("/")
        heard = page.get_by_role("link", name=f"broker {broker_id} {path}: {words}, {use}", exact=True)
        expect(heard).to_be_visible()
        seen = page.get_by_role("cell").filter(has=heard).inner_text().split()
        assert seen[-1] == path
        assert " ".join(seen[:-1]).endswith(words if use == "use unknown" else f"{words}, {use.removesuffix(' used')}")

    def test_no_directory_is_left_out(self, visit):
        page = visit.to("/")
        assert page.get_by_role("region", name="prod").locator("td").count() == len(DIRECTORIES)

    def test_what_is_old_is_unknown_in_every_word(self, visit):
        page = visit.to("/")
        words = page.get_by_role("region", name="archive").inner_text()
        assert "Newest state 30 d old" in words
        assert "the present state is unknown" in words
        assert "Partitions at risk: unknown" in words
        assert words.count("online") == words.count("unknown, was online") == 2

    def test_open_alerts_are_loudest_first(self, visit):
        page = visit.to("/")
        rows = page.get_by_role("region", name="Open alerts").locator("tbody tr")
        assert tuple(rows.locator("a").all_inner_texts()) == LOUDEST_FIRST
        severities = rows.locator("td:first-child").all_inner_texts()
        assert severities == ["page", "page", "page", "critical", "warning", "info"]

    def test_partitions_at_risk_are_counted(self, visit):
        visit.to("/")
        assert re.search("partitions at risk.*leaderless:? 1", visit.reads())


class TestDirectory:
    def test_an_alert_leads_to_its_directory_and_its_history_is_drawn(self, visit):
        page = visit.to("/")
        page.get_by_role("link", name="Broker 8 /data/d3 is saturated").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("log_dir_space: prod broker 8 /data/d3")
        page.get_by_role("link", name="The directory").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("prod broker 8 /data/d3")
        drawn = page.get_by_role("img").bounding_box()
        for kind, count in (("used", 2), ("forecast", 1)):
            lines = page.locator(f"polyline.{kind}")
            assert lines.count() == count, "a gap in what was measured is a gap in the line"
            for line in lines.all():
                box = line.bounding_box()
                assert box["width"] > 20
                assert drawn["x"] <= box["x"] < box["x"] + box["width"] <= drawn["x"] + drawn["width"]
                assert line.evaluate("line => getComputedStyle(line).stroke") != "none"

    def test_the_forecast_goes_on_where_the_measured_line_ends_and_reaches_the_top_when_full(self, visit):
        page = visit.to(directory("prod", 8, FILLING))
        measured = page.locator("polyline.used").last.get_attribute("points").split()
        forecast = page.locator("polyline.forecast").get_attribute("points").split()
        assert forecast[0] == measured[-1]
        assert forecast[-1].endswith(",0.0")
        dashes = page.locator("polyline.forecast").evaluate("line => getComputedStyle(line).strokeDasharray")
        assert dashes != "none", "told apart by more than colour"

    def test_the_drawing_is_said_in_words(self, visit):
        page = visit.to(directory("prod", 8, FILLING))
        said = re.compile(r"Used between 4\.8 % and 96\.0 %, last 96\.0 %; forecast: full at 20\d\d-.*Z\.")
        expect(page.get_by_role("img")).to_have_accessible_name(said)
        expect(page.locator("figcaption")).to_have_text(said)

    @pytest.mark.parametrize("span", ["6h", "24h", "7d"])
    def test_another_span_is_one_click_away(self, visit, span):
        page = visit.to(directory("prod", 8, FILLING))
        page.get_by_role("navigation", name="Period").get_by_role("link", name=span, exact=True).click()
        expect(page.locator("[aria-label=Period] [aria-current]")).to_have_text(span)
        expect(page).to_have_url(re.compile(f"span={span}$"))
        expect(page.locator("polyline.used").first).to_be_visible()

    def test_what_nobody_knows_of_it_is_not_known(self, visit):
        page = visit.to(directory("prod", 9, "/data/d1"))
        told = facts(page)
        assert told.pop("Last successful write") == "never observed"
        assert len(told) == 6
        assert set(told.values()) == {"unknown"}
        expect(page.locator(".status")).to_have_text("? unknown")
        assert "No samples are stored for this period." in visit.reads()

    def test_it_is_unknown_when_its_cluster_is_silent(self, visit):
        page = visit.to(directory("archive", 1, "/data/old"))
        assert "Newest state 30 d old: what follows is the last known state" in visit.reads()
        expect(page.locator(".status")).to_have_text("? unknown")
        assert "was online" in visit.reads()

    def test_one_that_is_not_there_is_one_line(self, visit):
        page = visit.to(directory("prod", 8, "/none"), status=404)
        expect(page.get_by_role("alert")).to_have_text("prod broker 8 /none is not in the tables")


class TestTables:
    def test_none_at_all_are_told_from_a_quiet_night(self, visits, consoles):
        visit = visits(consoles())
        visit.to("/")
        assert "No alerts have been stored" in visit.reads()
        assert "No brokers in the tables yet" in visit.reads()
        visit.to("/actions")
        assert "No actions have been stored" in visit.reads()

    def test_empty_ones_say_so(self, visits, consoles, tables):
        for name in EMPTY:
            tables.write(name)
        visit = visits(consoles())
        visit.to("/")
        assert "No open alerts in the tables." in visit.reads()
        assert "No brokers in the tables yet" in visit.reads()
        visit.to("/actions")
        assert "No open actions in the tables." in visit.reads()

    def test_one_that_cannot_be_read_is_one_line(self, visits, consoles, tables):
        tables.write("broker_state", broker())
        (tables.root / "broker_state" / "_delta_log" / f"{0:020}.json").write_text("no JSON\n")
        page = visits(consoles()).to("/")
        expect(page.get_by_role("alert").first).to_contain_text("Table broker_state at ")

    def test_an_open_page_tells_what_happens_meanwhile(self, visits, consoles, tables):
        now_ms = int(time.time() * 1000)
        tables.write("broker_state", broker(at_ms=now_ms))
        tables.write("log_dir_state", log_dir())
        visit = visits(consoles(console__refresh_s=5))
        page = visit.to("/")
        assert "No alerts have been stored" in visit.reads()
        tables.alerts(alert(opened_at_ms=now_ms - HOUR_MS, at_ms=now_ms, stale_since_ms=now_ms - 2 * HOUR_MS))
        told = "Broker 7 /data/d1 is offline [not monitored since 2 h"
        expect(page.get_by_role("link", name=told)).to_be_visible()
