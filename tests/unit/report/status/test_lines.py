import io
from typing import ClassVar

import msgspec
import pytest
from rich.console import Console

from logdirwatch.collect.settings import CollectSettings
from logdirwatch.config.stream import StreamSettings
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import AlertStatus, Cause, Decision, ExecutionState, Lane, Rule, Severity
from logdirwatch.report.handling import Handling
from logdirwatch.report.status.lines import view
from logdirwatch.report.status.snapshot import Patience, Snapshot, statuses
from tests.unit.report.builders import NOW_MS, alert, execution, heartbeat
from tests.unit.report.rows import broker, log_dir, offline, partition, scan

STALE_MS = 180_000
HOUR_MS = 3_600_000
PATIENCE = Patience(STALE_MS, 2 * STALE_MS, 3 * STALE_MS, 60_000)


def snapshot(**fields) -> Snapshot:
    values = {
        "brokers": [broker()],
        "log_dirs": [log_dir()],
        "scans": [scan(), scan(is_of_topics=True)],
        "replicas": [],
        "partitions": [],
        "alerts": [heartbeat()],
    }
    return Snapshot(**{**values, **fields})


def handling(*records) -> Handling:
    return Handling(records, lambda _: (), longest_ms=7 * HOUR_MS, longest_maintenance_ms=7 * HOUR_MS)


def said(kind, spoken_of, for_ms=3_600_000, **fields):
    at = {"at_ms": NOW_MS, "until_ms": NOW_MS + for_ms}
    return DecisionRecord(version=1, id=spoken_of, decision=Decision(kind), by="ada", reason="new disk", **at, **fields)


def status(**fields):
    (one,) = statuses(snapshot(**fields), NOW_MS, PATIENCE)
    return one


def shown(width=100, everything=False, **fields) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(view(status(**fields), NOW_MS, width, everything=everything))
    return console.file.getvalue()


def test_every_cluster_is_told_apart():
    both = snapshot(
        brokers=[broker(1, "a"), broker(1, "b")],
        log_dirs=[log_dir(1, "/x", cluster="b")],
        alerts=[alert("x", cluster="a"), heartbeat(cluster="b")],
    )
    a, b = statuses(both, NOW_MS, PATIENCE)
    assert (a.cluster, len(a.brokers[0].log_dirs), a.open_alerts, a.heartbeats) == ("a", 0, {"critical": 1}, [])
    assert (b.cluster, len(b.brokers[0].log_dirs), b.open_alerts) == ("b", 1, {})


def test_data_grow_stale_with_their_newest_evidence():
    rows = [broker(1, at_ms=NOW_MS - STALE_MS - 1), broker(2, at_ms=NOW_MS - STALE_MS)]
    assert not status(brokers=rows).is_stale
    assert status(brokers=rows[:1]).is_stale


def test_stale_data_are_said_loudly_before_anything_else():
    assert "THE DATA IS STALE" in shown(brokers=[broker(at_ms=NOW_MS - 3_600_000)]).splitlines()[1]


@pytest.mark.parametrize(
    ("alerts", "words"),
    [
        ([heartbeat(5_000)], "heartbeat  5 s ago (c1)"),
        ([heartbeat(30_001)], "THE HEARTBEAT STOPPED: 30 s ago (c1)"),
        ([heartbeat(-60_000)], "heartbeat  0 s ago (c1)"),
        ([heartbeat(-3_600_000)], "THE AGE OF THE HEARTBEAT IS UNKNOWN: from a clock 1 h ahead (c1)"),
        ([heartbeat(-3_600_000), heartbeat(30_001, "c2")], "UNKNOWN: 30 s ago (c2), from a clock 1 h ahead (c1)"),
        ([], "NO HEARTBEAT YET"),
        (None, "NO HEARTBEAT CAN BE READ"),
    ],
)
def test_the_heartbeat_is_shown_and_its_lack_is_loud(alerts, words):
    assert words in shown(alerts=alerts)


