"""What Alertmanager is sent: the labels that identify an alert, and from when to when it fires."""

from datetime import datetime

import pytest

from logdirwatch.decisions import AlertDecisions
from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import AlertStatus, Decision, Severity
from logdirwatch.notify.alertmanager import alerts_of
from logdirwatch.notify.groups import Member, Message, Reason
from logdirwatch.notify.links import Links
from logdirwatch.notify.routing import GroupKey
from tests.unit.report.builders import NOW_MS, action, alert

OPENED_MS = NOW_MS - 60_000
NAME = "a" * 32


def message(*members, ended=(), spoken=None, at_ms=NOW_MS):
    group = GroupKey("ops", "all", (("cluster", "prod"),))
    return Message(group, Reason.FIRST, at_ms, members, tuple(ended), spoken or {})


def posted(*firing, **fields):
    members = [found if isinstance(found, Member) else Member(found) for found in firing]
    return alerts_of(message(*members, **fields))


def over(**fields):
    return alert(status=AlertStatus.RESOLVED, revision=2, reason="recovered", **fields)


def at_ms(text):
    return round(datetime.fromisoformat(text).timestamp() * 1_000)


def said(found):
    """Each posted alert as severity, start, and end if it has one."""
    return [
        (one["labels"]["severity"], at_ms(one["startsAt"]), at_ms(one["endsAt"]) if "endsAt" in one else None)
        for one in found
    ]


@pytest.mark.parametrize(
    ("fields", "labels"),
    [
        ({}, {"broker": "7", "log_dir": "/data/d1"}),
        ({"log_dir": None}, {"broker": "7"}),
        ({"broker": None, "log_dir": None}, {}),
        ({"broker": 0}, {"broker": "0", "log_dir": "/data/d1"}),
    ],
)
def test_labels_say_what_and_where_and_leave_out_what_does_not_apply(fields, labels):
    (found,) = posted(alert(**fields))
    always = {"alertname": "log_dir_offline", "severity": "critical", "cluster": "prod", "alert_id": NAME}
    assert found["labels"] == {**always, **labels}
    assert found["annotations"]["summary"] == "Broker 7 /data/d1 is offline"
    assert set(found["annotations"]) == {"summary", "description"}


LINKS = Links("https://disks.example.com/", "https://wiki.example.com/{rule}.html")


def test_annotations_say_what_to_do_and_where_to_read_more():
    about = alert(evidence={"host": "kafka-7"})
    (found,) = alerts_of(message(Member(about, next_step=action(reason="room in /data/d2"))), LINKS)
    assert found["annotations"] == {
        "summary": "Broker 7 /data/d1 is offline",
        "description": "log_dir_offline of prod broker 7 /data/d1, online > offline. "
        "Next: move_log_dir: room in /data/d2 (logdirwatch actions show cccccccc)",
        "host": "kafka-7",
        "runbook_url": "https://wiki.example.com/log_dir_offline.html",
    }
    assert found["generatorURL"] == f"https://disks.example.com/alerts/{NAME}"
    assert "host" not in found["labels"], "it would be another alert once the host is known"


def test_without_links_there_is_no_generator():
    (found,) = posted(alert())
    assert "generatorURL" not in found


def test_a_test_has_a_name_that_no_route_for_heartbeats_takes():
    (found,) = alerts_of(message(Member(alert()))._replace(is_test=True))
    assert found["labels"]["alertname"] == "logdirwatch_test"


@pytest.mark.parametrize("ahead_ms", [0, 3_600_000, -3_600_000])
def test_when_a_firing_alert_ends_is_left_to_alertmanagers_clock(ahead_ms):
    assert said(posted(alert(), at_ms=NOW_MS + ahead_ms)) == [("critical", min(OPENED_MS, NOW_MS + ahead_ms), None)]


def test_a_severity_ends_by_the_evidence_when_the_clock_of_this_host_is_ahead():
    raised = alert(severity=Severity.PAGE, at_ms=NOW_MS)
    found = said(posted(raised, spoken={NAME: Severity.WARNING}, at_ms=NOW_MS + 3_600_000))
    assert found == [("warning", OPENED_MS, NOW_MS), ("page", OPENED_MS, None)]


@pytest.mark.parametrize(
    ("ended_ms", "ends_ms"),
    [
        (NOW_MS - 5_000, NOW_MS - 5_000),
        (NOW_MS + 5_000, NOW_MS),  # a clock that is ahead keeps nothing firing
        (OPENED_MS - 5_000, OPENED_MS - 5_000),
    ],
)
def test_an_ended_alert_ends_when_it_did_and_never_before_it_began(ended_ms, ends_ms):
    ((severity, begun_ms, end_ms),) = said(posted(ended=[over(at_ms=ended_ms)]))
    assert (severity, begun_ms, end_ms) == ("critical", min(OPENED_MS, ends_ms), ends_ms)


@pytest.mark.parametrize(
    ("spoken", "sent"),
    [
        ({}, ["page"]),
        ({NAME: Severity.PAGE}, ["page"]),
        ({"other": Severity.WARNING}, ["page"]),
        ({NAME: Severity.WARNING}, ["warning", "page"]),
    ],
)
def test_another_severity_is_another_alert_so_the_one_before_ends(spoken, sent):
    found = said(posted(alert(severity=Severity.PAGE, at_ms=NOW_MS), spoken=spoken))
    assert [severity for severity, _, _ in found] == sent
    ends_ms = [end_ms for _, _, end_ms in found]
    assert ends_ms == [*[NOW_MS] * (len(sent) - 1), None]


@pytest.mark.parametrize(("spoken", "severity"), [({}, "page"), ({NAME: Severity.WARNING}, "warning")])
def test_an_alert_ends_under_the_severity_that_was_sent(spoken, severity):
    ((sent, _, _),) = said(posted(ended=[over(severity=Severity.PAGE)], spoken=spoken))
    assert sent == severity


def test_a_decision_stands_in_an_annotation_of_what_fires():
    made = {"version": 1, "id": NAME, "by": "ada", "reason": "known", "at_ms": NOW_MS, "until_ms": NOW_MS + 3_600_000}
    decided = AlertDecisions(
        DecisionRecord(decision=Decision.ACKNOWLEDGE, **made), DecisionRecord(decision=Decision.SILENCE, **made)
    )
    (found,) = posted(Member(alert(), decided))
    until = "until 2023-11-14 23:13:20Z: known"
    assert found["annotations"]["said"] == f"acknowledged by ada {until}; silenced by ada {until}"


def test_times_are_rfc_3339_in_utc_to_the_millisecond():
    (found,) = posted(alert(opened_at_ms=NOW_MS - 1))
    assert found["startsAt"] == "2023-11-14T22:13:19.999+00:00"


def test_firing_alerts_come_before_ended_ones():
    found = posted(alert("f"), alert("g"), ended=[over(alert_id="e")])
    assert [one["labels"]["alert_id"] for one in found] == ["f", "g", "e"]


@pytest.mark.parametrize("time_ms", [-(2**63), 2**53, 2**63 - 1])
def test_a_time_outside_the_calendar_is_its_nearest_end(time_ms):
    (found,) = posted(alert(opened_at_ms=time_ms), at_ms=max(time_ms, NOW_MS))
    assert found["startsAt"] == ("1970-01-01T00:00:00.000+00:00" if time_ms < 0 else "9999-12-31T23:59:59.000+00:00")
    (ended,) = posted(ended=[over(opened_at_ms=time_ms, at_ms=time_ms)])
    assert ended["startsAt"] <= ended["endsAt"]
