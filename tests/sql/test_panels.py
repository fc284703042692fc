"""Every query of the dashboards, asked of Spark and of Trino over tables that ``store`` filled."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from dashboards import sql
from logdirwatch.decisions import DecisionIndex
from logdirwatch.detect.settings import Thresholds
from logdirwatch.fleet.disks import disks
from logdirwatch.fleet.machine import digest
from logdirwatch.fleet.space import if_lost
from logdirwatch.settings import DecisionSettings
from tests.sql import world
from tests.sql.grafana import asked, filled

# Some 600 queries are asked while the first test is set up.
pytestmark = pytest.mark.timeout(3600)

QUERIES = list(zip(asked("databricks"), asked("trino"), strict=True))
ENGINES = ("databricks", "trino")
CHOICES = {
    "everything": {"cluster": "*", "broker": "*", "log_dir": "*"},
    "a broker": {"cluster": "prod", "broker": "7", "log_dir": "*"},
    "a directory": {"cluster": "prod", "broker": "7", "log_dir": world.SPACED},
    "a hostile name": {"cluster": world.HOSTILE, "broker": "1", "log_dir": "/x"},
    "topics without configurations": {"cluster": world.UNREAD, "broker": "1", "log_dir": "/u"},
    "nothing there": {"cluster": "nowhere'", "broker": "x", "log_dir": "\\"},
}
OF_EVERY_CHOICE = {"4 What logdirwatch says of itself"}
NOT_OF_TABLES_THAT_CHANGE = {"variable cluster", "variable broker", "variable log_dir"}


class Panels:
    """What every query answers, by choice: empty tables, filled tables, and later ones."""

    def __init__(self, engines):
        self.engines = engines
        self._pool = ThreadPoolExecutor(len(ENGINES))
        self.empty = self.all("a directory")
        world.fill(engines.lake)
        self.first = self.all("everything", "a broker")
        world.change(engines.lake)
        self.later = self.all(*CHOICES)

    def all(self, *choices):
        """Return the answers of both engines to every query, by choice; what is asked the same is asked once."""
        known = {}
        return {name: [self._both(pair, CHOICES[name], known) for pair in QUERIES] for name in choices}

    def _both(self, pair, choice, known):
        return tuple(self._pool.map(lambda engine, query: self._one(engine, query, choice, known), ENGINES, pair))

    def _one(self, engine, query, choice, known):
        tables, to_ms = self.engines.tables[engine], world.NOW_MS + 4 * world.DAY_MS
        text = filled(query.text, tables, world.NOW_MS, world.FROM_MS, to_ms, **choice)
        if (engine, text) not in known:
            known[engine, text] = self.engines.answer(engine, text)
        return known[engine, text]


@pytest.fixture(scope="module")
def panels(engines):
    return Panels(engines)


PLACES = {str(first): index for index, (first, _) in enumerate(QUERIES)}
everyone = pytest.mark.parametrize("query", PLACES)


def test_the_dashboards_of_both_engines_ask_the_same(panels):
    for first, second in QUERIES:
        assert (first.board, first.name) == (second.board, second.name)


@everyone
def test_both_engines_answer_the_same(panels, query):
    for when in (panels.empty, panels.first, panels.later):
        for choice, answers in when.items():
            spark_says, trino_says = answers[PLACES[query]]
            assert spark_says == trino_says, choice


@everyone
def test_some_choice_has_rows(panels, query):
    assert any(answers[PLACES[query]][1][1] for answers in panels.later.values()), "never shows anything"


@everyone
def test_another_choice_gives_another_answer(panels, query):
    asking = QUERIES[PLACES[query]][0]
    if "percentencode" in asking.text and asking.name not in OF_EVERY_CHOICE:
        assert len({repr(answers[PLACES[query]][1]) for answers in panels.later.values()}) > 1


@everyone
def test_what_comes_later_changes_the_answer(panels, query):
    if QUERIES[PLACES[query]][0].name not in NOT_OF_TABLES_THAT_CHANGE:
        assert any(
            panels.first[choice][PLACES[query]] != panels.later[choice][PLACES[query]] for choice in panels.first
        )


@everyone
def test_the_choice_of_one_cluster_shows_no_other(panels, query):
    names, rows = panels.later["a broker"][PLACES[query]][1]
    if "cluster" in names and "percentencode" in QUERIES[PLACES[query]][0].text:
        assert {row[names.index("cluster")] for row in rows} <= {"prod", "*", "unknown"}


def said(panels, query, choice, answers=None):
    """Return what Trino answers as dicts."""
    names, rows = (answers or panels.later)[choice][PLACES[query]][1]
    return [dict(zip(names, row, strict=True)) for row in rows]


def test_of_empty_tables_nothing_looks_good(panels):
    for query in ("fleet-1_Newest_state", "fleet-2_Open_alerts", "fleet-3_Log_directories", "fleet-4_Brokers"):
        (row,) = said(panels, query, "a directory", panels.empty)
        assert set(row.values()) == {None}, query
    (alert,) = said(panels, "fleet-5_Open_alerts", "a directory", panels.empty)
    assert alert["severity"] == "unknown"
    (answer,) = said(panels, "room-2_Can_be_lost_and_rebuilt", "a directory", panels.empty)
    assert {answer["any_log_dir"], answer["any_broker"]} == {"unknown"}


def test_of_a_cluster_that_nobody_sees_nothing_looks_good(panels):
    (counts,) = said(panels, "fleet-3_Log_directories", "a hostile name")
    assert (counts["unknown"], counts["online"]) == (1, 0)
    (alerts,) = said(panels, "fleet-2_Open_alerts", "a hostile name")
    assert alerts["page"] is None
    assert "unknown" in {row["severity"] for row in said(panels, "fleet-5_Open_alerts", "a hostile name")}
    (counts,) = said(panels, "partitions-2_Partitions", "a hostile name")
    assert set(counts.values()) == {None}


def test_without_a_minimum_nobody_knows_which_partitions_are_under_it(panels):
    (counts,) = said(panels, "partitions-2_Partitions", "topics without configurations")
    assert counts == {"leaderless": 0, "under_min_isr": None, "sole_replica": 1, "at_min_isr": None}
    (known,) = said(panels, "partitions-2_Partitions", "a broker")
    assert (known["under_min_isr"], known["at_min_isr"]) == (3, 0)


def test_an_alert_stands_where_its_newest_revision_says_that_it_is(panels):
    listed = {choice: said(panels, "directory-5_Open_alerts", choice) for choice in ("a broker", "a directory")}
    assert {choice: [row["summary"] for row in rows if row["alert_id"] == "a6"] for choice, rows in listed.items()} == {
        "a broker": ["/d1 failed"],
        "a directory": [],
    }


def test_who_takes_care_is_what_the_commands_would_say(panels):
    listed = {row["alert_id"]: row["said"] for row in said(panels, "fleet-5_Open_alerts", "a broker")}
    for name in world.SPOKEN_OF:
        alert, severities, record = world.spoken_of(name)
        decided = DecisionIndex([record], DecisionSettings().longest_ms).about(alert, severities, world.NOW_MS)
        lasting = next((each for each in decided if each), None)
        assert listed[name] == (lasting and f"{lasting.decision}d by {lasting.by}"), name


def test_what_is_not_met_is_counted_in_the_newest_run_of_each_suite(panels):
    for choice in ("everything", "a broker"):
        (counted,) = said(panels, "pipeline-3_Data_quality", choice)
        assert counted["not_met"] == len(said(panels, "pipeline-9_Data_quality:_what_was_not_met", choice)) > 0


def test_the_listing_of_a_directory_that_is_gone_is_not_the_oldest(panels):
    assert panels.engines.lake.rows("log_dir_inventory", log_dir="/gone")
    (row,) = said(panels, "pipeline-5_Clusters", "a broker")
    assert row["oldest_listing_age_ms"] == row["inventory_age_ms"]


def test_the_heat_map_says_how_each_directory_is(panels):
    rows = said(panels, "cluster-8_Every_log_directory", "a broker")
    assert [(row["broker"], row["d01"], row["d02"], row["d03"]) for row in rows] == [
        (8, "50 %", "■ 99 %", "? unknown"),
        (9, "? unknown", None, None),
        (7, "▲ 77 %", "▲▲ 93 %", None),
    ]


def test_room_is_what_the_alert_of_the_fleet_would_say(panels):
    for step, answers in ((0, panels.first), (1, panels.later)):
        records = [record for record in world.states(step) if record.cluster == "prod"]
        digests = {record.broker: digest(record, None, world.NOW_MS) for record in records}
        found = [disk for broker, seen in digests.items() for disk in disks(broker, seen, lambda _: Thresholds())]
        lost = if_lost(found)
        (answer,) = said(panels, "room-2_Can_be_lost_and_rebuilt", "a broker", answers)
        words = {True: "yes", False: "no", None: "unknown"}
        assert answer["any_log_dir"] == words[lost["log_dir"]["can_be_rebuilt"]]
        assert answer["any_broker"] == words[lost["broker"]["can_be_rebuilt"]]
        assert answer["missing_bytes"] == max(lost[each]["missing_bytes"] for each in ("log_dir", "broker"))


def test_the_band_of_the_forecast_lies_around_the_days_that_were(panels):
    rows = said(panels, "directory-4_Forecast", "a broker", panels.first)
    assert len(rows) == 17
    assert all(row["slowest"] <= row["fastest"] for row in rows)
    assert rows[0]["forecast"] == rows[0]["slowest"] == rows[0]["fastest"] == 0.875
    assert rows[4]["forecast"] == 1.0, "full in a day"


def test_now_is_now_in_both_engines(engines):
    for engine, moment in sql.NOW_MS.items():
        (_, ((now_ms,),)) = engines.answer(engine, f"SELECT {moment} AS now_ms")
        assert abs(now_ms - time.time() * 1000) < 60_000