def test_one_living_collector_is_enough():
    assert "heartbeat  5 s ago (c1), 1 h ago (c2)" in shown(alerts=[heartbeat(3_600_000, "c2"), heartbeat(5_000)])


def test_a_clock_that_is_ahead_hides_no_other_collector():
    alerts = [heartbeat(-3_600_000), heartbeat(5_000, "c2")]
    assert "heartbeat  5 s ago (c2), from a clock 1 h ahead (c1)" in shown(alerts=alerts)
    assert [(beat.collector, beat.age_ms) for beat in status(alerts=alerts).heartbeats] == [("c2", 5_000), ("c1", None)]


def test_a_heartbeat_counts_by_its_collectors_own_time():
    told_later = heartbeat(5_000, at_ms=NOW_MS + 3_600_000)
    assert "heartbeat  5 s ago (c1)" in shown(alerts=[told_later])


def test_a_canary_proves_the_fast_lane_and_is_no_heartbeat():
    canary = heartbeat(60_000, "canary", lane=Lane.FAST)
    one = status(alerts=[canary])
    assert one.heartbeats == []
    assert one.fast_lane_proof_ms == NOW_MS - 60_000
    assert "proven 1 min ago" in shown(alerts=[canary])


def test_a_fast_lane_that_nothing_proves_is_said_loudly():
    old = heartbeat(3 * STALE_MS + 1, "canary", lane=Lane.FAST)
    assert "THE FAST LANE IS NOT PROVEN, last canary: 9 min ago" in shown(alerts=[old])
    assert "THE FAST LANE IS NOT PROVEN, last canary: never" in shown(alerts=[])
    assert not status(alerts=None).is_fast_lane_stale


def test_a_canary_of_a_clock_far_ahead_proves_nothing():
    ahead = heartbeat(-3_600_000, "canary", lane=Lane.FAST)
    assert "THE FAST LANE IS NOT PROVEN, last canary: never" in shown(alerts=[ahead])
    assert "proven 1 min ago" in shown(alerts=[ahead, heartbeat(60_000, "canary2", lane=Lane.FAST)])


def test_open_alerts_are_counted_by_severity_from_loud_to_quiet():
    alerts = [
        alert("w", severity=Severity.WARNING),
        alert("p", severity=Severity.PAGE),
        alert("o", severity=Severity.PAGE, status=AlertStatus.RESOLVED),
        heartbeat(),
    ]
    assert list(status(alerts=alerts).open_alerts.items()) == [("page", 1), ("warning", 1)]


def test_what_logdirwatch_itself_falls_short_of_stands_above_every_cluster():
    place = {"cluster": "*", "broker": None, "log_dir": None}
    own = {"rule": Rule.PIPELINE_LAGGING, "evidence": {"query": "store", "lag_ms": 540_000}, **place}
    lagging = alert("l", severity=Severity.WARNING, **own)
    over = alert("o", status=AlertStatus.RESOLVED, summary="query store: resolved", **own)
    alerts = [lagging, over, heartbeat()]
    (found,) = status(alerts=alerts).pipeline_alerts
    assert (found.rule, found.severity, found.query) == ("pipeline_lagging", "warning", "store")
    assert "THE TABLES ARE LATE: logdirwatch (query store) was 9 min behind 1 min ago." in shown(alerts=alerts)
    assert "resolved" not in shown(alerts=alerts)
    assert status(alerts=alerts).open_alerts == {}, "it is none of the cluster's"
    assert status(alerts=None).pipeline_alerts is None


def test_alerts_that_cannot_be_read_are_not_none():
    assert "alerts     unknown" in shown(alerts=None)
    assert "alerts     none open" in shown()


