"""The console over real tables: what its pages show and escape, whom they let in, and that they write nothing."""

import html
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, urlencode

import msgspec
import pytest
from pydantic import ValidationError

from logdirwatch.cli.reading.tables.delta_files import DeltaFiles
from logdirwatch.console.pages import application
from logdirwatch.console.reading import Reader
from logdirwatch.console.settings import ConsoleSettings
from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import ActionStatus, AlertStatus, Decision, ExecutionState, Rule, Severity
from logdirwatch.report.handling import Handling
from logdirwatch.report.status.snapshot import Patience
from tests.support import hostile
from tests.support.delta import Written
from tests.unit.report.builders import NOW_MS, action, alert, execution, heartbeat
from tests.unit.report.rows import TIB, broker, log_dir, partition

HOUR_MS = 3_600_000


class Site:
    """The tables and a client that asks for pages over them, without a socket."""

    def __init__(self, root):
        self.tables = Written(root)
        self.root = str(root)
        self.live = self.handling = None

    def client(self):
        files = DeltaFiles(self.root)
        reader = Reader(
            files.select, files.rows, lambda: self.live, now_ms=lambda: NOW_MS, handling=lambda: self.handling
        )
        patience = Patience(state_ms=60_000, inventory_ms=300_000, proof_ms=HOUR_MS, skew_ms=60_000)
        return application(reader, ConsoleSettings(), patience, lambda: NOW_MS).test_client()

    def get(self, path, host="127.0.0.1:8787", **more):
        return self.client().get(path, headers={"Host": host}, **more)

    def text(self, path, **more):
        answer = self.get(path, **more)
        assert answer.status_code == 200, answer.text
        return answer.text

    def cluster(self, *dirs, age_ms=5_000, **fields):
        self.tables.write("broker_state", broker(at_ms=NOW_MS - age_ms, **fields))
        self.tables.write("log_dir_state", *dirs)


class Page(HTMLParser):
    """A page in which nothing stands but what its template has: no script of others, no image, no handler."""

    def __init__(self, text):
        super().__init__()
        self.links = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        assert tag not in ("img", "iframe", "object", "base")
        if tag == "form":
            assert found["action"].startswith("/")
            assert found["method"] == "get"
        assert not [name for name in found if name.startswith("on") or name == "style"]
        if tag == "script":
            assert found["src"].startswith("/static/")
        if tag == "a":
            assert found["href"] == "#content" or found["href"].startswith("/")
            assert not found["href"].startswith("//")
            self.links.append(found["href"])


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path / "tables")


def link(page, text):
    """The address of the link with that text or label."""
    found = re.findall(r'<a [^>]*href="([^"]*)"(?: aria-label="([^"]*)")?[^>]*>([^<]*)</a>', page)
    return html.unescape(next(href for href, label, shown in found if text in html.unescape(label + shown)))


class TestFleet:
    def test_without_tables_it_says_what_to_do(self, site):
        page = site.text("/")
        assert "No brokers in the tables yet" in page
        assert "No alerts have been stored" in page

    def test_every_directory_is_a_cell_with_a_name_a_sign_and_its_use(self, site):
        site.cluster(log_dir(used=0.5), log_dir(log_dir="/data/d2", status="offline", cause="failed", used=0.97))
        page = site.text("/")
        assert 'aria-label="broker 7 /data/d1: online, 50 % used"' in page
        assert 'aria-label="broker 7 /data/d2: offline (failed), 97 % used"' in page
        assert "✖ offline (failed), 97 %</a>" in page

    def test_of_a_broker_with_many_directories_those_that_are_online_are_counted(self, site):
        dirs = [log_dir(log_dir=f"/d{number}", used=number / 10) for number in range(7)]
        site.cluster(*dirs, log_dir(log_dir="/bad", status="offline"))
        page = site.text("/")
        assert page.count('class="cell') == 1
        assert '<span class="status online"> online</span> 7 directories, 0 % to 60 % used</td>' in page
        assert page.count('href="/broker?cluster=prod&amp;broker=7"') == 1

    def test_without_a_heartbeat_the_last_colours_stay_under_a_hatch_and_the_words_say_unknown(self, site):
        site.tables.write("broker_state", broker(7, at_ms=NOW_MS - 3_600_000))
        site.tables.write("log_dir_state", log_dir(7, status="saturated", used=0.97, at_ms=NOW_MS - 3_600_000))
        page = site.text("/")
        assert 'class="cell saturated past"' in page
        assert 'class="status saturated past"' in page
        assert "unknown, was saturated" in page

    def test_what_holds_for_several_clusters_is_said_once(self, site):
        site.tables.write("broker_state", broker(cluster="a", at_ms=NOW_MS), broker(cluster="b", at_ms=NOW_MS))
        page = site.text("/")
        assert page.count("NO HEARTBEAT CAN BE READ") == 1
        assert "<b>a, b</b>: NO HEARTBEAT CAN BE READ" in page

    def test_what_a_release_cannot_report_is_said_once(self, site):
        dirs = [log_dir(used=None, total_bytes=None), log_dir(log_dir="/data/d2", used=None, total_bytes=None)]
        site.cluster(*dirs, kafka_version="2.8", metadata_mode="zookeeper", not_reported=["capacity"])
        page = site.text("/")
        assert page.count("Kafka 2.8 with ZooKeeper does not report the size of log directories") == 1
        assert "To change that, for the size upgrade to 3.3 or later" in page

    def test_old_tables_make_everything_unknown(self, site):
        site.cluster(log_dir(), age_ms=120_000)
        page = site.text("/")
        assert "the present state is unknown" in page
        assert 'aria-label="broker 7 /data/d1: unknown, was online, 50 % used"' in page
        assert "<small>unknown, was online</small>" in page
        assert 'class="cell online"' not in page

    def test_an_old_inventory_is_said_to_be_old(self, site):
        site.cluster(log_dir())
        site.tables.write("log_dir_inventory", {"cluster": "prod", "inventory_at_ms": NOW_MS - HOUR_MS})
        assert "THE INVENTORY IS STALE: 1 h old. Replicas and partitions are from then." in site.text("/")

    def test_an_alert_of_which_nothing_is_seen_any_more_says_so(self, site):
        site.tables.alerts(alert(stale_since_ms=NOW_MS - HOUR_MS))
        for path in ("/", f"/alerts/{'a' * 32}"):
            assert "[not monitored since 1 h ago]" in site.text(path)

    def test_open_alerts_come_first_and_lead_on(self, site):
        over = alert("b" * 32, revision=2, status=AlertStatus.RESOLVED, summary="long over")
        site.tables.alerts(alert(), alert("b" * 32, summary="long over"), over)
        page = site.text("/")
        assert "Broker 7 /data/d1 is offline" in page
        assert "long over" not in page
        assert link(page, "Broker 7") == f"/alerts/{'a' * 32}"

    def test_a_topic_finds_the_directories_of_its_replicas(self, site):
        site.cluster(log_dir(), log_dir(log_dir="/data/d2"))
        replica = {"cluster": "prod", "broker": 7, "log_dir": "/data/d2", "partition": 0, "is_future": False}
        site.tables.write("replica_state", {**replica, "topic": "It's Orders"}, {**replica, "topic": "b"})
        for query in ("topic:orders", "orders", "it's"):
            page = site.text(f"/?{urlencode({'q': query})}")
            assert re.findall('class="cell online" href="[^"]*log_dir=([^"]*)"', page) == ["/data/d2"]

    def test_topics_that_the_filter_names_are_listed_with_their_pages(self, site):
        site.cluster(log_dir())
        site.tables.write("topic_state", partition("orders", 0), partition("orders", 1), partition("reorders", 0))
        page = site.text("/?q=orders")
        assert re.findall('href="/topic[^"]*topic=([^"]*)"', page) == ["orders", "reorders"]
        for query in ("rack:r1 orders", "status:offline", ""):
            assert "Topics:" not in site.text(f"/?{urlencode({'q': query})}")

    def test_the_title_has_the_loudest_count(self, site):
        site.cluster(log_dir(status="offline"))
        site.tables.write("alerts")
        assert "<title>1 directory offline · Fleet · logdirwatch</title>" in site.text("/")


