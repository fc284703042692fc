"""What the page of the fleet says first: counts, order, racks, how current it is, and the picture."""

import re

import pytest

from logdirwatch.console.brokers import line, ordered, summary
from logdirwatch.console.overview import counts, heatmap, is_healthy, racks, vitals, worst, worst_first
from logdirwatch.model.vocabulary import Rule, Severity
from logdirwatch.report.affected import Touched, touched
from logdirwatch.report.status.cluster import brokers
from logdirwatch.report.status.snapshot import Patience, TableRows, snapshot_of, statuses
from tests.unit.report.builders import NOW_MS, alert, heartbeat
from tests.unit.report.rows import TIB, broker, log_dir

PATIENCE = Patience(state_ms=60_000, inventory_ms=300_000, proof_ms=3_600_000, skew_ms=60_000)


def found(broker_rows, log_dir_rows=(), alerts=(), **more):
    rows = {"broker_state": list(broker_rows), "log_dir_state": list(log_dir_rows)}
    return statuses(snapshot_of(TableRows(rows), alerts, **more), NOW_MS, PATIENCE)


class TestCounts:
    def test_the_loudest_comes_first_and_leads_to_the_filter(self):
        dirs = [log_dir(1, f"/d{number}", status="offline") for number in range(2)]
        clusters = found([broker(1), broker(2, status="unknown")], [*dirs, log_dir(2, status="filling")])
        alerts = [alert(severity=Severity.CRITICAL), alert("b"), alert("c", severity=Severity.PAGE)]
        assert [(count.text, count.query) for count in counts(alerts, clusters)] == [
            ("1 page", "severity:page"),
            ("2 critical", "severity:critical"),
            ("1 broker unknown", "status:unknown"),
            ("2 directories offline", "status:offline"),
            ("1 directory filling", "status:filling"),
        ]

    def test_what_is_not_bad_is_not_counted(self):
        assert counts([], found([broker()], [log_dir()])) == []


class TestOrder:
    def test_brokers_are_worst_first(self):
        rows = [broker(number) for number in (1, 2, 3)]
        dirs = [log_dir(1), log_dir(2, status="filling"), log_dir(3, status="offline")]
        assert [one.broker for one in worst_first(brokers(rows, dirs))] == [3, 2, 1]

    def test_a_broker_whose_directories_nobody_knows_is_not_healthy(self):
        assert [is_healthy(one) for one in brokers([broker()], None)] == [False]
        assert [is_healthy(one) for one in brokers([broker()], [log_dir()])] == [True]

    def test_racks_are_in_order_and_those_without_one_last(self):
        rows = [broker(1), broker(2, rack="r10"), broker(3, rack="r2"), broker(4, rack="r10")]
        told = [(rack.name, [one.broker for one in rack.brokers]) for rack in racks(brokers(rows, []))]
        assert told == [("r2", [3]), ("r10", [2, 4]), (None, [1])]

    def test_a_broker_is_as_bad_as_its_worst_directory(self):
        dirs = [log_dir(1, "/a", status="unknown"), log_dir(1, "/b", status="offline")]
        assert [worst(one) for one in brokers([broker(1)], dirs)] == ["offline"]
        assert [worst(one) for one in brokers([broker(1)], [log_dir(1)])] == ["online"]


class TestVitals:
    def test_all_is_well(self):
        told = vitals(found([broker()], alerts=[heartbeat(5_000)]))
        assert [(vital.name, vital.text, vital.is_bad) for vital in told] == [
            ("heartbeat", "5 s ago", False),
            ("data", "5 s old", False),
            ("lag", "none", False),
        ]

    def test_the_cluster_that_is_worst_off_is_shown(self):
        rows = [broker(), broker(1, "archive", at_ms=NOW_MS - 3_600_000)]
        told = vitals(found(rows, alerts=[heartbeat(31_000), heartbeat(1_000, cluster="archive")]))
        assert [(vital.text, vital.is_bad) for vital in told][:2] == [("31 s ago", True), ("1 h old", True)]

    def test_nothing_is_claimed_without_the_telemetry_cluster(self):
        told = vitals(found([broker()], alerts=None, is_heard=False))
        assert [(vital.text, vital.is_bad) for vital in told] == [
            ("not readable", True),
            ("5 s old", False),
            ("unknown", True),
        ]

    def test_a_late_pipeline_says_by_how_much(self):
        late = alert(rule=Rule.PIPELINE_LAGGING, broker=None, log_dir=None, evidence={"lag_ms": 258_000})
        lag = vitals(found([broker()], alerts=[heartbeat(), late]))[-1]
        assert (lag.text, lag.is_bad) == ("4 min 18 s", True)

    def test_without_a_cluster_there_is_no_data(self):
        assert vitals([]) == [("data", "none", True, None)]