def test_what_people_said_of_alerts_and_brokers_is_shown():
    alerts = [alert("x1"), alert("y1", severity=Severity.PAGE), alert("z1"), heartbeat()]
    spoken = handling(
        said("acknowledge", "x1"),
        said("silence", "y1"),
        said("maintenance", "prod/7", cluster="prod", broker=7),
        said("maintenance", "test/7", cluster="test", broker=7),
    )
    one = status(alerts=alerts, handling=spoken)
    assert [(h.alert_id, h.acknowledged is not None, h.silenced is not None) for h in one.handled_alerts] == [
        ("y1", False, True),
        ("x1", True, False),
    ]
    assert [(planned.cluster, planned.broker, planned.by) for planned in one.maintenance] == [("prod", 7, "ada")]
    assert one.open_alerts == {"page": 1, "critical": 2}, "they go on firing"
    text = shown(alerts=alerts, handling=spoken, width=120)
    end = "2023-11-14 23:13:20Z"
    assert f"log_dir_offline x1 of broker 7 /data/d1: acknowledged by ada until {end}: new disk" in text
    assert f"maintenance  broker 7 until {end} by ada: new disk" in text


def test_an_end_beyond_the_bound_is_shown_as_the_bound():
    spoken = handling(said("silence", "x1", for_ms=99 * HOUR_MS))
    (found,) = status(alerts=[alert("x1")], handling=spoken).handled_alerts
    assert found.silenced.until_ms == NOW_MS + 7 * HOUR_MS


def test_what_people_said_is_not_known_without_the_telemetry_cluster():
    one = status(alerts=None)
    assert (one.handled_alerts, one.maintenance) == (None, None)


def test_offline_replicas_are_split_by_what_took_them_and_the_most_come_first():
    rows = [offline("a"), offline("b", "broker", 4), offline("b", "directory", 2), offline("b", None, 1)]
    first, second = status(replicas=rows).offline_replicas
    assert (first.topic, first.directory, first.broker, first.unknown) == ("b", 2, 4, 1)
    assert second.topic == "a"
    assert "offline replicas: 8, as of 10 s ago" in shown(replicas=rows)


def test_replicas_and_partitions_without_an_inventory_are_not_known():
    text = shown(scans=[])
    assert "inventory  none stored yet" in text
    assert "offline replicas: unknown" in text
    assert "partitions at risk: unknown" in text


def test_replicas_may_be_known_before_partitions_are():
    one = status(scans=[scan()])
    assert (one.offline_replicas, one.partitions_at_risk) == ([], None)


def test_an_old_inventory_is_said_loudly():
    assert "inventory  10 s old" in shown()
    old = [scan(at_ms=NOW_MS - 2 * STALE_MS - 1)]
    assert status(scans=old).is_inventory_stale
    assert "THE INVENTORY IS STALE: 6 min old" in shown(scans=old)


def test_partitions_at_risk_are_counted_by_danger_with_internal_topics_first():
    rows = [
        partition("orders", 1, is_leaderless=True, is_under_min_isr=True),
        partition("__consumer_offsets", 3, is_internal=True, is_leaderless=True),
    ]
    risks = status(partitions=rows).partitions_at_risk
    assert risks["leaderless"].examples == ["__consumer_offsets-3", "orders-1"]
    assert {name: risk.count for name, risk in risks.items()} == {
        "leaderless": 2,
        "under_min_isr": 1,
        "at_min_isr": 0,
        "sole_replica": 0,
    }


def test_a_directory_shows_how_full_it_is_and_why_it_is_gone():
    text = shown(log_dirs=[log_dir(used=0.97, status="offline", cause="full", is_metadata_dir=True)])
    for part in ("offline (full)", "█" * 9 + "░ 97.0 %", "when last seen", "[metadata]", "30.7 GiB of 1 TiB"):
        assert part in text


def test_the_directory_that_gets_the_next_new_replica_says_so_where_there_is_a_choice():
    rows = [log_dir(log_dir="/data/d1", replica_count=4), log_dir(log_dir="/data/d2", replica_count=9)]
    assert status(log_dirs=rows).brokers[0].next_log_dirs == ["/data/d1"]
    assert "/data/d1 [next new replica]" in shown(log_dirs=rows)
    assert "/data/d2 [" not in shown(log_dirs=rows)
    assert "[next" not in shown(log_dirs=rows[:1]), "of one directory it goes without saying"
    assert status(log_dirs=[*rows, log_dir(log_dir="/data/d3", status="unknown")]).brokers[0].next_log_dirs is None