class TestBrokers:
    def test_every_broker_is_a_line_and_the_worst_is_first(self, site):
        site.cluster(log_dir(), log_dir(8, status="offline"))
        site.tables.write("broker_state", broker(8, rack="r1", at_ms=NOW_MS))
        page = site.text("/brokers")
        assert "2 brokers, 2 log directories" in page
        assert page.index("broker=8") < page.index("broker=7")
        assert "<td>1: 1 offline</td>" in page
        assert "<td>50.0 % of 1 TiB</td>" in page

    def test_an_order_and_a_filter_stay_from_page_to_page(self, site):
        site.tables.write("broker_state", *(broker(number, rack="r1", at_ms=NOW_MS) for number in range(150)))
        page = site.text("/brokers?q=rack:r1&order=id")
        assert link(page, "Next") == "/brokers?page=2&q=rack:r1&order=id"
        assert '<input type="hidden" name="order" value="id">' in page
        assert "broker=149" in site.text(link(page, "Next"))

    def test_none_is_told_from_no_match(self, site):
        assert "No brokers in the tables yet" in site.text("/brokers")
        site.cluster(log_dir())
        assert "No broker matches the filter." in site.text("/brokers?q=rack:none")

    @pytest.mark.parametrize("name", hostile.NAMES)
    def test_names_change_no_page(self, site, name):
        site.tables.write("broker_state", broker(at_ms=NOW_MS, cluster=name, rack=name, host=name, kafka_version=name))
        site.tables.write("log_dir_state", log_dir(7, name, cluster=name))
        Page(site.text(f"/brokers?{urlencode({'order': name})}"))


class TestHeader:
    """Every page says first what cannot be relied on."""

    PAGES = ("/", "/actions", f"/alerts/{'a' * 32}", "/directory?cluster=prod&broker=7&log_dir=/data/d1")

    def heard(self, site, age_ms):
        site.cluster(log_dir(), status="online")
        site.tables.alerts(alert())
        site.tables.actions(action())
        site.live = [heartbeat(age_ms)]

    @pytest.mark.parametrize("path", PAGES)
    def test_a_heartbeat_that_stopped_is_loud_while_the_tables_are_still_new(self, site, path):
        self.heard(site, 30_001)
        page = site.text(path)
        assert '<header class="loud">' in page
        assert "THE HEARTBEAT STOPPED: 30 s ago (c1)" in page

    def test_with_it_nothing_is_green_any_more(self, site):
        self.heard(site, 30_001)
        page = site.text("/")
        assert 'class="cell online"' not in page
        assert 'class="status online"' not in page
        assert "unknown, was online" in page
        assert "unknown</span>, was online" in site.text(self.PAGES[-1])

    @pytest.mark.parametrize("path", PAGES)
    def test_while_heartbeats_come_through_no_word_is_said_of_them(self, site, path):
        self.heard(site, 29_000)
        page = site.text(path)
        assert "HEARTBEAT" not in page
        assert "was online" not in page

    def test_a_telemetry_cluster_that_does_not_answer_is_loud_and_the_tables_are_shown(self, site):
        site.cluster(log_dir())
        page = site.text("/")
        assert "NO HEARTBEAT CAN BE READ" in page
        assert 'class="cell online"' in page

    def test_an_alert_that_is_newer_than_the_tables_is_shown_and_outweighs_them(self, site):
        site.cluster(log_dir())
        lost = {"rule": Rule.BROKER_OFFLINE, "to_status": "offline", "log_dir": None, "summary": "Broker 7 is gone"}
        site.live = [heartbeat(1_000), alert("f" * 32, at_ms=NOW_MS, **lost)]
        page = site.text("/")
        assert "Broker 7 is gone" in site.text(link(page, "Broker 7 is gone"))
        assert 'class="status offline"' in page
        assert "unknown, was online" in page


