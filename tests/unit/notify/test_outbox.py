"""Which groups an alert is in, which message a receiver gets next, and what a restart must know."""

import pytest

from logdirwatch.model.records import NotificationRecord
from logdirwatch.model.vocabulary import AlertStatus, Severity
from logdirwatch.notify.groups import Member, Reason
from logdirwatch.notify.outbox import Outbox
from logdirwatch.notify.routing import GroupKey
from tests.unit.notify.world import router_of, settings
from tests.unit.report.builders import NOW_MS, alert

CRITICAL, PAGE = Severity.CRITICAL, Severity.PAGE
AT_ONCE = {"group_wait_ms": 0, "group_interval_ms": 0}
PROD = GroupKey("ops", "all", (("cluster", "prod"),))


def outbox(*receivers, **fields):
    notify = settings(receivers or ("ops",), **{**AT_ONCE, **fields})
    return Outbox(router_of(notify), notify.receivers)


def due(box, *alerts, now_ms=NOW_MS, busy=()):
    return box.due(alerts, Member, now_ms, set(busy))


def over(name, **fields):
    return alert(name, 2, status=AlertStatus.RESOLVED, reason="recovered", **fields)


def record(receiver="ops", cluster="prod", **fields):
    given = {"told": {}, "owed": [], "quiet": [], "sent_at_ms": None, **fields}
    return NotificationRecord(version=1, receiver=receiver, route="all", group={"cluster": cluster}, **given)


def firing(message):
    return [member.alert.alert_id for member in message.firing]


def test_every_receiver_gets_its_message_except_a_busy_one():
    box = outbox("chat", "pager")
    assert [m.group.receiver for m in due(box, alert("a"), busy=["chat"])] == ["pager"]
    assert [m.group.receiver for m in due(box, alert("a"))] == ["chat", "pager"]


@pytest.mark.parametrize(
    ("severities", "first"),
    [
        ({"dev": Severity.WARNING, "prod": Severity.PAGE}, "prod"),
        ({"prod": Severity.PAGE, "dev": Severity.WARNING}, "prod"),
        ({"dev": Severity.PAGE, "prod": Severity.PAGE}, "dev"),  # as urgent: the group that was there first
    ],
)
def test_of_several_groups_the_most_urgent_one_is_sent_first(severities, first):
    box = outbox()
    alerts = [alert(name, cluster=name, severity=severity) for name, severity in severities.items()]
    (message,) = due(box, *alerts)
    assert firing(message) == [first]
    box.delivered(message)
    (other,) = due(box, *alerts)
    assert firing(other) == [name for name in severities if name != first]


def test_a_message_is_as_urgent_as_its_most_severe_alert_and_an_end_is_the_least_urgent():
    box = outbox()
    box.delivered(due(box, alert("old", cluster="aaa"))[0])
    mixed = [
        alert("p1", cluster="prod", severity=Severity.PAGE),
        alert("p2", cluster="prod", severity=Severity.WARNING),
    ]
    others = [
        alert("d", cluster="dev", severity=Severity.CRITICAL),
        alert("q", cluster="qa", severity=Severity.WARNING),
    ]
    sent = []
    for _ in range(4):
        (message,) = due(box, over("old", cluster="aaa"), *others, *mixed)
        box.delivered(message)
        sent.append(dict(message.group.values)["cluster"])
    assert sent == ["prod", "dev", "qa", "aaa"]


def test_what_was_delivered_is_kept_for_a_restart():
    box = outbox()
    (message,) = due(box, alert("a"), alert("b", severity=Severity.WARNING))
    kept = box.delivered(message)
    assert (kept.version, kept.receiver, kept.route, kept.group) == (1, "ops", "all", {"cluster": "prod"})
    assert kept.told == {"a": "critical", "b": "warning"}
    assert (kept.owed, kept.quiet, kept.sent_at_ms) == ([], [], NOW_MS)
    assert box.records() == [(PROD, kept)]


def test_a_message_is_owed_and_kept_once_before_it_is_sent():
    box = outbox()
    (message,) = due(box, alert("b"), alert("a"))
    kept = box.begun(message)
    assert (kept.owed, kept.told, kept.sent_at_ms) == (["a", "b"], {}, None)
    assert kept.unsure == {"a": [CRITICAL], "b": [CRITICAL]}
    assert box.begun(message) is None, "nothing new to keep"
    assert box.known() == {"a", "b"}
    assert box.delivered(message).owed == []