def test_what_nobody_knows_of_a_directory_is_not_shown_as_empty():
    text = shown(log_dirs=[log_dir(used=None, status="unknown", last_status="critical", total_bytes=None)])
    assert "unknown, was critical" in text
    assert "?????????? -" in text


class TestNothingOldIsShownAsHealthy:
    """What nobody watches now is unknown, with what was known last and since when."""

    OLD: ClassVar = {"brokers": [broker(at_ms=NOW_MS - 450_000)], "log_dirs": [log_dir()]}
    SILENT: ClassVar = {"alerts": [heartbeat(30_001)]}

    @pytest.mark.parametrize("rows", [OLD, SILENT], ids=["old rows", "no heartbeat"])
    def test_a_status_is_unknown_with_the_last_one_beside_it(self, rows):
        one = status(**rows)
        (only,) = one.brokers
        assert one.is_past
        assert (only.status, only.last_status, only.next_log_dirs) == ("unknown", "online", None)
        assert [(found.status, found.last_status) for found in only.log_dirs] == [("unknown", "online")]
        assert only.reason == f"as of {'7 min 30 s' if rows is self.OLD else '5 s'} ago: answers"

    @pytest.mark.parametrize("rows", [OLD, SILENT], ids=["old rows", "no heartbeat"])
    def test_no_replica_is_called_healthy_for_want_of_news(self, rows):
        one = status(**rows)
        assert (one.offline_replicas, one.partitions_at_risk) == (None, None)
        assert one.last_offline_replicas == []
        text = shown(**rows)
        assert "offline replicas: unknown since 10 s ago; then: none" in text
        assert "partitions at risk: unknown since 10 s ago; then: none" in text

    def test_what_was_at_risk_then_is_still_named(self):
        rows = [partition("orders", 1, is_leaderless=True)]
        text = shown(**self.SILENT, partitions=rows, replicas=[offline("orders")])
        assert "offline replicas: unknown since 10 s ago; then: 1" in text
        assert "partitions at risk: unknown since 10 s ago; then: 1" in text
        assert "orders-1" in text

    def test_what_was_bad_stays_before_what_was_good(self):
        rows = [broker(number) for number in range(50)]
        rows[30] = broker(30, status="offline")
        text = shown(**self.SILENT, brokers=rows, log_dirs=[])
        assert "broker 30" in text
        assert "unknown, was offline" in text

    def test_an_inventory_that_is_too_old_says_nothing_of_now(self):
        one = status(scans=[scan(at_ms=NOW_MS - HOUR_MS), scan(is_of_topics=True, at_ms=NOW_MS - HOUR_MS)])
        assert not one.is_past
        assert one.brokers[0].status == "online"
        assert (one.offline_replicas, one.partitions_at_risk) == (None, None)
        assert (one.last_offline_replicas, one.last_partitions_at_risk["leaderless"].count) == ([], 0)

    def test_what_is_known_says_as_of_when(self):
        text = shown()
        assert "offline replicas: none, as of 10 s ago" in text
        assert "partitions at risk: none, as of 10 s ago" in text

    def test_a_clock_ahead_alone_makes_nothing_unknown_while_the_rows_are_new(self):
        one = status(alerts=[heartbeat(-3_600_000)])
        assert (one.is_past, one.brokers[0].status) == (False, "online")

    def test_one_living_collector_keeps_the_present(self):
        assert not status(alerts=[heartbeat(3_600_000, "c2"), heartbeat(5_000)]).is_past

    def test_without_a_heartbeat_ever_the_rows_decide(self):
        assert not status(alerts=[]).is_past