NEW, OLD = {"severity": Severity.PAGE, "summary": "no, get up"}, {"severity": Severity.WARNING, "summary": "yes, sleep"}
OVER = {"status": AlertStatus.RESOLVED, "severity": Severity.PAGE, "summary": "no, get up"}
NAME = "a" * 32


class TestTopicAndTables:
    """Each page shows the newest revision of an alert, whether the topic or the tables have it."""

    @pytest.mark.parametrize(
        ("stored", "heard", "heard_age_ms", "revision", "is_open"),
        [
            ([(1, OLD)], [(2, NEW)], 1_000, 2, True),
            ([(1, OLD)], [(5, NEW)], 1_000, 5, True),
            ([(0, OLD)], [(1, NEW)], 1_000, 1, True),
            ([], [(3, NEW)], 1_000, 3, True),
            ([(1, NEW), (2, NEW)], [(2, NEW)], 1_000, 2, True),
            # Ended on the topic, not yet in the tables.
            ([(1, OLD)], [(2, OVER)], 1_000, 2, False),
            ([(1, OLD), (2, NEW)], [(3, OVER)], 1_000, 3, False),
            # Nothing arrives from the topic any more: what was stored since counts.
            ([(1, OLD), (2, NEW)], [(1, OLD)], 91_000, 2, True),
            ([(1, OLD), (2, OVER)], [(1, OLD)], 91_000, 2, False),
            ([(7, NEW)], [], 91_000, 7, True),
            # The telemetry cluster does not answer at all: the tables count.
            ([(1, OLD), (2, NEW)], None, None, 2, True),
            ([(1, OLD), (2, OVER)], None, None, 2, False),
        ],
    )
    def test_list_page_fleet_broker_and_timeline_agree(self, site, stored, heard, heard_age_ms, revision, is_open):
        site.cluster(log_dir())
        made = [
            [alert(NAME, n, at_ms=NOW_MS - 100_000 + n * 10_000, **fields) for n, fields in of]
            for of in (stored, heard or ())
        ]
        site.tables.alerts(*made[0])
        site.live = None if heard is None else [heartbeat(heard_age_ms), *made[1]]
        page = site.text(f"/alerts/{NAME}")
        shown = re.search(r"<td>(\d+) \(", page)
        assert int(shown.group(1)) == revision, "the newest revision is the first of its history"
        assert 'id="meaning">no, get up' in page
        assert re.search("<title>([a-z]+): log_dir_offline", page).group(1) == ("page" if is_open else "resolved")
        lists = [site.text(path) for path in ("/alerts", "/", "/broker?cluster=prod&broker=7")]
        assert [f"/alerts/{NAME}" in text for text in lists] == [is_open] * 3
        assert not any("yes, sleep" in text for text in lists)
        assert re.search("(resolved|page)</span>", site.text("/timeline?kind=alerts")).group(1) == (
            "page" if is_open else "resolved"
        )

    def test_the_topic_has_no_older_alert_than_the_tables_that_it_lost(self, site):
        site.cluster(log_dir())
        site.tables.alerts(alert("d" * 32, at_ms=NOW_MS - 10 * HOUR_MS))
        site.live = [heartbeat(61_000)]
        assert "d" * 32 not in site.text("/alerts")

    def test_a_table_that_cannot_be_read_hides_no_alert_of_the_topic(self, site):
        site.cluster(log_dir())
        site.tables.alerts(alert(NAME))
        for log in Path(site.root, "alerts", "_delta_log").glob("*.json"):
            log.write_text("{")
        site.live = [heartbeat(61_000), alert(NAME, 2, at_ms=NOW_MS - 61_000, **NEW)]
        assert "no, get up" in site.text("/alerts")


