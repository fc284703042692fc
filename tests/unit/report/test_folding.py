from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import AlertStatus, Decision, Rule, Severity
from logdirwatch.report.folding import LatestDecisions, Message, is_heartbeat, latest_actions, latest_alerts
from tests.unit.report.builders import NOW_MS, action, alert, message


def test_the_fast_record_counts_until_a_stateful_one_is_known():
    fold = latest_alerts()
    fast, stateful = alert(revision=0), alert(revision=1)
    assert fold.take(message(fast)) == fast
    assert fold.records == [fast]
    assert fold.take(message(stateful)) == stateful
    assert fold.records == [stateful]


def test_a_fast_record_that_comes_late_or_again_says_nothing_new():
    fold = latest_alerts()
    fold.take(message(alert(revision=1)))
    assert fold.take(message(alert(revision=0))) is None
    assert [a.revision for a in fold.records] == [1]


def test_a_record_repeated_after_a_crash_is_yielded_once():
    fold = latest_alerts()
    twice = [message(alert(revision=1)), message(alert(revision=1)), message(alert(revision=2))]
    assert [a.revision for a in fold.take_all(twice)] == [1, 2]


def test_a_tombstone_takes_an_alert_away_for_good():
    fold = latest_alerts()
    fold.take(message(alert("x", revision=2)))
    fold.take(Message(b"x", None))
    fold.take(message(alert("x", revision=0)))
    assert fold.records == []


def test_the_tombstone_of_a_fast_key_leaves_the_stateful_alert():
    fold = latest_alerts()
    fold.take(message(alert("x", revision=1)))
    fold.take(Message(b"x/fast", None))
    assert [a.alert_id for a in fold.records] == ["x"]


def test_what_cannot_be_read_is_counted_and_hides_nothing():
    fold = latest_alerts()
    fold.take(Message(b"k", b"{not json"))
    fold.take(Message(b"k", b'{"version": 2}'))
    fold.take(message(alert()))
    assert fold.unreadable == 2
    assert len(fold.records) == 1


def test_actions_fold_by_their_own_identity():
    fold = latest_actions()
    list(fold.take_all([message(action("c1", 1)), message(action("c2", 1)), message(action("c1", 2))]))
    assert sorted((a.action_id, a.revision) for a in fold.records) == [("c1", 2), ("c2", 1)]


def test_a_heartbeat_is_no_alert():
    assert is_heartbeat(alert(rule=Rule.HEARTBEAT, status=AlertStatus.RESOLVED, broker=None, log_dir=None))
    assert not is_heartbeat(alert())


def test_how_loud_an_alert_has_been_is_known_while_it_fires():
    fold = latest_alerts()
    for revision, severity in enumerate(["warning", "warning", "page", "critical"]):
        fold.take(message(alert("x", revision, severity=Severity(severity))))
    assert fold.severities("x") == [(0, "warning"), (2, "page"), (3, "critical")]
    fold.take(message(alert("x", 4, status=AlertStatus.RESOLVED)))
    assert list(fold.severities("x")) == []


def test_the_last_decision_of_each_kind_holds_whatever_its_clock_says():
    fold = LatestDecisions(60_000)
    values = {"version": 1, "id": "x", "by": "ada", "reason": "r"}
    for kind, at_ms in (("silence", 5), ("acknowledge", 4), ("silence", 3), ("silence", 3)):
        fold.take(message(DecisionRecord(decision=Decision(kind), at_ms=at_ms, **values)))
    assert [(record.decision, record.at_ms) for record in fold.records] == [("acknowledge", 4), ("silence", 3)]


def test_a_decision_that_is_said_again_is_no_news_and_the_last_word():
    fold = LatestDecisions(60_000)
    values = {"version": 1, "id": "x", "by": "ada", "reason": "r", "at_ms": 5}
    said = [message(DecisionRecord(decision=Decision(kind), **values)) for kind in ("reject", "accept", "reject")]
    assert [fold.take(one) is not None for one in said] == [True, True, False]
    assert fold.records[-1].decision == "reject"


def test_a_decision_of_a_clock_that_is_ahead_is_not_newer_than_what_came_after_it():
    fold = LatestDecisions(60_000)
    for by, at_ms, timestamp_ms in (("ada", NOW_MS + 10**9, NOW_MS), ("bob", NOW_MS + 1, NOW_MS + 1)):
        said = DecisionRecord(version=1, id="x", decision=Decision.SILENCE, by=by, reason="r", at_ms=at_ms)
        fold.take(Message(b"x", message(said).value, timestamp_ms))
    assert [(record.by, record.at_ms) for record in fold.records] == [("bob", NOW_MS + 1)]
