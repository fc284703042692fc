"""The book: filled from the topics, told every record, and never saying anything twice."""

import re
from dataclasses import replace
from itertools import permutations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from logdirwatch.model import topics
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind, ActionStatus, AlertStatus, Cause, Decision, Lane, Rule, Severity
from logdirwatch.plan.cluster.cordons import CORDON
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.plan.lifecycle.action_tracker import ActionTracker
from tests.unit.plan.builders import (
    MIB,
    NOW_MS,
    action,
    alert,
    broker,
    decision,
    directory,
    facts,
    offline,
    policy,
    replica,
    space_alert,
    topic,
)
from tests.unit.plan.test_malformed_evidence import FACTS, JSON

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

    def __init__(self, known=FAILED, **limits):
        self.facts, self.policy = {"c": known}, policy(**limits)
        self.alerts, self.actions, self.decisions = [], [], []
        self.restart()

    def restart(self):
        self.book = ActionTracker(60_000)
        for name, records in (
            (topics.ALERTS, self.alerts),
            (topics.ACTIONS, self.actions),
            (topics.DECISIONS, self.decisions),
        ):
            for record in records:
                self.book.take(name, b"", msgspec.json.encode(record), -1)

    def take(self, *alerts):
        self.alerts += alerts
        return [self.book.take(topics.ALERTS, b"", msgspec.json.encode(record), -1) for record in alerts]

    def decide(self, said, kafka_ms=-1):
        self.decisions.append(said)
        self.book.take(topics.DECISIONS, b"", msgspec.json.encode(said), kafka_ms)

    def revise(self, now_ms=NOW_MS):
        published = self.book.revise(self.facts, lambda _: self.policy, now_ms)
        self.actions += published
        return [(str(a.kind), str(a.status), a.revision) for a in published]

    def latest(self, kind):
        return next(a for a in reversed(self.actions) if a.kind == kind)


def test_an_alert_is_answered_once():
    told = Told()
    told.take(alert())
    assert [kind for kind, _, _ in told.revise()] == ["reassign", "replace_disk", "restart_broker"]
    assert told.revise() == []


@pytest.mark.parametrize("inventory_at_ms", [None, NOW_MS - 24 * 60 * MINUTE])
def test_what_was_said_while_nothing_could_be_planned_is_followed_by_the_full_action(inventory_at_ms):
    """The runbook's step and the look that is planned share an identity: nothing else would replace the one."""
    told = Told()
    early = {} if inventory_at_ms is None else {"c": replace(FAILED, inventory_at_ms=inventory_at_ms)}
    late, told.facts = told.facts, early
    told.take(alert(cause=Cause.UNKNOWN, evidence={"decided_by": "event"}))
    assert told.revise() == [("investigate", "proposed", 1)]
    assert "the full action follows" in told.latest("investigate").reason
    assert told.revise() == []
    told.facts = late
    assert told.revise() == [("investigate", "proposed", 2), ("restart_broker", "proposed", 1)]
    assert "nothing proves that a disk broke" in told.latest("investigate").reason
    assert any("findmnt" in command for command in told.latest("investigate").commands)
    assert told.revise() == []


def test_the_device_that_is_known_by_now_is_named():
    told = Told()
    words = {"decided_by": "broker_log", "said": "append failed: Input/output error"}
    told.take(alert(evidence=words))
    told.revise()
    told.take(alert(revision=2, evidence=words | {"device": "sdd"}))
    assert sorted(told.revise()) == [("investigate", "superseded", 2), ("replace_disk", "proposed", 2)]
    assert "replace the disk sdd under /d1" in told.latest("replace_disk").reason
    assert told.revise() == []


def test_that_a_proposal_would_lose_data_by_now_is_said():
    told = Told()
    told.take(alert())
    told.revise()
    assert not told.latest("replace_disk").data_loss
    told.facts = {"c": replace(FAILED, layout=replace(FAILED.layout, topics={"t": topic("t", (1,))}))}
    told.revise()
    assert told.latest("replace_disk").data_loss


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
    assert told.book.take(topics.ALERTS, b"x", b"garbage", -1) is False
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


def test_a_decision_of_a_clock_that_is_ahead_is_not_newer_than_what_was_said_after_it():
    told = Told()
    told.take(alert())
    told.revise()
    identity = told.latest("reassign").action_id
    told.decide(decision(at_ms=NOW_MS + 3_600_000, identity=identity), kafka_ms=NOW_MS)
    assert told.revise() == [("reassign", "accepted", 2)]
    told.decide(decision(Decision.REJECT, at_ms=NOW_MS + 5, identity=identity), kafka_ms=NOW_MS + 5)
    assert told.revise() == [("reassign", "rejected", 3)]


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