class TestDirectory:
    def address(self, site):
        return link(site.text("/"), "/data/d1")

    def samples(self, site, *used, step_ms=HOUR_MS, last_ms=NOW_MS):
        rows = [
            {
                "cluster": "prod",
                "broker": 7,
                "log_dir": "/data/d1",
                "collector": "c",
                "timestamp_ms": last_ms - (len(used) - 1 - number) * step_ms,
                "kind": "log_dir",
                "error_code": 0,
                "total_bytes": 100,
                "usable_bytes": round(100 * (1 - ratio)),
            }
            for number, ratio in enumerate(used)
        ]
        site.tables.write("log_dir_samples", *rows)

    def test_its_history_and_its_forecast_are_drawn_and_said(self, site):
        site.cluster(log_dir(full_at_ms=NOW_MS + 4 * HOUR_MS))
        self.samples(site, 0.2, 0.3, 0.4, 0.5)
        page = site.text(self.address(site))
        assert "Used between 20.0 % and 50.0 %, last 50.0 %; forecast: full at 2023-11-15 02:13:20Z." in page
        assert page.count('class="used"') == 1
        assert page.count('class="forecast"') == 1

    def test_thresholds_and_changes_are_drawn_and_a_period_can_be_typed(self, site):
        site.cluster(log_dir())
        self.samples(site, 0.2, 0.3)
        change = {"transition_id": "t", "from_status": "online", "to_status": "filling", "reason": "ratio"}
        place = {"cluster": "prod", "broker": 7, "log_dir": "/data/d1"}
        site.tables.write("transitions", {**place, **change, "at_ms": NOW_MS - HOUR_MS})
        address = self.address(site)
        page = site.text(address)
        assert re.findall('class="threshold ([a-z]+)"', page) == ["filling", "critical", "saturated"]
        assert "<title>2023-11-14 21:13:20Z: directory filling</title>" in page
        then = site.text(f"{address}&from=2023-11-14T20:00&to=2023-11-14T21:00")
        assert 'value="2023-11-14T21:00"' in then
        assert "No samples are stored for this period." in then

    def test_a_gap_is_a_gap(self, site):
        site.cluster(log_dir())
        self.samples(site, 0.2, 0.2, 0.2, last_ms=NOW_MS - 15 * HOUR_MS)
        self.samples(site, 0.4, 0.4, 0.4)
        page = site.text(self.address(site))
        assert page.count('class="used"') == 2
        assert 'class="forecast"' not in page

    def test_it_is_unknown_when_its_cluster_is_silent(self, site):
        site.cluster(log_dir(), age_ms=120_000)
        page = site.text(self.address(site))
        assert "Newest state 2 min old: what follows is the last known state" in page
        assert "unknown</span>, was online" in page

    def test_what_nobody_knows_is_not_known(self, site):
        site.cluster(log_dir(used=None, total_bytes=None, replica_count=None))
        told = re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", site.text(self.address(site)))
        assert {name for name, value in told if value != "unknown"} == {"Last successful write"}
        assert len(told) == 7

    def test_without_a_sample_it_says_so(self, site):
        site.cluster(log_dir())
        assert "No samples are stored for this period." in site.text(self.address(site))

    @pytest.mark.parametrize(
        ("proof_ms", "said"), [(NOW_MS - HOUR_MS, "2023-11-14 21:13:20Z"), (None, "never observed")]
    )
    def test_when_it_was_last_seen_to_write_is_said(self, site, proof_ms, said):
        site.cluster(log_dir(last_proof_ms=proof_ms))
        page = re.sub("</?time[^>]*>", "", site.text(self.address(site)))
        assert f"<dt>Last successful write</dt><dd>{said}</dd>" in page

    def test_its_changes_and_largest_replicas_are_listed(self, site):
        site.cluster(log_dir())
        place = {"cluster": "prod", "broker": 7}
        change = {
            "transition_id": "t",
            "from_status": "online",
            "to_status": "filling",
            "reason": "ratio",
            "at_ms": NOW_MS,
        }
        site.tables.write("transitions", {**place, "log_dir": "/data/d1", **change})
        replica = {"log_dir": "/data/d1", "topic": "orders", "is_future": False, "status": "online", "is_leader": True}
        site.tables.write(
            "replica_state", *({**place, **replica, "partition": n, "size_bytes": n << 30} for n in range(60))
        )
        page = site.text(self.address(site))
        assert "filling" in page
        assert page.index("orders-59") < page.index("orders-58")
        assert "orders-9<" not in page, "the fifty largest are enough"

    def test_how_far_a_copy_is_behind_stands_above_everything_else(self, site):
        site.cluster(log_dir())
        place = {"cluster": "prod", "broker": 7, "log_dir": "/data/d1", "topic": "orders", "partition": 1}
        copy = {**place, "is_future": True, "size_bytes": 1, "status": "moving", "offset_lag": 12_345}
        large = {"partition": 2, "is_future": False, "size_bytes": 1 << 40, "offset_lag": None}
        site.tables.write("replica_state", {**copy, **large}, copy)
        page = re.sub("</?a[^>]*>", "", site.text(self.address(site)))
        told = re.findall(r"<tr><td>(orders.*?)</td><td>.*?</td><td>(.*?)</td>", page)
        assert told == [("orders-1 (copy in progress)", "12,345"), ("orders-2", "unknown")]

    @pytest.mark.parametrize(
        ("query", "status"),
        [("", 400), ("?cluster=prod&broker=x&log_dir=/d", 400), ("?cluster=prod&broker=7&log_dir=/none", 404)],
    )
    def test_a_wrong_address_is_one_clear_line(self, site, query, status):
        answer = site.get(f"/directory{query}")
        assert answer.status_code == status
        assert answer.text.count('role="alert"') == 1