class TestHeatmap:
    def test_neighbours_of_one_colour_are_one_stroke(self):
        dirs = [log_dir(1, f"/d{number}", used) for number, used in enumerate((0.3, 0.4, 0.9))]
        drawn = heatmap(brokers([broker(1), broker(2)], [*dirs, log_dir(2, status="offline")]))
        assert drawn.paths == {"used1": "M0 0v2", "used3": "M0 2v1", "offline": "M1 0v1"}
        assert (drawn.brokers, drawn.stride) == ("1 2", 4)

    def test_a_column_is_left_between_two_racks_and_their_names_are_in_its_order(self):
        drawn = heatmap(brokers([broker(1, rack="r10"), broker(2, rack="r2")], [log_dir(1), log_dir(2)]))
        assert drawn.paths == {"used2": "M0 0v1M2 0v1"}
        assert (drawn.brokers, drawn.racks) == ("2  1", "r2, r10")

    def test_what_was_last_known_is_drawn_when_nothing_else_is(self):
        known = brokers([broker(1)], [log_dir(1, status="unknown", last_status="offline")])
        assert list(heatmap(known, is_past=True).paths) == ["offline"]
        assert list(heatmap(known).paths) == ["unknown"]

    def test_every_directory_of_a_large_fleet_is_drawn_in_few_bytes(self):
        rows = [broker(number) for number in range(2_000)]
        dirs = [
            log_dir(number, f"/d{place:02}", (number * 7 + place * 31) % 100 / 100)
            for number in range(2_000)
            for place in range(12)
        ]
        paths = heatmap(brokers(rows, dirs)).paths
        drawn = "".join(paths.values())
        assert sum(map(int, re.findall(r"v(\d+)", drawn))) == 24_000
        assert len(drawn) < 220_000

    def test_columns_wrap(self):
        drawn = heatmap(brokers([broker(number) for number in range(250)], [log_dir(249)]))
        assert drawn.paths["used2"] == "M49 2v1"
        assert (drawn.width, drawn.height) == (200, 4)


def lines(rows, dirs):
    return [line("prod", one) for one in brokers(rows, dirs)]


def test_a_line_says_what_is_bad_how_full_the_broker_is_and_which_directory_is_fullest():
    dirs = [log_dir(7, "/d1", 0.5), log_dir(7, "/d2", 0.9, status="critical"), log_dir(7, "/d3", 0.1, status="offline")]
    (told,) = lines([broker(7)], dirs)
    assert (told.log_dirs, told.bad) == (3, "1 offline, 1 critical")
    assert (round(told.used_ratio, 6), told.total_bytes) == (0.5, 3 * TIB)
    assert told.fullest.log_dir == "/d2"


def test_what_is_not_measured_is_not_guessed():
    (told,) = lines([broker(7)], [log_dir(7, used=None, total_bytes=None)])
    assert (told.log_dirs, told.bad, told.used_ratio, told.total_bytes, told.fullest) == (1, "", None, None, None)
    (unlisted,) = lines([broker(7)], None)
    assert unlisted.log_dirs is None


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("worst", [3, 1, 2]),
        ("fullest directory", [2, 1, 3]),
        ("used", [1, 2, 3]),
        ("rack", [2, 3, 1]),
        ("id", [1, 2, 3]),
        ("none such", [3, 1, 2]),
    ],
)
def test_orders(order, expected):
    rows = [broker(1), broker(2, rack="a"), broker(3, rack="b")]
    dirs = [log_dir(1, "/d1", 0.8), log_dir(2, "/d1", 0.9), log_dir(2, "/d2", 0.1)]
    dirs.append(log_dir(3, used=0.3, status="offline"))
    assert [one.broker.broker for one in ordered(lines(rows, dirs), order)] == expected


def test_brokers_and_directories_are_counted():
    assert summary(lines([broker(1), broker(2)], [log_dir(1)])) == "2 brokers, 1 log directory"


ROW = {"broker": 7, "log_dir": "/d1", "total_bytes": 100, "usable_bytes": 10}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"broker": 7, "log_dir": "/d1", "bytes": 40}, Touched(7, "/d1", 40, 0.9, 0.5)),
        ({"broker": 7, "log_dir": "/d1", "bytes": -20}, Touched(7, "/d1", -20, 0.9, 1.0)),
        ({"broker": 7, "log_dir": "/d2", "bytes": 40}, Touched(7, "/d2", 40, None, None)),
    ],
)
def test_use_before_and_after_by_the_present_rows(change, expected):
    assert touched({"on": [change]}, [ROW]) == [expected]


@pytest.mark.parametrize("expected", [{}, {"on": None}, {"on": [{"broker": 7}]}])
def test_what_is_not_expected_is_not_shown(expected):
    assert touched(expected, [ROW]) == []