class TestAnOpenAlertOutweighsOlderRows:
    """Rows come after alerts: the store may be behind, or away."""

    def lost(self, rule=Rule.BROKER_OFFLINE, to="offline", at_ms=NOW_MS - 1_000, log_dir=None, **fields):
        return alert("f" * 32, rule=rule, to_status=to, at_ms=at_ms, log_dir=log_dir, **fields)

    @pytest.mark.parametrize(
        ("rule", "to", "expected"),
        [(Rule.BROKER_OFFLINE, "offline", "offline"), (Rule.BROKER_UNKNOWN, "unknown", "unknown")],
    )
    def test_a_broker_is_what_its_alert_says_and_its_directories_are_unknown(self, rule, to, expected):
        (found,) = status(alerts=[heartbeat(), self.lost(rule, to)]).brokers
        assert (found.status, found.last_status) == (expected, "online")
        assert found.reason == f"open alert {rule} ffffffff, newer than the table"
        assert [(one.status, one.last_status) for one in found.log_dirs] == [("unknown", "online")]

    def test_one_alert_tells_of_each_directory_that_is_away_and_not_of_the_one_that_is_back(self):
        told = {"log_dirs": {path: {"cause": "read_only"} for path in ("/d2", "/d3")}}
        an_alert = self.lost(Rule.LOG_DIR_OFFLINE, log_dir="/d1", evidence=told)
        rows = [log_dir(log_dir=path) for path in ("/d1", "/d2", "/d3")]
        (found,) = status(alerts=[heartbeat(), an_alert], log_dirs=rows).brokers
        assert {one.log_dir: (one.status, one.cause) for one in found.log_dirs} == {
            "/d1": ("online", None),
            "/d2": ("offline", "read_only"),
            "/d3": ("offline", "read_only"),
        }

    def test_what_is_offline_is_not_shown_as_filling_by_an_alert_of_before(self):
        space = self.lost(Rule.LOG_DIR_SPACE, "critical", log_dir="/data/d1")
        gone = self.lost(Rule.LOG_DIR_OFFLINE, log_dir="/data/d1", at_ms=NOW_MS - 2_000)
        (found,) = status(alerts=[heartbeat(), gone, space]).brokers
        assert [one.status for one in found.log_dirs] == ["offline"]

    @pytest.mark.parametrize(
        ("rule", "to", "of_broker"),
        [
            (Rule.LOG_DIR_OFFLINE, "offline", "degraded"),
            (Rule.LOG_DIR_UNKNOWN, "unknown", "online"),
            (Rule.LOG_DIR_SPACE, "saturated", "online"),
        ],
    )
    def test_a_directory_is_what_its_alert_says(self, rule, to, of_broker):
        lost = self.lost(rule, to, log_dir="/data/d1", cause=Cause.FULL)
        rows = [log_dir(), log_dir(log_dir="/data/d2")]
        (found,) = status(alerts=[heartbeat(), lost], log_dirs=rows).brokers
        first, second = found.log_dirs
        assert (found.status, first.status, first.last_status, second.status) == (of_broker, to, "online", "online")

    def test_a_failure_whose_directory_is_not_known_yet_degrades_the_broker(self):
        (found,) = status(alerts=[heartbeat(), self.lost(Rule.LOG_DIR_OFFLINE)]).brokers
        assert found.status == "degraded"

    @pytest.mark.parametrize(
        "over",
        [
            {"at_ms": NOW_MS - 60_000},
            {"status": AlertStatus.RESOLVED},
            {"broker": 8},
            {"cluster": "test"},
            {"stale_since_ms": NOW_MS},
        ],
        ids=["older", "resolved", "another broker", "another cluster", "stale"],
    )
    def test_another_alert_changes_no_row(self, over):
        lost = msgspec.structs.replace(self.lost(), **over)
        assert status(alerts=[heartbeat(), lost]).brokers[0].status == "online"

    def test_an_old_row_is_what_a_live_alert_says(self):
        old = [broker(7, at_ms=NOW_MS - HOUR_MS), broker(8, at_ms=NOW_MS - HOUR_MS)]
        seven, eight = status(alerts=[heartbeat(), self.lost()], brokers=old).brokers
        assert (seven.status, seven.last_status) == ("offline", "online")
        assert (eight.status, eight.last_status) == ("unknown", "online")

    def test_while_nobody_watches_an_alert_is_of_the_past_too(self):
        (found,) = status(alerts=[heartbeat(40_000), self.lost()]).brokers
        assert (found.status, found.last_status) == ("unknown", "offline")

    def test_partitions_at_risk_are_those_of_newer_alerts(self):
        counts = {"leaderless": 3, "sole_replica": 1, "examples": ["clicks-0", "clicks-1", "clicks-2"]}
        lost = self.lost(Rule.PARTITIONS_AT_RISK, None, broker=None, affected=counts)
        one = status(alerts=[heartbeat(), lost], partitions=[partition("orders", 1, is_at_min_isr=True)])
        assert {name: risk.count for name, risk in one.partitions_at_risk.items()} == {
            "leaderless": 3,
            "under_min_isr": 0,
            "at_min_isr": 1,
            "sole_replica": 1,
        }
        assert one.partitions_at_risk["leaderless"].examples == ["clicks-0", "clicks-1", "clicks-2"]
        assert one.partitions_at_risk["sole_replica"].examples == []
        text = shown(alerts=[heartbeat(), lost])
        assert "partitions at risk, at least, by open alerts that are newer than the inventory" in text
        assert "leaderless         3  clicks-0, clicks-1, clicks-2" in text

    @pytest.mark.parametrize("rule", [Rule.BROKER_OFFLINE, Rule.BROKER_UNKNOWN, Rule.LOG_DIR_OFFLINE])
    def test_after_a_loss_an_older_inventory_does_not_say_that_nothing_is_lost(self, rule):
        one = status(alerts=[heartbeat(), self.lost(rule)])
        assert (one.offline_replicas, one.partitions_at_risk) == (None, None)
        assert "offline replicas: unknown since 10 s ago; then: none" in shown(alerts=[heartbeat(), self.lost(rule)])

    def test_an_inventory_after_the_loss_counts(self):
        lost = self.lost(at_ms=NOW_MS - 20_000, affected={"leaderless": 3})
        one = status(alerts=[heartbeat(), lost])
        assert (one.offline_replicas, one.partitions_at_risk["leaderless"].count) == ([], 0)