class TestTopicAndPartition:
    @pytest.fixture
    def shop(self, site):
        """Partition 3 of orders has lost its leader's directory; 0 is well."""
        place = {"cluster": "prod", "topic": "orders"}
        well = {"leader": 7, "replicas": [7, 8], "isr": [7, 8], "min_insync_replicas": 1}
        lost = {"leader": None, "replicas": [7, 9], "isr": [7], "min_insync_replicas": 1, "elr": [9], "adding": [8]}
        behind = {"slowest_group": "billing", "unread_ratio": 0.35}
        site.tables.write(
            "topic_state",
            partition("orders", 0) | well | {"overridden": ["retention.ms"], "configs": {"retention.ms": "60000"}},
            partition("orders", 3, is_leaderless=True, is_sole_replica=True) | lost | behind,
            partition("orders", 0, cluster="other") | well,
        )
        replica = {**place, "is_future": False, "is_listed": True, "is_leader": False, "in_isr": True}
        site.tables.write(
            "replica_state",
            replica | {"broker": 7, "partition": 0, "log_dir": "/data/d1", "size_bytes": TIB, "status": "online"},
            replica
            | {"broker": 7, "partition": 3, "log_dir": "/data/d2", "size_bytes": 1 << 30, "status": "offline"}
            | {"cause": "directory", "is_listed": False},
        )
        return site

    def test_a_topic_has_its_partitions_those_in_danger_first(self, shop):
        page = shop.text("/topic?cluster=prod&topic=orders")
        assert "<dt>Partitions</dt><dd>2</dd>" in page
        assert "<dd>2, min.insync.replicas 1</dd>" in page
        assert "<dd>1 TiB</dd>" in page
        assert "retention.ms=60000" in page
        assert "1 partition without a leader" in page
        assert page.index(">orders-3<") < page.index(">orders-0<")
        assert link(page, "orders-3") == "/partition?cluster=prod&topic=orders&partition=3"

    def test_a_partition_says_who_is_affected_and_where_its_replicas_are(self, shop):
        page = shop.text("/partition?cluster=prod&topic=orders&partition=3")
        assert "It has no leader: nobody can read or write." in page
        assert "A single replica is in sync: the next failure loses data." in page
        assert "Consumer group billing reads it and has not read 35.0 % of it." in page
        assert "adds 8" in page
        assert link(page, "/data/d2") == "/directory?cluster=prod&broker=7&log_dir=/data/d2"
        assert "(last known)" in page
        assert "offline</span> (directory)" in page
        assert "Assigned, but listed by no directory: broker 9." in page

    def test_a_partition_that_is_well_affects_nobody(self, shop):
        page = shop.text("/partition?cluster=prod&topic=orders&partition=0")
        assert "Nobody: it has a leader" in page
        assert link(page, "broker 7") == "/broker?cluster=prod&broker=7"

    def test_directories_brokers_and_alerts_lead_there(self, shop):
        shop.cluster(log_dir(), log_dir(log_dir="/data/d2", status="offline"))
        shop.tables.alerts(
            alert(affected={"leaderless": 1, "hurt_topics": ["orders"], "examples": ["orders-3", "odd"]})
        )
        partition_3 = "/partition?cluster=prod&topic=orders&partition=3"
        assert link(shop.text("/directory?cluster=prod&broker=7&log_dir=/data/d2"), "orders-3") == partition_3
        assert link(shop.text("/broker?cluster=prod&broker=7"), "orders-3") == partition_3
        page = shop.text(f"/alerts/{'a' * 32}")
        assert link(page, "orders-3") == partition_3
        assert link(page, "odd") == "/topic?cluster=prod&topic=odd"
        assert link(page, "The broker") == "/broker?cluster=prod&broker=7"

    def test_large_topics_are_shown_some_at_a_time(self, site):
        site.tables.write("topic_state", *(partition("orders", number) for number in range(250)))
        page = site.text("/topic?cluster=prod&topic=orders&page=3")
        assert ">orders-249<" in page
        assert ">orders-0<" not in page
        assert link(page, "Previous") == "/topic?cluster=prod&topic=orders&page=2"

    @pytest.mark.parametrize(
        ("path", "code"),
        [
            ("/topic?cluster=prod&topic=none", 404),
            ("/partition?cluster=prod&topic=orders&partition=9", 404),
            ("/topic?cluster=prod", 400),
            ("/partition?cluster=prod&topic=orders&partition=x", 400),
        ],
    )
    def test_what_is_not_known_is_said(self, shop, path, code):
        assert shop.get(path).status_code == code

    @pytest.mark.parametrize("name", hostile.NAMES)
    def test_names_change_no_page(self, site, name):
        site.tables.write("topic_state", partition(name, 0))
        for path in ("/topic", "/partition"):
            query = urlencode({"cluster": "prod", "topic": name, "partition": 0})
            Page(site.text(f"{path}?{query}"))


