"""The book: filled from the topics, told every record, and never saying anything twice."""

import msgspec
from msgspec.structs import replace as changed

from logdirwatch.model import topics
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionStatus, AlertStatus, Cause, Decision, Lane, Rule, Severity
from logdirwatch.plan.book import Book
from tests.unit.plan.builders import (
    MIB,
    NOW_MS,
    alert,
    decision,
    directory,
    facts,
    offline,
    policy,
    replica,
    space_alert,
    topic,
)

MINUTE = 60_000
FAILED = facts(
    offline(1),
    directory(2, used=10 * MIB),
    directory(3, used=20 * MIB),
    topic("t", (1, 2)),
    replica(1, "/d1", "t"),
    replica(2, "/d1", "t"),
)
SERVING = facts(directory(1), directory(2, used=10 * MIB), directory(3, used=20 * MIB), topic("t", (1, 2)))


class Told:
    """A book and the topic it writes to; a new book may be filled from the same topics at any time."""

    def __init__(self, known=FAILED):
        self.facts = {"c": known}
        self.alerts, self.actions, self.decisions = [], [], []
        self.restart()

    def restart(self):
        self.book = Book()
        for name, records in (
            (topics.ALERTS, self.alerts),
            (topics.ACTIONS, self.actions),
            (topics.DECISIONS, self.decisions),
        ):
            for record in records:
                self.book.take(name, b"", msgspec.json.encode(record))

    def take(self, *alerts):
        self.alerts += alerts
        return [self.book.take(topics.ALERTS, b"", msgspec.json.encode(record)) for record in alerts]

    def decide(self, said):
        self.decisions.append(said)
        self.book.take(topics.DECISIONS, b"", msgspec.json.encode(said))

    def revise(self, now_ms=NOW_MS):
        published = self.book.revise(self.facts, lambda _: policy(), now_ms)
        self.actions += published
        return [(str(a.kind), str(a.status), a.revision) for a in published]

    def latest(self, kind):
        return next(a for a in reversed(self.actions) if a.kind == kind)


def test_an_alert_is_answered_once():
    told = Told()
    told.take(alert())
    assert [kind for kind, _, _ in told.revise()] == ["reassign", "replace_disk", "restart_broker"]
    assert told.revise() == []


def test_what_the_configuration_marks_is_no_destination_of_what_is_published():
    told = Told()
    told.take(alert())
    marked = policy(log_dirs=[{"broker": 3, "destination": False}])
    published = told.book.revise(told.facts, lambda _: marked, NOW_MS)
    (replace_disk,) = [action for action in published if action.kind == "replace_disk"]
    assert "plan.log_dirs says that /d1 on broker 3 is no destination" in replace_disk.reason


def test_a_restart_says_nothing_again():
    told = Told()
    told.take(alert())
    told.revise()
    told.restart()
    assert told.revise() == []


def test_records_repeated_after_a_crash_change_nothing():
    told = Told()
    told.take(alert())
    told.revise()
    assert told.take(alert()) == [False]
    assert told.revise() == []


def test_heartbeats_and_what_cannot_be_read_are_no_news():
    told = Told()
    assert told.take(alert(Rule.HEARTBEAT, number=None, log_dir=None)) == [False]
    assert told.book.take(topics.ALERTS, b"x", b"garbage") is False
    assert told.book.unreadable == 1
    assert told.book.open_clusters == set()


def test_the_fast_lane_counts_until_the_stateful_one_is_known():
    told = Told()
    told.take(alert(revision=0, lane=Lane.FAST, cause=Cause.UNKNOWN))
    assert told.revise() == [("investigate", "proposed", 1)]
    told.take(alert(revision=1))
    told.take(alert(revision=0, lane=Lane.FAST, cause=Cause.UNKNOWN))
    assert ("investigate", "superseded", 2) in told.revise()
    assert told.latest("reassign").status is ActionStatus.PROPOSED


def test_an_alert_that_opened_and_closed_before_anybody_looked_needs_no_action():
    told = Told()
    told.take(alert(), alert(revision=2, status=AlertStatus.RESOLVED))
    assert told.revise() == []


def test_a_resolved_alerts_actions_end_and_are_forgotten():
    told = Told()
    told.take(alert())
    told.revise()
    told.facts = {"c": SERVING}
    told.take(alert(revision=2, status=AlertStatus.RESOLVED, to="online", reason="recovered", at_ms=NOW_MS - 1))
    assert told.revise() == [("reassign", "withdrawn", 2), ("replace_disk", "done", 2), ("restart_broker", "done", 2)]
    assert told.book.open_clusters == set()
    assert told.take(alert()) == [False]
    assert told.revise() == []


