"""The life of actions: what is published when facts, decisions or the alert change, and that nothing is said twice."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from logdirwatch.model.vocabulary import ActionKind, ActionStatus, AlertStatus, BrokerStatus, Cause, Decision, Severity
from logdirwatch.plan.lifecycle.transitions import close, decide, keep_waiting, reconcile
from logdirwatch.plan.recommend import recommend
from tests.unit.plan.builders import (
    FAILED,
    FILLING,
    MIB,
    NOW_MS,
    action,
    alert,
    broker,
    decision,
    directory,
    facts,
    later,
    offline,
    policy,
    replica,
    space_alert,
    topic,
)

POLICY = policy()


def plan(an_alert, *parts, now_ms=NOW_MS):
    return recommend(an_alert, facts(*parts, inventory_at_ms=now_ms), POLICY, now_ms)


def look(known, an_alert, *parts, now_ms):
    """Look again at facts of ``now_ms``; return the revisions to publish."""
    fresh = facts(*parts, inventory_at_ms=now_ms)
    return reconcile(known, recommend(an_alert, fresh, POLICY, now_ms), fresh, POLICY, now_ms)


def told(revisions):
    return [(str(a.kind), str(a.status), a.revision) for a in revisions]


def with_status(actions, status, **fields):
    return [changed(a, status=status, **fields) for a in actions]


class TestQuiet:
    @pytest.mark.parametrize(("an_alert", "parts"), [(alert(), FAILED), (space_alert(), FILLING)])
    def test_the_same_facts_say_nothing_new(self, an_alert, parts):
        assert look(plan(an_alert, *parts), an_alert, *parts, now_ms=later()) == []

    def test_a_drift_of_sizes_says_nothing_new(self):
        grown = [directory(1, "/d1", 860 * MIB), *FILLING[1:]]
        assert look(plan(space_alert(), *FILLING), space_alert(), *grown, now_ms=later()) == []

    def test_another_summary_or_revision_of_the_alert_says_nothing_new(self):
        again = alert(revision=7, summary="other words")
        assert look(plan(alert(), *FAILED), again, *FAILED, now_ms=later()) == []


class TestNewRevision:
    def test_a_rising_severity_is_told(self):
        louder = alert(severity=Severity.PAGE)
        revisions = look(plan(alert(), *FAILED), louder, *FAILED, now_ms=later())
        assert {(a.revision, a.alert["severity"]) for a in revisions} == {(2, "page")}

    def test_a_plan_whose_destination_died_is_replaced_at_once(self):
        dead = [broker(3, BrokerStatus.OFFLINE), *FAILED, directory(4)]
        (revision, *_) = look(plan(alert(), *FAILED), alert(), *dead, now_ms=later())
        assert (revision.kind, revision.revision) == (ActionKind.REASSIGN, 2)
        assert revision.reassignment["partitions"][0]["replicas"] == [4, 2]

    def test_a_replica_more_that_is_lost_is_planned_for(self):
        more = [*FAILED, topic("u", (1, 2)), replica(1, "/d1", "u"), replica(2, "/d1", "u")]
        revisions = look(plan(alert(), *FAILED), alert(), *more, now_ms=later())
        assert told(revisions) == [("reassign", "proposed", 2)]
        assert len(revisions[0].reassignment["partitions"]) == 2

    def test_a_replica_list_that_somebody_else_changed_makes_the_plan_wrong(self):
        parts = [offline(1), directory(2), directory(3), directory(4), topic("t", (1, 2)), replica(1, "/d1", "t")]
        elsewhere = [*parts[:4], topic("t", (1, 4)), replica(1, "/d1", "t")]
        (revision, *_) = look(plan(alert(), *parts), alert(), *elsewhere, now_ms=later())
        assert revision.kind is ActionKind.REASSIGN
        assert 4 in revision.reassignment["partitions"][0]["replicas"]

    def test_a_new_veto_is_told(self):
        parts = [*FILLING, offline(1, "/d3")]
        revisions = look(plan(space_alert(), *FILLING), space_alert(), *parts, now_ms=later())
        (move,) = [revision for revision in revisions if revision.kind is ActionKind.MOVE_LOG_DIR]
        assert [veto["name"] for veto in move.vetoes] == ["log_dir_offline"]
        assert move.revision == 2

    def test_a_much_better_plan_is_told(self):
        room = [*FILLING, topic("u", (1, 2)), replica(1, "/d1", "u", size=400 * MIB), directory(1, "/d1", 990 * MIB)]
        revisions = look(plan(space_alert(), *FILLING), space_alert(), *room, now_ms=later())
        assert told(revisions)[0] == ("move_log_dir", "proposed", 2)

    def test_an_expired_proposal_that_still_holds_is_renewed(self):
        revisions = look(plan(alert(), *FAILED), alert(), *FAILED, now_ms=later(30))
        assert told(revisions)[0] == ("reassign", "proposed", 2)
        assert revisions[0].expires_at_ms == later(60)

    def test_the_runbook_step_is_superseded_by_the_full_action(self):
        first = recommend(alert(), None, POLICY, NOW_MS)
        revisions = look(first, alert(), *FAILED, now_ms=later())
        assert told(revisions)[-1] == ("investigate", "superseded", 2)
        assert told(revisions)[0] == ("reassign", "proposed", 1)
        assert revisions[-1].status_reason == "replaced by reassign, replace_disk, restart_broker"

    def test_a_corrected_cause_changes_the_advice(self):
        unknown = plan(alert(cause=Cause.UNKNOWN), offline(1, cause=Cause.UNKNOWN), *FAILED[1:])
        full = [offline(1, cause=Cause.FULL, used=1000 * MIB), *FAILED[1:]]
        revisions = look(unknown, alert(cause=Cause.FULL), *full, now_ms=later())
        assert {str(a.kind) for a in revisions if a.status is ActionStatus.PROPOSED} >= {
            "expand_disk",
            "restart_broker",
        }
        assert ("investigate", "superseded", 2) in told(revisions)


class TestProgress:
    def moved(self, *, copied):
        """The filling cluster with the move begun (a future replica) or done."""
        place = {"size": 200 * MIB} if copied else {"size": 50 * MIB, "is_future": True}
        left = [] if copied else [replica(1, "/d1", "t", size=200 * MIB)]
        return [*FILLING[:4], *left, replica(1, "/d2", "t", **place), replica(2, "/d1", "t", size=200 * MIB)]

    def test_a_move_that_is_seen_is_running_then_done_with_what_was_observed(self):
        known = plan(space_alert(), *FILLING)[:1]
        (running, *_) = look(known, space_alert(), *self.moved(copied=False), now_ms=later())
        assert told([running]) == [("move_log_dir", "running", 2)]
        assert running.observed["started_at_ms"] == later()
        (done, *_) = look([running], space_alert(), *self.moved(copied=True), now_ms=later(2))
        assert told([done]) == [("move_log_dir", "done", 3)]
        assert done.observed["reached"] == done.observed["of"] == 1
        assert done.expected["frees_bytes"] == 200 * MIB

    def test_running_is_said_once(self):
        (running, *_) = look(
            plan(space_alert(), *FILLING)[:1], space_alert(), *self.moved(copied=False), now_ms=later()
        )
        again = look([running], space_alert(), *self.moved(copied=False), now_ms=later(1.5))
        assert not [a for a in again if a.kind is ActionKind.MOVE_LOG_DIR]

    def test_what_is_not_done_in_time_has_failed(self):
        (running, *_) = look(
            plan(space_alert(), *FILLING)[:1], space_alert(), *self.moved(copied=False), now_ms=later()
        )
        (failed, *_) = look([running], space_alert(), *self.moved(copied=False), now_ms=later(10))
        assert told([failed]) == [("move_log_dir", "failed", 3)]
        assert failed.observed["reached"] == 0

    def test_a_done_action_is_not_proposed_anew_before_the_facts_have_settled(self):
        done = with_status(plan(space_alert(), *FILLING)[:1], ActionStatus.DONE)
        assert not [a for a in look(done, space_alert(), *FILLING, now_ms=later(1)) if a.kind == "move_log_dir"]
        (again, *_) = look(done, space_alert(), *FILLING, now_ms=later(3))
        assert told([again]) == [("move_log_dir", "proposed", 2)]

    def test_a_rebuilt_replica_makes_the_reassignment_done(self):
        known = plan(alert(), *FAILED)
        rebuilt = [*FAILED[:3], topic("t", (3, 2)), replica(3, "/d1", "t"), replica(2, "/d1", "t")]
        revisions = look(known, alert(), *rebuilt, now_ms=later())
        assert told(revisions)[0] == ("reassign", "done", 2)

    def test_a_replica_in_another_directory_than_asked_for_is_not_done(self):
        known = plan(alert(), *FAILED)
        elsewhere = [*FAILED[:3], directory(3, "/d2"), topic("t", (3, 2)), replica(3, "/d2", "t")]
        revisions = look(known, alert(), *elsewhere, now_ms=later())
        assert told(revisions)[0] == ("reassign", "running", 2)

    def test_a_copy_that_is_not_in_sync_yet_is_not_done(self):
        known = plan(alert(), *FAILED)
        behind = [*FAILED[:3], topic("t", (3, 2), isr={0: (2,)}), replica(3, "/d1", "t"), replica(2, "/d1", "t")]
        assert told(look(known, alert(), *behind, now_ms=later()))[0] == ("reassign", "running", 2)

    def test_a_cut_runs_when_it_is_set_and_is_done_when_bytes_are_gone(self):
        full = [*FILLING, directory(1, "/d1", 990 * MIB), directory(1, "/d2", 800 * MIB)]
        cut = [a for a in plan(space_alert(), *full) if a.kind is ActionKind.LOWER_RETENTION]
        to = cut[0].configs["t"]["retention.bytes"]["to"]
        is_set = topic("t", (1, 2), configs={"retention.bytes": to})
        running = look(cut, space_alert(), *full, is_set, now_ms=later())
        assert ("lower_retention", "running", 2) in told(running)
        freed = [*FILLING[:3], is_set, replica(1, "/d1", "t", size=45 * MIB)]
        known = [a for a in running if a.kind is ActionKind.LOWER_RETENTION]
        done = look(known, space_alert(), *freed, now_ms=later(5))
        assert told(done)[0] == ("lower_retention", "done", 3)
        assert done[0].observed["frees_bytes"] == 155 * MIB

    def test_a_grown_volume_is_seen(self):
        alone = directory(1, "/d1", 850 * MIB)
        known = plan(space_alert(), alone)
        grown = directory(1, "/d1", 850 * MIB, total=2000 * MIB)
        assert ("expand_disk", "done", 2) in told(look(known, space_alert(), grown, now_ms=later()))


class TestDecisions:
    def test_accepted_stays_as_it_is(self):
        accepted = with_status(plan(alert(), *FAILED), ActionStatus.ACCEPTED)
        more = [*FAILED, topic("u", (1, 2)), replica(1, "/d1", "u"), replica(2, "/d1", "u")]
        assert look(accepted, alert(severity=Severity.PAGE), *more, now_ms=later(60)) == []

    @pytest.mark.parametrize(
        ("status", "said", "then"),
        [
            (ActionStatus.PROPOSED, Decision.ACCEPT, ActionStatus.ACCEPTED),
            (ActionStatus.PROPOSED, Decision.REJECT, ActionStatus.REJECTED),
            (ActionStatus.ACCEPTED, Decision.REJECT, ActionStatus.REJECTED),
            (ActionStatus.ACCEPTED, Decision.ACCEPT, None),
            (ActionStatus.RUNNING, Decision.REJECT, None),
            (ActionStatus.DONE, Decision.ACCEPT, None),
            (ActionStatus.PROPOSED, Decision.ACKNOWLEDGE, None),
        ],
    )
    def test_a_decision_changes_only_what_can_be_decided(self, status, said, then):
        decided = decide(action(status=status), decision(said), later())
        assert (decided and decided.status) == then

    def test_a_decision_is_kept_with_who_and_why_and_taken_in_once(self):
        decided = decide(action(), decision(Decision.REJECT), later())
        assert decided.status_reason == "ann: because"
        assert decided.decision == {"decision": "reject", "by": "ann", "reason": "because", "at_ms": NOW_MS + 1}
        again = changed(decided, status=ActionStatus.PROPOSED)
        assert decide(again, decision(Decision.REJECT), later()) is None
        assert decide(again, decision(Decision.REJECT, at_ms=NOW_MS + 2), later()).revision == 3

    def test_a_renewed_proposal_remembers_the_decision(self):
        said = decide(action(), decision(Decision.REJECT), later()).decision
        rejected = with_status(plan(alert(), *FAILED), ActionStatus.REJECTED, decision=said)
        louder = look(rejected, alert(severity=Severity.PAGE), *FAILED, now_ms=later(60))
        assert louder[0].decision == said


class TestWithoutFacts:
    FALLBACK = recommend(alert(), None, POLICY, NOW_MS)

    def test_the_runbook_step_comes_at_once_and_once(self):
        first = keep_waiting([], self.FALLBACK, NOW_MS)
        assert told(first) == [("investigate", "proposed", 1)]
        assert keep_waiting(first, self.FALLBACK, later()) == []

    def test_what_was_published_before_stays_until_it_expires(self):
        known = plan(alert(), *FAILED)
        assert keep_waiting(known, self.FALLBACK, later(29)) == []
        gone = keep_waiting(known, self.FALLBACK, later(31))
        assert told(gone) == [
            ("reassign", "expired", 2),
            ("replace_disk", "expired", 2),
            ("restart_broker", "expired", 2),
            ("investigate", "proposed", 1),
        ]

    def test_what_a_person_took_up_does_not_expire(self):
        accepted = with_status(plan(alert(), *FAILED), ActionStatus.ACCEPTED)
        assert keep_waiting(accepted, self.FALLBACK, later(300)) == []

    def test_a_rejected_runbook_step_is_not_repeated(self):
        rejected = with_status(self.FALLBACK, ActionStatus.REJECTED)
        assert keep_waiting(rejected, self.FALLBACK, later()) == []


class TestClosed:
    def resolved(self, reason="recovered", **fields):
        return alert(status=AlertStatus.RESOLVED, reason=reason, at_ms=later(), **({"to": "online"} | fields))

    def test_a_move_that_saved_the_directory_is_done(self):
        known = plan(space_alert(), *FILLING)
        after = facts(*TestProgress().moved(copied=True), inventory_at_ms=later(2))
        assert told(close(known, self.resolved(), after, POLICY, later(2)))[0] == ("move_log_dir", "done", 2)


def test_facts_are_what_they_were_after_a_look():
    """A look must not change what it looks at."""
    found = facts(*FAILED)
    before = replace(found)
    recommend(alert(), found, POLICY, NOW_MS)
    assert found == before