class TestTablesThatAreNotToBeHad:
    """One that cannot be read hides no other; clusters are those that alerts name then."""

    def test_without_brokers_alerts_are_counted_all_the_same(self):
        one = status(alerts=[heartbeat(), alert("x")], brokers=None)
        assert (one.cluster, one.brokers, one.open_alerts) == ("prod", None, {"critical": 1})
        text = shown(alerts=[heartbeat(), alert("x")], brokers=None)
        for part in ("alerts     1 critical", "brokers: unknown", "log directories: unknown"):
            assert part in text

    def test_without_directories_brokers_are_shown(self):
        text = shown(log_dirs=None)
        assert "broker 7" in text
        assert "log directories: unknown" in text

    def test_without_replicas_and_partitions_they_are_not_known(self):
        text = shown(replicas=None, partitions=None)
        assert "offline replicas: unknown\n" in text
        assert "partitions at risk: unknown\n" in text


def test_how_late_alerts_are_now_tells_the_heartbeat_that_comes_through():
    place = {"cluster": "*", "broker": None, "log_dir": None}
    evidence = {"query": "detect", "lag_ms": 120_000}
    detect = alert("l", rule=Rule.PIPELINE_LAGGING, evidence=evidence, at_ms=NOW_MS - 60_000, **place)
    fleet = msgspec.structs.replace(detect, evidence={**evidence, "query": "fleet"})
    beat = heartbeat(258_000)
    assert "ALERTS ARE LATE: logdirwatch (query detect) is 4 min 18 s behind." in shown(alerts=[detect, beat])
    assert "ALERTS ARE LATE: logdirwatch (query fleet) was 2 min behind 1 min ago." in shown(alerts=[fleet, beat])


