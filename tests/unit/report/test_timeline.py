"""The timeline: changes of status, alerts and executions as one list."""

from logdirwatch.model.vocabulary import AlertStatus, ExecutionState
from logdirwatch.report.timeline import moments
from tests.unit.report.builders import NOW_MS, alert, execution


def change(at_ms, **more):
    row = {"cluster": "prod", "broker": 7, "log_dir": "/d1", "from_status": "online", "to_status": "filling"}
    return {**row, "reason": "ratio", "cause": None, "at_ms": at_ms, **more}


def told(*arguments, most=100):
    return [(one.what, one.word, one.text, one.why) for one in moments(*arguments, most)[0]]


def test_everything_stands_in_one_order_the_newest_first():
    firing = alert(at_ms=NOW_MS - 2)
    over = alert(revision=2, status=AlertStatus.RESOLVED, at_ms=NOW_MS, reason="recovered")
    found = told([change(NOW_MS - 3), change(NOW_MS - 1, log_dir=None, from_status=None)], [over, firing], [])
    assert found == [
        ("alert", "resolved", "prod: Broker 7 /data/d1 is offline", "recovered"),
        ("broker", "filling", "prod broker 7", "first seen; ratio"),
        ("alert", "critical", "prod: Broker 7 /data/d1 is offline", ""),
        ("directory", "filling", "prod broker 7 /d1", "was online; ratio"),
    ]


def test_steps_of_an_execution_that_change_no_state_are_left_out():
    records = [
        execution(state=ExecutionState.STUCK, step=2, reason="no room", at_ms=NOW_MS - 1),
        execution(step=2, at_ms=NOW_MS - 2),
        execution(step=1, at_ms=NOW_MS - 3),
    ]
    assert told([], [], records) == [
        ("execution", "stuck", "move_log_dir on prod", "by ada; no room"),
        ("execution", "copying", "move_log_dir on prod", "by ada"),
    ]


def test_of_many_the_newest_are_shown_and_that_there_are_more():
    changes = [change(NOW_MS - number) for number in range(3)]
    shown, has_more = moments(changes, [], [], 2)
    assert ([one.at_ms for one in shown], has_more) == ([NOW_MS, NOW_MS - 1], True)
    assert moments(changes, [], [], 3)[1] is False


def test_each_leads_to_its_page():
    pages = [(one.page, one.about) for one in moments([change(2), change(1, log_dir=None)], [], [], 9)[0]]
    assert pages == [
        ("directory", {"cluster": "prod", "broker": 7, "log_dir": "/d1"}),
        ("broker", {"cluster": "prod", "broker": 7}),
    ]