class TestStopsOfTwoBrokers:
    """Each restart alone takes nothing away; both at once may."""

    def told(self):
        limited = [offline(number, cause=Cause.LIMIT) for number in (1, 2)]
        others = [directory(1, "/d2"), directory(2, "/d2"), directory(3), directory(4)]
        parts = [topic("t", (1, 3, 4)), replica(1, "/d1", "t"), topic("u", (2, 3, 4)), replica(2, "/d1", "u")]
        told = Told(facts(*limited, *others, *parts))
        told.take(*(alert(number=number, alert_id=name, cause=Cause.LIMIT) for number, name in ((1, "a"), (2, "b"))))
        told.revise()
        return told

    def restart(self, told, number):
        return [a for a in told.actions if (a.kind, a.target["broker"]) == ("restart_broker", number)][-1]

    def accept(self, told, at_ms, *numbers):
        for later_ms, number in enumerate(numbers):
            action = self.restart(told, number)
            said = decision(identity=action.action_id, at_ms=at_ms + later_ms, content_hash=content_hash(action))
            told.decide(said, at_ms + later_ms)
        told.revise(at_ms + 10)

    def test_one_waits_for_the_other_that_was_accepted(self):
        told = self.told()
        assert not self.restart(told, 2).vetoes
        self.accept(told, NOW_MS + 1, 1)
        assert [veto["name"] for veto in self.restart(told, 2).vetoes] == ["other_broker_stopping"]
        assert "stops broker 1" in self.restart(told, 2).vetoes[0]["reason"]

    @pytest.mark.parametrize(("first", "second"), [(1, 2), (2, 1)])
    def test_of_two_accepted_from_one_page_the_first_stays(self, first, second):
        told = self.told()
        self.accept(told, NOW_MS + 1, first, second)
        assert (self.restart(told, first).status, self.restart(told, first).vetoes) == (ActionStatus.ACCEPTED, [])
        assert self.restart(told, second).status == ActionStatus.PROPOSED
        assert self.restart(told, second).vetoes[0]["name"] == "other_broker_stopping"


def test_what_was_proposed_for_an_alert_that_is_over_takes_nothing_from_the_next_one():
    full = directory(1, used=900 * MIB)
    told = Told(facts(full, directory(1, "/d2"), topic("t", (1,)), replica(1, "/d1", "t", size=600 * MIB)))
    told.take(space_alert("critical", alert_id="first"))
    told.revise()
    over = {"status": AlertStatus.RESOLVED, "to_status": "online", "reason": "recovered"}
    told.take(space_alert(alert_id="first", revision=2, at_ms=NOW_MS + 1, **over))
    told.take(space_alert("critical", alert_id="again", at_ms=NOW_MS + 2))
    told.revise(NOW_MS + 3)
    assert told.latest("move_log_dir").alert_id == "again"
    assert not told.latest("move_log_dir").vetoes


def test_a_tombstone_ends_what_was_left_open():
    told = Told()
    told.take(alert())
    told.revise()
    for name, key in ((topics.ALERTS, b"alert/fast"), (topics.ACTIONS, b"alert"), (topics.DECISIONS, b"alert")):
        assert not told.book.take(name, key, None, -1)
        assert told.revise() == []
    told.book.take(topics.ALERTS, b"alert", None, -1)
    assert {status for _, status, _ in told.revise()} == {"withdrawn"}


def test_every_published_record_survives_the_way_through_the_topic():
    told = Told()
    told.take(alert())
    told.revise()
    for published in told.actions:
        assert msgspec.json.decode(msgspec.json.encode(published), type=ActionRecord) == published


def test_of_two_revisions_the_higher_holds_whatever_comes_first():
    told = Told()
    told.take(alert(revision=2, cause=Cause.FAILED), changed(alert(), cause=Cause.FULL))
    assert told.revise()[0] == ("reassign", "proposed", 1)