def test_of_many_directories_the_worst_are_shown_and_the_rest_counted():
    rows = [log_dir(log_dir=f"/data/{number:03}") for number in range(100)]
    rows[50] = log_dir(log_dir="/data/050", status="offline")
    text = shown(log_dirs=rows)
    assert "log directories (100): 1 offline, 99 online" in text
    assert "/data/050" in text
    assert "ok  94 more log directories online, at most 50.0 % used (--all shows them)" in text
    assert "/data/099" in shown(log_dirs=rows, everything=True)


def rows_of(text: str, title: str) -> list[str]:
    """Return the rows of one table: the text below its head up to the next empty line."""
    return text.partition(f"\n{title}")[2].partition("\n\n")[0].splitlines()[2:]


def test_the_worst_stand_first_and_healthy_brokers_are_one_line_a_rack():
    brokers = [broker(number, rack="ab"[number % 2]) for number in range(8)]
    brokers[5] = broker(5, status="offline", rack="b")
    brokers[6] = broker(6, status="degraded", rack="a")
    found = rows_of(shown(brokers=brokers, log_dirs=[log_dir(5)]), "brokers (8): 1 offline, 1 degraded, 6 online")
    assert [" ".join(row.split()[:4]) for row in found] == [
        "!! broker 5 offline",
        "!! broker 6 degraded",
        "ok brokers 0, 2,",
        "ok brokers 1, 3,",
    ]
    assert "broker 4" in shown(brokers=brokers, everything=True)


def test_a_broker_on_its_own_keeps_its_host():
    found = rows_of(shown(), "brokers (1): 1 online")
    assert found[0].split() == ["ok", "broker", "7", "online", "kafka-7", "5", "s", "ago"]


def test_fuller_and_worse_directories_stand_before_others():
    rows = [
        log_dir(log_dir="/data/half"),
        log_dir(log_dir="/data/fuller", used=0.7),
        log_dir(log_dir="/data/filling", used=0.8, status="filling"),
        log_dir(log_dir="/data/gone", status="offline", cause="failed"),
        log_dir(log_dir="/data/unseen", status="unknown"),
    ]
    found = rows_of(shown(log_dirs=rows), "log directories (5)")
    named = [(row.split()[0], row.partition("/data/")[2].split()[0]) for row in found if "/data/" in row]
    assert named == [("!!", "gone"), ("?", "unseen"), ("!", "filling"), ("ok", "fuller"), ("ok", "half")]
    legend = shown(log_dirs=rows).partition("marks: ")[2].partition("\n")[0]
    assert legend == "!! act on it, ! look at it, ? not known now, ok healthy"


def test_open_alerts_are_laid_over_the_tables():
    alerts = [
        alert("s" * 32, rule=Rule.LOG_DIR_SUSPECT, severity=Severity.WARNING, summary="it is slow", at_ms=1),
        alert("r" * 32, rule=Rule.PARTITIONS_AT_RISK, severity=Severity.PAGE, broker=None, log_dir=None, summary="3"),
        *(alert(f"{number}" * 32, broker=9, severity=Severity.INFO) for number in range(5)),
        heartbeat(),
    ]
    text = shown(alerts=alerts, log_dirs=[log_dir(), log_dir(log_dir="/data/d2", used=0.7)])
    first, second, *_ = text.partition("(logdirwatch alerts)\n")[2].splitlines()
    assert first == "  page     partitions_at_risk rrrrrrrr, 1 min ago: 3"
    assert second == "  warning  log_dir_suspect ssssssss, 1 min ago: it is slow"
    assert "  and 2 more" in text
    suspect, named, other = rows_of(text, "log directories (2)")[:3]
    assert (suspect.split()[:3], named.split()) == (["!", "7", "online"], ["log_dir_suspect", "ssssssss"])
    assert other.split()[0] == "ok"


