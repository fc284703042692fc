"""What the demo must have seen before it claims success."""

import pytest

from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import ActionKind, ActionStatus, AlertStatus, Cause, Lane, Rule, Severity
from logdirwatch_lab.demo import judgement
from logdirwatch_lab.demo.judgement import Place
from logdirwatch_lab.demo.story import Report, choose

BROKEN, FILLED = Place(1, "/d1"), Place(2, "/d2")


def alert(place, rule="log_dir_offline", *, identity="a", revision=1, status="firing", to="offline", **fields):
    values = {"cause": None, "lane": "stateful", "at_ms": 0} | fields
    return AlertRecord(
        version=1,
        alert_id=identity,
        revision=revision,
        status=AlertStatus(status),
        rule=Rule(rule),
        severity=Severity.PAGE,
        cluster="c",
        broker=place.broker,
        log_dir=place.log_dir,
        from_status=None,
        to_status=to,
        cause=values["cause"] and Cause(values["cause"]),
        opened_at_ms=0,
        at_ms=values["at_ms"],
        lane=Lane(values["lane"]),
        evidence={},
        affected={},
        summary="",
    )


def action(kind, identity="a", needs_ms=None):
    return ActionRecord(
        version=1,
        action_id=f"{identity}-{kind}",
        revision=1,
        status=ActionStatus.PROPOSED,
        kind=ActionKind(kind),
        alert_id=identity,
        alert={},
        cluster="c",
        target={},
        reason="",
        expected={"needs_ms": needs_ms},
        preconditions=[],
        vetoes=[],
        data_loss=False,
        requires_approval=True,
        expires_at_ms=0,
        commands=[],
        reassignment=None,
        configs=None,
        undo={},
        based_on={},
        at_ms=0,
    )


def missed(verdicts):
    return [verdict.text.split(": ", 1)[1] for verdict in verdicts if not verdict.holds]


FAST = alert(BROKEN, lane="fast", revision=0, cause="unknown")
STATEFUL = alert(BROKEN, cause="unknown")
ACTIONS = [action("investigate"), action("restart_broker")]


@pytest.mark.parametrize("lane", ["fast", "fast_micro_batch"])
def test_a_broken_directory_needs_both_lanes_one_identity_an_open_cause_and_an_action(lane):
    fast = alert(BROKEN, lane=lane, revision=0, cause="unknown")
    assert missed(judgement.broken_verdicts(BROKEN, [fast, STATEFUL], ACTIONS)) == []


@pytest.mark.parametrize(
    ("alerts", "actions", "expected"),
    [
        ([], [], 4),
        ([STATEFUL], ACTIONS, 2),
        ([FAST], ACTIONS, 2),
        ([FAST, alert(BROKEN, identity="b", cause="unknown")], ACTIONS, 1),
        ([FAST, alert(BROKEN, cause="full")], ACTIONS, 1),
        ([FAST, alert(BROKEN, cause="failed")], ACTIONS, 1),
        ([FAST, STATEFUL], [], 1),
        ([FAST, STATEFUL], [action("investigate")], 1),
        ([FAST, STATEFUL], [action("investigate", "z"), action("restart_broker", "z")], 1),
        ([alert(FILLED, lane="fast"), alert(FILLED, cause="failed")], ACTIONS, 4),
    ],
)
def test_what_is_missing_for_a_broken_directory_is_said(alerts, actions, expected):
    assert len(missed(judgement.broken_verdicts(BROKEN, alerts, actions))) == expected


def filled_story(*, saturated_at_ms=40_000, needs_ms=20_000, cause="full"):
    alerts = [
        alert(FILLED, "log_dir_space", identity="s", to="filling", at_ms=10_000),
        alert(FILLED, "log_dir_space", identity="s", revision=2, to="saturated", at_ms=saturated_at_ms),
        alert(FILLED, cause=cause, at_ms=50_000),
    ]
    return alerts, [action("move_log_dir", "s", needs_ms), action("expand_disk")]


def test_a_filled_directory_needs_warning_saturation_cause_and_time():
    assert missed(judgement.filled_verdicts(FILLED, *filled_story())) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"needs_ms": 30_001}, "first alert early enough for its first action"),
        ({"needs_ms": None}, "first alert early enough for its first action"),
        ({"saturated_at_ms": 60_000}, "saturated before it went offline"),
        ({"cause": "failed"}, "offline with cause full"),
    ],
)
def test_what_is_wrong_with_a_filled_directory_is_said(change, expected):
    assert missed(judgement.filled_verdicts(FILLED, *filled_story(**change))) == [expected]


def row(place, status, cause=None):
    return {"broker": place.broker, "log_dir": place.log_dir, "status": status, "cause": cause}


def test_the_tables_must_show_both_directories_their_brokers_and_the_lost_replicas():
    log_dirs = [row(BROKEN, "offline", "unknown"), row(FILLED, "offline", "full")]
    brokers = [{"broker": 1, "status": "degraded"}, {"broker": 2, "status": "degraded"}]
    replicas = [row(BROKEN, "offline"), row(FILLED, "online")]
    assert missed(judgement.table_verdicts(BROKEN, FILLED, log_dirs, brokers, replicas)) == []
    assert len(missed(judgement.table_verdicts(BROKEN, FILLED, [], [], []))) == 5
    half_lost = [*replicas, row(BROKEN, "online")]
    assert len(missed(judgement.table_verdicts(BROKEN, FILLED, log_dirs, brokers, half_lost))) == 1


def test_nothing_seen_is_not_resolved():
    assert not judgement.is_resolved([])
    assert not judgement.is_resolved([alert(BROKEN)])
    assert judgement.is_resolved([alert(BROKEN, revision=2, status="resolved"), alert(BROKEN)])


def test_a_report_without_verdicts_is_no_success():
    assert not Report().is_ok


def test_the_two_directories_lie_on_different_brokers():
    for seed in range(50):
        plan = choose(4, 3, seed, None, None)
        assert plan.broken[0] != plan.filled[0]
    assert choose(4, 3, 1, (2, 0), None).filled[0] != 2
    assert choose(4, 3, 1, None, (3, 1)).broken[0] != 3