class TestCordonsOfOneBroker:
    """Each command sets the broker's whole list."""

    def facts(self, cordoned=(), used=850 * MIB, now_ms=NOW_MS, configured=None):
        listed = ",".join(cordoned if configured is None else configured)
        return facts(
            broker(1, **{"log.dirs": "/d1,/d2,/d3", "cordoned.log.dirs": listed}),
            directory(1, "/d1", used, is_cordoned="/d1" in cordoned),
            directory(1, "/d2", used - 10 * MIB, is_cordoned="/d2" in cordoned),
            directory(1, "/d3", 500 * MIB, is_cordoned="/d3" in cordoned),
            directory(2, used=690 * MIB),
            topic("t", (1,), (1,)),
            replica(1, "/d1", "t", 0, 400 * MIB),
            replica(1, "/d2", "t", 1, 400 * MIB),
            inventory_at_ms=now_ms,
            metadata_version=CORDON,
        )

    def told(self, **fields):
        told = Told(self.facts(**fields))
        told.take(space_alert(alert_id="a"), space_alert(alert_id="b", log_dir="/d2"))
        told.revise()
        return told

    def over(self):
        """Both were cordoned, both alerts are over, and there is room again."""
        told = self.told(cordoned=["/d3"])
        told.facts = {"c": self.facts(["/d1", "/d2", "/d3"])}
        told.revise(NOW_MS + MINUTE)
        over = {"revision": 2, "status": AlertStatus.RESOLVED, "to": "online", "at_ms": NOW_MS + MINUTE}
        told.take(space_alert(alert_id="a", **over), space_alert(alert_id="b", log_dir="/d2", **over))
        told.facts = {"c": self.facts(["/d1", "/d2", "/d3"], used=400 * MIB, now_ms=NOW_MS + 9 * MINUTE)}
        told.revise(NOW_MS + 9 * MINUTE)
        return told

    def open(self, told, kind):
        return {a.target["log_dir"]: a for a in told.actions if a.kind == kind and a.status == "proposed"}

    def asked(self, action):
        """Return the list that an action's command sets."""
        (command,) = action.commands
        found = re.search(r"cordoned.log.dirs=\[(.*)\]", command)
        return sorted(found[1].split(",")) if found else []

    @pytest.mark.parametrize("order", list(permutations(["/d1", "/d2"])))
    def test_two_cordons_from_one_page_end_right_in_either_order(self, order):
        actions = self.open(self.told(cordoned=["/d3"]), "cordon_log_dir")
        assert [self.asked(actions[path]) for path in order][-1] == ["/d1", "/d2", "/d3"]
        other = order[0]
        assert f"so it includes {other} for other actions" in actions[order[1]].reason

    @pytest.mark.parametrize("order", list(permutations(["/d1", "/d2"])))
    def test_two_ends_of_cordons_from_one_page_end_right_in_either_order(self, order):
        actions = self.open(self.over(), "uncordon_log_dir")
        assert [self.asked(actions[path]) for path in order][-1] == ["/d3"]

    def test_what_was_published_is_not_said_again(self):
        told = self.told()
        assert told.revise(NOW_MS + MINUTE) == []
        told.restart()
        assert told.revise(NOW_MS + MINUTE) == []

    def test_a_rejected_one_is_not_done_by_the_other(self):
        told = self.told()
        told.decide(decision(Decision.REJECT, identity=self.open(told, "cordon_log_dir")["/d2"].action_id))
        assert ("cordon_log_dir", "proposed", 3) in told.revise(NOW_MS + MINUTE)
        assert self.asked(self.open(told, "cordon_log_dir")["/d1"]) == ["/d1"]

    def test_a_proposal_is_renewed_when_somebody_else_cordons(self):
        told = self.told()
        told.facts = {"c": self.facts(["/d3"])}
        told.revise(NOW_MS + MINUTE)
        assert self.asked(self.open(told, "cordon_log_dir")["/d1"]) == ["/d1", "/d2", "/d3"]

    def test_an_accepted_one_whose_list_is_another_now_is_withdrawn_and_proposed_anew(self):
        told = self.told()
        seen = self.open(told, "cordon_log_dir")["/d1"]
        told.decide(decision(identity=seen.action_id, revision=seen.revision, content_hash=seen.content_hash))
        told.revise(NOW_MS + MINUTE)
        told.facts = {"c": self.facts(["/d3"])}
        told.revise(NOW_MS + 2 * MINUTE)
        mine = [a for a in told.actions if a.kind == "cordon_log_dir" and a.target["log_dir"] == "/d1"]
        assert [str(a.status) for a in mine[-3:]] == ["accepted", "withdrawn", "proposed"]
        assert self.asked(mine[-1]) == ["/d1", "/d2", "/d3"]

    def test_what_directories_report_holds_over_a_configuration_that_was_read_before(self):
        told = self.told()
        told.facts = {"c": self.facts(["/d1"], configured=["/d3"])}
        told.revise(NOW_MS + MINUTE)
        assert self.asked(self.open(told, "cordon_log_dir")["/d2"]) == ["/d1", "/d2"]


