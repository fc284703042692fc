import io

import pytest
from rich.console import Console

from logdirwatch.decisions import AlertDecisions
from logdirwatch.errors import UserError
from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import AlertStatus, Cause, Decision, Rule, Severity
from logdirwatch.report.alerts import find, line, listed, view
from tests.unit.report.builders import NOW_MS, alert


def shown(*alerts, width=100, decided_by_alert=None) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(view(alerts, NOW_MS, width, decided_by_alert))
    return console.file.getvalue()


def said(kind, by="ada", until_ms=NOW_MS + 3_600_000, **fields):
    at = {"at_ms": NOW_MS, "until_ms": until_ms}
    return DecisionRecord(version=1, id="a" * 32, decision=Decision(kind), by=by, reason="seen", **at, **fields)


SILENCED = AlertDecisions(None, said("silence"))


def test_the_loudest_stand_first_and_then_the_oldest():
    alerts = [
        alert("warning", severity=Severity.WARNING),
        alert("young", severity=Severity.PAGE, opened_at_ms=NOW_MS - 1),
        alert("old", severity=Severity.PAGE, opened_at_ms=NOW_MS - 9),
    ]
    assert [a.alert_id for a in listed(alerts, everything=False)] == ["old", "young", "warning"]


def test_among_equals_what_halts_a_whole_broker_stands_first():
    halting = {"halts_broker": "metadata_dir"}
    alerts = [
        alert(rule=Rule.LOG_DIR_SPACE, alert_id="a", opened_at_ms=1),
        alert(rule=Rule.LOG_DIR_SPACE, alert_id="b", opened_at_ms=2, evidence=halting),
    ]
    assert [shown.alert_id for shown in listed(alerts, everything=False)] == ["b", "a"]


def test_heartbeats_are_never_listed():
    assert listed([alert(rule=Rule.HEARTBEAT, status=AlertStatus.RESOLVED)], everything=True) == []


def test_a_row_says_how_bad_what_where_since_when_and_what_it_means():
    text = " ".join(shown(alert(cause=Cause.FAILED)).split())
    for part in ("critical", "log_dir_offline", "online > offline", "(failed)", "broker 7", "1 min ago", "aaaaaaaa"):
        assert part in text


def test_an_alert_about_a_whole_cluster_names_the_cluster_and_no_broker():
    about = alert(
        rule=Rule.BROKER_UNKNOWN, broker=None, log_dir=None, from_status=None, to_status="unknown", summary=""
    )
    for text in (shown(about), line(about).plain):
        assert "prod" in text
        assert "broker " not in text
        assert "None" not in text
    assert "unknown" in shown(about)


def test_an_alert_about_logdirwatch_itself_says_so_instead_of_a_cluster():
    about = alert(rule=Rule.PIPELINE_LAGGING, cluster="*", broker=None, log_dir=None, from_status=None, to_status=None)
    for text in (shown(about), line(about).plain):
        assert "logdirwatch itself" in text
        assert "*" not in text
        assert "None" not in text


def test_an_alert_that_nobody_sees_any_more_says_so():
    assert "not monitored since" in " ".join(shown(alert(stale_since_ms=NOW_MS - 5_000), width=200).split())


@pytest.mark.parametrize("width", [30, 60, 80, 100])
def test_the_table_fits_the_terminal_and_cuts_no_path(width):
    path = "/very/long/mount/point/of/a/broker/with many words/kafka-logs-1"
    text = shown(alert(log_dir=path, summary="word " * 40), width=width)
    assert max(len(row) for row in text.splitlines()) <= width
    assert "…" not in text


def test_markup_in_a_path_is_shown_as_it_is():
    assert "/d[red]1" in shown(alert(log_dir="/d[red]1"), width=200)


def test_a_followed_revision_is_one_line():
    text = line(alert(revision=3)).plain
    assert text == "2023-11-14 22:12:20Z critical log_dir_offline aaaaaaaa.3 prod: Broker 7 /data/d1 is offline"
    assert line(alert(status=AlertStatus.RESOLVED)).plain.startswith("2023-11-14 22:12:20Z resolved log_dir_offline")


def test_silenced_alerts_stand_behind_the_others_and_before_the_resolved():
    alerts = [
        alert("over", severity=Severity.PAGE, status=AlertStatus.RESOLVED),
        alert("page", severity=Severity.PAGE),
        alert("warning", severity=Severity.WARNING),
    ]
    ordered = listed(alerts, {"page": SILENCED}, everything=True)
    assert [a.alert_id for a in ordered] == ["warning", "page", "over"]


def test_who_acknowledged_and_who_silenced_is_said_with_the_end():
    both = AlertDecisions(said("acknowledge", owner="storage"), said("silence", by="bob"))
    text = " ".join(shown(alert(), decided_by_alert={"a" * 32: both}).split())
    assert "[acknowledged by ada, owner storage, until 2023-11-14 23:13:20Z: seen]" in text
    assert "[silenced by bob until 2023-11-14 23:13:20Z: seen]" in text
    assert "prod: [acknowledged by ada] [silenced by bob] Broker 7" in line(alert(), both).plain


@pytest.mark.parametrize("until_ms", [None, NOW_MS * 1000])
def test_what_was_said_without_an_end_or_with_one_beyond_the_calendar_is_shown(until_ms):
    bare = AlertDecisions(said("acknowledge", until_ms=until_ms))
    text = " ".join(shown(alert(), decided_by_alert={"a" * 32: bare}).split())
    assert "[acknowledged by ada until an unknown time: seen]" in text


def test_an_alert_is_found_by_the_beginning_of_its_id_and_a_heartbeat_never():
    alerts = [alert("abc"), alert("abd"), alert("xyz", rule=Rule.HEARTBEAT)]
    assert find(alerts, "abc").alert_id == "abc"
    for wrong in ("ab", "x", "", "q"):
        with pytest.raises(UserError):
            find(alerts, wrong)