class TestActions:
    def test_an_action_shows_its_commands_and_its_json(self, site):
        site.tables.alerts(alert())
        site.tables.actions(action(), action("d" * 32, status=ActionStatus.DONE))
        page = site.text(link(site.text("/actions"), "move_log_dir"))
        assert "kafka-reassign-partitions.sh --execute" in page
        told = site.get(link(page, "as JSON"))
        assert told.mimetype == "application/json"
        assert msgspec.json.decode(told.data)["action_id"] == "c" * 32
        assert site.text("/actions").count("move_log_dir") == 1

    def test_what_is_blocked_stands_below_what_can_be_done_and_each_says_where(self, site):
        veto = {"name": "no_room", "reason": "broker 8 has no room"}
        site.tables.actions(action("d" * 32, vetoes=[veto], reason="to another broker"), action())
        page = site.text("/actions")
        assert page.index("Can be done now") < page.index("three replicas fit") < page.index(">Blocked<")
        assert "<br><small>Blocked: broker 8 has no room</small>" in page
        assert page.count("<td>prod broker 7 /data/d1</td>") == 2

    def test_an_action_says_where_what_must_hold_what_is_done_and_how_it_is_stopped(self, site):
        condition = {"name": "n", "text": "the copy fits", "holds": True}
        undo = {"text": "t", "while_running": ["kafka-stop"]}
        later = {"later": 3, "frees_bytes": 1 << 30}
        operations = execution().operations
        site.tables.actions(action(preconditions=[condition], undo=undo, operations=operations, expected=later))
        page = site.text(f"/actions/{'c' * 32}")
        assert "<h1>move_log_dir: prod broker 7 /data/d1</h1>" in page
        assert link(page, "The directory") == "/directory?cluster=prod&broker=7&log_dir=/data/d1"
        assert "<li>[ok] the copy fits</li>" in page
        assert "<dt>Later</dt><dd>3 more partitions follow when these are done</dd>" in page
        assert "3 steps" in page
        assert "<li>move orders-0 to 7:/data/d2</li>" in page
        assert "kafka-stop</pre>" in page

    def test_the_runbook_is_a_link_where_it_is_known(self, site):
        site.tables.alerts(alert())
        files = DeltaFiles(site.root)
        patience = Patience(state_ms=1, inventory_ms=1, proof_ms=1, skew_ms=1)
        made = application(
            Reader(files.select, files.rows),
            ConsoleSettings(),
            patience,
            lambda: NOW_MS,
            runbook=lambda rule: f"h:{rule}",
        )
        page = made.test_client().get(f"/alerts/{'a' * 32}", headers={"Host": "localhost"}).text
        assert '<a href="h:log_dir_offline">The whole runbook</a>' in page

    def test_none_ever_stored_is_told_from_none_open(self, site):
        assert "No actions have been stored" in site.text("/actions")
        site.tables.actions(action(status=ActionStatus.DONE))
        assert "No open actions in the tables." in site.text("/actions")

    def test_a_command_keeps_its_carriage_returns_and_its_first_end_of_a_line(self, site):
        site.tables.actions(action(commands=["\na\r\n<b"]))
        assert 'id="command-1">\n\na&#13;\n&lt;b</pre>' in site.text(f"/actions/{'c' * 32}")

    def test_an_alert_shows_its_life_its_evidence_and_its_actions(self, site):
        site.tables.alerts(alert(revision=0), alert(evidence={"error_code": 56}))
        site.tables.actions(action())
        page = site.text(f"/alerts/{'a' * 32}")
        assert "&#34;error_code&#34;: 56" in page
        assert ("0 (fast)" in page, "1 (stateful)" in page) == (True, True)
        assert "three replicas fit into /data/d2" in page

    def test_whoever_reads_without_a_login_sees_who_handles_an_alert(self, site):
        site.cluster(log_dir())
        site.live = [alert(severity=Severity.PAGE), alert("b" * 32, broker=8), heartbeat()]
        by_ada = {"by": "ada", "reason": "a <window>", "at_ms": NOW_MS - 1, "until_ms": NOW_MS + HOUR_MS}
        decided = [
            DecisionRecord(version=1, id=name, decision=decision, severity=Severity.PAGE, **by_ada)
            for name, decision in (("a" * 32, Decision.SILENCE), ("b" * 32, Decision.ACKNOWLEDGE))
        ]
        limits = {"longest_ms": 10 * HOUR_MS, "longest_maintenance_ms": HOUR_MS}
        site.handling = Handling(decided, lambda _: (), **limits)
        until = "by ada until 2023-11-14 23:13:20Z: a &lt;window&gt;"
        for path in ("/", "/alerts", "/broker?cluster=prod&broker=7"):
            assert f"[silenced {until}]" in site.text(path)
        rows = site.text("/alerts")
        assert rows.index(f"[acknowledged {until}]") < rows.index(f"[silenced {until}]")  # though it is a page
        assert f"<p>Silenced {until}</p>" in site.text(f"/alerts/{'a' * 32}")
        assert f"<p>Acknowledged {until}</p>" in site.text(f"/alerts/{'b' * 32}")
        site.handling = None
        assert "acknowledged or silenced is unknown" in site.text(f"/alerts/{'a' * 32}")

    def test_what_may_be_done_now_comes_before_what_is_blocked_and_why(self, site):
        site.tables.alerts(alert(affected={"leaderless": 2, "hurt_topics": ["orders"]}))
        veto = {"name": "no_room", "reason": "broker 8 has no room"}
        site.tables.actions(action("d" * 32, vetoes=[veto], reason="to another broker", commands=["no"]), action())
        page = site.text(f"/alerts/{'a' * 32}")
        assert page.index("three replicas fit") < page.index("Blocked") < page.index("broker 8 has no room")
        assert page.count('class="command"') == 1
        assert "<dt>Partitions</dt><dd>2 partitions without a leader</dd>" in page
        assert link(page, "orders") == "/topic?cluster=prod&topic=orders"
        assert "docs/runbooks/log_dir_offline.md" in page

    @pytest.mark.parametrize("path", ["/alerts/x", "/actions/x", "/actions/x.json", "/executions/x", "/nowhere"])
    def test_what_there_is_not_is_said(self, site, path):
        assert site.get(path).status_code == 404

    def test_an_action_shows_each_directory_before_and_after_and_how_to_undo_it(self, site):
        site.cluster(log_dir(used=0.5))
        expected = {
            "on": [{"broker": 7, "log_dir": "/data/d1", "bytes": TIB // 4}],
            "frees_bytes": TIB // 4,
            "waves": 2,
        }
        site.tables.actions(action(expected=expected, undo={"text": "Move them back", "commands": ["kafka-undo"]}))
        page = site.text(f"/actions/{'c' * 32}")
        assert "<td>frees 256 GiB</td><td>50.0 %</td><td>25.0 %</td>" in re.sub("<svg.*?</svg> ", "", page)
        assert "in 2 waves." in page
        assert page.index("<h2>Undo</h2>") < page.index("Move them back") < page.index("kafka-undo")


class TestExecutions:
    def test_nothing_was_ever_carried_out(self, site):
        assert "No execution of an action has been stored" in site.text("/executions")
        assert ">Executions</a>" in site.text("/executions")

    def test_what_runs_is_counted_in_the_header_and_leads_to_its_steps_and_its_action(self, site):
        site.cluster(log_dir())
        site.tables.actions(action())
        site.tables.executions(execution(state=ExecutionState.STARTED, step=1), execution())
        assert link(site.text("/"), "Executions (1 running)") == "/executions"
        listed = site.text("/executions")
        assert "step 3 of 3, 3 GiB to copy" in listed
        page = site.text(link(listed, "move_log_dir on prod"))
        assert "<li>move orders-0 to 7:/data/d2: done</li>" in page
        assert "<li>move orders-1 to 7:/data/d2: now</li>" in page
        assert page.index("<td>copying</td>") < page.index("<td>started</td>")
        assert f"logdirwatch apply --resume {'c' * 32}" in page
        back = site.text(link(page, "The action"))
        assert link(back, "move_log_dir on prod") == f"/executions/{'e' * 32}"

    def test_what_is_stuck_says_why_and_how_it_goes_on_or_back(self, site):
        site.cluster(log_dir())
        reason = "somebody else moved <orders-0>"
        site.tables.executions(execution(), execution(state=ExecutionState.STUCK, reason=reason))
        assert "Executions (1 stuck)" in site.text("/")
        for path in ("/executions", f"/executions/{'e' * 32}"):
            page = site.text(path)
            assert "Somebody else moved &lt;orders-0&gt;" in page
            assert "Remove the reason, then go on or go back" in page
        assert page.count('class="command"') == 3

    def test_what_is_over_has_what_was_expected_beside_what_was_observed(self, site):
        site.cluster(log_dir())
        site.tables.actions(action(status=ActionStatus.DONE, observed={"frees_bytes": 2 << 30}))
        site.tables.executions(execution(state=ExecutionState.DONE, step=3, at_ms=NOW_MS - 300_000))
        assert ">Executions</a>" in site.text("/")
        assert "time: 10 min expected, 5 min observed; freed: 3 GiB expected, 2 GiB observed" in site.text(
            "/executions"
        )
        page = site.text(f"/executions/{'e' * 32}")
        assert "<td>Freed</td><td>3 GiB</td><td>2 GiB</td>" in page
        assert f"logdirwatch apply --undo {'c' * 32}" in page

    def test_an_undone_one_that_was_stuck_needs_nobody(self, site):
        site.cluster(log_dir())
        stuck = execution("s" * 32, state=ExecutionState.STUCK, reason="r")
        site.tables.executions(stuck, execution(back=True, state=ExecutionState.DONE))
        assert ">Executions</a>" in site.text("/")
        assert "Nothing is being carried out" in site.text("/executions")

    @pytest.mark.parametrize("name", hostile.NAMES)
    def test_hostile_names_stay_text(self, site, name):
        site.tables.executions(execution(by=name or "-", reason=name, state=ExecutionState.STUCK, cluster=name or "-"))
        for path in ("/executions", f"/executions/{'e' * 32}"):
            Page(site.text(path))


class TestOtherPages:
    def change(self, site, **more):
        change = {"transition_id": "t", "from_status": "online", "to_status": "filling", "reason": "ratio"}
        site.tables.write("transitions", {"cluster": "prod", "broker": 7, **change, "at_ms": NOW_MS - HOUR_MS, **more})

    def test_a_broker_has_its_directories_alerts_and_changes(self, site):
        site.cluster(log_dir(), rack="r1")
        site.tables.alerts(alert(), alert("b" * 32, broker=8, summary="about another"))
        self.change(site, log_dir="/data/d1")
        page = site.text("/broker?cluster=prod&broker=7")
        assert "<dt>Rack</dt><dd>r1</dd>" in page
        assert link(page, "/data/d1") == "/directory?cluster=prod&broker=7&log_dir=/data/d1"
        assert " 50.0 % of 1 TiB</td><td>512 GiB</td><td>unknown</td><td>3</td>" in page
        assert "Broker 7 /data/d1 is offline" in page
        assert "about another" not in page
        assert re.search("filling</span></td>", page)
        assert site.get("/broker?cluster=prod&broker=8").status_code == 404

    def test_the_timeline_has_the_changes_of_a_period_the_newest_first(self, site):
        self.change(site, log_dir="/data/d1")
        self.change(site, log_dir=None, at_ms=NOW_MS - 30 * HOUR_MS)
        assert "prod broker 7 /data/d1</a>" in site.text("/timeline")
        assert "prod broker 7</a>" not in site.text("/timeline")
        assert "prod broker 7</a>" in site.text("/timeline?span=7d")

    def test_the_timeline_has_when_alerts_opened_changed_and_ended_and_what_was_carried_out(self, site):
        old, long = NOW_MS - 30 * HOUR_MS, alert("b" * 32, opened_at_ms=NOW_MS - 30 * HOUR_MS, at_ms=NOW_MS - HOUR_MS)
        site.tables.alerts(
            alert("b" * 32, revision=0, opened_at_ms=old, at_ms=old),
            long,
            alert(at_ms=NOW_MS - 3),
            alert(revision=2, at_ms=NOW_MS - 2, summary="only its numbers changed"),
            alert(revision=3, severity="page", at_ms=NOW_MS - 1, summary="louder"),
            alert(revision=4, severity="page", status=AlertStatus.RESOLVED, at_ms=NOW_MS, summary="it is over"),
        )
        site.tables.executions(execution())
        page = site.text("/timeline")
        told = re.findall(r'<td>(alert|execution)</td><td><span class="status [a-z]+">(\w+)</span>', page)
        assert told == [("alert", "resolved"), ("alert", "page"), ("alert", "critical"), ("execution", "copying")]
        assert "only its numbers changed" not in page
        assert "<td>alert</td>" not in site.text("/timeline?kind=executions")

    def test_a_period_in_which_nothing_happened_says_so(self, site):
        assert "Nothing happened in this period." in site.text("/timeline")


class TestTrust:
    def test_hostile_names_stay_text(self, site):
        brokers, log_dirs, alerts, actions = [], [], [], []
        for number, name in enumerate(hostile.NAMES):
            at_ms = NOW_MS - 5_000
            brokers.append(broker(at_ms=at_ms, broker=number, cluster=name, rack=name, host=name))
            log_dirs.append(log_dir(number, name, cluster=name))
            told = {"cluster": name, "log_dir": name, "summary": name, "evidence": {name: name}}
            alerts.append(alert(f"{number:032}", **told))
            target = {"cluster": name, "reason": name, "target": {"log_dir": name, "topic": name}, "commands": [name]}
            actions.append(action(f"{number:032x}", alert_id=f"{number:032}", **target))
        site.tables.write("broker_state", *brokers)
        site.tables.write("log_dir_state", *log_dirs)
        site.tables.alerts(*alerts)
        site.tables.actions(*actions)
        fleet = Page(site.text("/"))
        addresses = {href for href in fleet.links if href.startswith("/directory")}
        assert len(addresses) == len(hostile.NAMES)
        # The fleet and the actions have all of the names; pages of one directory and of one alert are alike.
        alerts_of_some = (f"/alerts/{number:032}" for number in range(0, len(hostile.NAMES), 6))
        for address in [*sorted(addresses)[::6], *alerts_of_some, "/actions"]:
            Page(site.text(address))

    def test_a_hostile_address_stays_text(self, site):
        site.cluster(log_dir())
        for name in hostile.NAMES:
            for broker_id in ("7", name):
                asked = {"cluster": name, "broker": broker_id, "log_dir": name, "span": name}
                answer = site.get(f"/directory?{urlencode(asked)}")
                assert answer.status_code in (400, 404)
                Page(answer.text)
            Page(site.get(f"/alerts/{quote(name, safe='')}").text)

    @pytest.mark.parametrize("path", ["/", "/actions", "/nowhere", "/static/console.css"])
    def test_every_answer_forbids_what_a_page_does_not_need(self, site, path):
        with site.get(path) as answer:
            headers = answer.headers
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert (headers["X-Frame-Options"], headers["X-Content-Type-Options"]) == ("DENY", "nosniff")

    @pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
    @pytest.mark.parametrize("path", ["/", "/actions", "/directory"])
    def test_there_is_no_way_to_write(self, site, method, path):
        answer = getattr(site.client(), method)(path, headers={"Host": "localhost"})
        assert answer.status_code == 405
        assert answer.headers["Allow"] == "GET, HEAD, OPTIONS"

    def test_a_filter_of_very_many_words_is_refused_and_asks_the_tables_nothing(self, site):
        for path, words in (("/", 900), ("/alerts", 21), ("/brokers", 21)):
            assert site.get(f"{path}?q={'+'.join(f'w{number}' for number in range(words))}").status_code == 400
        assert site.get(f"/?q={'+'.join('w' * 20)}").status_code == 200

    @pytest.mark.parametrize(("host", "status"), [("localhost:8787", 200), ("[::1]:8787", 200), ("evil.test", 403)])
    def test_another_name_for_this_machine_is_refused(self, site, host, status):
        assert site.get("/", host=host).status_code == status

    @pytest.mark.parametrize("listen", ["0.0.0.0:8787", "10.0.0.1:80", "host.test:80", "[::]:80"])
    def test_beyond_this_machine_a_password_is_needed(self, listen):
        with pytest.raises(ValidationError, match=r"set console\.password"):
            ConsoleSettings(listen=listen)

    def test_tables_that_cannot_be_read_are_one_line_and_no_traceback(self, site):
        site.cluster(log_dir())
        (site.tables.root / "log_dir_state" / "_delta_log" / f"{0:020}.json").write_text("no JSON\n")
        page = site.text("/")
        assert "Table log_dir_state at " in page
        assert "cannot be read: its log is damaged" in page
        assert "Traceback" not in page

    def test_a_table_that_cannot_be_read_hides_no_alert_and_no_other_table(self, site):
        site.cluster(log_dir())
        site.tables.alerts(alert())
        for file in (site.tables.root / "log_dir_state").glob("*.parquet"):
            file.write_bytes(b"garbage")
        page = site.text("/")
        assert "Table log_dir_state at " in page
        assert ".parquet is damaged or gone" in page
        assert "log directories unknown" in page
        assert "broker 7</a>" in page
        assert "Broker 7 /data/d1 is offline" in page

    def test_alerts_that_cannot_be_read_are_not_none(self, site):
        site.cluster(log_dir())
        site.tables.alerts(alert())
        for file in (site.tables.root / "alerts").glob("*.parquet"):
            file.write_bytes(b"garbage")
        page = site.text("/")
        assert "Table alerts at " in page
        assert "No open alerts" not in page
        assert "No alerts have been stored" not in page
        assert "Open alerts: unknown." in page
        assert "broker 7" in page

    def test_what_a_page_is_about_and_cannot_read_is_said_with_the_table(self, site):
        site.tables.actions(action())
        for file in (site.tables.root / "actions").glob("*.parquet"):
            file.write_bytes(b"garbage")
        answer = site.get("/actions")
        assert answer.status_code == 503
        assert "<h1>Cannot be read</h1>" in answer.text
        assert "Table actions at " in answer.text