class TestWhatWasRejected:
    """It is not planned again, so something else is."""

    FULL = (directory(1, used=870 * MIB), topic("t", (1,)), replica(1, "/d1", "t", size=800 * MIB))

    def rejected(self, kind, *parts):
        told = Told(facts(*self.FULL, *parts))
        told.take(space_alert("critical"))
        told.revise()
        told.decide(decision(Decision.REJECT, identity=told.latest(kind).action_id))
        return told, [said[:2] for said in told.revise(NOW_MS + MINUTE)]

    def test_after_a_rejected_cut_there_is_more_room(self):
        told, said = self.rejected("lower_retention")
        assert said == [("lower_retention", "rejected")], "it was offered before the cut, and stays"
        assert told.latest("expand_disk").status is ActionStatus.PROPOSED
        assert told.revise(NOW_MS + 2 * MINUTE) == []

    def test_after_a_rejected_cut_another_topic_is_cut(self):
        parts = [directory(1, used=990 * MIB), topic("u", (1,)), replica(1, "/d1", "u", size=120 * MIB)]
        told, _ = self.rejected("lower_retention", *parts)
        named = [action.target["topic"] for action in told.actions if action.kind == "lower_retention"]
        assert sorted(set(named)) == ["t", "u"]

    def test_after_a_rejected_move_other_brokers_are_asked(self):
        small = [topic("u", (1, 2)), *(replica(number, "/d1", "u", size=200 * MIB) for number in (1, 2))]
        rooms = [directory(1, "/d2", used=10 * MIB), directory(2, used=300 * MIB), directory(3, used=20 * MIB)]
        _, said = self.rejected("move_log_dir", *small, *rooms)
        assert ("reassign", "proposed") in said

    def test_where_all_was_rejected_the_runbook_step_is_left(self):
        told, _ = self.rejected("lower_retention")
        told.decide(decision(Decision.REJECT, at_ms=NOW_MS + 2 * MINUTE, identity=told.latest("expand_disk").action_id))
        assert ("investigate", "proposed", 1) in told.revise(NOW_MS + 3 * MINUTE)

    def test_a_louder_alert_asks_for_the_cut_again(self):
        told, _ = self.rejected("lower_retention")
        told.take(space_alert("saturated", revision=2, severity=Severity.PAGE))
        assert ("lower_retention", "proposed", 3) in told.revise(NOW_MS + 2 * MINUTE)


class TestMoveAndCutOfOneTopic:
    """Where a move is late both are proposed; retention of what moves stands still, so only one is carried out."""

    FULL = (
        directory(1, used=900 * MIB, growth_bytes_per_s=0.11 * MIB),
        directory(1, "/d2", used=10 * MIB),
        topic("t", (1,)),
        replica(1, "/d1", "t", size=400 * MIB),
    )

    def told(self, *kinds):
        told = Told(facts(*self.FULL), disk_bandwidth_bytes_per_s=int(0.61 * MIB))
        told.take(space_alert("critical"))
        told.revise()
        for number, kind in enumerate(kinds):
            told.decide(decision(at_ms=NOW_MS + number, identity=told.latest(kind).action_id))
        told.revise(NOW_MS + MINUTE)
        return told

    def vetoes(self, told, kind):
        return [veto["name"] for veto in told.latest(kind).vetoes]

    def test_both_are_proposed(self):
        told = self.told()
        assert self.vetoes(told, "move_log_dir") == self.vetoes(told, "lower_retention") == []

    @pytest.mark.parametrize(
        ("kind", "other", "veto"),
        [("move_log_dir", "lower_retention", "move_waits"), ("lower_retention", "move_log_dir", "retention_waits")],
    )
    def test_once_one_was_accepted_the_other_has_its_veto(self, kind, other, veto):
        told = self.told(kind)
        assert str(told.latest(kind).status) == "accepted"
        assert (str(told.latest(other).status), self.vetoes(told, other)) == ("proposed", [veto])
        assert told.latest(other).commands == []
        assert told.revise(NOW_MS + 2 * MINUTE) == []

    @pytest.mark.parametrize("order", list(permutations(["move_log_dir", "lower_retention"])))
    def test_of_two_accepted_at_once_the_first_stands(self, order):
        told = self.told(*order)
        assert str(told.latest(order[0]).status) == "accepted"
        later = [a for a in told.actions if a.kind == order[1]]
        assert [str(a.status) for a in later[-3:]] == ["accepted", "withdrawn", "proposed"]
        assert len(later[-1].vetoes) == 1

    def test_the_veto_ends_with_the_cut(self):
        told = self.told("lower_retention")
        told.decide(decision(Decision.REJECT, at_ms=NOW_MS + MINUTE, identity=told.latest("lower_retention").action_id))
        told.revise(NOW_MS + 2 * MINUTE)
        assert self.vetoes(told, "move_log_dir") == []

    def test_what_else_can_be_moved_is_moved_beside_the_cut(self):
        small = [topic("u", (1,)), replica(1, "/d1", "u", size=90 * MIB)]
        told = Told(facts(*self.FULL, *small), disk_bandwidth_bytes_per_s=int(0.61 * MIB))
        told.take(space_alert("critical"))
        told.revise()
        cut = next(a for a in told.actions if a.kind == "lower_retention" and a.target["topic"] == "t")
        told.decide(decision(identity=cut.action_id))
        told.revise(NOW_MS + MINUTE)
        assert [entry["topic"] for entry in told.latest("move_log_dir").reassignment["partitions"]] == ["u"]