def test_an_alert_is_one_line_at_any_width():
    text = shown(width=60, alerts=[alert(summary="word " * 50), heartbeat()])
    (line,) = (row for row in text.splitlines() if row.startswith("  critical"))
    assert len(line) == 60
    assert line.endswith("…")


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_the_status_fits_the_terminal(width):
    text = shown(
        width=width,
        log_dirs=[log_dir(log_dir="/a/long/mount/point/of/a/broker/kafka-logs-1", status="offline", cause="failed")],
    )
    assert max(len(row) for row in text.splitlines()) <= width
    assert "…" not in text


def test_patience_is_three_rounds_of_what_is_configured():
    assert Patience.of(DetectSettings(), CollectSettings(), StreamSettings()) == Patience(
        180_000, 360_000, 10_800_000, 60_000
    )


class TestNotReported:
    OLD: ClassVar = {"kafka_version": "2.8", "metadata_mode": "zookeeper", "not_reported": ["capacity", "cordons"]}

    def unmeasured(self, **fields):
        return log_dir(used=None, total_bytes=None, **fields)

    def test_what_a_release_cannot_report_is_said_once_a_cluster(self):
        dirs = [self.unmeasured(), self.unmeasured(broker=8), self.unmeasured(broker=8, log_dir="/data/d2")]
        text = shown(200, brokers=[broker(**self.OLD), broker(8, **self.OLD)], log_dirs=dirs)
        assert text.count("Kafka 2.8 with ZooKeeper does not report the size of log directories") == 1
        assert "  do: for the size upgrade to 3.3 or later, run logdirwatch watch-host on the brokers, or name" in text

    def test_programs_get_the_mode_the_notice_and_the_remedy(self):
        one = msgspec.to_builtins(status(brokers=[broker(**self.OLD)], log_dirs=[self.unmeasured()]))
        assert (one["metadata_mode"], set(one["notice"])) == ("zookeeper", {"text", "remedy"})

    def test_a_size_that_the_host_tells_is_not_missed(self):
        one = status(brokers=[broker(**self.OLD)])
        assert "the size" not in one.notice.text

    def test_brokers_of_two_modes_are_a_migration(self):
        modes = [broker(1, metadata_mode="zookeeper"), broker(2, metadata_mode="kraft")]
        assert status(brokers=modes).metadata_mode == "migrating"

    def test_rows_of_an_earlier_release_say_nothing(self):
        assert (status().metadata_mode, status().notice) == (None, None)

    @pytest.mark.parametrize(
        ("source", "flag"), [("host", "/data/d1 [size from the host]"), ("configuration", "/data/d1 [size estimated]")]
    )
    def test_a_size_that_kafka_does_not_report_is_marked(self, source, flag):
        assert flag in shown(200, log_dirs=[log_dir(capacity_source=source)])
        assert "[size" not in shown(200)


def executions(*records):
    return [{"cluster": one.cluster, "record": msgspec.json.encode(one).decode()} for one in records]


def test_what_is_carried_out_is_told_and_what_is_stuck_is_loud():
    stuck = execution("e2", state=ExecutionState.STUCK, reason="orders-0 was moved by somebody else")
    text = shown(width=300, executions=executions(execution(), stuck, execution("e3", cluster="other")))
    assert "EXECUTION STUCK: move_log_dir cccccccc, stuck, step 3 of 3" in text
    assert "orders-0 was moved by somebody else\n  do: remove the reason, then go on or go back: logdirwatch" in text
    assert "execution  move_log_dir cccccccc, copying, step 3 of 3, 3 GiB to copy, begun 10 min ago by ada" in text
    assert len(status(executions=executions(stuck, execution())).executions) == 2


def test_without_the_table_nothing_is_said_of_executions():
    assert status().executions is None
    assert "execution" not in shown().lower()
