"""The page of capacity: who uses how much, changes that are tried, and what somebody types."""

import re
import threading
from urllib.parse import urlencode

import pytest

from logdirwatch.cli.reading.tables.delta_files import DeltaFiles
from logdirwatch.console.capacity import Capacity
from logdirwatch.console.pages import application
from logdirwatch.console.reading import Reader
from logdirwatch.console.settings import ConsoleSettings
from logdirwatch.errors import UserError
from logdirwatch.plan.what_if.parse import parse
from logdirwatch.plan.what_if.planner import what_if
from logdirwatch.report.capacity.usage import Usage, cluster_uses
from logdirwatch.report.status.snapshot import Patience
from tests.support.delta import Written
from tests.support.waiting import DEADLINE_S
from tests.unit.plan.builders import MIB, directory, facts, policy
from tests.unit.report.builders import NOW_MS
from tests.unit.report.rows import broker

HOUR_MS = 3_600_000
SIZES = [
    {"cluster": "c", "topic": "orders", "bytes": 3 << 40, "replicas": 6},
    {"cluster": "c", "topic": "<script>alert(1)</script>", "bytes": 1, "replicas": 1},
]


def usage():
    clusters = cluster_uses(SIZES, [], [], lambda _, topic: "shop" if topic == "orders" else None, 50)
    return Usage(at_ms=NOW_MS, from_ms=NOW_MS - HOUR_MS, to_ms=NOW_MS, clusters=clusters)


def tried(cluster, changes):
    assert cluster == "c"
    snapshot = facts(*(directory(n, used=n * 100 * MIB, growth_bytes_per_s=float(MIB)) for n in (1, 2)))
    return what_if(snapshot, parse(changes), policy())


class Site:
    def __init__(self, root, capacity):
        files = DeltaFiles(str(root))
        patience = Patience(state_ms=60_000, inventory_ms=300_000, proof_ms=HOUR_MS, skew_ms=60_000)
        reader = Reader(files.select, files.rows)
        made = application(reader, ConsoleSettings(), patience, lambda: NOW_MS, capacity=capacity)
        self.client = made.test_client()

    def get(self, **typed):
        path = f"/capacity?{urlencode({name.replace('_', '-'): value for name, value in typed.items()})}"
        return self.client.get(path, headers={"Host": "127.0.0.1:8787"})

    def text(self, **typed):
        answer = self.get(**typed)
        assert answer.status_code == 200, answer.text
        return answer.text


@pytest.fixture
def site(tmp_path):
    Written(tmp_path).write("broker_state", broker(cluster="c"))
    return Site(tmp_path, Capacity(usage, tried))


def test_the_clusters_to_choose_from_are_those_of_the_tables(site):
    assert "<option selected>c</option>" in site.text()


def test_bytes_and_cost_by_owner_and_topic(site):
    text = site.text()
    assert "<td>shop</td><td>1</td><td>3 TiB</td><td>164.93</td>" in text
    assert re.search(r">orders</a></td><td>shop</td><td>3 TiB</td>", text)
    assert "<td>nobody</td>" in text
    assert "<script>" not in text.partition("<main")[2]


def test_a_change_is_tried_and_what_was_typed_stays(site):
    text = site.text(cluster="c", growth="2x")
    assert "c with growth=2x" in text
    assert "<dt>First full</dt><dd>before: broker 2 /d1" in text
    assert "stay as before" not in text
    assert 'name="growth" value="2x"' in text
    assert 'href="/directory?cluster=c&amp;broker=2&amp;log_dir=/d1"' in text


def test_only_what_changes_is_listed_and_the_rest_is_counted(site):
    text = site.text(cluster="c", growth="1x")
    assert "2 directories stay as before." in text
    assert "Full before" not in text


def test_without_owners_and_prices_their_columns_are_missing_and_it_says_why(tmp_path):
    clusters = cluster_uses(SIZES, [], [], lambda *_: None)
    plain = Usage(at_ms=NOW_MS, from_ms=NOW_MS - HOUR_MS, to_ms=NOW_MS, clusters=clusters)
    text = Site(tmp_path, Capacity(lambda: plain, tried)).text()
    assert "Owner</th>" not in text
    assert "Cost a month</th>" not in text
    assert "plan.topics" in text
    assert "report.cost_per_tb_month" in text


def test_without_a_cluster_it_is_the_first(site):
    assert "c with growth=2x" in site.text(growth="2x")


@pytest.mark.parametrize(
    "typed",
    [{"growth": "fast"}, {"lose_broker": "9"}, {"retention": "x"}, {"add_disks": "'\"><script>alert(1)</script>"}],
)
def test_what_cannot_be_tried_is_said_on_the_page(site, typed):
    text = site.text(cluster="c", **typed)
    assert 'role="alert">What-if' in text
    assert "<script>alert" not in text


def test_one_is_worked_out_at_a_time(tmp_path):
    begun, goes_on = threading.Event(), threading.Event()

    def slowly(cluster, changes):
        begun.set()
        assert goes_on.wait(DEADLINE_S)
        return tried(cluster, changes)

    capacity = Capacity(usage, slowly)
    first = threading.Thread(target=capacity.tried, args=("c", ["growth=2x"]))
    first.start()
    try:
        assert begun.wait(DEADLINE_S)
        assert "Another what-if is being worked out" in Site(tmp_path, capacity).text(cluster="c", growth="2x")
    finally:
        goes_on.set()
        first.join()


def test_tables_that_cannot_be_read_are_a_line_above_the_form(tmp_path):
    def unreadable():
        raise UserError("table replica_state cannot be read")

    text = Site(tmp_path, Capacity(unreadable, tried)).text()
    assert "able replica_state cannot be read" in text
    assert "<form" in text


def test_a_console_without_it_has_no_page_and_no_link(tmp_path):
    site = Site(tmp_path, None)
    assert site.get().status_code == 404
    assert "Capacity</a>" not in site.get().text