PARTS = ("target", "expected", "alert", "undo", "based_on", "reassignment", "configs", "observed", "decision")
PARTITION = {"topic": "t", "partition": 0, "replicas": [1], "log_dirs": ["/d1"]}
BAD = [
    {"target": {}},
    {"target": {"broker": "one", "log_dir": 7}},
    {"expected": {}},
    {"expected": {"on": [{}]}, "reassignment": {"version": 1, "partitions": [PARTITION]}},
    {"reassignment": {"partitions": [{}]}},
    {"reassignment": {}},
    {"alert": {}, "status": "rejected"},
    {"alert": {"severity": "deafening"}, "status": "rejected"},
    {"observed": {}, "status": "running"},
    {"undo": {}, "reassignment": {"version": 1, "partitions": [PARTITION]}},
    {"decision": {}, "status": "accepted"},
    {"vetoes": [{}]},
    {"configs": {"t": {"retention.bytes": 7}}},
]
KINDS = [ActionKind.MOVE_LOG_DIR, ActionKind.REASSIGN, ActionKind.LOWER_RETENTION, ActionKind.CORDON_LOG_DIR]


def record_of(kind=ActionKind.MOVE_LOG_DIR, alert_id="other", status="proposed", revision=3, **parts):
    sound = msgspec.to_builtins(action(kind, alert_id=alert_id, revision=revision, action_id="bad"))
    return {**sound, "status": status, **parts}


def tracked(*records):
    """A tracker with a sound alert, another one, and these records of actions."""
    tracker = ActionTracker(60_000)
    for one in (space_alert("critical", alert_id="sound"), space_alert("critical", alert_id="other", log_dir="/d2")):
        tracker.take(topics.ALERTS, b"", msgspec.json.encode(one), -1)
    for one in records:
        tracker.take(topics.ACTIONS, b"", msgspec.json.encode(one), -1)
    return tracker


def revised(tracker):
    return tracker.revise({"c": FACTS}, lambda _: policy(), NOW_MS)


@pytest.mark.parametrize("parts", BAD, ids=str)
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("alert_id", ["other", "gone"])
def test_a_malformed_action_takes_the_advice_away_from_nobody(parts, kind, alert_id):
    tracker = tracked(record_of(kind, alert_id, **parts))
    found = revised(tracker)
    assert "move_log_dir" in {str(one.kind) for one in found if one.alert_id == "sound"}
    assert revised(tracker) == []


def test_it_is_counted_and_told_once():
    tracker = tracked(record_of(target={}, reassignment={"partitions": [{}]}))
    revised(tracker)
    assert tracker.unreadable == 1
    revised(tracker)
    assert tracker.unreadable == 1
    assert len(tracker.take_set_aside()) <= 1
    assert tracker.take_set_aside() == []


def test_a_decision_on_it_and_one_on_a_sound_action_are_both_taken():
    sound = msgspec.to_builtins(action(alert_id="sound", action_id="mine", target={"broker": 1, "log_dir": "/d1"}))
    tracker = tracked(record_of(target={}, expected={}), sound)
    for identity in ("bad", "mine"):
        said = decision(identity=identity, revision=1)
        tracker.take(topics.DECISIONS, b"", msgspec.json.encode(said), NOW_MS)
    accepted = [one for one in revised(tracker) if one.action_id == "mine"]
    assert accepted[0].status is ActionStatus.ACCEPTED


@given(
    kind=st.sampled_from(ActionKind),
    status=st.sampled_from(ActionStatus),
    alert_id=st.sampled_from(["sound", "other", "gone"]),
    parts=st.dictionaries(st.sampled_from(PARTS), st.dictionaries(st.text(max_size=8), JSON, max_size=3), max_size=4),
)
def test_whatever_it_holds_the_others_get_their_advice(kind, status, alert_id, parts):
    found = revised(tracked(record_of(kind, alert_id, str(status), **parts)))
    assert [one for one in found if one.alert_id == "sound" and not one.vetoes]