def test_an_alert_without_facts_waits_for_them():
    told = Told()
    told.facts = {}
    told.take(alert())
    assert told.revise() == [("investigate", "proposed", 1)]
    told.facts = {"c": FAILED}
    assert told.revise()[-1] == ("investigate", "superseded", 2)
    assert told.revise() == []


def test_an_alert_about_logdirwatch_itself_has_its_runbook_step_and_waits_for_no_facts():
    told = Told()
    told.facts = {}
    told.take(alert(Rule.PIPELINE_LAGGING, number=None, log_dir=None, to=None, cause=None, cluster="*"))
    assert told.revise() == [("investigate", "proposed", 1)]
    assert "facts" not in told.latest("investigate").reason
    assert "follows" not in told.latest("investigate").reason
    assert told.revise() == []


def test_the_alert_holds_over_tables_that_lag():
    told = Told(
        facts(
            directory(1),
            directory(2, used=10 * MIB),
            directory(3, used=20 * MIB),
            topic("t", (1, 2)),
            replica(1, "/d1", "t"),
        )
    )
    told.take(alert())
    assert told.revise()[0] == ("reassign", "proposed", 1)


def test_a_decision_is_taken_in_once_also_after_a_restart():
    told = Told()
    told.take(alert())
    told.revise()
    told.decide(decision(Decision.REJECT, identity=told.latest("reassign").action_id))
    assert told.revise() == [("reassign", "rejected", 2)]
    told.restart()
    assert told.revise() == []
    told.take(alert(revision=2, severity=Severity.PAGE))
    assert ("reassign", "proposed", 3) in told.revise()
    told.restart()
    assert told.revise() == []


def test_decisions_on_what_nobody_proposed_change_nothing():
    told = Told()
    told.decide(decision(identity="nothing"))
    told.decide(decision(Decision.ACKNOWLEDGE, identity="alert"))
    assert told.revise() == []


def test_two_alerts_do_not_plan_into_the_same_space():
    """Both directories need what only one of them finds in the third."""
    told = Told(
        facts(
            directory(1, "/d1", 850 * MIB),
            directory(1, "/d2", 840 * MIB),
            directory(1, "/d3", 650 * MIB),
            topic("t", (1,)),
            topic("u", (1,)),
            replica(1, "/d1", "t", size=160 * MIB),
            replica(1, "/d2", "u", size=160 * MIB),
        )
    )
    told.take(space_alert(alert_id="a"), space_alert(alert_id="b", log_dir="/d2"))
    told.revise()
    moves = [a for a in told.actions if a.kind == "move_log_dir"]
    assert [a.target["log_dir"] for a in moves] == ["/d1"]
    assert told.revise(NOW_MS + MINUTE) == []


def test_two_alerts_do_not_reassign_one_partition():
    """Each reassignment names all replicas of the partition, so the second would undo the first."""
    told = Told(
        facts(
            offline(1),
            offline(2),
            directory(3, used=10 * MIB),
            directory(4, used=20 * MIB),
            directory(5, used=30 * MIB),
            topic("t", (1, 2, 3)),
            replica(1, "/d1", "t"),
            replica(2, "/d1", "t"),
            replica(3, "/d1", "t"),
        )
    )
    told.take(alert(alert_id="a"), alert(alert_id="b", number=2))
    told.revise()
    assert [a.alert_id for a in told.actions if a.kind == "reassign"] == ["a"]
    replaced = next(a for a in told.actions if a.alert_id == "b" and a.kind == "replace_disk")
    assert "an open action of another alert reassigns t-0" in replaced.reason


def test_a_tombstone_ends_what_was_left_open():
    told = Told()
    told.take(alert())
    told.revise()
    told.book.take(topics.ALERTS, b"alert/fast", None)
    assert told.revise() == []
    told.book.take(topics.ALERTS, b"alert", None)
    assert {status for _, status, _ in told.revise()} == {"withdrawn"}


def test_every_published_record_survives_the_way_through_the_topic():
    told = Told()
    told.take(alert())
    told.revise()
    for action in told.actions:
        assert msgspec.json.decode(msgspec.json.encode(action), type=ActionRecord) == action


def test_of_two_revisions_the_higher_holds_whatever_comes_first():
    told = Told()
    told.take(alert(revision=2, cause=Cause.FAILED), changed(alert(), cause=Cause.FULL))
    assert told.revise()[0] == ("reassign", "proposed", 1)