def test_a_repetition_is_not_kept_before_it_is_sent():
    box = outbox()
    (message,) = due(box, alert("a"))
    box.delivered(message)
    (again,) = due(box, alert("a"), now_ms=NOW_MS + 24 * 3_600_000)
    assert (again.reason, box.begun(again)) == (Reason.REPEAT, None)


def test_a_restart_knows_what_was_told_owed_and_quiet():
    before = record(told={"a": CRITICAL, "s": PAGE}, owed=["b"], quiet=["s"], sent_at_ms=NOW_MS - 1)
    box = outbox()
    unsent = record(cluster="dev", owed=["c"])
    box.remember([record("gone", told={"x": PAGE}), before, unsent])
    assert box.known() == {"a", "s", "b", "c"}
    assert [kept for _, kept in box.records()] == [before, unsent]


def test_of_two_records_of_a_group_all_counts_and_the_later_message():
    box = outbox()
    box.remember([record(told={"a": CRITICAL}, sent_at_ms=NOW_MS), record(told={"b": PAGE}, sent_at_ms=NOW_MS - 9)])
    ((_, kept),) = box.records()
    assert (set(kept.told), kept.sent_at_ms) == ({"a", "b"}, NOW_MS)


def test_a_group_of_which_nothing_is_left_is_forgotten():
    box = outbox()
    box.delivered(due(box, alert("a"))[0])
    box.delivered(due(box, over("a"))[0])
    assert box.records() == []
    assert box.known() == set()
    assert due(box) == []


def test_a_new_group_waits_from_when_it_was_first_seen():
    box = outbox(group_wait_ms=30_000)
    assert due(box, alert("a")) == []
    assert due(box, alert("a"), now_ms=NOW_MS + 29_999) == []
    assert due(box) == [], "it ended before it was told"
    assert due(box, alert("a"), now_ms=NOW_MS + 30_000) == [], "a new beginning waits anew"
    assert [firing(m) for m in due(box, alert("a"), now_ms=NOW_MS + 60_000)] == [["a"]]


def test_an_alert_stays_in_the_group_that_told_it_and_another_receiver_gets_the_louder_one():
    routes = [
        {"name": "pages", "severity": "page", "receivers": ["chat", "pager"]},
        {"name": "rest", "receivers": ["chat"]},
    ]
    box = outbox("chat", "pager", routes=routes)
    box.delivered(due(box, alert("a", severity=Severity.WARNING))[0])
    messages = due(box, alert("a", 2, severity=Severity.PAGE))
    assert [(m.group.receiver, m.group.route) for m in messages] == [("chat", "rest"), ("pager", "pages")]
    for message in messages:
        box.delivered(message)
    ends = due(box, over("a", severity=Severity.PAGE))
    assert [(m.group.receiver, m.group.route) for m in ends] == [("chat", "rest"), ("pager", "pages")]


def test_an_alert_with_a_new_record_is_routed_anew():
    routes = [{"name": "pages", "severity": "page", "receivers": ["ops"]}]
    box, quiet = outbox(routes=routes), alert("a", severity=Severity.WARNING)
    assert due(box, quiet) == []
    assert due(box, quiet) == []
    (message,) = due(box, alert("a", 2, severity=Severity.PAGE))
    assert message.group.route == "pages"


def test_an_alert_that_is_owed_stays_in_the_group_that_owes_it():
    routes = [{"name": "pages", "severity": "page", "receivers": ["ops"]}, {"name": "rest", "receivers": ["ops"]}]
    box = outbox(routes=routes)
    box.begun(due(box, alert("a", severity=Severity.WARNING))[0])
    (message,) = due(box, alert("a", 2, severity=PAGE))
    assert message.group.route == "rest"


def test_what_the_topic_forgot_is_forgotten():
    box = outbox()
    box.delivered(due(box, alert("a"))[0])
    assert due(box) == []
    assert box.known() == set()


def test_without_a_record_of_earlier_messages_old_alerts_may_repeat_and_later_ones_do_not():
    box = outbox()
    box.has_no_memory(NOW_MS)
    (first,) = due(box, alert("a"))
    box.delivered(first)
    (second,) = due(box, alert("a"), alert("b", opened_at_ms=NOW_MS + 1), now_ms=NOW_MS + 2)
    assert (first.may_repeat, second.may_repeat) == (True, False)
