"""What people decided about an alert's actions, and what its next plan makes of it."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, ActionStatus, Severity
from logdirwatch.plan.operator_decisions import (
    OperatorDecisions,
    apply_decisions,
    decisions_on,
    is_rejected,
    moved_topics,
)
from logdirwatch.plan.proposal import ProposedAction, Veto
from tests.unit.plan.builders import NOW_MS, action

PLACE = {"broker": 1, "log_dir": "/d1"}


def cut(topic, status=ActionStatus.ACCEPTED, **fields):
    return action(ActionKind.LOWER_RETENTION, target={**PLACE, "topic": topic}, status=status, **fields)


def move(*topics, kind=ActionKind.MOVE_LOG_DIR, status=ActionStatus.ACCEPTED, **fields):
    return action(kind, target=PLACE, status=status, reassignment=plan(*topics), **fields)


def plan(*topics):
    return {"version": 1, "partitions": [{"topic": name, "partition": 0} for name in topics]}


def said_at(at_ms):
    return {"at_ms": at_ms, "decision": "accept"}


class TestWhatWasTakenUp:
    def decided(self, *actions):
        found = decisions_on(actions, Severity.CRITICAL)
        return sorted(found.cutting), sorted(found.moving)

    @pytest.mark.parametrize(
        ("status", "counts"),
        [
            (ActionStatus.ACCEPTED, True),
            (ActionStatus.RUNNING, True),
            (ActionStatus.PROPOSED, False),
            (ActionStatus.REJECTED, False),
            (ActionStatus.DONE, False),
            (ActionStatus.WITHDRAWN, False),
        ],
    )
    def test_only_what_is_under_way_holds_its_topics(self, status, counts):
        assert self.decided(cut("a", status), move("b", status=status)) == ((["a"], ["b"]) if counts else ([], []))

    def test_several_are_added_up(self):
        assert self.decided(cut("a"), cut("b"), move("c"), move("d", "e", kind=ActionKind.REASSIGN)) == (
            ["a", "b"],
            ["c", "d", "e"],
        )

    @pytest.mark.parametrize(
        ("cut_at", "move_at", "holds"),
        [(1, 2, (["a"], [])), (2, 1, ([], ["a", "b"]))],
    )
    def test_of_a_move_and_a_cut_of_one_topic_the_first_accepted_stands(self, cut_at, move_at, holds):
        pair = [cut("a", decision=said_at(cut_at)), move("a", "b", decision=said_at(move_at))]
        assert self.decided(*pair) == self.decided(*reversed(pair)) == holds

    def test_what_runs_comes_before_what_was_accepted_earlier(self):
        running = move("a", status=ActionStatus.RUNNING, decision=said_at(2))
        assert self.decided(cut("a", decision=said_at(1)), running) == ([], ["a"])

    def test_what_nobody_decided_counts_from_its_own_time(self):
        running = ActionStatus.RUNNING
        later = move("a", status=running, at_ms=NOW_MS + 1)
        assert self.decided(later, cut("a", running, decision=said_at(NOW_MS))) == (["a"], [])
        assert self.decided(later, cut("a", running, decision=said_at(NOW_MS + 2))) == ([], ["a"])

    @pytest.mark.parametrize(
        ("one", "topics"),
        [
            (move("a", "b"), {"a", "b"}),
            (move("a", kind=ActionKind.REASSIGN), {"a"}),
            (move("a", kind=ActionKind.DEMOTE_LEADERS), set()),
            (action(ActionKind.MOVE_LOG_DIR), set()),
        ],
        ids=["within", "between", "order alone", "without a plan"],
    )
    def test_moves_are_what_copies_replicas(self, one, topics):
        assert moved_topics(one) == topics


class TestWhatWasRejected:
    @pytest.mark.parametrize(
        ("status", "then", "now", "rejected"),
        [
            (ActionStatus.REJECTED, "warning", Severity.WARNING, True),
            (ActionStatus.REJECTED, "critical", Severity.WARNING, True),
            (ActionStatus.REJECTED, "warning", Severity.CRITICAL, False),
            (ActionStatus.PROPOSED, "warning", Severity.WARNING, False),
        ],
    )
    def test_it_stays_so_until_the_alert_is_louder(self, status, then, now, rejected):
        one = cut("a", status, severity=then)
        assert is_rejected(one, now) is rejected
        assert decisions_on([one], now).is_rejected(one.kind, one.target) is rejected

    @pytest.mark.parametrize(
        ("kind", "target"),
        [(ActionKind.DELETE_RECORDS, {**PLACE, "topic": "a"}), (ActionKind.LOWER_RETENTION, {**PLACE, "topic": "b"})],
    )
    def test_another_kind_or_target_is_not_meant(self, kind, target):
        found = decisions_on([cut("a", ActionStatus.REJECTED)], Severity.CRITICAL)
        assert not found.is_rejected(kind, target)


class TestTheNextPlan:
    def planned(self, proposals, **decisions):
        found = apply_decisions(proposals, OperatorDecisions(**decisions))
        return [(str(one.kind), [veto.name for veto in one.vetoes]) for one in found]

    def proposal(self, kind=ActionKind.LOWER_RETENTION, *, vetoes=(), **target):
        return ProposedAction(kind, {**PLACE, **target}, "", {}, vetoes=vetoes)

    def test_it_leaves_out_what_was_rejected_and_keeps_the_rest_in_order(self):
        asked = [self.proposal(topic="a"), self.proposal(ActionKind.MOVE_LOG_DIR), self.proposal(topic="b")]
        rejected = ((ActionKind.LOWER_RETENTION, {**PLACE, "topic": "a"}),)
        assert self.planned(asked, rejected=rejected) == [("move_log_dir", []), ("lower_retention", [])]

    @pytest.mark.parametrize(
        ("kind", "topic", "vetoes"),
        [
            (ActionKind.LOWER_RETENTION, "a", ["move_waits"]),
            (ActionKind.LOWER_RETENTION, "b", []),
            (ActionKind.DELETE_RECORDS, "a", []),
        ],
    )
    def test_a_cut_waits_for_a_move_of_its_topic(self, kind, topic, vetoes):
        assert self.planned([self.proposal(kind, topic=topic)], moving=frozenset({"a"})) == [(str(kind), vetoes)]

    def test_vetoes_that_stood_before_stay_first_and_none_is_doubled(self):
        decisions, other = OperatorDecisions(moving=frozenset({"a"})), Veto("other", "")
        (once,) = apply_decisions([self.proposal(topic="a", vetoes=(other,))], decisions)
        assert [veto.name for veto in once.vetoes] == ["other", "move_waits"]
        assert apply_decisions([once], decisions) == [once]
        assert "a move of a was taken up" in once.vetoes[1].reason
